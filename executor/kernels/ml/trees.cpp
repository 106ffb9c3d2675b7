// Rows go down a tree in groups of 64, one tree after the other, so that a tree's nodes stay in the cache; a
// row that reaches a leaf adds the leaf's contributions to its scores. Everything is computed in double. The
// check walks every tree without recursion and refuses one that comes back to itself or points outside.
#include "executor/kernels/ml/trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "executor/kernels/cast.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

// Rows that go down one tree before the next is looked at, so that its nodes stay in the cache.
constexpr std::int64_t kRowsTogether = 64;

bool goes_true(const Trees& trees, const TreeNode& node, double x) {
  if (node.missing_is_true && std::isnan(x)) return true;
  switch (node.branch) {
    case Branch::LessEqual:
      return x <= node.value;
    case Branch::Less:
      return x < node.value;
    case Branch::GreaterEqual:
      return x >= node.value;
    case Branch::Greater:
      return x > node.value;
    case Branch::Equal:
      return x == node.value;
    case Branch::NotEqual:
      return x != node.value;
    case Branch::Member: {
      const auto& members = trees.members[node.value];
      return std::find(members.begin(), members.end(), x) != members.end();
    }
    case Branch::Leaf:
      return false;
  }
  return false;
}

const TreeNode& leaf_of(const Trees& trees, std::int32_t root, const double* row) {
  const TreeNode* node = &trees.nodes[root];
  while (node->branch != Branch::Leaf) {
    const double x = row[node->feature];
    // Nearly all nodes of nearly all models compare so.
    const bool usual = node->branch == Branch::LessEqual && !node->missing_is_true;
    const bool chosen = usual ? x <= node->value : goes_true(trees, *node, x);
    node = &trees.nodes[chosen ? node->on_true : node->on_false];
  }
  return *node;
}

void add(const Trees& trees, const TreeNode& leaf, double* scores) {
  for (std::int32_t i = leaf.on_true; i < leaf.on_false; ++i) {
    const Contribution& part = trees.contributions[i];
    double& score = scores[part.target];
    if (trees.aggregate == Aggregate::Min) {
      score = std::min(score, part.weight);
    } else if (trees.aggregate == Aggregate::Max) {
      score = std::max(score, part.weight);
    } else {
      score += part.weight;
    }
  }
}

double first_score(Aggregate aggregate) {
  if (aggregate == Aggregate::Min) return std::numeric_limits<float>::max();
  if (aggregate == Aggregate::Max) return std::numeric_limits<float>::lowest();
  return 0;
}

void finish(const Trees& trees, double* scores) {
  for (std::size_t i = 0; i < trees.targets; ++i) {
    if (trees.aggregate == Aggregate::Average) scores[i] /= static_cast<double>(trees.roots.size());
    if (!trees.base.empty()) scores[i] += trees.base[trees.base.size() == 1 ? 0 : i];
  }
}

enum class Visit : std::uint8_t { NotYet, OnPath, Done };

// Depth first without recursion: a node is done when both ways from it are.
void check_from(const std::vector<TreeNode>& nodes, std::int32_t root, std::vector<Visit>& visits) {
  std::vector<std::int32_t> path{root};
  while (!path.empty()) {
    const std::int32_t at = path.back();
    if (visits[at] == Visit::NotYet && nodes[at].branch != Branch::Leaf) {
      visits[at] = Visit::OnPath;
      for (std::int32_t child : {nodes[at].on_false, nodes[at].on_true}) {
        const Visit visit = visits[child];
        if (visit == Visit::OnPath) throw Error("node {} of a tree is below itself", child);
        if (visit == Visit::NotYet) path.push_back(child);
      }
    } else {
      visits[at] = Visit::Done;
      path.pop_back();
    }
  }
}

}  // namespace

void Trees::check(std::int64_t features) const {
  const auto in_range = [](std::int32_t i, std::size_t size) { return i >= 0 && std::cmp_less(i, size); };
  for (const TreeNode& node : nodes) {
    if (node.branch == Branch::Leaf) continue;
    if (!in_range(node.on_true, nodes.size()) || !in_range(node.on_false, nodes.size())) {
      throw Error("a node of a tree leads to nodes {} and {}, there are {}", node.on_true, node.on_false,
                  nodes.size());
    }
    if (node.feature < 0 || node.feature >= features) {
      throw Error("a node of a tree asks for feature {}, the input has {}", node.feature, features);
    }
  }
  for (const Contribution& part : contributions) {
    if (!in_range(part.target, targets))
      throw Error("a leaf adds to target {}, there are {}", part.target, targets);
  }
  if (base.size() > 1 && base.size() != targets) {
    throw Error("there are {} base values, {} needed", base.size(), targets);
  }
  std::vector<Visit> visits(nodes.size(), Visit::NotYet);
  for (std::int32_t root : roots) {
    if (!in_range(root, nodes.size()))
      throw Error("a tree begins at node {}, there are {}", root, nodes.size());
    check_from(nodes, root, visits);
  }
}

Tensor Trees::evaluate(const Tensor& x) const {
  const std::int64_t columns = x.rank() == 0 ? 1 : x.dims().back();
  const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1;
  Tensor wide(DataType::Double, {rows, columns});
  convert_numbers(x, wide, 0, x.size(), {});
  Tensor scores(DataType::Double, {rows, static_cast<std::int64_t>(targets)});
  std::fill_n(scores.data<double>(), scores.size(), first_score(aggregate));
  const auto cost = std::ssize(roots) * 32;
  parallel_ranges(rows, cost, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += kRowsTogether) {
      const std::int64_t last = std::min(end, begin + kRowsTogether);
      const auto score_of = [&](std::int64_t row) { return scores.data<double>() + row * targets; };
      for (std::int32_t root : roots) {
        for (std::int64_t row = begin; row < last; ++row) {
          add(*this, leaf_of(*this, root, wide.data<double>() + row * columns), score_of(row));
        }
      }
      for (std::int64_t row = begin; row < last; ++row) finish(*this, score_of(row));
    }
  });
  return scores;
}

}  // namespace podium::kernels
