// A file of rules is one object or a list of objects: "match", a pattern of nodes' names, and what is said of
// those nodes, one row of kKeys a name, or that their layers are shared out over stages. Nothing is applied
// before the whole file is read; later rules win.
#include "annotate/rules.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "annotate/annotations.h"
#include "annotate/match.h"
#include "ir/nearest.h"
#include "ir/nesting.h"
#include "ir/passes/round_operands.h"

namespace podium::annotate {
namespace {

using Json = nlohmann::json;

Error refuse(const Json& value, std::string_view needed) {
  return Error("{} found, {} needed", value.dump(), needed);
}

ir::AttributeValue whole_number(const Json& value) {
  const bool fits = value.is_number_unsigned() && value <= std::numeric_limits<int>::max();
  if (!fits) throw refuse(value, "a whole number of at least 0");
  return value.get<std::int64_t>();
}

template <class Enum>
ir::AttributeValue attribute_of(Enum value) {
  return static_cast<std::int64_t>(value);
}

ir::AttributeValue recompute(const Json& value) {
  if (!value.is_boolean()) throw refuse(value, "true or false");
  return attribute_of(value.get<bool>() ? ir::Recompute::Recompute : ir::Recompute::Checkpoint);
}

// True for the second of two words.
bool is_second(const Json& value, std::string_view first, std::string_view second) {
  if (value == second) return true;
  if (value != first) throw refuse(value, fmt::format("\"{}\" or \"{}\"", first, second));
  return false;
}

ir::AttributeValue tiles(const Json& value) {
  return attribute_of(is_second(value, "Compute", "IO") ? ir::TileSet::IO : ir::TileSet::Compute);
}

ir::AttributeValue location(const Json& value) {
  const bool is_off_chip = is_second(value, "OnChip", "OffChip");
  return location_to_ints({.storage = is_off_chip ? ir::Storage::OffChip : ir::Storage::OnChip});
}

ir::AttributeValue priority(const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<float>()))
    throw refuse(value, "a number that a float holds");
  return value.get<float>();
}

ir::AttributeValue partials(const Json& value) {
  return std::string(is_second(value, "float", "half") ? "half" : "float");
}

ir::AttributeValue operands(const Json& value) {
  return std::string(is_second(value, ir::kAsStored, ir::kMxFp8) ? ir::kMxFp8 : ir::kAsStored);
}

ir::AttributeValue share_of_memory(const Json& value) {
  if (!value.is_number() || value.get<float>() <= 0 || value.get<float>() > 1)
    throw refuse(value, "a share above 0 and at most 1");
  return value.get<float>();
}

struct Key {
  std::string_view name;
  std::string_view annotation;
  ir::AttributeValue (*read)(const Json&);
};

constexpr std::array kKeys{Key{"ipu", kVirtualGraph, whole_number},
                           Key{"stage", kPipelineStage, whole_number},
                           Key{"phase", kExecutionPhase, whole_number},
                           Key{"recompute", kRecompute, recompute},
                           Key{"tiles", kTileSet, tiles},
                           Key{"location", kOutputLocation, location},
                           Key{"priority", kPriority, priority},
                           Key{"partials", ir::kPartialsType, partials},
                           Key{"operands", ir::kOperandsType, operands},
                           Key{"availableMemory", ir::kAvailableMemory, share_of_memory}};

int stages(const Json& value) {
  const bool fits = value.is_number_unsigned() && value > 0 && value <= std::numeric_limits<int>::max();
  if (!fits) throw refuse(value, "a whole number of at least 1");
  return value.get<int>();
}

