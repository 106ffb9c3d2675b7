#include "ir/graph.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace podium::ir {
namespace {

constexpr std::string_view kPart = "/part";

}  // namespace

const AttributeValue* find_attribute(const Op& op, std::string_view name) {
  for (const Attribute& candidate : op.attributes) {
    if (candidate.name == name) return &candidate.value;
  }
  const AttributeSpec* spec = op.spec->find_attribute(name);
  return spec != nullptr && spec->fallback ? &*spec->fallback : nullptr;
}

void set_attribute(Op& op, AttributeName name, AttributeValue value) {
  for (Attribute& candidate : op.attributes) {
    if (candidate.name == name) {
      candidate.value = std::move(value);
      return;
    }
  }
  op.attributes.push_back({name, std::move(value)});
}

void remove_attribute(Op& op, std::string_view name) {
  std::erase_if(op.attributes, [&](const Attribute& candidate) { return candidate.name == name; });
}

ValueId Graph::add_value(std::string value_name, Type type) {
  values.push_back({std::move(value_name), std::move(type)});
  return {static_cast<std::int32_t>(values.size() - 1)};
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  const ValueId id = add_value(std::move(value_name), tensor.type_and_dims());
  (*this)[id].constant = std::move(tensor);
  return id;
}

std::string Graph::fresh_name(std::string_view base) {
  // A colon is in no name an exporter writes; the counter keeps ours apart.
  return fmt::format("{}:{}", base, next_name_++);
}

std::string Graph::fresh_part_name(std::string_view whole) {
  return fresh_name(fmt::format("{}{}", name_of_whole(whole), kPart));
}

std::string_view name_of_whole(std::string_view name) {
  const std::size_t colon = name.find_last_not_of("0123456789");
  const bool is_numbered = colon != std::string_view::npos && name[colon] == ':' && colon + 1 < name.size();
  if (!is_numbered || !name.substr(0, colon).ends_with(kPart)) return name;
  return name.substr(0, colon - kPart.size());
}

std::string Graph::describe(const Op& op) const {
  std::string shown = op.name;
  if (shown.empty()) {
    const auto named =
        std::find_if(op.outputs.begin(), op.outputs.end(), [](ValueId id) { return id.valid(); });
    if (named != op.outputs.end()) shown = (*this)[*named].name;
  }
  return fmt::format("node '{}' ({})", shown, op.spec->name);
}

bool any_of(const PresentValues& values, const IdMap<ValueId, bool>& marked) {
  return std::ranges::any_of(values, [&](ValueId id) { return marked[id]; });
}

bool changes_form(const Op& op) { return op.spec->view || op.is("Cast") || op.is("Transpose"); }

IdMap<ValueId, OpId> producers(const Graph& graph) {
  IdMap<ValueId, OpId> result(std::ssize(graph.values));
  for (OpId id : graph.op_ids()) {
    for (ValueId output : outputs_of(graph[id])) result[output] = id;
  }
  return result;
}

IdMap<ValueId, int> use_counts(const Graph& graph) {
  IdMap<ValueId, int> result(std::ssize(graph.values), 0);
  for (const Op& op : graph.ops) {
    for (ValueId input : inputs_of(op)) ++result[input];
  }
  for (ValueId output : PresentValues(graph.outputs)) ++result[output];
  return result;
}

Consumers::Consumers(const Graph& graph) : first_(graph.values.size() + 1, 0) {
  for (const Op& op : graph.ops) {
    for (ValueId input : inputs_of(op)) ++first_[checked_index(input.index, graph.values.size()) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  readers_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (OpId id : graph.op_ids()) {
    for (ValueId input : inputs_of(graph[id])) readers_[next[input.index]++] = id;
  }
}

void for_each_body(const Op& op, const std::function<void(std::string_view, const Graph&)>& visit) {
  for (const Attribute& candidate : op.attributes) {
    if (const Body* body = std::get_if<Body>(&candidate.value)) visit(candidate.name, **body);
    if (const auto* bodies = std::get_if<std::vector<Body>>(&candidate.value)) {
      for (const Body& body : *bodies) visit(candidate.name, *body);
    }
  }
}

}  // namespace podium::ir
