// Graphs that train, written by hand: y = x * w, the loss is the sum of y, so the gradient of w is the sum of
// x.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using ::testing::ElementsAre;
using testing::list;
using ::testing::Pair;
using testing::tensor;
using testing::values;

// w -= rate * gradient after every micro-batch.
ir::Training without_accumulation() {
  return testing::as_training(
      {.graph = testing::graph_of(R"(g (float[2] x, float[2] w, float rate) => (float[2] y, float[2] w_next) {
            y = Mul (x, w)
            step = Mul <__execution_context = 1> (rate, x)
            w_next = Sub <__execution_context = 1> (w, step)
          })"),
       .variables = {{"w", ir::VariableKind::Weight, list<float>({10, 20})}},
       .updates = {{"w", 1, true}},
       .reduced = {},
       .hyper_parameters = {"rate"}});
}

// The same with an accumulator; gradients meet over the replicas.
ir::Training with_accumulation() {
  return testing::as_training(
      {.graph = testing::graph_of(R"(g (float[2] x, float[2] w, float[2] sum, float rate)
              => (float[2] y, float[2] sum_next, float[2] w_next, float[2] zero) <float[2] zero = {0, 0}> {
            y = Mul (x, w)
            sum_next = Add (sum, x)
            step = Mul <__execution_context = 1> (rate, sum)
            w_next = Sub <__execution_context = 1> (w, step)
          })"),
       .variables = {{"w", ir::VariableKind::Weight, list<float>({10, 20})},
                     {"sum", ir::VariableKind::Accumulator, list<float>({0, 0}), "w"}},
       .updates = {{"sum", 1}, {"w", 2, true}, {"sum", 3, true}},
       .reduced = {"sum"},
       .hyper_parameters = {"rate"}});
}

ir::Placement on_one(const ir::Training& training) {
  return {.ops = std::vector<ir::OpPlacement>(training.graph.ops.size())};
}

struct Trained {
  std::vector<float> y;
  std::vector<float> w;
};

// One run, or several on the same data.
Trained train(const ir::Training& training, const ir::Placement& placement, const Strategy& strategy,
              const ir::Tensor& x, int runs = 1) {
  executor::Program program = lower(training, placement, strategy);
  const auto named_w = [](const executor::Buffer& buffer) { return buffer.persistent && buffer.name == "w"; };
  const auto found = std::find_if(program.buffers.begin(), program.buffers.end(), named_w);
  const executor::BufferId w{static_cast<std::int32_t>(found - program.buffers.begin())};
  numeric::Engine engine(std::move(program));
  const std::vector<ir::Datum> inputs{x, ir::Tensor::scalar(0.5F)};
  Trained trained;
  for (int i = 0; i < runs; ++i) trained.y = values<float>(engine.run(inputs)[0]);
  trained.w = values<float>(engine.contents({w}));
  return trained;
}

TEST(LowerTraining, UpdatesVariablesAfterEveryBatch) {
  Strategy strategy;
  strategy.batches_per_step = 2;
  const ir::Training training = without_accumulation();
  const Trained trained = train(training, on_one(training), strategy, list<float>({1, 2, 3, 4}));
  EXPECT_THAT(trained.y, ElementsAre(10, 40, 3 * 9.5F, 4 * 19));
  EXPECT_THAT(trained.w, ElementsAre(8, 17));
}

TEST(LowerTraining, KeepsVariablesFromRunToRun) {
  const ir::Training training = without_accumulation();
  const Trained trained = train(training, on_one(training), {}, list<float>({1, 2}), 3);
  EXPECT_THAT(trained.y, ElementsAre(9, 36));
  EXPECT_THAT(trained.w, ElementsAre(8.5F, 17));
}

TEST(LowerTraining, UpdatesOnceForAllMicroBatchesOfABatch) {
  Strategy strategy;
  strategy.batches_per_step = 2;
  strategy.accumulation_factor = 2;
  const ir::Training training = with_accumulation();
  const Trained trained = train(training, on_one(training), strategy, list<float>({1, 2, 3, 4, 1, 1, 1, 1}));
  EXPECT_THAT(trained.y, ElementsAre(10, 40, 30, 80, 8, 17, 8, 17));
  EXPECT_THAT(trained.w, ElementsAre(7, 16));
}

// All that is on the device for good: 8 bytes of a weight and 8 of its accumulator, no zeros beside them.
TEST(LowerTraining, ResetsAccumulatorsWithoutATensorOfZeros) {
  Strategy strategy;
  strategy.accumulation_factor = 2;
  const ir::Training training = with_accumulation();
  std::map<executor::Role, std::int64_t> bytes;
  for (const executor::Buffer& buffer : lower(training, on_one(training), strategy).buffers) {
    if (!buffer.initial.empty()) bytes[buffer.role] += slot_bytes(buffer);
  }
  EXPECT_THAT(bytes, ElementsAre(Pair(executor::Role::Weight, 8), Pair(executor::Role::Accumulator, 8)));
}

