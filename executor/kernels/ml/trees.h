// Decision trees as flat arrays, and their evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "executor/kernels/ml/ml.h"

namespace podium::kernels {

/// How a node compares a feature (left) with its value, or looks the feature up among its members. Numbered
/// as the op TreeEnsemble numbers them.
enum class Branch : std::uint8_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member, Leaf };

struct TreeNode {
  double value = 0;
  std::int32_t feature = 0;
  std::int32_t on_true = 0;   ///< in a leaf the first contribution
  std::int32_t on_false = 0;  ///< in a leaf the end of the contributions
  Branch branch = Branch::Leaf;
  bool missing_is_true = false;  ///< NaN goes the true way whatever the comparison says
};

/// A leaf's contribution to the score of a target.
struct Contribution {
  std::int32_t target = 0;
  double weight = 0;
};

enum class Aggregate : std::uint8_t { Average, Sum, Min, Max };

struct Trees {
  std::vector<TreeNode> nodes;
  std::vector<std::int32_t> roots;
  std::vector<Contribution> contributions;
  std::vector<std::vector<double>> members;  ///< a member node's value is the index of its members
  std::vector<double> base;                  ///< added at the end: one number a target, one for all, or none
  std::size_t targets = 0;
  Aggregate aggregate = Aggregate::Sum;

  /// Error unless every index is in range and every path from a root ends in a leaf.
  void check(std::int64_t features) const;
  /// Scores of every row of input 0, a row of `targets` doubles each.
  Tensor evaluate(const Tensor& x) const;
};

/// A list of floats or a tensor of floats of any type under name + "_as_tensor".
std::vector<double> numbers_of(const ir::TypedOp& op, std::string_view name, std::string_view tensor_name);
std::vector<double> numbers_of(const Tensor& tensor);
/// The trees of a classifier or regressor; `leaf`: "class" or "target", how the attributes of leaves begin.
Trees trees_of_lists(const PrepareContext& context, const std::string& leaf);
/// The trees of TreeEnsemble.
Trees trees_of_arrays(const PrepareContext& context);

}  // namespace podium::kernels
