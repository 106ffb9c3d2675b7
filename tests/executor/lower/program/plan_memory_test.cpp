#include "executor/lower/program/plan_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::Compute;
using executor::LoadFromHost;
using executor::Program;
using executor::Repeat;
using executor::Slot;
using executor::Step;
using executor::StoreToHost;

const ir::Type kTwoFloats = ir::Type::tensor(ir::DataType::Float, {2});

// in -> relu -> middle -> relu -> out, on one processor.
Program two_relus() {
  Program program;
  for (const char* name : {"in", "middle", "out"})
    program.buffers.push_back({.name = name, .type = kTwoFloats});
  program.blocks.push_back(
      {.name = "relu", .graph = testing::graph_of("g (float[2] x) => (float[2] y) { y = Relu(x) }")});
  program.inputs.push_back({"in", kTwoFloats});
  program.outputs.push_back({"out", kTwoFloats});
  program.steps = {{LoadFromHost{0, {{0}}}},
                   {Compute{{0}, {{{0}}}, {{{1}}}}},
                   {Compute{{0}, {{{1}}}, {{{2}}}}},
                   {StoreToHost{{{2}}, 0}}};
  return program;
}

std::vector<int> freed_by(const Step& step) {
  std::vector<int> buffers;
  for (const Slot& slot : step.frees) buffers.push_back(slot.buffer.index);
  return buffers;
}

TEST(PlanMemory, FreesAValueAfterItsLastReader) {
  Program program = two_relus();
  plan_memory(program);
  EXPECT_THAT(freed_by(program.steps[0]), ::testing::IsEmpty());
  EXPECT_THAT(freed_by(program.steps[1]), ::testing::ElementsAre(0));
  EXPECT_THAT(freed_by(program.steps[2]), ::testing::ElementsAre(1));
  EXPECT_THAT(freed_by(program.steps[3]), ::testing::ElementsAre(2));
}

TEST(PlanMemory, FreesInsideTheLoopWhatEveryIterationWritesFirst) {
  Program program = two_relus();
  std::vector<Step> body = std::move(program.steps);
  program.steps = {{Repeat{3, std::move(body)}}};
  plan_memory(program);
  EXPECT_FALSE(program.buffers[1].always_live);
  EXPECT_THAT(freed_by(std::get<Repeat>(program.steps[0].action).body[2]), ::testing::ElementsAre(1));
  EXPECT_THAT(freed_by(program.steps[0]), ::testing::IsEmpty());
}

TEST(PlanMemory, FreesAfterTheLoopWhatComesFromOutside) {
  Program program = two_relus();
  std::vector<Step> body(program.steps.begin() + 1, program.steps.begin() + 3);
  Step load = program.steps[0];
  Step store = program.steps[3];
  program.steps = {load, {Repeat{3, std::move(body)}}, store};
  plan_memory(program);
  EXPECT_THAT(freed_by(program.steps[1]), ::testing::ElementsAre(0));
}

TEST(PlanMemory, KeepsWhatOneIterationLeavesToTheNext) {
  Program program = two_relus();
  Step late = program.steps[1];
  Step early = program.steps[2];  // reads `middle`, which `late` wrote in the iteration before
  program.steps = {program.steps[0], {Repeat{3, {early, late}}}, program.steps[3]};
  plan_memory(program);
  EXPECT_TRUE(program.buffers[1].always_live);
}

TEST(PlanMemory, FreesBetweenTheLastReadAndTheNextWrite) {
  Program program = two_relus();
  const std::vector<Step> once = program.steps;
  program.steps.insert(program.steps.end(), once.begin(), once.end());
  plan_memory(program);
  EXPECT_THAT(freed_by(program.steps[1]), ::testing::ElementsAre(0));
  EXPECT_THAT(freed_by(program.steps[5]), ::testing::ElementsAre(0));
}

TEST(PlanMemory, KeepsFromOneIterationToTheNextWhatWasWrittenLate) {
  Program program = two_relus();
  const std::vector<Step> once = program.steps;  // load, relu, relu, store
  // The value that the next iteration reads is loaded at the end of one: its memory is free in between.
  program.steps = {once[0], {Repeat{3, {once[1], once[2], once[3], once[0]}}}, once[1], once[2], once[3]};
  plan_memory(program);
  const std::vector<Step>& body = std::get<Repeat>(program.steps[1].action).body;
  EXPECT_THAT(freed_by(body[0]), ::testing::ElementsAre(0));
  EXPECT_THAT(freed_by(body[3]), ::testing::IsEmpty());
  EXPECT_THAT(freed_by(program.steps[1]), ::testing::IsEmpty());
  EXPECT_THAT(freed_by(program.steps[2]), ::testing::ElementsAre(0));
}

