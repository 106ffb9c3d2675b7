// Rules that annotate the nodes a pattern names.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

struct Rule {
  std::string match;  ///< see Matcher
  std::vector<ir::Attribute> set;
};

/// A list of rules, or one alone, as JSON:
///   [{"match": "encoder/*", "ipu": 0, "stage": 0}, {"match": "type:Softmax", "recompute": true}]
/// ipu, stage, phase: whole numbers; recompute: true, or false for a checkpoint; tiles: "Compute" or "IO";
/// location (of the outputs while nothing uses them): "OnChip" or "OffChip"; priority: a number; of products
/// partials: "half" or "float", and availableMemory: a share of a tile's memory.
/// Error names `where` (a file), the rule's place in the list, what was found and what was needed.
std::vector<Rule> read_rules(const std::string& json, const std::string& where);

/// Applies rules in order, so that later rules win. Error when a pattern matches nothing.
void apply_rules(ir::Graph& graph, const std::vector<Rule>& rules);

/// Sets an annotation (semantics, section 1.1) and removes one of the same meaning under its plain name.
void set_annotation(ir::Op& op, std::string_view name, ir::AttributeValue value);
/// Removes every annotation that places an op.
void clear_annotations(ir::Op& op);

}  // namespace podium::annotate
