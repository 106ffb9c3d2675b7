#include "executor/numeric/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <thread>

#include "executor/lower/lower.h"
#include "executor/lower/program/plan_memory.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_made.h"
#include "tests/support/run_text.h"

namespace podium::numeric {
namespace {

using executor::BlockId;
using executor::Compute;
using executor::CopyBetweenProcessors;
using executor::LoadFromHost;
using executor::LoadRemote;
using executor::Program;
using executor::Repeat;
using executor::Step;
using executor::StoreRemote;
using executor::StoreToHost;
using ir::Datum;
using ir::Dims;
using ::testing::ElementsAre;
using testing::HandMade;
using ::testing::HasSubstr;
using testing::tensor;
using testing::values;

Datum floats(Dims dims, const std::vector<float>& numbers) { return tensor<float>(std::move(dims), numbers); }

std::vector<float> run(const Program& program, const std::vector<Datum>& inputs, int threads = 1) {
  Engine engine(program, {.threads = threads});
  return values<float>(engine.run(inputs)[0]);
}

// x -> add 1 on ipu 0 -> double on ipu 1 -> y, one micro-batch after the other or as a pipeline of two
// stages.
HandMade two_stages(int micro_batches) {
  HandMade made;
  made.input("x", {2}).micro_batches = micro_batches;
  made.output("y", {2}).micro_batches = micro_batches;
  made.program.outputs[0].leading = {micro_batches, 1};
  for (const char* name : {"x", "a"}) made.buffer(name, {2}, 0);
  for (const char* name : {"a", "y"}) made.buffer(name, {2}, 1);
  made.block("g (float[2] x) => (float[2] a) <float[2] one = {1, 1}> { a = Add(x, one) }", 0);
  made.block("g (float[2] a) => (float[2] y) { y = Add(a, a) }", 1);
  return made;
}

Step load(const HandMade& made) { return {.action = LoadFromHost{0, made.slot("x")}}; }
Step first(const HandMade& made) {
  return {.action = Compute{BlockId{0}, {made.slot("x")}, {made.slot("a")}}};
}
Step second(const HandMade& made) {
  return {.action = Compute{BlockId{1}, {made.slot("a", 1)}, {made.slot("y", 1)}}};
}
Step store(const HandMade& made) { return {.action = StoreToHost{made.slot("y", 1), 0}}; }
Step copy(const HandMade& made) {
  return {.action = CopyBetweenProcessors{{{made.slot("a"), made.slot("a", 1)}}}};
}

Program pipelined(int micro_batches) {
  HandMade made = two_stages(micro_batches);
  for (const Step& step : {load(made), first(made), copy(made)}) made.step(step);
  made.step({.action = Repeat{micro_batches - 1,
                              {load(made), first(made), second(made), store(made), copy(made)}}});
  for (const Step& step : {second(made), store(made)}) made.step(step);
  lower::plan_memory(made.program);
  verify(made.program);
  return made.program;
}

TEST(Engine, CopiesBetweenProcessors) {
  HandMade made = two_stages(1);
  for (const Step& step : {load(made), first(made), copy(made), second(made), store(made)}) made.step(step);
  EXPECT_THAT(run(made.program, {floats({2}, {1, 2})}), ElementsAre(4, 6));
}

// Columns of a [2, 3] go to two processors, which give them back in the other order; two replicas, three
// micro-batches of which the last two are kept.
TEST(Engine, MovesPartsOfWhatTheHostHas) {
  HandMade made;
  made.program.replicas = 2;
  executor::HostTensor& x = made.input("x", {2, 3});
  x.micro_batches = 3;
  x.parts = {{{{0, 2}}, {{0, 1}, {2, 3}}}, {{{0, 2}}, {{1, 2}}}};
  executor::HostTensor& y = made.output("y", {2, 3});
  y.micro_batches = 3;
  y.leading = {3, 1};
  y.parts = {{{{0, 2}}, {{1, 3}}}, {{{0, 2}}, {{0, 1}}}};
  made.buffer("a", {2, 2}, 0);
  made.buffer("b", {2, 1}, 1);
  const Step load_a{.action = LoadFromHost{0, made.slot("a"), 0}};
  const Step load_b{.action = LoadFromHost{0, made.slot("b", 1), 1}};
  const Step store_a{.action = StoreToHost{made.slot("a"), 0, 0}};
  const Step store_b{.action = StoreToHost{made.slot("b", 1), 0, 1}};
  made.step({.action = Repeat{3, {load_b, load_a, store_a, store_b}}});
  lower::plan_memory(made.program);
  verify(made.program);
  EXPECT_THAT(print(made.program), HasSubstr("load b@1 from host x[:, 1:2]"));
  std::vector<float> numbers(36);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  std::vector<float> turned;
  for (int row = 0; row < 12; ++row)
    for (int column : {1, 0, 2}) turned.push_back(numbers[3 * row + column]);
  Engine engine(made.program);
  for (int run = 0; run < 2; ++run) {
    const Datum result = engine.run(std::vector<Datum>{floats({3, 2, 2, 3}, numbers)})[0];
    EXPECT_EQ(result.tensor.dims(), (Dims{3, 2, 2, 3}));
    EXPECT_EQ(values<float>(result), turned);
  }
}

TEST(Engine, NamesTheStepThatReadsWhatNoStepBrought) {
  HandMade made = two_stages(1);
  for (const Step& step : {load(made), first(made), second(made), store(made)}) made.step(step);
  Engine engine(made.program);
  try {
    engine.run(std::vector<Datum>{floats({2}, {1, 2})});
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(),
                 "'compute block1 on ipu 1: (a@1) -> (y@1)' reads buffer a slot 0 on ipu 1 of replica 0, "
                 "which no step has filled");
  }
}

TEST(Engine, ForgetsWhatAStepFrees) {
  HandMade made = two_stages(1);
  for (const Step& step : {load(made), first(made), copy(made), second(made), store(made)}) made.step(step);
  made.program.steps[2].frees = {made.slot("a", 1)};
  Engine engine(made.program);
  EXPECT_THROW(engine.run(std::vector<Datum>{floats({2}, {1, 2})}), InternalError);
}

TEST(Engine, ForgetsTheRunBefore) {
  HandMade made = two_stages(1);
  for (const Step& step : {load(made), first(made), second(made), copy(made), store(made)}) made.step(step);
  Engine engine(made.program);
  const std::vector<Datum> inputs{floats({2}, {1, 2})};
  EXPECT_THROW(engine.run(inputs), InternalError);
  EXPECT_THROW(engine.run(inputs), InternalError);
}

// The first stage runs again while the second still needs what it gave before.
TEST(Engine, KeepsWhatIsReadAfterItsBlockHasRunAgain) {
  for (int threads : {1, 2, 4}) {
    EXPECT_THAT(run(pipelined(4), {floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, threads),
                ElementsAre(4, 6, 8, 10, 12, 14, 16, 18));
  }
}

TEST(Engine, TurnsTheSlotsOfAStash) {
  HandMade made;
  made.input("x", {1}).micro_batches = 4;
  made.output("y", {1}).micro_batches = 4;
  made.program.outputs[0].leading = {4, 1};
  for (const char* name : {"x", "y"}) made.buffer(name, {1});
  made.buffer("stash", {1}).slots = 2;
  const BlockId keep = made.block("g (float[1] x) => (float[1] y) <float[1] ten = {10}> { y = Mul(x, ten) }");
  const BlockId back = made.block("g (float[1] x) => (float[1] y) { y = Neg(x) }");
  const auto stash = [&](BlockId block, int index) {
    return Step{.action = Compute{block, {made.slot("x")}, {made.slot("stash", 0, index, 1)}}};
  };
  const auto restore = [&](int index) {
    return Step{.action = Compute{back, {made.slot("stash", 0, index, 1)}, {made.slot("y")}}};
  };
  const Step load_x{.action = LoadFromHost{0, made.slot("x")}};
  const Step store_y{.action = StoreToHost{made.slot("y"), 0}};
  // One behind: iteration i stashes into slot i + 1 and reads slot i.
  for (const Step& step : {load_x, stash(keep, 0)}) made.step(step);
  made.step({.action = Repeat{3, {load_x, stash(keep, 1), restore(0), store_y}}});
  for (const Step& step : {restore(1), store_y}) made.step(step);
  EXPECT_THAT(run(made.program, {floats({4}, {1, 2, 3, 4})}), ElementsAre(-10, -20, -30, -40));
}

TEST(Engine, FillsWeightsAndKeepsStreamingMemoryBetweenRuns) {
  HandMade made;
  made.output("y", {2});
  made.buffer("w", {2}).memory = executor::Memory::Streaming;
  made.program.buffers[0].initial = {tensor<float>({2}, {1, 2})};
  for (const char* name : {"w_here", "y"}) made.buffer(name, {2});
  const BlockId twice = made.block("g (float[2] w) => (float[2] y) { y = Add(w, w) }");
  made.step({.action = LoadRemote{{{made.slot("w"), made.slot("w_here")}}}});
  made.step({.action = Compute{twice, {made.slot("w_here")}, {made.slot("y")}}});
  made.step({.action = StoreRemote{{{made.slot("y"), made.slot("w")}}}});
  made.step({.action = StoreToHost{made.slot("y"), 0}});
  Engine engine(made.program);
  EXPECT_THAT(values<float>(engine.run({})[0]), ElementsAre(2, 4));
  EXPECT_THAT(values<float>(engine.run({})[0]), ElementsAre(4, 8));
}

TEST(Engine, WritesOverVariablesThatNobodyElseHolds) {
  HandMade made;
  made.buffer("w", {2}).persistent = true;
  made.program.buffers[0].initial = {tensor<float>({2}, {1, 2})};
  const BlockId more = made.block("g (float[2] w) => (float[2] w2) { w2 = Add(w, w) }");
  made.step({.action = Compute{more, {made.slot("w")}, {made.slot("w")}}});
  Engine engine(made.program);
  const auto memory = [&] { return engine.contents(made.slot("w")).raw(); };
  engine.run({});
  const void* before = memory();
  engine.run({});
  EXPECT_EQ(memory(), before);
  const ir::Tensor held = engine.contents(made.slot("w"));
  engine.run({});
  EXPECT_THAT(values<float>(held), ElementsAre(4, 8));
  EXPECT_THAT(values<float>(engine.contents(made.slot("w"))), ElementsAre(8, 16));
}

// Replicas begin with the same memory and go on with what one of them has computed, until one is given other
// numbers.
TEST(Engine, ComputesOnceWhatReplicasComputeFromTheSameMemory) {
  HandMade made;
  made.program.replicas = 3;
  made.buffer("w", {2}).persistent = true;
  made.program.buffers[0].initial = {tensor<float>({2}, {1, 2})};
  const BlockId more = made.block("g (float[2] w) => (float[2] w2) { w2 = Add(w, w) }");
  made.step({.action = Compute{more, {made.slot("w")}, {made.slot("w")}}});
  Engine engine(made.program);
  const auto held = [&](int replica) { return engine.contents(made.slot("w"), replica); };
  for (int run = 0; run < 2; ++run) engine.run({});
  EXPECT_THAT(values<float>(held(2)), ElementsAre(4, 8));
  EXPECT_EQ(held(0).raw(), held(1).raw());
  EXPECT_EQ(held(0).raw(), held(2).raw());
  engine.set_contents(made.slot("w"), tensor<float>({2}, {5, 6}), 1);
  engine.run({});
  EXPECT_THAT(values<float>(held(0)), ElementsAre(8, 16));
  EXPECT_THAT(values<float>(held(1)), ElementsAre(10, 12));
  EXPECT_THAT(values<float>(held(2)), ElementsAre(8, 16));
}

// y = 2 x on each replica.
HandMade doubling(int replicas, int micro_batches) {
  HandMade made;
  made.program.replicas = replicas;
  made.input("x", {2}).micro_batches = micro_batches;
  made.output("y", {2}).micro_batches = micro_batches;
  for (const char* name : {"x", "y"}) made.buffer(name, {2});
  const BlockId twice = made.block("g (float[2] x) => (float[2] y) { y = Add(x, x) }");
  made.step({.action = Repeat{micro_batches,
                              {{.action = LoadFromHost{0, made.slot("x")}},
                               {.action = Compute{twice, {made.slot("x")}, {made.slot("y")}}},
                               {.action = StoreToHost{made.slot("y"), 0}}}}});
  return made;
}

const Datum kEight = floats({8}, {1, 2, 3, 4, 5, 6, 7, 8});

TEST(Engine, DealsMicroBatchesToReplicasInTurn) {
  HandMade made = doubling(2, 2);
  made.program.outputs[0].leading = {2, 1};
  Engine engine(made.program);
  const Datum& y = engine.run({&kEight, 1})[0];
  EXPECT_EQ(y.tensor.dims(), (Dims{2, 2, 2}));  // batches, replicas, micro-batch
  EXPECT_THAT(values<float>(y), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
}

TEST(Engine, GivesEveryReplicaWhatIsBroadcast) {
  HandMade made = doubling(2, 2);
  made.program.inputs[0].broadcast = true;
  made.program.outputs[0].leading = {2, 1};
  EXPECT_THAT(run(made.program, {floats({4}, {1, 2, 3, 4})}), ElementsAre(2, 4, 2, 4, 6, 8, 6, 8));
}

TEST(Engine, StoresEveryNth) {
  HandMade made = doubling(1, 4);
  made.program.outputs[0].leading = {2, 1};
  made.program.outputs[0].every = 2;
  Engine engine(made.program);
  const Datum& y = engine.run({&kEight, 1})[0];
  EXPECT_EQ(y.tensor.dims(), (Dims{2, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(6, 8, 14, 16));
}

TEST(Engine, StoresTheLastAlone) {
  HandMade made = doubling(1, 4);
  made.program.outputs[0].every = 4;
  Engine engine(made.program);
  const Datum& y = engine.run({&kEight, 1})[0];
  EXPECT_EQ(y.tensor.dims(), (Dims{2}));
  EXPECT_THAT(values<float>(y), ElementsAre(14, 16));
}

// A micro-batch [2, 2] moves as two columns.
TEST(Engine, MovesMicroBatchesInSlices) {
  HandMade made = doubling(1, 2);
  made.program.inputs[0].type.dims = {2, 1};
  made.program.outputs[0].type.dims = {2, 1};
  for (executor::HostTensor* host : {made.program.inputs.data(), made.program.outputs.data()}) {
    host->slices = 2;
    host->slice_axis = 1;
  }
  made.program.outputs[0].leading = {2, 1};
  for (executor::Buffer& buffer : made.program.buffers) buffer.type.dims = {2, 1};
  std::get<Repeat>(made.program.steps[0].action).count = 4;
  made.program.blocks[0].graph =
      testing::graph_of("g (float[2, 1] x) => (float[2, 1] y) <int64 axis = {0}> { y = CumSum(x, axis) }");
  EXPECT_THAT(run(made.program, {kEight}), ElementsAre(1, 2, 4, 6, 5, 6, 12, 14));
}

TEST(Engine, RefusesTooFewElements) {
  Engine engine(doubling(2, 2).program);
  try {
    engine.run(std::vector<Datum>{floats({6}, {1, 2, 3, 4, 5, 6})});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "input 'x': 6 elements found, 8 needed (2 micro-batches of float[2] for 2 replicas)");
  }
}

TEST(Engine, RefusesMicroBatchesOfDifferentShapes) {
  HandMade made = doubling(1, 2);
  made.program.outputs[0].leading = {2, 1};
  made.program.outputs[0].type.dims = {1, ir::kUnknown};
  made.program.buffers[1].type.dims = {1, ir::kUnknown};
  made.program.blocks[0].graph = testing::graph_of("g (float[2] x) => (int64[1, N] y) { y = NonZero(x) }");
  Engine engine(made.program);
  try {
    engine.run(std::vector<Datum>{floats({4}, {1, 2, 0, 1})});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "output 'y': a micro-batch of int64[1,1] found after one of [1,2], one shape needed to put "
                 "them into one array");
  }
}

TEST(Engine, DrawsOtherNumbersInEachReplica) {
  HandMade made = doubling(2, 1);
  made.program.blocks[0].graph =
      testing::graph_of("g (float[2] x) => (float[2] y) { y = RandomUniformLike(x) }");
  const std::vector<Datum> inputs{floats({4}, {0, 0, 0, 0})};
  const std::vector<float> drawn = run(made.program, inputs);
  EXPECT_NE(drawn[0], drawn[2]);
  EXPECT_EQ(drawn, run(made.program, inputs, 2));
  made.program.inputs[0].broadcast = true;
  const std::vector<float> from_one = run(made.program, {floats({2}, {0, 0})});
  EXPECT_NE(from_one[0], from_one[2]);
}

// Each replica has a row of x: y = what the collective makes of it.
HandMade collective(const executor::Collective& kind, int replicas, std::int64_t elements,
                    std::int64_t results) {
  HandMade made;
  made.program.replicas = replicas;
  made.input("x", {elements});
  made.output("y", {results});
  made.buffer("x", {elements});
  made.buffer("y", {elements});
  executor::Collective step = kind;
  step.transfer = {made.slot("x"), made.slot("y")};
  made.step({.action = LoadFromHost{0, made.slot("x")}});
  made.step({.action = step});
  made.step({.action = StoreToHost{made.slot("y"), 0}});
  return made;
}

TEST(Engine, ReducesOverAllReplicas) {
  const HandMade sum = collective({.kind = executor::CollectiveKind::AllReduce, .transfer = {}}, 4, 2, 2);
  EXPECT_THAT(run(sum.program, {kEight}), ElementsAre(16, 20, 16, 20, 16, 20, 16, 20));
}

// A new thread has no team yet, so that one that is started for it is seen.
TEST(Engine, ReducesOnOneThreadWhenGivenOne) {
  constexpr std::int64_t kMany = 1 << 18;
  const HandMade sum =
      collective({.kind = executor::CollectiveKind::AllReduce, .transfer = {}}, 2, kMany, kMany);
  const auto threads_now = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  std::thread([&] {
    const auto before = threads_now();
    run(sum.program, {floats({2, kMany}, std::vector<float>(2 * kMany, 1))}, 1);
    EXPECT_EQ(threads_now(), before);
  }).join();
}

// Two replicas, each with two micro-batches of its own in a Repeat, meet after each of them.
TEST(Engine, ReducesInARepeat) {
  HandMade made = collective({.kind = executor::CollectiveKind::AllReduce, .transfer = {}}, 2, 2, 2);
  made.program.inputs[0].micro_batches = made.program.outputs[0].micro_batches = 2;
  made.program.outputs[0].leading = {2};
  std::vector<Step> body = std::move(made.program.steps);
  made.program.steps.clear();
  made.step({.action = Repeat{2, std::move(body)}});
  EXPECT_THAT(run(made.program, {kEight}), ElementsAre(4, 6, 4, 6, 12, 14, 12, 14));
}

TEST(Engine, MeansOverGroups) {
  const HandMade mean = collective({.kind = executor::CollectiveKind::AllReduce,
                                    .reduction = executor::CollectiveReduction::Mean,
                                    .group = {ir::GroupType::Orthogonal, 2},
                                    .transfer = {}},
                                   4, 2, 2);
  EXPECT_THAT(run(mean.program, {kEight}), ElementsAre(3, 4, 5, 6, 3, 4, 5, 6));
}

TEST(Engine, ScattersASumWithZerosBehindTheEnd) {
  HandMade made = collective({.kind = executor::CollectiveKind::ReduceScatter, .transfer = {}}, 2, 3, 2);
  made.program.buffers[1].shards = 2;
  EXPECT_THAT(run(made.program, {floats({6}, {1, 2, 3, 10, 20, 30})}), ElementsAre(11, 22, 33, 0));
}

// One row and two rows of four columns become three columns and one.
TEST(Engine, GivesEachProcessorItsColumnsOfAllRows) {
  HandMade made;
  made.program.processors = 2;
  for (int processor : {0, 1}) {
    made.input("rows", {1 + processor, 4});
    made.output("columns", {3, 3 - 2 * processor});
    made.buffer("rows", {1 + processor, 4}, processor);
    made.buffer("columns", {3, 3 - 2 * processor}, processor);
    made.step({.action = LoadFromHost{processor, made.slot("rows", processor)}});
  }
  made.step(
      {.action = executor::GroupCollective{.kind = executor::CollectiveKind::AllToAll,
                                           .scatter_axis = 1,
                                           .transfers = {{made.slot("rows"), made.slot("columns")},
                                                         {made.slot("rows", 1), made.slot("columns", 1)}}}});
  for (int processor : {0, 1}) made.step({.action = StoreToHost{made.slot("columns", processor), processor}});
  verify(made.program);
  Engine engine(made.program);
  const auto results = engine.run(
      std::vector<Datum>{floats({1, 4}, {1, 2, 3, 4}), floats({2, 4}, {5, 6, 7, 8, 9, 10, 11, 12})});
  EXPECT_THAT(testing::values<float>(results[0]), ElementsAre(1, 2, 3, 5, 6, 7, 9, 10, 11));
  EXPECT_THAT(testing::values<float>(results[1]), ElementsAre(4, 8, 12));
}

// w [3] in parts of 2 over pairs of neighbours: loaded, gathered, added to x.
TEST(Engine, GathersTheShardsOfAWeight) {
  HandMade made = doubling(4, 1);
  const ir::ReplicaGroup pairs{ir::GroupType::Consecutive, 2};
  made.program.inputs[0].type.dims = made.program.outputs[0].type.dims = {3};
  for (executor::Buffer& buffer : made.program.buffers) buffer.type.dims = {3};
  for (const char* name : {"w", "part"}) {
    executor::Buffer& buffer = made.buffer(name, {3});
    buffer.shards = 2;
    buffer.group = pairs;
  }
  made.program.buffers[2].memory = executor::Memory::Streaming;
  made.program.buffers[2].initial = {tensor<float>({3}, {100, 200, 300})};
  made.buffer("whole", {3});
  made.program.blocks.clear();
  const BlockId add = made.block("g (float[3] x, float[3] w) => (float[3] y) { y = Add(x, w) }");
  made.program.steps.clear();
  made.step({.action = LoadRemote{{{made.slot("w"), made.slot("part")}}}});
  made.step({.action = executor::Collective{.kind = executor::CollectiveKind::AllGather,
                                            .group = pairs,
                                            .transfer = {made.slot("part"), made.slot("whole")}}});
  made.step({.action = LoadFromHost{0, made.slot("x")}});
  made.step({.action = Compute{add, {made.slot("x"), made.slot("whole")}, {made.slot("y")}}});
  made.step({.action = StoreToHost{made.slot("y"), 0}});
  verify(made.program);
  EXPECT_THAT(run(made.program, {floats({12}, {1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6})}),
              ElementsAre(101, 202, 303, 101, 202, 303, 101, 202, 303, 104, 205, 306));
}

// x and a on ipu 0, a and y on ipu 1, 8 bytes each; one is a weight of 8 bytes inside the block.
TEST(Engine, MeasuresWhatEachProcessorHoldsAtMost) {
  HandMade made = two_stages(1);
  for (const Step& step : {load(made), first(made), copy(made), second(made), store(made)}) made.step(step);
  made.buffer("one", {2}).always_live = true;
  made.program.blocks[1].temporary_bytes = 100;
  made.program.steps[1].frees = {made.slot("x")};
  made.program.steps[2].frees = {made.slot("a")};
  made.program.steps[3].frees = {made.slot("a", 1)};
  Engine engine(made.program);
  engine.run(std::vector<Datum>{floats({2}, {1, 2})});
  EXPECT_EQ(engine.peak_bytes(0), 24);
  EXPECT_EQ(engine.peak_bytes(1), 116);
}

// x is read by every iteration, so that it is there until the Repeat is done, and not beside y.
TEST(Engine, FreesAfterARepeatWhatOnlyItReads) {
  HandMade made;
  made.input("x", {2});
  made.output("y", {6});
  for (const char* name : {"x", "a"}) made.buffer(name, {2});
  made.buffer("y", {6});
  made.block("g (float[2] x) => (float[2] a) { a = Neg(x) }");
  made.block("g () => (float[6] y) { y = Constant<value = float[6] {1, 2, 3, 4, 5, 6}>() }");
  made.step({.action = LoadFromHost{0, made.slot("x")}});
  Step negate{.action = Compute{BlockId{0}, {made.slot("x")}, {made.slot("a")}}, .frees = {made.slot("a")}};
  made.step({.action = Repeat{3, {negate}}, .frees = {made.slot("x")}});
  made.step({.action = Compute{BlockId{1}, {}, {made.slot("y")}}});
  made.step({.action = StoreToHost{made.slot("y"), 0}});
  Engine engine(made.program);
  engine.run(std::vector<Datum>{floats({2}, {1, 2})});
  EXPECT_EQ(engine.peak_bytes(0), 24);

  made.step({.action = Compute{BlockId{0}, {made.slot("x")}, {made.slot("a")}}});
  EXPECT_THROW(run(made.program, {floats({2}, {1, 2})}), InternalError);
}

TEST(Engine, MeasuresTheSameWithAnyNumberOfThreads) {
  const std::vector<Datum> inputs{floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})};
  for (int threads : {1, 2, 4}) {
    Engine engine(pipelined(4), {.threads = threads});
    engine.run(inputs);
    EXPECT_EQ(engine.peak_bytes(0), 16);  // x and a
    EXPECT_EQ(engine.peak_bytes(1), 16);  // a and y
  }
}

// y takes what the data decide: three places of eight bytes beside the four numbers of x.
TEST(Engine, MeasuresWhatDataDecide) {
  HandMade made;
  made.input("x", {4});
  made.output("y", {1, ir::kUnknown});
  made.buffer("x", {4});
  made.buffer("y", {1, ir::kUnknown});
  made.block("g (float[4] x) => (int64[1, N] y) { y = NonZero(x) }");
  made.step({.action = LoadFromHost{0, made.slot("x")}});
  made.step({.action = Compute{BlockId{0}, {made.slot("x")}, {made.slot("y")}}});
  made.step({.action = StoreToHost{made.slot("y"), 0}});
  Engine engine(made.program);
  engine.run(std::vector<Datum>{floats({4}, {1, 0, 2, 3})});
  EXPECT_EQ(engine.peak_bytes(0), 16 + 24);
}

}  // namespace
}  // namespace podium::numeric
