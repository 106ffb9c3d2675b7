// An update with variables off chip goes weight by weight: the chip holds the variables of one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "executor/lower/draft/cut_update.h"
#include "executor/sim/memory_use.h"
#include "ir/passes/make_training.h"
#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/placed_text.h"
#include "tests/executor/lower/trained.h"
#include "tests/support/hand_trained.h"
#include "tests/support/locations.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using executor::Role;
using testing::on_one_processor;
using testing::steps_of_kind;
using testing::train;
using testing::TrainedState;

constexpr int kLayers = 5;
constexpr int kWidth = 16;
constexpr std::int64_t kWeightBytes = 4 * kWidth * kWidth;

struct Sketch {
  std::string_view optimizer = "Adam";
  int accumulation = 1;
  int replicas = 1;
  bool clips = false;
};

// Layers of one size: h = h * w, and the loss is the sum of the last h squared.
ir::Training perceptron(const Sketch& sketch) {
  std::string inputs = fmt::format("float[2,{0}] x", kWidth);
  std::string ops;
  std::string last = "x";
  ir::TrainingRequest request{
      .loss = "loss", .contributions = {.accumulation = sketch.accumulation, .replicas = sketch.replicas}};
  std::vector<ir::Tensor> initial;
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string weight = fmt::format("w{}", layer);
    inputs += fmt::format(", float[{0},{0}] {1}", kWidth, weight);
    ops += fmt::format("  h{} = MatMul ({}, {})\n", layer, last, weight);
    last = fmt::format("h{}", layer);
    std::vector<float> numbers(static_cast<std::size_t>(kWidth * kWidth));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = 0.05F * static_cast<float>((7 * i + 3 * static_cast<std::size_t>(layer)) % 11) - 0.2F;
    }
    initial.push_back(testing::tensor<float>({kWidth, kWidth}, numbers));
  }
  request.optimizer = ir::make_optimizer(sketch.optimizer);
  if (sketch.clips) request.optimizer.clip_norms = {{.max_norm = 1}};
  ir::Graph graph =
      testing::graph_of(fmt::format("g ({}) => (float loss) {{\n{}  squares = Mul ({}, {})\n"
                                    "  loss = ReduceSum <keepdims = 0> (squares)\n}}",
                                    inputs, ops, last, last));
  for (std::size_t layer = 0; layer < initial.size(); ++layer) {
    const ir::ValueId weight = testing::value_named(graph, fmt::format("w{}", layer));
    request.weights.push_back({.value = weight, .initial = initial[layer]});
  }
  return ir::make_training(std::move(graph), request);
}

Strategy options_of(const Sketch& sketch) {
  Strategy strategy;
  strategy.accumulation_factor = sketch.accumulation;
  strategy.replicas = sketch.replicas;
  return strategy;
}

Strategy off_chip(const Sketch& sketch) {
  Strategy strategy = options_of(sketch);
  testing::put_variables_off_chip(strategy);
  return strategy;
}

Strategy state_off_chip(const Sketch& sketch) {
  Strategy strategy = options_of(sketch);
  testing::put_off_chip(strategy.optimizer_state);
  return strategy;
}

// The most bytes that the top level of the steps has of a role on the chip at once. Scalars never leave it
// and do not count.
std::int64_t most_on_chip(const executor::Program& program, Role role) {
  const auto counts = [&](const auto& one) {
    return one.role == role && one.memory == executor::Memory::Compute;
  };
  for (const executor::Buffer& buffer : program.buffers) {
    const bool stays = buffer.always_live && counts(buffer);
    EXPECT_TRUE(!stays || buffer.type.dims.empty()) << buffer.name;
  }
  sim::LiveBuffers live(program);
  std::int64_t bytes = 0;
  std::int64_t most = 0;
  for (const executor::Step& step : program.steps) {
    for (const sim::MemoryChange& change : live.start(step, 0)) bytes += counts(change) ? change.bytes : 0;
    most = std::max(most, bytes);
    for (const sim::MemoryChange& change : live.end(step)) bytes += counts(change) ? change.bytes : 0;
  }
  EXPECT_EQ(bytes, 0);
  return most;
}

// Two weights and what becomes of them; the step of both is made of one norm.
constexpr const char* kTwoUpdates =
    R"(g (float[2] w, float[2] v, float[2] g) => (float[2] w_next, float[2] v_next) {
    norm = ReduceSumSquare <__execution_context = 1> (g)
    w_step = Mul <__execution_context = 1> (w, norm)
    v_step = Mul <__execution_context = 1> (v, norm)
    w_next = Sub <__execution_context = 1> (w, w_step)
    v_next = Sub <__execution_context = 1> (v, v_step)
  })";

// What each op makes and its section, counting those that are not empty.
std::string sections(const ir::TensorLocation& location) {
  testing::HandTrained written{.graph = testing::graph_of(kTwoUpdates)};
  const ir::Tensor zeros = testing::tensor<float>({2}, {0, 0});
  written.variables = {{"w", ir::VariableKind::Weight, zeros}, {"v", ir::VariableKind::Weight, zeros}};
  written.updates = {{"w", 0, true}, {"v", 1, true}};
  const PlacedGraph placed = testing::placed_graph(std::move(written));
  const Variables variables(placed, {{"w", location}, {"v", location}}, {});
  const UpdateSections cut = cut_update(placed, variables);
  std::set<int> used;  // some sections are empty
  for (ir::OpId id : placed.graph().op_ids()) used.insert(cut.of_op[id]);
  std::string lines;
  for (ir::OpId id : placed.graph().op_ids()) {
    lines += fmt::format("{} {}\n", placed.graph()[placed.graph()[id].outputs[0]].name,
                         std::distance(used.begin(), used.find(cut.of_op[id])));
  }
  return lines;
}