void read_entry(const std::string& name, const Json& value, Rule& rule) {
  if (name == "match") {
    if (!value.is_string() || value == "") throw Error("match: {} found, a pattern needed", value.dump());
    rule.match = value;
    return;
  }
  if (name == "stages") {
    try {
      rule.stages = stages(value);
    } catch (const Error& error) {
      throw error.at(name);
    }
    return;
  }
  std::vector<std::string_view> known{"match", "stages"};
  for (const Key& key : kKeys) {
    known.push_back(key.name);
    if (key.name != name) continue;
    try {
      rule.set.push_back({std::string(key.annotation), key.read(value)});
    } catch (const Error& error) {
      throw error.at(name);
    }
    return;
  }
  throw Error("unknown name '{}', the nearest is '{}'", name, ir::nearest(name, known));
}

Rule read_rule(const Json& json) {
  if (!json.is_object()) throw refuse(json, "an object");
  Rule rule;
  for (const auto& [name, value] : json.items()) read_entry(name, value, rule);
  if (rule.match.empty()) throw Error("\"match\" is missing");
  if (rule.set.empty() && rule.stages == 0)
    throw Error("nothing to annotate found, ipu, stage, phase or another name needed");
  return rule;
}

// Up to the first '/' behind the pattern's first wildcard: "h12" of "h12/attn/Add" for "h[0-9]*".
std::string_view layer_of(std::string_view name, const std::string& pattern) {
  const std::size_t wildcard = std::min(pattern.find_first_of("*?["), pattern.size());
  return name.substr(0, name.find('/', wildcard));
}

void share_out_layers(ir::Graph& graph, const Rule& rule) {
  std::map<std::string_view, std::int64_t> layers;  // in the order in which they begin
  std::vector<std::int64_t> layer(graph.ops.size(), -1);
  for (ir::OpId id : Matcher(graph).find(rule.match)) {
    const std::string_view name = layer_of(name_of(graph, graph[id]), rule.match);
    layer[id.number()] = layers.emplace(name, std::ssize(layers)).first->second;
  }
  const std::int64_t count = std::ssize(layers);
  if (count < rule.stages)
    throw Error("stages: {} found, at most the {} layers that '{}' names needed", rule.stages, count,
                rule.match);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (layer[i] >= 0) last = layer[i];
    const std::int64_t stage = last * rule.stages / count;
    set_annotation(graph.ops[i], kVirtualGraph, stage);
    set_annotation(graph.ops[i], kPipelineStage, stage);
  }
}

Json parse(const std::string& text) {
  ir::check_nesting(text, ir::kDeepestJson);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error("no JSON: character {} cannot stand there", error.byte);
  } catch (const Json::out_of_range&) {
    throw Error("a number found that is too large");
  }
}

}  // namespace

std::vector<Rule> read_rules(const std::string& text, const std::string& where) try {
  Json json = parse(text);
  if (json.is_object()) json = Json::array({json});
  if (!json.is_array()) throw Error("{} found, a list of rules needed", json.type_name());
  std::vector<Rule> rules;
  for (const Json& entry : json) {
    try {
      rules.push_back(read_rule(entry));
    } catch (const Error& error) {
      throw error.at(fmt::format("rule {}", rules.size() + 1));
    }
  }
  return rules;
} catch (const Error& error) {
  throw error.at(where);
}

void apply_rules(ir::Graph& graph, const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    if (rule.stages > 0) share_out_layers(graph, rule);
    for (ir::OpId op : Matcher(graph).find(rule.match)) {
      for (const ir::Attribute& annotation : rule.set)
        set_annotation(graph[op], annotation.name, annotation.value);
    }
  }
}

void set_annotation(ir::Op& op, std::string_view name, ir::AttributeValue value) {
  if (name == kVirtualGraph) remove_attribute(op, kPlainVirtualGraph);
  if (name == kPipelineStage) remove_attribute(op, kPlainPipelineStage);
  if (name == kExecutionPhase) remove_attribute(op, kPlainExecutionPhase);
  set_attribute(op, name, std::move(value));
}

void clear_annotations(ir::Op& op) {
  for (std::string_view name : kPlacementAnnotations) remove_attribute(op, name);
}

}  // namespace podium::annotate