// What is loaded is read one iteration later, in front of the next load. In the last iteration nothing is
// loaded any more.
TEST(PlanMemory, FreesWhatIsReadAnIterationLaterAfterItsReader) {
  Program program = two_relus();
  std::vector<Step> steps = program.steps;  // load, relu, relu, store
  steps[0].acts = {0, 3};
  for (int i = 1; i < 4; ++i) steps[i].acts = {1, 4};
  program.steps = {{Repeat{4, {steps[1], steps[2], steps[3], steps[0]}}}};
  plan_memory(program);
  const std::vector<Step>& body = std::get<Repeat>(program.steps[0].action).body;
  EXPECT_FALSE(program.buffers[0].always_live);
  EXPECT_THAT(freed_by(body[0]), ::testing::ElementsAre(0));
  EXPECT_THAT(freed_by(body[3]), ::testing::IsEmpty());
  EXPECT_THAT(freed_by(program.steps[0]), ::testing::IsEmpty());
}

// At first one load an iteration, which is read at once; then it comes after the reader.
TEST(PlanMemory, KeepsWhatIsReadAtOnceInSomeIterationsAndLaterInOthers) {
  Program program = two_relus();
  const std::vector<Step> steps = program.steps;  // load, relu, relu, store
  Step early = steps[0];
  early.acts = {0, 2};
  Step late = steps[0];
  late.acts = {1, 4};
  program.steps = {{Repeat{5, {early, steps[1], late}}}};
  plan_memory(program);
  const std::vector<Step>& body = std::get<Repeat>(program.steps[0].action).body;
  EXPECT_THAT(freed_by(body[0]), ::testing::IsEmpty());
  EXPECT_THAT(freed_by(body[1]), ::testing::Contains(0));
  EXPECT_THAT(freed_by(body[2]), ::testing::IsEmpty());
}

// The exchange takes place in every iteration, and sends the first buffer in the first two alone. In the
// others it would free what the next iteration reads.
TEST(PlanMemory, AnExchangeFreesNothingThatIsFullWhereItSendsSomethingElse) {
  Program program = two_relus();
  program.processors = 2;
  for (const char* name : {"there", "also there"})
    program.buffers.push_back({.name = name, .type = kTwoFloats, .processor = 1});
  const std::vector<Step> steps = program.steps;  // load, relu, relu, store
  const auto body_with = [&](executor::Iterations reads) {
    Step load = steps[0];
    Step read = steps[1];
    load.acts = {0, 4};
    read.acts = reads;
    const Step exchange{
        .action = executor::CopyBetweenProcessors{{{{{0}}, {{3}}, {0, 2}}, {{{2}}, {{4}}, {0, 5}}}}};
    program.steps = {{Repeat{5, {read, load, exchange}}}};
    plan_memory(program);
    return std::get<Repeat>(program.steps[0].action).body;
  };
  EXPECT_THAT(freed_by(body_with({3, 5})[2]), ::testing::Not(::testing::Contains(0)));
  EXPECT_THAT(freed_by(body_with({5, 5})[2]), ::testing::Contains(0));
}

TEST(PlanMemory, FreesASumAfterItsStore) {
  Program program = two_relus();
  const Step zero = program.steps[0];  // writes `in`
  program.blocks[0].graph = testing::graph_of("g (float[2] a, float[2] b) => (float[2] y) { y = Add(a, b) }");
  const Step add{Compute{{0}, {{{0}}, {{2}}}, {{{0}}}}};
  program.steps = {zero, {Repeat{3, {{LoadFromHost{0, {{2}}}}, add}}}, {StoreToHost{{{0}}, 0}}};
  plan_memory(program);
  EXPECT_THAT(freed_by(std::get<Repeat>(program.steps[1].action).body[1]), ::testing::ElementsAre(2));
  EXPECT_THAT(freed_by(program.steps[1]), ::testing::IsEmpty());
  EXPECT_THAT(freed_by(program.steps[2]), ::testing::ElementsAre(0));
}

TEST(PlanMemory, KeepsStashesAndWeights) {
  Program program = two_relus();
  program.buffers[1].slots = 2;
  program.buffers[0].initial = {ir::Tensor(ir::DataType::Float, {2})};
  plan_memory(program);
  EXPECT_TRUE(program.buffers[0].always_live);
  EXPECT_TRUE(program.buffers[1].always_live);
  EXPECT_FALSE(program.buffers[2].always_live);
}

TEST(PlanMemory, CountsTheValuesInsideABlockThatLiveAtOnce) {
  Program program = two_relus();
  program.blocks[0].graph = testing::graph_of(R"(g (float[2] x) => (float[2] y) {
    a = Transpose(x)
    b = Transpose(a)
    c = Identity(b)
    y = Transpose(c)
  })");
  plan_memory(program);
  EXPECT_EQ(program.blocks[0].temporary_bytes, 16);  // a and b; c shows b, y and x are buffers
}

TEST(PlanMemory, KnowsWhatABlockOverwrites) {
  Program program = two_relus();
  program.blocks[0].graph =
      testing::graph_of("g (float[2] a, float[2] b) => (float[2] y) { t = Neg(b) y = Sub(a, t) }");
  const auto inside = [&](int written) {
    program.steps = {{Compute{{0}, {{{0}}, {{1}}}, {{{written}}}}}};
    plan_memory(program);
    return program.blocks[0].temporary_bytes;
  };
  EXPECT_EQ(inside(2), 0);  // t is where y goes
  EXPECT_EQ(inside(0), 8);  // that is where a is still
}

}  // namespace
}  // namespace podium::lower
