// Annotations of nodes are attributes whose names begin with two underscores, and the three plain names. For
// each of a node's there is a reason why it does not act, or none: never (a row of kWithoutEffect), not on
// this op, not in this session, or nobody knows the name. Equal reasons of one name are one line.
#include "annotate/unheeded.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "annotate/annotations.h"
#include "annotate/spots.h"
#include "ir/annotation.h"
#include "ir/nearest.h"
#include "ir/verify.h"

namespace podium::annotate {
namespace {

constexpr std::array kWithoutEffect = std::to_array<AnnotationWithoutEffect>({
    {kInplaceNames, "ops work in place wherever the memory plan lets them"},
    {kInplacePriorities, "ops work in place wherever the memory plan lets them"},
    {kExcludePatterns, "rewrites of PopART's compiler, which Podium does not have"},
    {"__enable_conv_dithering", "parts of a convolution are not spread over the tiles at random"},
    {"__debug_info_id", "debugging of PopART"},
    {"__debug_id", "debugging of PopART"},
    {"__replicationFactor", "replicatedGraphCount says how many replicas there are"},
    {"__variable_settings", "the groups of a weight are in __comm_group_type and __comm_group_size"},
    {"__variable_retrieval_mode", "who asks for a weight says whose value it wants"},
    {"__collectiveOperator", "it says how a Replicated op of ai.graphcore exchanges, and this is none"},
    {"__collectiveCommGroup", "it says how a Replicated op of ai.graphcore exchanges, and this is none"},
    {"__collectiveReplicaGrouping",
     "it says how a Replicated op of ai.graphcore exchanges, and this is none"},
    {"__replicatedTensorSharding", "locations of tensors say what is sharded"},
});

constexpr std::array<std::string_view, 19> kWithEffect{
    kVirtualGraph,        kPipelineStage,          kExecutionPhase,   kPlainVirtualGraph,
    kPlainPipelineStage,  kPlainExecutionPhase,    kExecutionContext, kTileSet,
    kRecompute,           kOutputLocation,         kPriority,         ir::kPartialsType,
    ir::kAvailableMemory, ir::kOperandsType,       ir::kOutputType,   ir::kSerializeMode,
    ir::kSerializeFactor, ir::kSerializePrecision, ir::kOutline};

constexpr std::array<std::string_view, 5> kMetadataWithEffect{
    kTileSet, "__exchange_strategy", "__replicated_stream_mode", "__comm_group_type", "__comm_group_size"};

bool is_product(const ir::Op& op) {
  switch (op.spec->category) {
    case ir::Category::MatrixProduct:
    case ir::Category::Convolution:
    case ir::Category::WeightGradient:
    case ir::Category::Recurrent:
    case ir::Category::Attention:
      return true;
    default:
      return false;
  }
}

std::string never(std::string_view name) {
  const auto row = std::ranges::find(kWithoutEffect, name, &AnnotationWithoutEffect::name);
  return row == kWithoutEffect.end() ? "" : std::string(row->reason);
}

std::string unknown(std::string_view name, std::span<const std::string_view> known) {
  return fmt::format("it is unknown, the nearest is '{}'", ir::nearest(name, {known.begin(), known.end()}));
}

// "" where the annotation acts.
std::string why_not(const ir::Op& op, std::string_view name, const Request& request, Use use) {
  const bool is_phased = has_phases(request);
  if (name == kVirtualGraph || name == kPlainVirtualGraph) {
    if (request.mode == Mode::Off) return "virtualGraphMode is Off";
    return request.mode == Mode::Auto ? "virtualGraphMode Auto places the nodes" : "";
  }
  if (name == kPipelineStage || name == kPlainPipelineStage) {
    if (!request.pipelining) return "enablePipelining is false";
    return request.mode == Mode::Auto ? "virtualGraphMode Auto places the nodes" : "";
  }
  if (name == kExecutionPhase || name == kPlainExecutionPhase)
    return is_phased ? ""
                     : "executionPhaseSettings.phases is below 2, or virtualGraphMode not ExecutionPhases";
  if (name == kRecompute || name == kExecutionContext)
    return use == Use::Training ? "" : "nothing is trained";
  if (name == ir::kPartialsType || name == ir::kAvailableMemory)
    return is_product(op) ? "" : fmt::format("{} is no product", op.spec->name);
  if (name == ir::kOperandsType) {
    return op.is("MatMul") || op.is("Gemm") ? "" : fmt::format("{} is no MatMul or Gemm", op.spec->name);
  }
  constexpr std::array<std::string_view, 4> kOfMatMul{ir::kOutputType, ir::kSerializeMode,
                                                      ir::kSerializeFactor, ir::kSerializePrecision};
  if (std::ranges::count(kOfMatMul, name) > 0)
    return op.is("MatMul") ? "" : fmt::format("{} is no MatMul", op.spec->name);
  if (std::ranges::count(kWithEffect, name) > 0) return "";
  std::string reason = never(name);
  return reason.empty() ? unknown(name, kWithEffect) : reason;
}

// "" for what is no annotation or acts.
std::string why_not(const std::string& key) {
  const std::string_view setting = std::string_view(key).substr(0, key.find('/'));
  if (!setting.starts_with("__") || std::ranges::count(kMetadataWithEffect, setting) > 0) return "";
  std::string reason = never(setting);
  return reason.empty() ? unknown(setting, kMetadataWithEffect) : reason;
}

}  // namespace

std::span<const AnnotationWithoutEffect> annotations_without_effect() { return kWithoutEffect; }
std::span<const std::string_view> annotations_with_effect() { return kWithEffect; }
std::span<const std::string_view> metadata_with_effect() { return kMetadataWithEffect; }

std::vector<std::string> unheeded(const ir::Graph& graph, const Metadata& metadata, const Request& request,
                                  Use use) {
  std::map<std::pair<std::string, std::string>, int> nodes;  // of a name and a reason
  for (const ir::Op& op : graph.ops) {
    for (const ir::Attribute& attribute : op.attributes) {
      if (!ir::is_annotation(attribute.name)) continue;
      const std::string reason = why_not(op, attribute.name, request, use);
      if (!reason.empty()) ++nodes[{std::string(attribute.name.text()), reason}];
    }
  }
  std::vector<std::string> lines;
  for (const auto& [entry, count] : nodes) {
    lines.push_back(fmt::format("{} of {} node{}: no effect, {}", entry.first, count, count == 1 ? "" : "s",
                                entry.second));
  }
  for (const auto& [key, value] : metadata) {
    const std::string reason = why_not(key);
    if (!reason.empty()) lines.push_back(fmt::format("metadata '{}': no effect, {}", key, reason));
  }
  return lines;
}

}  // namespace podium::annotate