TEST(CutUpdate, GivesEachWeightOffChipASectionBehindWhatAllNeed) {
  EXPECT_EQ(sections({.storage = ir::Storage::OffChip}), "norm 0\nw_step 1\nv_step 2\nw_next 1\nv_next 2\n");
  EXPECT_EQ(sections({}), "norm 0\nw_step 0\nv_step 0\nw_next 0\nv_next 0\n");
}

TEST(CutUpdate, TheChipHoldsTheStateOfOneWeight) {
  for (const int accumulation : {1, 3}) {
    const Sketch sketch{.accumulation = accumulation};
    const ir::Training training = perceptron(sketch);
    const ir::Placement placement = on_one_processor(training);
    const executor::Program program = lower(training, placement, state_off_chip(sketch));
    EXPECT_EQ(most_on_chip(program, Role::OptimizerState), 2 * kWeightBytes);
    const TrainedState streamed = train(program);
    const TrainedState on_chip = train(training, placement, options_of(sketch));
    EXPECT_EQ(streamed, on_chip);
    EXPECT_LE(streamed.peaks[0], on_chip.peaks[0] - (kLayers - 1) * 2 * kWeightBytes);
  }
}

// In one phase, with a schedule that loads and stores while it computes.
TEST(CutUpdate, APhaseHoldsTheStateOfOneWeight) {
  for (const int accumulation : {1, 3}) {
    const Sketch sketch{.accumulation = accumulation};
    const ir::Training training = perceptron(sketch);
    ir::Placement placement = on_one_processor(training);
    placement.phases = 3;
    for (ir::OpPlacement& op : placement.ops) op.phase = 1;
    Strategy strategy = state_off_chip(sketch);
    strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
    strategy.phases.phases = 2;
    strategy.phases.stages = 1;
    const executor::Program program = lower(training, placement, strategy);
    EXPECT_EQ(most_on_chip(program, Role::OptimizerState), 2 * kWeightBytes);
    EXPECT_EQ(train(program), train(training, on_one_processor(training), options_of(sketch)));
    strategy.phases.schedule = PhaseSchedule::Batch;
    EXPECT_EQ(most_on_chip(lower(training, placement, strategy), Role::OptimizerState),
              kLayers * 2 * kWeightBytes);
  }
}

TEST(CutUpdate, AccumulatorsMeetAndAreClippedAndResetOneByOne) {
  const Sketch sketch{.accumulation = 3, .replicas = 2, .clips = true};
  const executor::Program program =
      lower(perceptron(sketch), on_one_processor(perceptron(sketch)), off_chip(sketch));
  EXPECT_EQ(most_on_chip(program, Role::Accumulator), kWeightBytes);
}

// What replicas compute of their parts is gathered before the next weight's turn.
TEST(CutUpdate, PartsAreGatheredOneByOne) {
  const Sketch sketch{.accumulation = 3, .replicas = 2};
  const ir::Training training = perceptron(sketch);
  const ir::Placement placement = on_one_processor(training);
  Strategy strategy = options_of(sketch);
  strategy.optimizer_state.location.sharded = true;
  strategy.optimizer_state.min_elements_for_sharding = 1;
  const executor::Program program = lower(training, placement, strategy);
  EXPECT_LE(most_on_chip(program, Role::Activation), 4 * kWeightBytes);
  EXPECT_EQ(train(program), train(training, placement, options_of(sketch)));
}

TEST(CutUpdate, IsOneBlockWithEverythingOnTheChip) {
  const ir::Training training = perceptron({});
  const executor::Program program = lower(training, on_one_processor(training), {});
  EXPECT_EQ(steps_of_kind<executor::Compute>(program.steps).size(), 2U);
}

TEST(CutUpdate, TrainsAsOneBlockDoes) {
  for (const std::string_view kind : {"SGD", "Adam", "LAMB"}) {
    for (const int accumulation : {1, 3}) {
      for (const int replicas : {1, 2}) {
        for (const bool clips : {false, true}) {
          const Sketch sketch{kind, accumulation, replicas, clips};
          SCOPED_TRACE(::testing::Message() << kind << ", " << accumulation << " micro-batches, " << replicas
                                            << " replicas, clips " << clips);
          const ir::Training training = perceptron(sketch);
          const ir::Placement placement = on_one_processor(training);
          EXPECT_EQ(train(training, placement, off_chip(sketch)),
                    train(training, placement, options_of(sketch)));
        }
      }
    }
  }
}

// Each reads what the other one was before.
TEST(CutUpdate, WeightsThatNeedEachOtherStayTogether) {
  const ir::Training training = testing::as_training(
      {.graph = testing::graph_of(R"(g (float[3] x, float[3] v, float[3] w) =>
    (float[3] y, float[3] v_next, float[3] w_next) {
    y = Mul (x, v)
    v_next = Add <__execution_context = 1> (v, w)
    w_next = Sub <__execution_context = 1> (w, v)
  })"),
       .variables = {{"v", ir::VariableKind::Weight, testing::tensor<float>({3}, {1, 2, 3})},
                     {"w", ir::VariableKind::Weight, testing::tensor<float>({3}, {0.5F, 0, 2})}},
       .updates = {{"v", 1, true}, {"w", 2, true}}});
  const ir::Placement placement = on_one_processor(training);
  EXPECT_EQ(train(training, placement, off_chip({})), train(training, placement, {}));
}

}  // namespace
}  // namespace podium::lower
