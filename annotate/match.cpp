#include "annotate/match.h"

#include <algorithm>
#include <ranges>

#include "ir/glob.h"
#include "ir/nearest.h"

namespace podium::annotate {
namespace {

const std::string* first_output(const ir::Graph& graph, const ir::Op& op) {
  const ir::PresentValues outputs = outputs_of(op);
  return outputs.begin() == outputs.end() ? nullptr : &graph[*outputs.begin()].name;
}

template <class Condition>
std::vector<ir::OpId> select(const ir::Graph& graph, Condition condition) {
  std::vector<ir::OpId> found;
  for (ir::OpId id : graph.op_ids()) {
    if (condition(graph[id])) found.push_back(id);
  }
  return found;
}

}  // namespace

std::string_view name_of(const ir::Graph& graph, const ir::Op& op) {
  if (!op.name.empty()) return op.name;
  const std::string* output = first_output(graph, op);
  return output == nullptr ? std::string_view() : *output;
}

std::vector<ir::OpId> Matcher::find(const std::string& pattern) const {
  constexpr std::string_view kType = "type:";
  if (pattern.starts_with(kType)) return find_types(pattern.substr(kType.size()));
  std::vector<ir::OpId> found = find_names(pattern);
  if (!found.empty()) return found;
  const std::size_t dots = pattern.find("..");
  if (dots == std::string::npos) refuse_name(pattern);
  const std::string from = pattern.substr(0, dots);
  const std::string to = pattern.substr(dots + 2);
  if (!tensor(from).valid()) refuse_tensor(pattern, from);
  if (!tensor(to).valid()) refuse_tensor(pattern, to);
  found = find_paths(tensor(from), tensor(to));
  if (found.empty()) throw Error("pattern '{}': no path leads from tensor '{}' to '{}'", pattern, from, to);
  return found;
}

std::vector<ir::OpId> Matcher::find_types(const std::string& glob) const {
  const auto found =
      select(graph_, [&](const ir::Op& op) { return ir::matches(glob, std::string(op.spec->name)); });
  if (!found.empty()) return found;
  std::vector<std::string_view> types;
  for (const ir::Op& op : graph_.ops) types.push_back(op.spec->name);
  throw Error("pattern 'type:{}': no node of such a type found, the nearest is '{}'", glob,
              ir::nearest(glob, types));
}

std::vector<ir::OpId> Matcher::find_names(const std::string& glob) const {
  const bool is_plain = !ir::has_wildcard(glob);
  const std::string folder = glob + "/";
  return select(graph_, [&](const ir::Op& op) {
    const std::string* output = first_output(graph_, op);
    if (op.name == glob || (output != nullptr && *output == glob)) return true;
    if (is_plain) return op.name.starts_with(folder);
    return ir::matches(glob, op.name) || (output != nullptr && ir::matches(glob, *output));
  });
}

std::vector<ir::OpId> Matcher::find_paths(ir::ValueId from, ir::ValueId to) const {
  ir::IdMap<ir::ValueId, bool> after(std::ssize(graph_.values), false);
  after[from] = true;
  for (const ir::Op& op : graph_.ops) {
    if (!any_of(inputs_of(op), after)) continue;
    for (ir::ValueId id : outputs_of(op)) after[id] = true;
  }
  ir::IdMap<ir::ValueId, bool> before(std::ssize(graph_.values), false);
  before[to] = true;
  std::vector<ir::OpId> found;
  for (ir::OpId id : graph_.op_ids() | std::views::reverse) {
    const ir::Op& op = graph_[id];
    if (!any_of(outputs_of(op), before)) continue;
    for (ir::ValueId input : inputs_of(op)) before[input] = true;
    if (any_of(inputs_of(op), after)) found.push_back(id);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

ir::ValueId Matcher::tensor(std::string_view name) const {
  for (ir::ValueId id : graph_.value_ids()) {
    if (graph_[id].name == name) return id;
  }
  return {};
}

void Matcher::refuse_tensor(const std::string& pattern, std::string_view name) const {
  std::vector<std::string_view> names;
  for (const ir::Value& value : graph_.values) names.push_back(value.name);
  throw Error("pattern '{}': there is no tensor '{}', the nearest is '{}'", pattern, name,
              ir::nearest(name, names));
}

void Matcher::refuse_name(const std::string& pattern) const {
  std::vector<std::string_view> names;
  for (const ir::Op& op : graph_.ops) {
    names.push_back(name_of(graph_, op));
    if (const std::string* output = first_output(graph_, op)) names.push_back(*output);
  }
  if (names.empty()) throw Error("pattern '{}': the model has no nodes", pattern);
  throw Error("pattern '{}' matches no node, the nearest name is '{}'", pattern, ir::nearest(pattern, names));
}

}  // namespace podium::annotate
