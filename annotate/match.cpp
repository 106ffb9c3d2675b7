#include "annotate/match.h"

#include <algorithm>

#include "ir/at.h"
#include "ir/glob.h"
#include "ir/nearest.h"

namespace podium::annotate {
namespace {

const std::string* first_output(const ir::Graph& graph, const ir::Op& op) {
  const auto found =
      std::find_if(op.outputs.begin(), op.outputs.end(), [](ir::ValueId id) { return id.valid(); });
  return found == op.outputs.end() ? nullptr : &graph[*found].name;
}

template <class Condition>
std::vector<std::size_t> select(const ir::Graph& graph, Condition condition) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (condition(graph.ops[i])) found.push_back(i);
  }
  return found;
}

bool touches(const std::vector<ir::ValueId>& ids, const std::vector<bool>& marked) {
  return std::any_of(ids.begin(), ids.end(), [&](ir::ValueId id) { return id.valid() && marked[at(id)]; });
}

void mark(const std::vector<ir::ValueId>& ids, std::vector<bool>& marked) {
  for (ir::ValueId id : ids) {
    if (id.valid()) marked[at(id)] = true;
  }
}

}  // namespace

std::string_view name_of(const ir::Graph& graph, const ir::Op& op) {
  if (!op.name.empty()) return op.name;
  const std::string* output = first_output(graph, op);
  return output == nullptr ? std::string_view() : *output;
}

std::vector<std::size_t> Matcher::find(const std::string& pattern) const {
  constexpr std::string_view kType = "type:";
  if (pattern.starts_with(kType)) return find_types(pattern.substr(kType.size()));
  std::vector<std::size_t> found = find_names(pattern);
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

std::vector<std::size_t> Matcher::find_types(const std::string& glob) const {
  const auto found =
      select(graph_, [&](const ir::Op& op) { return ir::matches(glob, std::string(op.spec->name)); });
  if (!found.empty()) return found;
  std::vector<std::string_view> types;
  for (const ir::Op& op : graph_.ops) types.push_back(op.spec->name);
  throw Error("pattern 'type:{}': no node of such a type found, the nearest is '{}'", glob,
              ir::nearest(glob, types));
}

std::vector<std::size_t> Matcher::find_names(const std::string& glob) const {
  const bool is_plain = !ir::has_wildcard(glob);
  const std::string folder = glob + "/";
  return select(graph_, [&](const ir::Op& op) {
    const std::string* output = first_output(graph_, op);
    if (op.name == glob || (output != nullptr && *output == glob)) return true;
    if (is_plain) return op.name.starts_with(folder);
    return ir::matches(glob, op.name) || (output != nullptr && ir::matches(glob, *output));
  });
}

std::vector<std::size_t> Matcher::find_paths(ir::ValueId from, ir::ValueId to) const {
  std::vector<bool> after(graph_.values.size(), false);
  after[at(from)] = true;
  for (const ir::Op& op : graph_.ops) {
    if (touches(op.inputs, after)) mark(op.outputs, after);
  }
  std::vector<bool> before(graph_.values.size(), false);
  before[at(to)] = true;
  std::vector<std::size_t> found;
  for (std::size_t i = graph_.ops.size(); i-- > 0;) {
    const ir::Op& op = graph_.ops[i];
    if (!touches(op.outputs, before)) continue;
    mark(op.inputs, before);
    if (touches(op.inputs, after)) found.push_back(i);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

ir::ValueId Matcher::tensor(std::string_view name) const {
  const auto found = std::find_if(graph_.values.begin(), graph_.values.end(),
                                  [&](const ir::Value& value) { return value.name == name; });
  if (found == graph_.values.end()) return {};
  return {static_cast<std::int32_t>(found - graph_.values.begin())};
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
