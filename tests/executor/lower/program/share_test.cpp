// Layers that compute the same share code and remote buffers.
#include "executor/lower/program/share.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/lower/placed.h"
#include "tests/support/layered.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::Program;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Placed;
using testing::placed;

// Layer i, with weight i, in phase i; {} is the product of the second layer.
Placed three_layers(const std::string& second = "MatMul (a, w1)", int processors = 1) {
  Placed model = placed(fmt::format(R"(agraph (float[2, 2] x) => (float[2, 2] y)
    <float[2, 2] w0 = {{1, 2, 3, 4}}, float[2, 2] w1 = {{5, 6, 7, 8}}, float[2, 2] w2 = {{9, 8, 7, 6}}>
    {{ a = MatMul (x, w0) b = {} y = MatMul (b, w2) }})",
                                    second),
                        {0, 0, 0});
  model.placement.processors = processors;
  model.placement.phases = 3;
  for (int p = 0; p < 3; ++p) {
    ir::set_attribute(model.graph.ops[p], "__execution_phase", std::int64_t{p});
    model.placement.ops[p] = {.processor = p % processors, .phase = p};
  }
  return model;
}

Strategy phases_off_chip() {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  strategy.phases.phases = 3;
  strategy.weights.location.storage = ir::Storage::OffChip;
  return strategy;
}

Program lowered(const Placed& model) { return lower(model.graph, model.placement, phases_off_chip()); }

// The rows of each buffer that has some.
std::vector<std::vector<std::string>> rows_of(const Program& program) {
  std::vector<std::vector<std::string>> rows;
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.rows.empty()) rows.push_back(buffer.rows);
  }
  return rows;
}

TEST(Share, EqualLayersAreOneBlockWhoseWeightsAreRowsOfOneBuffer) {
  const Program program = lowered(three_layers());
  EXPECT_EQ(program.blocks.size(), 1U);
  EXPECT_THAT(rows_of(program), ElementsAre(ElementsAre("w0", "w1", "w2")));
  const auto loads = testing::steps_of_kind<executor::LoadRemote>(program.steps);
  ASSERT_EQ(loads.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(loads[i].transfers.front().from.index, i);
}

TEST(Share, RunsKeepTheirNames) {
  const Program program = lowered(three_layers());
  std::vector<std::string> names;
  for (const auto& run : testing::steps_of_kind<executor::Compute>(program.steps)) {
    names.push_back(name_of(program, run));
  }
  EXPECT_THAT(names, ElementsAre("phase0", "phase1", "phase2"));
}

TEST(Share, GivesTheNumbersOfOneProcessor) {
  const Placed model = three_layers();
  const Strategy strategy = phases_off_chip();
  testing::expect_near(testing::run_on_random(lowered(model)),
                       testing::run_on_one_processor(model.graph, strategy), 0);
}

// Gemm with another attribute, and an op of another kind.
TEST(Share, WhatDiffersIsApart) {
  for (const char* second : {"Gemm <alpha = 0.5> (a, w1)", "Mul (a, w1)"}) {
    const Program program = lowered(three_layers(second));
    EXPECT_EQ(program.blocks.size(), 2U) << second;
    EXPECT_THAT(rows_of(program), ElementsAre(ElementsAre("w0", "w2"))) << second;
  }
}

TEST(Share, EveryProcessorHasItsOwn) {
  const Program program = lowered(three_layers("MatMul (a, w1)", 2));
  EXPECT_EQ(program.blocks.size(), 2U);
  EXPECT_THAT(rows_of(program), ElementsAre(ElementsAre("w0", "w2")));
}

// Two draws by one block would not be those of two.
TEST(Share, RandomOpsAreNotShared) {
  Placed model = placed(R"(agraph (float[2] x) => (float[2] y)
    { n = RandomNormalLike <seed = 1.0> (x) a = Add (x, n) m = RandomNormalLike <seed = 1.0> (a) y = Add (a, m) })",
                        {0, 0, 0, 0});
  model.placement.phases = 2;
  for (std::size_t i = 2; i < 4; ++i) model.placement.ops[i].phase = 1;
  EXPECT_EQ(lowered(model).blocks.size(), 2U);
}

// Weights on the chip are constants of their blocks.
TEST(Share, BlocksWithDifferentConstantsAreApart) {
  const Placed model = three_layers();
  Strategy strategy = phases_off_chip();
  strategy.weights.location = {};
  const Program program = lower(model.graph, model.placement, strategy);
  EXPECT_EQ(program.blocks.size(), 3U);
  EXPECT_THAT(rows_of(program), IsEmpty());
}

}  // namespace
}  // namespace podium::lower
