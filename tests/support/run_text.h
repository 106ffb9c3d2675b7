// Runs a graph given as ONNX text, the whole way: import, infer, lower, prepare, run.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "ir/datum.h"
#include "ir/graph.h"

namespace podium::testing {

/// `body` is the text of the graph: `agraph (float[N] x) => (float[N] y) { y = Relu(x) }`; the model around
/// it imports ai.onnx at `opset`, ai.onnx.ml 5, com.microsoft 1 and ai.graphcore 1. Inputs are in graph order
/// and bind symbolic dimensions.
std::vector<ir::Datum> run_text(const std::string& body, const std::vector<ir::Datum>& inputs,
                                int opset = 28);

/// Runs a graph that a Builder made: for what text cannot say, such as an input left out.
std::vector<ir::Datum> run_graph(ir::Graph graph, const std::vector<ir::Datum>& inputs);

/// The text of a whole model around a graph's text.
std::string model_text(const std::string& body, int opset = 28);

/// {1, 2, 3} and {3} as a tensor.
template <class T>
ir::Tensor tensor(ir::Dims dims, const std::vector<T>& values) {
  return ir::Tensor::of<T>(std::move(dims), values);
}

/// All of them along one axis.
template <class T>
ir::Tensor list(const std::vector<T>& numbers) {
  return tensor<T>({std::ssize(numbers)}, numbers);
}

/// What an error says when the graph is run; "" when it runs.
std::string error_of(const std::string& body, const std::vector<ir::Datum>& inputs);

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The elements of a tensor result, for comparing.
template <class T>
std::vector<T> values(const ir::Datum& datum) {
  const auto span = datum.tensor.values<T>();
  return {span.begin(), span.end()};
}

}  // namespace podium::testing
