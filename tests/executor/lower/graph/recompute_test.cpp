// Running forward ops again for the backward pass: the same numbers with fewer values that wait.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/lower/graph/recompute.h"
#include "ir/random_draws.h"
#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/trained.h"
#include "tests/support/hand_trained.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using testing::on_one_processor;
using testing::tensor;
using testing::train;
using testing::TrainedState;
using ::testing::UnorderedElementsAre;

constexpr int kElements = 5;

// b = f(x * w) for f with `forward`, the loss is b * b, and `backward` makes da of db.
ir::Training model(const std::string& forward, const std::string& backward) {
  const std::string text =
      "g ({t} x, {t} w, {t} sum, float rate) => ({t} y, {t} sum_next, {t} w_next, {t} zero) "
      "<{t} zero = {0, 0, 0, 0, 0}, float one = {1}, float half = {0.5}, bool yes = {1}> {" +
      forward + R"(
    y = Mul (b, b)
    db = Add (b, b)
)" + backward +
      R"(
    dw = Mul (da, x)
    sum_next = Add (sum, dw)
    step = Mul <__execution_context = 1> (rate, sum)
    w_next = Sub <__execution_context = 1> (w, step)
  })";
  std::string typed = text;
  for (std::size_t i = 0; (i = typed.find("{t}")) != std::string::npos;) {
    typed.replace(i, 3, fmt::format("float[{}]", kElements));
  }
  const std::vector<float> numbers{0.3F, -0.2F, 0.5F, 0.1F, 0.7F};
  return testing::as_training(
      {.graph = testing::graph_of(typed),
       .variables = {{"w", ir::VariableKind::Weight, tensor<float>({kElements}, numbers)},
                     {"sum", ir::VariableKind::Accumulator, tensor<float>({kElements}, {0, 0, 0, 0, 0}),
                      "w"}},
       .updates = {{"sum", 1}, {"w", 2, true}, {"sum", 3, true}},
       .reduced = {"sum"},
       .hyper_parameters = {"rate"}});
}

ir::Training tanh_model() {
  return model("a = Mul (x, w) b = Tanh (a)", "t = Mul (b, b) u = Sub (one, t) da = Mul (db, u)");
}

// Stage 0 makes b, stage 1 the loss, stage 2 the gradients, on the processor of stage 0.
ir::Placement in_three_stages(const ir::Training& training) {
  ir::Placement placement = on_one_processor(training);
  placement.processors = 2;
  placement.stages = 3;
  bool before_loss = true;
  for (std::size_t i = 0; i < placement.ops.size(); ++i) {
    const std::string& name = training.graph[training.graph.ops[i].outputs[0]].name;
    const bool at_loss = name == "y" || name == "db";
    if (at_loss) before_loss = false;
    const int stage = before_loss ? 0 : at_loss ? 1 : 2;
    placement.ops[i].stage = stage;
    placement.ops[i].processor = stage % 2;
  }
  return placement;
}

Strategy pipelined_options(Recomputation recomputation) {
  Strategy strategy;
  strategy.pipelining = true;
  strategy.accumulation_factor = 5;
  strategy.batches_per_step = 2;
  strategy.recomputation = recomputation;
  return strategy;
}

std::vector<std::string> stashes(const executor::Program& program) {
  std::vector<std::string> names;
  for (const executor::Buffer& buffer : program.buffers) {
    if (buffer.role == executor::Role::Stash && buffer.processor == 0) names.push_back(buffer.name);
  }
  return names;
}

std::vector<std::string> kept(Recomputation recomputation) {
  const ir::Training training = tanh_model();
  std::vector<std::string> names;
  for (ir::ValueId id :
       kept_for_backward({training, in_three_stages(training)}, pipelined_options(recomputation))) {
    names.push_back(training.graph[id].name);
  }
  return names;
}

TEST(KeptForBackward, IsWhatTheBackwardPassReadsAndDoesNotMakeAgain) {
  EXPECT_THAT(kept(Recomputation::None), UnorderedElementsAre("b"));
  EXPECT_THAT(kept(Recomputation::Pipeline), UnorderedElementsAre());  // from x and w
}

TEST(Recompute, LeavesOnlyTheInputsOfTheStageToWait) {
  const ir::Training training = tanh_model();
  const ir::Placement placement = in_three_stages(training);
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::None))),
              UnorderedElementsAre("x", "b"));
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::Pipeline))),
              UnorderedElementsAre("x"));
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::RecomputeAll))),
              UnorderedElementsAre("x"));
}

TEST(Recompute, GivesTheSameNumbersAndNeedsLessMemory) {
  const ir::Training training = tanh_model();
  Strategy one = pipelined_options(Recomputation::None);
  one.pipelining = false;
  const TrainedState alone = train(training, on_one_processor(training), one);
  const ir::Placement placement = in_three_stages(training);
  const TrainedState kept = train(training, placement, pipelined_options(Recomputation::None));
  EXPECT_EQ(kept, alone);
  for (const Recomputation choice : {Recomputation::Standard, Recomputation::NormOnly,
                                     Recomputation::Pipeline, Recomputation::RecomputeAll}) {
    const TrainedState again = train(training, placement, pipelined_options(choice));
    EXPECT_EQ(again, alone);
    if (choice == Recomputation::Pipeline) {
      EXPECT_LT(again.peaks[0], kept.peaks[0]);
    }
  }
}

