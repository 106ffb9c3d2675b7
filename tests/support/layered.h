// Models of layers that stand one behind the other, with the layer of every op: for strategies that place
// layers.
#pragma once

#include <vector>

#include "executor/numeric/engine.h"
#include "executor/program.h"
#include "executor/strategy.h"
#include "ir/placement.h"
#include "tests/support/fusing.h"

namespace podium::testing {

struct Layered {
  ir::Graph graph;
  std::vector<int> layer_of_op;
  int layers = 0;

  /// Layer i in phase i, on processor i % processors.
  ir::Placement in_phases(int processors) const;
};

/// `layers` products of width 37, which no number of replicas divides, each with a bias and a Relu; the last
/// one adds what the first one made.
Layered mlp(int layers, int batch);
/// Four convolutions, the last with a residual over three layers, then a mean over the image and a product.
Layered cnn(int batch);

/// The outputs of a run on random inputs, the same ones for all Programs of one model and one number of
/// micro-batches.
std::vector<ir::Tensor> run_on_random(numeric::Engine& engine);
std::vector<ir::Tensor> run_on_random(const executor::Program& program);

/// The outputs of the model on one processor, with the same replicas and batches per step.
std::vector<ir::Tensor> run_on_one_processor(const ir::Graph& graph, const Strategy& like);

/// Shapes equal, numbers within `tolerance` of the larger of 1 and their size.
void expect_near(const std::vector<ir::Tensor>& found, const std::vector<ir::Tensor>& wanted,
                 double tolerance = 1e-5);

/// The model in phases on these processors against one processor, on random inputs.
void expect_same_numbers(const Layered& model, const Strategy& strategy, int processors);

}  // namespace podium::testing
