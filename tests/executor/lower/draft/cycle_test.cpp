// The fill, the loop and the flush of a cycle, and how deep stashes are.
#include "executor/lower/draft/cycle.h"

#include <gtest/gtest.h>

namespace podium::lower {
namespace {

using executor::Program;
using executor::Slot;
using executor::Step;

const ir::Type kPair = ir::Type::tensor(ir::DataType::Float, {2});

// in -> out over two processors: loaded in cycle 0, copied in cycle 0 or 1, stored in cycle 2.
struct Chain {
  Program program;
  Beat beat;

  Chain() {
    program.processors = 2;
    program.buffers.push_back({.name = "in", .type = kPair});
    program.buffers.push_back({.name = "out", .type = kPair, .processor = 1});
    program.inputs.push_back({"in", kPair});
    program.outputs.push_back({"out", kPair});
    beat.steps = {{0, {executor::LoadFromHost{0, {{0}}}}}, {2, {executor::StoreToHost{{{1}}, 0}}}};
    beat.exchange = {{1, {{{0}}, {{1}}}}};
  }

  std::string unrolled(int micro_batches, int longest_fill = 64) {
    std::string text;
    const Batches batches{.micro_batches = micro_batches, .longest_fill = longest_fill};
    for (const Step& step : unroll(program, {beat}, batches)) {
      text += print(program, step) + "\n";
      const auto* repeat = std::get_if<executor::Repeat>(&step.action);
      if (repeat == nullptr) continue;
      for (const Step& inner : repeat->body) text += "  " + print(program, inner) + "\n";
    }
    return text;
  }
};

TEST(Cycle, FillsRepeatsAndFlushes) {
  Chain chain;
  EXPECT_EQ(chain.unrolled(5),
            "load in@0[0] from host\n"
            "load in@0[1] from host\n"
            "copy in@0[0] -> out@1\n"
            "repeat 3 times\n"
            "  load in@0[0+1i] from host\n"
            "  store out@1 to host\n"
            "  copy in@0[1+1i] -> out@1\n"
            "store out@1 to host\n"
            "copy in@0[0] -> out@1\n"
            "store out@1 to host\n");
  EXPECT_EQ(chain.program.buffers[0].slots, 2);
  EXPECT_EQ(chain.program.buffers[0].role, executor::Role::Stash);
  EXPECT_EQ(chain.program.buffers[1].slots, 1);
}

TEST(Cycle, OfALongFillIsALoopInWhichStepsBeginAndEndOneAfterTheOther) {
  Chain chain;
  EXPECT_EQ(chain.unrolled(5, 1),
            "repeat 7 times\n"
            "  load in@0[0+1i] from host in iterations 0 to 4\n"
            "  store out@1 to host in iterations 2 to 6\n"
            "  copy in@0[1+1i] -> out@1 in iterations 1 to 5\n");
  EXPECT_EQ(chain.program.buffers[0].slots, 2);
}

TEST(Cycle, HasNoLoopForFewerMicroBatchesThanCycles) {
  Chain chain;
  EXPECT_EQ(chain.unrolled(1),
            "load in@0 from host\n"
            "copy in@0 -> out@1\n"
            "store out@1 to host\n");
}

TEST(Cycle, VariablesHaveOneSlot) {
  Chain chain;
  chain.program.buffers[0].persistent = true;
  chain.unrolled(5);
  EXPECT_EQ(chain.program.buffers[0].slots, 1);
}

// Such as running statistics that are off chip: loaded before the cycle, and changed by each micro-batch.
TEST(Cycle, WhatIsLoadedOfAVariableIsReadAsTheLastMicroBatchLeftIt) {
  Chain chain;
  chain.program.buffers.push_back({.name = "mean", .type = kPair, .role = executor::Role::Weight});
  chain.program.buffers.push_back({.name = "scaled", .type = kPair});
  chain.beat.steps.push_back({0, {executor::CopyBetweenProcessors{{{{{2}}, {{3}}}}}}});
  chain.beat.steps.push_back({0, {executor::CopyBetweenProcessors{{{{{3}}, {{2}}}}}}});
  chain.unrolled(5);
  EXPECT_EQ(chain.program.buffers[2].slots, 1);
  EXPECT_EQ(chain.program.buffers[3].slots, 1);
}

}  // namespace
}  // namespace podium::lower
