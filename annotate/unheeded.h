// The annotations of a model that a session does not act on, each with the reason.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotate/metadata.h"
#include "annotate/request.h"
#include "ir/graph.h"

namespace podium::annotate {

/// An annotation of nodes or a key of the metadata that is known and never acts.
struct AnnotationWithoutEffect {
  std::string_view name;
  std::string_view reason;
};

std::span<const AnnotationWithoutEffect> annotations_without_effect();

/// The annotations of nodes that act, where the session asks for what they speak of.
std::span<const std::string_view> annotations_with_effect();

/// The keys of the metadata that act: settings of inputs and initializers.
std::span<const std::string_view> metadata_with_effect();

/// Whether derivatives are appended, which annotations on recomputation need.
enum class Use : std::uint8_t { Inference, Training };

/// A line for each annotation of `graph`, as imported, and each key of the metadata that changes nothing in
/// this session: what it is, how many nodes have it, and why. An unknown one is named with the nearest.
std::vector<std::string> unheeded(const ir::Graph& graph, const Metadata& metadata, const Request& request,
                                  Use use);

}  // namespace podium::annotate
