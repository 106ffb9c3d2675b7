// The names of the annotations on nodes, and how they are read (semantics, section 1.1).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/annotation.h"
#include "ir/graph.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::annotate {

using ir::kExecutionPhase;
using ir::kPipelineStage;
using ir::kVirtualGraph;
inline constexpr ir::AttributeName kExecutionContext = ir::kContextAttribute;
using ir::kRecompute;
using ir::kTileSet;
inline constexpr ir::AttributeName kOutputLocation = "__output_tensor_location";
inline constexpr ir::AttributeName kPriority = "__schedule_priority";
inline constexpr ir::AttributeName kInplaceNames = "__inplace_op_names";
inline constexpr ir::AttributeName kInplacePriorities = "__inplace_op_priorities";
inline constexpr ir::AttributeName kExcludePatterns = "__exclude_patterns";
using ir::kSerializeMode;

/// Plain names of PopART's: read like the first three, never written.
using ir::kPlainExecutionPhase;
using ir::kPlainPipelineStage;
using ir::kPlainVirtualGraph;

/// The names of all annotations that place a node.
inline constexpr auto kPlacementAnnotations = std::to_array<ir::AttributeName>(
    {kVirtualGraph, kPipelineStage, kExecutionPhase, kExecutionContext, kTileSet, kRecompute, kOutputLocation,
     kPriority, kPlainVirtualGraph, kPlainPipelineStage, kPlainExecutionPhase});

/// Those that a rule can set, of products too (semantics, section 2.3).
inline constexpr auto kRuleAnnotations = [] {
  std::array<ir::AttributeName, kPlacementAnnotations.size() + 3> all;
  std::copy(kPlacementAnnotations.begin(), kPlacementAnnotations.end(), all.begin());
  all[kPlacementAnnotations.size()] = ir::kPartialsType;
  all[kPlacementAnnotations.size() + 1] = ir::kAvailableMemory;
  all[kPlacementAnnotations.size() + 2] = ir::kOperandsType;
  return all;
}();

bool is_placement(std::string_view annotation);

/// The annotations of one node. A field without annotation is empty.
struct Annotations {
  std::optional<int> processor = {};
  std::optional<int> stage = {};
  std::optional<int> phase = {};
  std::optional<ir::TileSet> tiles = {};
  std::optional<ir::Recompute> recompute = {};
  std::optional<float> priority = {};
  std::optional<ir::TensorLocation> output_location = {};
};

/// Reads the annotations of a node. Error, without the node's name, for an annotation of the wrong kind or
/// range, or for one that the plain name contradicts.
Annotations read_annotations(const ir::Op& op);
/// Checks the annotations that only a compiler for the device reads: inplace preferences come in pairs, and
/// excluded patterns exist.
void check_compiler_hints(const ir::Op& op);

/// [storage, load tiles, storage tiles, sharded, group type, group size]
ir::IntList location_to_ints(const ir::TensorLocation& location);

}  // namespace podium::annotate
