#include "tests/support/gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "executor/session/session.h"
#include "ir/builder.h"
#include "ir/gradients/differentiate.h"
#include "ir/gradients/expand_gradients.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

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
  const ir::Graph declared = model_of(text).graph;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    options.input_types[declared[declared.inputs[i]].name] = type_of(inputs[i]);
  }
  return importer::import_text(model_text(text), options);
}

std::map<const ir::OpSpec*, CheckedRow>& rows() {
  static std::map<const ir::OpSpec*, CheckedRow> all;
  return all;
}

void note_op(const ir::Op& op, const ir::IdMap<ir::ValueId, bool>& depends) {
  CheckedRow& row = rows()[op.spec];
  for (std::size_t i = 0; i < op.formal_inputs(); ++i) {
    const bool is_wanted = op.inputs[i].valid() && depends[op.inputs[i]];
    if (is_wanted) row.inputs.insert(std::min(i, op.spec->inputs.size() - 1));
  }
  for (const ir::Attribute& attribute : op.attributes) {
    const ir::AttributeSpec* spec = op.spec->find_attribute(attribute.name);
    const bool is_default =
        spec != nullptr && spec->fallback && to_string(*spec->fallback) == to_string(attribute.value);
    if (!is_default) row.attributes.insert(std::string(attribute.name.text()));
  }
}

bool is_variable(const ir::Datum& input) { return input.tensor.type() == ir::DataType::Double; }

}  // namespace

const std::map<const ir::OpSpec*, CheckedRow>& checked_rows() { return rows(); }

void note_checked(const ir::Graph& graph, std::span<const ir::ValueId> xs) {
  const ir::IdMap<ir::ValueId, bool> depends = ir::dependents(graph, xs);
  ir::IdMap<ir::ValueId, bool> leads_to_output(std::ssize(graph.values), false);
  for (ir::ValueId id : graph.outputs) leads_to_output[id] = true;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    const auto leads = [&](ir::ValueId id) { return id.valid() && leads_to_output[id]; };
    if (std::none_of(op->outputs.begin(), op->outputs.end(), leads)) continue;
    for (ir::ValueId id : inputs_of(*op)) leads_to_output[id] = true;
    const bool is_checked = std::any_of(op->outputs.begin(), op->outputs.end(),
                                        [&](ir::ValueId id) { return leads(id) && depends[id]; });
    if (is_checked) note_op(*op, depends);
  }
}

namespace {

importer::Model inferred(const std::string& text, const Tensors& inputs) {
  importer::Model model = import(text, inputs);
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(model.graph, options);
  ir::expand_gradients(model.graph, options);
  return model;
}

std::vector<ir::ValueId> variables(const ir::Graph& graph, const Tensors& inputs) {
  std::vector<ir::ValueId> xs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_variable(inputs[i])) xs.push_back(graph.inputs[i]);
  }
  return xs;
}

ir::Dims dims_of_result(const std::string& text, const Tensors& inputs) {
  return InferenceSession(import(text, inputs)).run(inputs)[0].tensor.dims();
}

}  // namespace

void note_compared(const std::string& text, const Tensors& inputs) {
  const ir::Graph graph = inferred(text, inputs).graph;
  std::vector<ir::ValueId> xs;
  for (ir::ValueId id : graph.inputs) {
    if (is_float(graph[id].type.element)) xs.push_back(id);
  }
  note_checked(graph, xs);
}

Tensors gradients(const std::string& text, const Tensors& inputs) {
  importer::Model model = inferred(text, inputs);
  ir::Graph& graph = model.graph;
  ir::Builder builder(graph);
  const ir::Type type = graph[graph.outputs[0]].type;
  const bool is_known = type.is_static();
  ir::Tensor weights(type.element, is_known ? type.dims : dims_of_result(text, inputs));
  for (std::int64_t i = 0; i < weights.size(); ++i) weights.data<double>()[i] = weight(i);
  const ir::ValueId y = builder.op("Mul", {graph.outputs[0], builder.constant(weights)});
  graph.outputs = ir::differentiate(graph, y, variables(graph, inputs));
  InferenceSession session(std::move(model));
  Tensors copies;
  for (const ir::Datum& result : session.run(inputs)) copies.emplace_back(result.tensor.clone());
  return copies;
}

void expect_gradients_of_differences(const std::string& text, const Tensors& inputs) {
  const Tensors found = gradients(text, inputs);
  note_compared(text, inputs);
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
