#include "tests/support/layered.h"

#include <cmath>

#include "executor/lower/lower.h"

namespace podium::testing {
namespace {

// Marks the ops added since the last call as those of the next layer.
void end_layer(Sketch& sketch, Layered& model) {
  model.layer_of_op.resize(sketch.graph.ops.size(), model.layers++);
}

}  // namespace

ir::Placement Layered::in_phases(int processors) const {
  ir::Placement placement;
  placement.processors = processors;
  placement.phases = layers;
  for (int layer : layer_of_op) placement.ops.push_back({.processor = layer % processors, .phase = layer});
  return placement;
}

Layered mlp(int layers, int batch) {
  constexpr int kWidth = 37;
  Layered model;
  Sketch sketch;
  ir::ValueId x = sketch.input({batch, kWidth});
  ir::ValueId first;
  for (int i = 0; i < layers; ++i) {
    x = sketch.op("MatMul", {x, sketch.weight({kWidth, kWidth}, 0.3F)});
    x = sketch.op("Relu", {sketch.op("Add", {x, sketch.weight({kWidth})})});
    if (i == 0) first = x;
    if (i + 1 == layers) x = sketch.op("Add", {x, first});
    end_layer(sketch, model);
  }
  sketch.output(x);
  model.graph = std::move(sketch.graph);
  return model;
}

Layered cnn(int batch) {
  const ir::Attribute same{"pads", std::vector<std::int64_t>{1, 1, 1, 1}};
  Layered model;
  Sketch sketch;
  ir::ValueId x = sketch.op(
      "Relu", {sketch.op("Conv", {sketch.input({batch, 3, 8, 8}), sketch.weight({5, 3, 3, 3})}, {same})});
  const ir::ValueId first = x;
  end_layer(sketch, model);
  for (int i = 0; i < 3; ++i) {
    x = sketch.op("Conv", {x, sketch.weight({5, 5, 3, 3}, 0.3F), sketch.weight({5})}, {same});
    if (i == 2) x = sketch.op("Add", {x, first});
    x = sketch.op("Relu", {x});
    end_layer(sketch, model);
  }
  const ir::ValueId mean = sketch.op("Flatten", {sketch.op("GlobalAveragePool", {x})});
  sketch.output(sketch.op("MatMul", {mean, sketch.weight({5, 7})}));
  end_layer(sketch, model);
  model.graph = std::move(sketch.graph);
  return model;
}

std::vector<ir::Tensor> run_on_random(numeric::Engine& engine) {
  const executor::Program& program = engine.program();
  std::vector<ir::Datum> inputs;
  int seed = 1000;
  for (const executor::HostTensor& input : program.inputs) {
    ir::Dims dims = whole_type(input).dims;
    const int micro_batches = input.micro_batches * (input.broadcast ? 1 : program.replicas);
    // One micro-batch of one replica is taken as it is.
    if (micro_batches > 1) dims.insert(dims.begin(), micro_batches);
    inputs.emplace_back(random_floats(dims, seed++));
  }
  std::vector<ir::Tensor> outputs;
  for (const ir::Datum& output : engine.run(inputs)) outputs.push_back(output.tensor.clone());
  return outputs;
}

std::vector<ir::Tensor> run_on_random(const executor::Program& program) {
  numeric::Engine engine(program, {.threads = 1});
  return run_on_random(engine);
}

std::vector<ir::Tensor> run_on_one_processor(const ir::Graph& graph, const Strategy& like) {
  ir::Placement placement;
  placement.ops.resize(graph.ops.size());
  Strategy strategy;
  strategy.batches_per_step = like.batches_per_step;
  strategy.replicas = like.replicas;
  return run_on_random(lower::lower(graph, placement, strategy));
}

void expect_near(const std::vector<ir::Tensor>& found, const std::vector<ir::Tensor>& wanted,
                 double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].dims(), wanted[i].dims());
    const auto numbers = found[i].values<float>();
    const auto expected = wanted[i].values<float>();
    double worst = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      ASSERT_TRUE(std::isfinite(numbers[k]) && std::isfinite(expected[k]))
          << "output " << i << ", element " << k;
      const double size = std::max(1.0, std::abs(static_cast<double>(expected[k])));
      worst = std::max(worst, std::abs(static_cast<double>(numbers[k]) - expected[k]) / size);
    }
    EXPECT_LE(worst, tolerance) << "output " << i;
  }
}

void expect_same_numbers(const Layered& model, const Strategy& strategy, int processors) {
  expect_near(run_on_random(lower::lower(model.graph, model.in_phases(processors), strategy)),
              run_on_one_processor(model.graph, strategy));
}

}  // namespace podium::testing
