// The scalars that update equations read, as numbers and as inputs of a graph that trains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/optimizer_spec.h"
#include "ir/training.h"

namespace podium::ir {

/// The scalar of a weight; constant where all values that it combines are.
OptimizerValue hyper_parameter(const ScalarSpec& scalar, const WeightValues& values);

/// Whether the scalar is the weight's own: the weight has values of its own, or is shared by a group of
/// replicas.
bool is_specific(const ScalarSpec& scalar, const WeightValues& values);
/// PopART's name of the input that feeds it: "scaledLearningRate0___default___FLOAT", or with the name of a
/// weight "scaledLearningRate0___specific___w".
std::string hyper_parameter_input(const ScalarSpec& scalar, std::string_view weight, DataType type);

/// Error for a loss scale that is 0 or infinite in the type that it is used in.
void check_loss_scale(double scale, DataType type);

/// What to feed to an input that holds the scalar of a weight; of none for a default.
Tensor hyper_parameter_tensor(const ScalarSpec& scalar, const WeightValues& values, DataType type);
/// The same for Training::hyper_parameters, in their order.
std::vector<Tensor> hyper_parameter_tensors(const Training& training, const Optimizer& optimizer,
                                            const Contributions& contributions);

}  // namespace podium::ir