TEST(Recompute, AnnotationsComeBeforeTheOption) {
  const ir::Training training = tanh_model();
  ir::Placement placement = in_three_stages(training);
  placement.ops[1].recompute = ir::Recompute::Checkpoint;  // b
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::Pipeline))),
              UnorderedElementsAre("x", "b"));
  placement.ops[1].recompute = ir::Recompute::Recompute;
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::None))),
              UnorderedElementsAre("a", "x"));
}

ir::Training model_that_drops() {
  return model("a = Mul (x, w) d, mask = Dropout (a, half, yes) b = Tanh (d)",
               "t = Mul (b, b) u = Sub (one, t) v = Mul (db, u) m = Cast <to = 1> (mask) "
               "da = Mul (v, m)");
}

TEST(Recompute, DrawsAgainWhatAStreamSays) {
  ir::Training training = model_that_drops();
  for (ir::Op& op : training.graph.ops) {
    if (op.spec->random) ir::set_stream(op, 0);
  }
  const ir::Placement placement = in_three_stages(training);
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::Pipeline))),
              UnorderedElementsAre("x"));
  const TrainedState kept = train(training, placement, pipelined_options(Recomputation::None));
  EXPECT_EQ(train(training, placement, pipelined_options(Recomputation::Pipeline)), kept);
}

TEST(Recompute, KeepsWhatIsRandomWithoutAStream) {
  const ir::Training training = model_that_drops();
  const ir::Placement placement = in_three_stages(training);
  const ir::IdMap<ir::OpId, bool> again =
      ops_to_recompute({training, placement}, pipelined_options(Recomputation::Pipeline));
  EXPECT_EQ(std::count(again.begin(), again.end(), true), 2);
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::Pipeline))),
              UnorderedElementsAre("d", "mask", "x"));
}

TEST(Recompute, NormOnlyRunsNormalizationsAgain) {
  const ir::Training training = model("a = Mul (x, w) b = LpNormalization <axis = 0> (a)",
                                      "t = Mul (b, b) u = Sub (one, t) da = Mul (db, u)");
  const ir::Placement placement = in_three_stages(training);
  const ir::IdMap<ir::OpId, bool> again =
      ops_to_recompute({training, placement}, pipelined_options(Recomputation::NormOnly));
  EXPECT_FALSE(again[ir::OpId{0}]);
  EXPECT_TRUE(again[ir::OpId{1}]);
}

TEST(Recompute, WhatWeightsAloneMakeIsNoStash) {
  const ir::Training training =
      model("v = Tanh (w) a = Mul (x, v) b = Mul (a, v)", "t = Mul (v, v) da = Mul (db, t)");
  ir::Placement placement = in_three_stages(training);
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::None))),
              UnorderedElementsAre("x"));
  Strategy one = pipelined_options(Recomputation::None);
  one.pipelining = false;
  EXPECT_EQ(train(training, placement, pipelined_options(Recomputation::None)),
            train(training, on_one_processor(training), one));
  placement.ops[0].recompute = ir::Recompute::Checkpoint;
  EXPECT_THAT(stashes(lower(training, placement, pipelined_options(Recomputation::None))),
              UnorderedElementsAre("v", "x"));
}

// A long chain, whose backward pass reads every link.
TEST(Recompute, StandardKeepsCheckpointsAlone) {
  constexpr int kLinks = 40;
  std::string forward = "b0 = Mul (x, w) ";
  std::string backward;
  for (int i = 1; i <= kLinks; ++i) {
    forward += fmt::format("{} = Sin (b{}) ", i == kLinks ? "b" : fmt::format("b{}", i), i - 1);
  }
  for (int i = kLinks; i > 0; --i) {
    backward +=
        fmt::format("c{} = Cos (b{}) {} = Mul ({}, c{}) ", i, i - 1,
                    i == 1 ? "da" : fmt::format("d{}", i - 1), i == kLinks ? "db" : fmt::format("d{}", i), i);
  }
  const ir::Training training = model(forward, backward);
  Strategy strategy;
  strategy.accumulation_factor = 2;
  const TrainedState kept = train(training, on_one_processor(training), strategy);
  strategy.recomputation = Recomputation::Standard;
  const TrainedState again = train(training, on_one_processor(training), strategy);
  EXPECT_EQ(again, kept);
  // Intervals of 5, 4, 3, 2 and 1 links keep one each.
  EXPECT_LE(again.peaks[0], kept.peaks[0] - 8 * kElements * 4);
}

}  // namespace
}  // namespace podium::lower
