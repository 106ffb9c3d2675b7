#include "executor/lower/program/join_remote_transfers.h"

#include <gtest/gtest.h>

#include "executor/lower/program/append.h"
#include "tests/executor/lower/placed.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::LoadRemote;
using executor::Memory;
using executor::Program;
using executor::Step;
using executor::StoreRemote;

// Processors that have a variable each in streaming memory.
class OffChip {
 public:
  explicit OffChip(int processors) {
    for (int i = 0; i < processors; ++i) {
      home_.push_back(buffer("m", i, Memory::Streaming));
      here_.push_back(buffer("m", i, Memory::Compute));
    }
  }

  Step load(int processor) { return {LoadRemote{{{{home_[processor]}, {here_[processor]}}}}}; }
  Step store(int processor) { return {StoreRemote{{{{here_[processor]}, {home_[processor]}}}}}; }
  Step load_over_io_tiles(int processor) {
    return {LoadRemote{{{{home_[processor]}, {buffer("io", processor, Memory::IO)}}}}};
  }
  Step update(int processor) {
    ir::Graph graph = testing::graph_of("g (float[2] a) => (float[2] b) { b = Relu(a) }");
    executor::Compute step{
        .block = append(program_,
                        executor::Block{.name = "update", .processor = processor, .graph = std::move(graph)}),
        .reads = {{here_[processor]}},
        .writes = {{here_[processor]}}};
    return {std::move(step)};
  }
  Step copy(int from, int to) { return {executor::CopyBetweenProcessors{{{{here_[from]}, {here_[to]}}}}}; }
  std::string joined(std::vector<Step> steps, SyncPattern sync = SyncPattern::Full) {
    program_.steps = std::move(steps);
    join_remote_transfers(program_, sync);
    return testing::steps_of(program_);
  }

 private:
  BufferId buffer(const char* name, int processor, Memory memory) {
    return append(program_, Buffer{.name = name,
                                   .type = ir::Type::tensor(ir::DataType::Float, {2}),
                                   .processor = processor,
                                   .memory = memory});
  }

  Program program_;
  std::vector<BufferId> home_;
  std::vector<BufferId> here_;
};

std::vector<Step> an_update_each(OffChip& made, int processors) {
  std::vector<Step> steps;
  for (int i = 0; i < processors; ++i) {
    for (Step& step : std::vector<Step>{made.load(i), made.update(i), made.store(i)})
      steps.push_back(std::move(step));
  }
  return steps;
}

TEST(JoinRemoteTransfers, LoadsOfAllProcessorsAreOneStepAndStoresAnother) {
  OffChip made(2);
  EXPECT_EQ(made.joined(an_update_each(made, 2)),
            "load m@0.streaming -> m@0, m@1.streaming -> m@1\n"
            "compute update on ipu 0: (m@0) -> (m@0)\n"
            "compute update on ipu 1: (m@1) -> (m@1)\n"
            "store m@0 -> m@0.streaming, m@1 -> m@1.streaming\n");
}

TEST(JoinRemoteTransfers, WhoHasMoreToDoKeepsItsOrder) {
  OffChip made(2);
  EXPECT_EQ(made.joined({made.load(0), made.update(0), made.store(0), made.load(0), made.update(0),
                         made.load(1), made.update(1), made.update(1)}),
            "load m@0.streaming -> m@0, m@1.streaming -> m@1\n"
            "compute update on ipu 0: (m@0) -> (m@0)\n"
            "compute update on ipu 1: (m@1) -> (m@1)\n"
            "store m@0 -> m@0.streaming\n"
            "load m@0.streaming -> m@0\n"
            "compute update on ipu 0: (m@0) -> (m@0)\n"
            "compute update on ipu 1: (m@1) -> (m@1)\n");
}

TEST(JoinRemoteTransfers, StepsOfSeveralProcessorsAreNotPassed) {
  OffChip made(2);
  EXPECT_EQ(made.joined({made.load(0), made.copy(0, 1), made.load(1)}),
            "load m@0.streaming -> m@0\n"
            "copy m@0 -> m@1\n"
            "load m@1.streaming -> m@1\n");
}

TEST(JoinRemoteTransfers, ARepeatIsJoinedInside) {
  OffChip made(2);
  EXPECT_EQ(made.joined({made.load(0), {executor::Repeat{3, {made.load(0), made.load(1)}}}, made.load(1)}),
            "load m@0.streaming -> m@0\n"
            "repeat 3 times\n"
            "  load m@0.streaming -> m@0, m@1.streaming -> m@1\n"
            "load m@1.streaming -> m@1\n");
}

TEST(JoinRemoteTransfers, OneProcessorsAreLeftAsTheyAre) {
  OffChip made(1);
  EXPECT_EQ(made.joined({made.load(0), made.load(0), made.update(0), made.store(0)}),
            "load m@0.streaming -> m@0\n"
            "load m@0.streaming -> m@0\n"
            "compute update on ipu 0: (m@0) -> (m@0)\n"
            "store m@0 -> m@0.streaming\n");
}

TEST(JoinRemoteTransfers, OverOtherTilesOrInOtherIterationsStayApart) {
  OffChip made(3);
  Step late = made.load(2);
  late.acts.first = 1;
  EXPECT_EQ(made.joined({made.load_over_io_tiles(0), made.load(1), std::move(late)}),
            "load m@0.streaming -> io@0.io\n"
            "load m@1.streaming -> m@1\n"
            "load m@2.streaming -> m@2 in iterations 1 to 2147483646\n");
}

TEST(JoinRemoteTransfers, WhatIsJoinedActsInTheIterationsOfItsParts) {
  OffChip made(2);
  std::vector<Step> loads{made.load(0), made.load(1)};
  for (Step& step : loads) step.acts = {2, 5};
  EXPECT_EQ(made.joined(std::move(loads)),
            "load m@0.streaming -> m@0, m@1.streaming -> m@1 in iterations 2 to 4\n");
}

TEST(JoinRemoteTransfers, GoesByTheSyncPattern) {
  OffChip made(4);
  EXPECT_EQ(
      made.joined({made.load(0), made.load(1), made.load(2), made.load(3)}, SyncPattern::ReplicaAndLadder),
      "load m@0.streaming -> m@0, m@2.streaming -> m@2\n"
      "load m@1.streaming -> m@1, m@3.streaming -> m@3\n");
  EXPECT_EQ(made.joined({made.load(0), made.load(1)}, SyncPattern::SinglePipeline),
            "load m@0.streaming -> m@0\n"
            "load m@1.streaming -> m@1\n");
}

}  // namespace
}  // namespace podium::lower
