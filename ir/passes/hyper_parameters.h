// The scalars that update equations read: combinations of an optimizer's values, under PopART's names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/optimizer.h"
#include "ir/training.h"

namespace podium::ir {

/// How many gradients make an update, and how they are combined (semantics, section 5.2).
struct Contributions {
  int accumulation = 1;  ///< micro-batches
  int replicas = 1;
  GradientReduction reduction = GradientReduction::Sum;
  int slices = 1;  ///< of a micro-batch, each with a share of its gradient

  /// Whether gradients add up before an update.
  bool accumulates() const { return accumulation * slices > 1; }
};

/// The scalar `name` ("scaledLearningRate0") of a weight; constant where all values that it combines are.
OptimizerValue hyper_parameter(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                               const Contributions& contributions);

/// The input that feeds it: "scaledLearningRate0___default___FLOAT", or "scaledLearningRate0___specific___w"
/// where the weight has values of its own.
std::string hyper_parameter_input(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                                  DataType type);

/// What to feed to Training::hyper_parameters, in their order, for values that have changed.
std::vector<Tensor> hyper_parameter_tensors(const Training& training, const Optimizer& optimizer,
                                            const Contributions& contributions);

}  // namespace podium::ir
