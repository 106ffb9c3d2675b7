#include "tests/support/gradients.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/session/session.h"
#include "ir/builder.h"
#include "ir/passes/differentiate.h"
#include "ir/passes/expand_gradients.h"
#include "tests/support/run_text.h"

namespace podium::testing {

double weight(std::int64_t i) { return std::cos(1.7 * static_cast<double>(i)) + 0.3; }

ir::Tensor numbers(ir::Dims dims, double phase) {
  ir::Tensor result(ir::DataType::Double, std::move(dims));
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.data<double>()[i] = 1 + 0.7 * std::sin(2.3 * static_cast<double>(i) + phase);
  }
  return result;
}

namespace {

double weighted_sum(const ir::Tensor& y) {
  double sum = 0;
  for (std::int64_t i = 0; i < y.size(); ++i) sum += weight(i) * y.data<double>()[i];
  return sum;
}

importer::Model import(const std::string& text, const Tensors& inputs) {
  importer::ImportOptions options;
  const ir::Graph declared = importer::import_text(model_text(text)).graph;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    options.input_types[declared[declared.inputs[i]].name] = type_of(inputs[i]);
  }
  return importer::import_text(model_text(text), options);
}

bool is_variable(const ir::Datum& input) { return input.tensor.type() == ir::DataType::Double; }

}  // namespace

Tensors gradients(const std::string& text, const Tensors& inputs) {
  importer::Model model = import(text, inputs);
  ir::Graph& graph = model.graph;
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(graph, options);
  ir::expand_gradients(graph, options);
  ir::Builder builder(graph);
  const ir::Type type = graph[graph.outputs[0]].type;
  ir::Tensor weights(type.element, type.dims);
  for (std::int64_t i = 0; i < weights.size(); ++i) weights.data<double>()[i] = weight(i);
  const ir::ValueId y = builder.op("Mul", {graph.outputs[0], builder.constant(weights)});
  std::vector<ir::ValueId> xs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_variable(inputs[i])) xs.push_back(graph.inputs[i]);
  }
  graph.outputs = ir::differentiate(graph, y, xs);
  InferenceSession session(std::move(model));
  Tensors copies;
  for (const ir::Datum& result : session.run(inputs)) copies.emplace_back(result.tensor.clone());
  return copies;
}

void expect_gradients_of_differences(const std::string& text, const Tensors& inputs) {
  const Tensors found = gradients(text, inputs);
  InferenceSession forward(import(text, inputs));
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_variable(inputs[i])) continue;
    const ir::Tensor& gradient = found[next++].tensor;
    ASSERT_EQ(gradient.dims(), inputs[i].tensor.dims()) << text;
    for (std::int64_t k = 0; k < gradient.size(); ++k) {
      const auto moved = [&](double by) {
        Tensors changed = inputs;
        changed[i] = inputs[i].tensor.clone();
        changed[i].tensor.data<double>()[k] += by;
        return weighted_sum(forward.run(changed)[0].tensor);
      };
      constexpr double kStep = 1e-5;
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(gradient.data<double>()[k], expected, 1e-6 * (1 + std::fabs(expected)))
          << text << " input " << i << " element " << k;
    }
  }
}

}  // namespace podium::testing
