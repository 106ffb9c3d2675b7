// Trees from the attributes of the three tree ops.
// The older two (lists) name nodes by tree and number; an index turns the names into places, and
// contributions of one leaf become neighbours. The newer one (arrays) has places already: leaves follow the
// inner nodes, and sets of members lie in one tensor, each ended by a NaN.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "executor/kernels/cast.h"
#include "executor/kernels/ml/trees.h"

namespace podium::kernels {
namespace {

using ir::FloatList;
using ir::IntList;
using ir::StringList;

Branch branch_named(const std::string& name) {
  constexpr std::array<std::string_view, 8> kNames{"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                                   "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  const auto branch = static_cast<Branch>(found - kNames.begin());
  if (found == kNames.end() || branch == Branch::Member)
    throw Error("a node's mode is \"{}\", which it cannot be", name);
  return branch;
}

template <class List>
void check_length(const List& list, std::size_t needed, std::string_view name) {
  if (list.size() != needed) throw Error("{} has {} items, {} needed", name, list.size(), needed);
}

// A number of a node, a feature, a target: Trees::check asks whether there is one of this number.
std::int32_t number_from(std::int64_t given, std::string_view name) {
  if (!std::in_range<std::int32_t>(given)) throw Error("{} has {}, which does not fit 32 bits", name, given);
  return static_cast<std::int32_t>(given);
}

using NodeKey = std::pair<std::int64_t, std::int64_t>;  // tree and node
using NodeIndex = std::map<NodeKey, std::int32_t>;

NodeIndex index_nodes(const IntList& trees, const IntList& ids, std::vector<std::int32_t>& roots) {
  NodeIndex index;
  std::map<std::int64_t, bool> seen;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool added = index.emplace(NodeKey{trees[i], ids[i]}, i).second;
    if (!added) throw Error("tree {} has two nodes {}", trees[i], ids[i]);
    if (seen.emplace(trees[i], true).second) roots.push_back(i);
  }
  return index;
}

std::int32_t find(const NodeIndex& index, std::int64_t tree, std::int64_t node) {
  const auto found = index.find({tree, node});
  if (found == index.end()) throw Error("tree {} has no node {}", tree, node);
  return found->second;
}

void read_nodes(const PrepareContext& context, Trees& trees, NodeIndex& index) {
  const auto tree_ids = list_or_empty<IntList>(context, "nodes_treeids");
  const auto ids = list_or_empty<IntList>(context, "nodes_nodeids");
  const auto features = list_or_empty<IntList>(context, "nodes_featureids");
  const auto modes = list_or_empty<StringList>(context, "nodes_modes");
  const auto on_true = list_or_empty<IntList>(context, "nodes_truenodeids");
  const auto on_false = list_or_empty<IntList>(context, "nodes_falsenodeids");
  const auto missing = list_or_empty<IntList>(context, "nodes_missing_value_tracks_true");
  const auto values = numbers_of(context, "nodes_values", "nodes_values_as_tensor");
  const std::size_t count = modes.size();
  check_length(tree_ids, count, "nodes_treeids");
  check_length(ids, count, "nodes_nodeids");
  check_length(features, count, "nodes_featureids");
  check_length(on_true, count, "nodes_truenodeids");
  check_length(on_false, count, "nodes_falsenodeids");
  check_length(values, count, "nodes_values");
  if (!missing.empty()) check_length(missing, count, "nodes_missing_value_tracks_true");
  index = index_nodes(tree_ids, ids, trees.roots);
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode node{.value = values[i], .feature = number_from(features[i], "nodes_featureids")};
    node.branch = branch_named(modes[i]);
    node.missing_is_true = !missing.empty() && missing[i] != 0;
    if (node.branch != Branch::Leaf) {
      node.on_true = find(index, tree_ids[i], on_true[i]);
      node.on_false = find(index, tree_ids[i], on_false[i]);
    }
    trees.nodes.push_back(node);
  }
}

// Contributions of one leaf become neighbours.
void read_leaves(const PrepareContext& context, const std::string& leaf, const NodeIndex& index,
                 Trees& trees) {
  const auto tree_ids = list_or_empty<IntList>(context, leaf + "_treeids");
  const auto ids = list_or_empty<IntList>(context, leaf + "_nodeids");
  const auto targets = list_or_empty<IntList>(context, leaf + "_ids");
  const auto weights = numbers_of(context, leaf + "_weights", leaf + "_weights_as_tensor");
  check_length(tree_ids, weights.size(), leaf + "_treeids");
  check_length(ids, weights.size(), leaf + "_nodeids");
  check_length(targets, weights.size(), leaf + "_ids");
  std::vector<std::vector<Contribution>> of_node(trees.nodes.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int32_t node = find(index, tree_ids[i], ids[i]);
    of_node[node].push_back({number_from(targets[i], leaf + "_ids"), weights[i]});
  }
  for (std::size_t i = 0; i < trees.nodes.size(); ++i) {
    TreeNode& node = trees.nodes[i];
    if (node.branch != Branch::Leaf) continue;
    node.on_true = trees.contributions.size();
    trees.contributions.insert(trees.contributions.end(), of_node[i].begin(), of_node[i].end());
    node.on_false = trees.contributions.size();
  }
}

// The lists of members, each ended by a NaN, in the order of the nodes that use them.
std::vector<std::vector<double>> read_members(const PrepareContext& context) {
  std::vector<std::vector<double>> members;
  const auto* tensor = context.get_if<Tensor>("membership_values");
  if (tensor == nullptr) return members;
  std::vector<double> current;
  for (double value : numbers_of(*tensor)) {
    if (std::isnan(value)) {
      members.push_back(std::move(current));
      current.clear();
    } else {
      current.push_back(value);
    }
  }
  if (!current.empty()) members.push_back(std::move(current));
  return members;
}

}  // namespace

