// The scalars that update equations read: combinations of an optimizer's values, under PopART's names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/optimizer.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::ir {

/// How many gradients make an update, and how they are combined (semantics, section 5.2).
struct Contributions {
  int accumulation = 1;  ///< micro-batches
  int replicas = 1;
  GradientReduction reduction = GradientReduction::Sum;
  int slices = 1;  ///< of a micro-batch, each with a share of its gradient
  /// Weights that not all replicas share, ascending, each with the groups that do: gradients of other
  /// replicas are no part of its update.
  std::vector<std::pair<std::string, ReplicaGroup>> groups = {};

  /// Whether gradients add up before an update.
  bool accumulates() const { return accumulation * slices > 1; }
  ReplicaGroup group_of(std::string_view weight) const;
  /// How many replicas share a weight.
  int replicas_of(std::string_view weight) const;
};

/// The scalar `name` ("scaledLearningRate0") of a weight; constant where all values that it combines are.
OptimizerValue hyper_parameter(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                               const Contributions& contributions);

/// Whether the scalar is the weight's own: the weight has values of its own, or is shared by a group of
/// replicas.
bool is_specific(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                 const Contributions& contributions);
/// PopART's name of the input that feeds it: "scaledLearningRate0___default___FLOAT", or with the name of a
/// weight "scaledLearningRate0___specific___w".
std::string hyper_parameter_input(std::string_view name, std::string_view weight, DataType type);

/// Error for a loss scale that is 0 or infinite in the type that it is used in.
void check_loss_scale(double scale, DataType type);

/// What to feed to an input that holds the scalar `name` of a weight, "" for the default.
Tensor hyper_parameter_tensor(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                              const Contributions& contributions, DataType type);
/// The same for Training::hyper_parameters, in their order.
std::vector<Tensor> hyper_parameter_tensors(const Training& training, const Optimizer& optimizer,
                                            const Contributions& contributions);

}  // namespace podium::ir