TEST(LowerTraining, AddsUpGradientsOverReplicas) {
  Strategy strategy;
  strategy.accumulation_factor = 2;
  strategy.replicas = 2;
  const ir::Training training = with_accumulation();
  const Trained trained = train(training, on_one(training), strategy, list<float>({1, 2, 3, 4, 1, 1, 1, 1}));
  EXPECT_THAT(trained.w, ElementsAre(10 - 3, 20 - 4));
}

TEST(LowerTraining, CopiesWhatTheUpdateNeedsToItsProcessor) {
  const ir::Training training = without_accumulation();
  ir::Placement placement = on_one(training);
  placement.processors = 2;
  placement.ops[1].processor = 1;
  const Trained trained = train(training, placement, {}, list<float>({1, 2}));
  EXPECT_THAT(trained.w, ElementsAre(9.5F, 19));
}

// The second processor updates the weight, the first has a copy of it and needs it for every micro-batch.
TEST(LowerTraining, SendsAnUpdatedWeightToItsCopies) {
  const ir::Training training = without_accumulation();
  ir::Placement placement = on_one(training);
  placement.processors = 2;
  for (std::size_t i = 1; i < placement.ops.size(); ++i) placement.ops[i].processor = 1;
  EXPECT_THAT(executor::print(lower(training, placement, {})), ::testing::HasSubstr("copy w@1 -> w@0"));
  Strategy strategy;
  strategy.batches_per_step = 2;
  const Trained trained = train(training, placement, strategy, list<float>({1, 2, 3, 4}));
  EXPECT_THAT(trained.y, ElementsAre(10, 40, 3 * 9.5F, 4 * 19));
  EXPECT_THAT(trained.w, ElementsAre(8, 17));
}

// The forward stage runs two micro-batches ahead of the update: it meets the first weight three times.
TEST(LowerTraining, PipelinesWithoutAccumulationMeetOlderWeights) {
  const ir::Training training = testing::as_training(
      {.graph = testing::graph_of(R"(g (float[1] x, float[1] w, float rate) => (float[1] y, float[1] w_next) {
        a = Mul (x, w)
        y = Identity (a)
        back = Identity (x)
        step = Mul <__execution_context = 1> (rate, back)
        w_next = Sub <__execution_context = 1> (w, step)
      })"),
       .variables = {{"w", ir::VariableKind::Weight, list<float>({10})}},
       .updates = {{"w", 1, true}},
       .reduced = {},
       .hyper_parameters = {"rate"}});
  Strategy strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::Manual;
  strategy.pipelining = true;
  strategy.batches_per_step = 5;
  ir::Placement placement = on_one(training);
  placement.processors = 2;
  placement.stages = 3;
  const int stages[] = {0, 1, 2, 2, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    placement.ops[i].stage = stages[i];
    placement.ops[i].processor = stages[i] % 2;
  }
  const Trained trained = train(training, placement, strategy, list<float>({1, 1, 1, 1, 1}));
  EXPECT_THAT(trained.y, ElementsAre(10, 10, 10, 9.5F, 9));
  EXPECT_THAT(trained.w, ElementsAre(7.5F));
}

TEST(LowerTraining, PipelinesWithAccumulationRunEmptyBeforeTheUpdate) {
  Strategy strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::Manual;
  strategy.pipelining = true;
  strategy.batches_per_step = 2;
  strategy.accumulation_factor = 2;
  const ir::Training training = with_accumulation();
  ir::Placement placement = on_one(training);
  placement.processors = 2;
  placement.stages = 2;
  for (std::size_t i = 0; i < placement.ops.size(); ++i) {
    placement.ops[i].stage = i == 0 ? 0 : 1;
    placement.ops[i].processor = placement.ops[i].stage;
  }
  const auto expect_numbers = [&] {
    const Trained trained = train(training, placement, strategy, list<float>({1, 2, 3, 4, 1, 1, 1, 1}));
    EXPECT_THAT(trained.y, ElementsAre(10, 40, 30, 80, 8, 17, 8, 17));
    EXPECT_THAT(trained.w, ElementsAre(7, 16));
  };
  expect_numbers();  // the weight is on the processor of its update, the first stage has a copy
  for (std::size_t i = 2; i < placement.ops.size(); ++i) {
    placement.ops[i].stage = 0;
    placement.ops[i].processor = 0;
  }
  expect_numbers();
}

TEST(LowerTraining, RefusesAVariableThatIsUpdatedOnTwoProcessors) {
  const ir::Training training = testing::as_training(
      {.graph = testing::graph_of(R"(g (float[1] x, float[1] sum) => (float[1] next, float[1] reset) {
        next = Add (x, sum)
        reset = Sub <__execution_context = 1> (sum, sum)
      })"),
       .variables = {{"sum", ir::VariableKind::Accumulator, list<float>({0})}},
       .updates = {{"sum", 0}, {"sum", 1}},
       .reduced = {},
       .hyper_parameters = {}});
  ir::Placement placement = on_one(training);
  placement.processors = 2;
  placement.ops[1].processor = 1;
  EXPECT_EQ(
      testing::refusal([&] { lower(training, placement, {}); }),
      "variable 'sum' is updated on ipu 0 and on ipu 1: one processor that owns it is needed, others have "
      "copies");
}

}  // namespace
}  // namespace podium::lower
