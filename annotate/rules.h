// Rules that annotate the nodes a pattern names.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

struct Rule {
  std::string match;  ///< see Matcher
  std::vector<ir::Attribute> set = {};
  /// Above 0: the layers that the pattern names are shared out over so many stages, each on a processor.
  int stages = 0;
};

/// A list of rules, or one alone, as JSON:
///   [{"match": "encoder/*", "ipu": 0, "stage": 0}, {"match": "type:Softmax", "recompute": true}]
/// ipu, stage, phase: whole numbers; recompute: true, or false for a checkpoint; tiles: "Compute" or "IO";
/// location (of the outputs while nothing uses them): "OnChip" or "OffChip"; priority: a number; of products
/// partials: "half" or "float", operands: "mxfp8", blocks of 8 bits, or "float", as they are stored, and
/// availableMemory: a share of a tile's memory. stages: a whole number N of
/// at least 1; the layers that the pattern names, each the nodes whose names agree up to the first '/' behind
/// the pattern's first wildcard, are shared out in order, as many for each of N stages as for any other or
/// one less; stage and processor of the other nodes are those of the last layer before them, 0 before the
/// first. Error names `where` (a file), the rule's place in the list, what was found and what was needed.
std::vector<Rule> read_rules(const std::string& json, const std::string& where);

/// Applies rules in order, so that later rules win. Error when a pattern matches nothing, or fewer layers
/// than the rule asks for stages.
void apply_rules(ir::Graph& graph, const std::vector<Rule>& rules);

/// Sets an annotation (semantics, section 1.1) and removes one of the same meaning under its plain name.
void set_annotation(ir::Op& op, std::string_view name, ir::AttributeValue value);
/// Removes every annotation that places an op.
void clear_annotations(ir::Op& op);

}  // namespace podium::annotate
