#include "ir/passes/hyper_parameters.h"

#include <algorithm>
#include <cmath>

#include "ir/gradients/gradient.h"

namespace podium::ir {
namespace {

std::string type_suffix(DataType type) {
  std::string name(name_of(type));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

}  // namespace

OptimizerValue hyper_parameter(const ScalarSpec& scalar, const WeightValues& values) {
  const bool constant = std::all_of(scalar.reads.begin(), scalar.reads.end(), [&](std::string_view read) {
    return read.empty() || values.find(read).constant;
  });
  return {scalar.value(values), constant};
}

bool is_specific(const ScalarSpec& scalar, const WeightValues& values) {
  if (&scalar == &kLossScale) return false;
  const auto own = values.optimizer.specific.find(std::string(values.weight));
  if (own != values.optimizer.specific.end() && scalar.reads_any(own->second)) return true;
  return values.contributions.group_of(values.weight).type != GroupType::All;
}

std::string hyper_parameter_input(const ScalarSpec& scalar, std::string_view weight, DataType type) {
  if (&scalar == &kLossScale) return fmt::format("{}_{}", scalar.name, type_suffix(type));
  if (!weight.empty()) return fmt::format("{}___specific___{}", scalar.name, weight);
  return fmt::format("{}___default___{}", scalar.name, type_suffix(type));
}

void check_loss_scale(double scale, DataType type) {
  const double held = filled(type, {}, scale).to_number();
  if (held != 0 && std::isfinite(held)) return;
  throw Error(
      "loss scaling is {}, which is {} in {}, the type of the loss; a finite number other than 0 needed",
      scale, held, name_of(type));
}

Tensor hyper_parameter_tensor(const ScalarSpec& scalar, const WeightValues& values, DataType type) {
  const double value = hyper_parameter(scalar, values).value;
  if (&scalar == &kLossScale) check_loss_scale(value, type);
  return filled(type, {}, value);
}

std::vector<Tensor> hyper_parameter_tensors(const Training& training, const Optimizer& optimizer,
                                            const Contributions& contributions) {
  const Graph& graph = training.graph;
  std::vector<Tensor> tensors;
  for (const HyperParameter& one : training.hyper_parameters) {
    const std::string_view weight = one.weight.valid() ? std::string_view(graph[one.weight].name) : "";
    tensors.push_back(
        hyper_parameter_tensor(*one.row, {optimizer, weight, contributions}, graph[one.value].type.element));
  }
  return tensors;
}

}  // namespace podium::ir
