#include "executor/cli/annotate_edits.h"

#include <algorithm>
#include <map>

#include "annotate/annotations.h"
#include "ir/error.h"

namespace podium::cli {
namespace {

// nullptr: the op does not say it.
using Value = const ir::AttributeValue*;

Value find(const ir::Op& op, std::string_view name) {
  const auto found = std::find_if(op.attributes.begin(), op.attributes.end(),
                                  [&](const ir::Attribute& attribute) { return attribute.name == name; });
  return found == op.attributes.end() ? nullptr : &found->value;
}

template <class T>
bool same_as(Value a, Value b) {
  const T* x = std::get_if<T>(a);
  const T* y = std::get_if<T>(b);
  return x != nullptr && y != nullptr && *x == *y;
}

// Of the kinds that annotations have.
bool same(Value a, Value b) {
  if (a == nullptr || b == nullptr) return a == b;
  return same_as<std::int64_t>(a, b) || same_as<float>(a, b) || same_as<ir::IntList>(a, b) ||
         same_as<std::string>(a, b);
}

struct Change {
  Value value = nullptr;
  std::size_t op = 0;  // that has it
};
using Changes = std::map<std::string_view, Change>;

std::map<std::int32_t, Changes> changes_by_node(const importer::Model& model,
                                                const std::vector<ir::Op>& before) {
  std::map<std::int32_t, Changes> changes;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (model.nodes_of_ops[i] < 0) continue;
    for (std::string_view name : annotate::kRuleAnnotations) {
      const Value value = find(model.graph.ops[i], name);
      if (!same(find(before[i], name), value)) changes[model.nodes_of_ops[i]].emplace(name, Change{value, i});
    }
  }
  return changes;
}

std::string shown(Value value) { return value == nullptr ? "none" : ir::to_string(*value); }

void check_agreement(const importer::Model& model, const std::map<std::int32_t, Changes>& changes) {
  for (std::size_t i = 0; i < model.graph.ops.size(); ++i) {
    const auto of_node = changes.find(model.nodes_of_ops[i]);
    if (of_node == changes.end()) continue;
    for (const auto& [name, change] : of_node->second) {
      const Value value = find(model.graph.ops[i], name);
      if (same(value, change.value)) continue;
      throw Error("{} and {} are parts of one node of the model, which has one {}: {} and {} found",
                  model.graph.describe(model.graph.ops[change.op]), model.graph.describe(model.graph.ops[i]),
                  name, shown(change.value), shown(value));
    }
  }
}

}  // namespace

std::vector<importer::NodeEdit> edits_of(const importer::Model& model, const std::vector<ir::Op>& before) {
  const std::map<std::int32_t, Changes> changes = changes_by_node(model, before);
  check_agreement(model, changes);
  std::vector<importer::NodeEdit> edits;
  for (const auto& [node, of_node] : changes) {
    importer::NodeEdit& edit = edits.emplace_back();
    edit.node.resize(1);
    edit.node[0].node = static_cast<std::size_t>(node);
    for (const auto& [name, change] : of_node) {
      if (change.value == nullptr) {
        edit.clear.emplace_back(name);
      } else {
        edit.set.push_back({std::string(name), *change.value});
      }
    }
  }
  return edits;
}

}  // namespace podium::cli