std::vector<double> numbers_of(const Tensor& tensor) {
  Tensor wide(DataType::Double, tensor.dims());
  convert_numbers(tensor, wide, 0, tensor.size(), {});
  return {wide.data<double>(), wide.data<double>() + wide.size()};
}

std::vector<double> numbers_of(const ir::TypedOp& op, std::string_view name, std::string_view tensor_name) {
  const auto* tensor = op.get_if<Tensor>(tensor_name);
  if (tensor != nullptr && tensor->size() > 0) return numbers_of(*tensor);
  const auto floats = list_or_empty<FloatList>(op, name);
  return {floats.begin(), floats.end()};
}

Trees trees_of_lists(const PrepareContext& context, const std::string& leaf) {
  Trees trees;
  NodeIndex index;
  read_nodes(context, trees, index);
  read_leaves(context, leaf, index, trees);
  trees.base = numbers_of(context, "base_values", "base_values_as_tensor");
  return trees;
}

Trees trees_of_arrays(const PrepareContext& context) {
  Trees trees;
  trees.members = read_members(context);
  const auto splits = numbers_of(context.get<Tensor>("nodes_splits"));
  const auto modes = numbers_of(context.get<Tensor>("nodes_modes"));
  const auto& features = context.get<IntList>("nodes_featureids");
  const auto missing = list_or_empty<IntList>(context, "nodes_missing_value_tracks_true");
  const std::array<const IntList*, 2> children{&context.get<IntList>("nodes_truenodeids"),
                                               &context.get<IntList>("nodes_falsenodeids")};
  const std::array<const IntList*, 2> are_leaves{&context.get<IntList>("nodes_trueleafs"),
                                                 &context.get<IntList>("nodes_falseleafs")};
  const std::size_t count = modes.size();
  check_length(splits, count, "nodes_splits");
  check_length(features, count, "nodes_featureids");
  if (!missing.empty()) check_length(missing, count, "nodes_missing_value_tracks_true");
  for (std::size_t way = 0; way < 2; ++way) {
    check_length(*children[way], count, "nodes_truenodeids or nodes_falsenodeids");
    check_length(*are_leaves[way], count, "nodes_trueleafs or nodes_falseleafs");
  }
  // Leaves follow the nodes.
  const auto child = [&](std::size_t way, std::size_t i) {
    const std::int64_t id = number_from((*children[way])[i], "nodes_truenodeids or nodes_falsenodeids");
    return number_from((*are_leaves[way])[i] != 0 ? id + static_cast<std::int64_t>(count) : id, "tree");
  };
  std::size_t next_members = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) throw Error("a node's mode is {}, 0 to 6 needed", modes[i]);
    TreeNode node{.value = splits[i], .feature = number_from(features[i], "nodes_featureids")};
    node.branch = static_cast<Branch>(static_cast<int>(modes[i]));
    node.missing_is_true = !missing.empty() && missing[i] != 0;
    node.on_true = child(0, i);
    node.on_false = child(1, i);
    if (node.branch == Branch::Member) node.value = static_cast<double>(next_members++);
    trees.nodes.push_back(node);
  }
  if (next_members > trees.members.size()) {
    throw Error("membership_values has {} lists, {} needed", trees.members.size(), next_members);
  }
  const auto weights = numbers_of(context.get<Tensor>("leaf_weights"));
  const auto& targets = context.get<IntList>("leaf_targetids");
  check_length(targets, weights.size(), "leaf_targetids");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    trees.nodes.push_back(
        {.on_true = static_cast<std::int32_t>(i), .on_false = static_cast<std::int32_t>(i + 1)});
    trees.contributions.push_back({number_from(targets[i], "leaf_targetids"), weights[i]});
  }
  for (std::int64_t root : context.get<IntList>("tree_roots"))
    trees.roots.push_back(number_from(root, "tree_roots"));
  return trees;
}

}  // namespace podium::kernels
