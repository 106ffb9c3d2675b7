#include <gmock/gmock.h>

#include "tests/executor/lower/placed.h"

namespace podium::testing {
namespace {

using executor::CopyBetweenProcessors;
using ::testing::HasSubstr;

Strategy pipeline_of(int batches) {
  Strategy strategy;
  strategy.pipelining = true;
  strategy.batches_per_step = batches;
  return strategy;
}

executor::Program pipelined(const Placed& model, const Strategy& strategy) {
  return lower::lower(model.graph, model.placement, strategy);
}

const executor::Buffer& buffer(const executor::Program& program, const std::string& name, int processor) {
  for (const executor::Buffer& one : program.buffers) {
    if (one.name == name && one.processor == processor) return one;
  }
  throw std::runtime_error("no buffer " + name);
}

const char* const kChain = "agraph (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }";

TEST(Pipelined, FillsRepeatsAndFlushes) {
  EXPECT_EQ(steps_of(pipelined(placed(kChain, {0, 1, 2}), pipeline_of(5))),
            "load x@0 from host\n"
            "compute stage0 on ipu 0: (x@0) -> (a@0)\n"
            "copy a@0 -> a@1\n"
            "load x@0 from host\n"
            "compute stage0 on ipu 0: (x@0) -> (a@0)\n"
            "compute stage1 on ipu 1: (a@1) -> (b@1)\n"
            "copy b@1 -> b@2, a@0 -> a@1\n"
            "repeat 3 times\n"
            "  load x@0 from host\n"
            "  compute stage0 on ipu 0: (x@0) -> (a@0)\n"
            "  compute stage1 on ipu 1: (a@1) -> (b@1)\n"
            "  compute stage2 on ipu 2: (b@2) -> (y@2)\n"
            "  store y@2 to host\n"
            "  copy b@1 -> b@2, a@0 -> a@1\n"
            "compute stage1 on ipu 1: (a@1) -> (b@1)\n"
            "compute stage2 on ipu 2: (b@2) -> (y@2)\n"
            "store y@2 to host\n"
            "copy b@1 -> b@2\n"
            "compute stage2 on ipu 2: (b@2) -> (y@2)\n"
            "store y@2 to host\n");
}

TEST(Pipelined, WithAsManyBatchesAsStagesRepeatsNothing) {
  const executor::Program program = pipelined(placed(kChain, {0, 1, 2}), pipeline_of(3));
  EXPECT_TRUE(steps_of_kind<executor::Repeat>(program.steps).empty());
  EXPECT_EQ(steps_of_kind<executor::Compute>(program.steps).size(), 9U);
}

TEST(Pipelined, StepsSayTheirMicroBatch) {
  const executor::Program program = pipelined(placed(kChain, {0, 1, 2}), pipeline_of(5));
  const executor::Step& main = program.steps[7];
  const auto& body = std::get<executor::Repeat>(main.action).body;
  EXPECT_EQ(body[1].micro_batch, 2);  // stage 0 of the first main cycle
  EXPECT_EQ(body[3].micro_batch, 0);  // stage 2
  EXPECT_EQ(body[3].micro_batch_stride, 1);
  EXPECT_EQ(program.steps.back().micro_batch, 4);
}

TEST(Pipelined, MergesAdjacentStagesOfOneProcessor) {
  EXPECT_EQ(steps_of(pipelined(placed(kChain, {0, 0, 1}, {0, 1, 2}), pipeline_of(2))),
            "load x@0 from host\n"
            "compute stage0 on ipu 0: (x@0) -> (b@0)\n"
            "copy b@0 -> b@1\n"
            "load x@0 from host\n"
            "compute stage0 on ipu 0: (x@0) -> (b@0)\n"
            "compute stage1 on ipu 1: (b@1) -> (y@1)\n"
            "store y@1 to host\n"
            "copy b@0 -> b@1\n"
            "compute stage1 on ipu 1: (b@1) -> (y@1)\n"
            "store y@1 to host\n");
}

TEST(Pipelined, GivesAnInputBackWithTheFirstStageWhereverThatIs) {
  const Placed model =
      placed("agraph (float[2] x, float[2] z) => (float[2] y, float[2] z) { a = Relu(x) y = Neg(a) }", {1, 0},
             {0, 1});
  const std::string steps = steps_of(pipelined(model, pipeline_of(2)));
  EXPECT_THAT(steps, HasSubstr("load z@1 from host\n"));
  EXPECT_THAT(steps, ::testing::Not(HasSubstr("load z@0")));
}

TEST(Pipelined, OnOneProcessorIsOneBlock) {
  EXPECT_EQ(steps_of(pipelined(placed(kChain, {0, 0, 0}, {0, 1, 2}), pipeline_of(4))),
            "repeat 4 times\n"
            "  load x@0 from host\n"
            "  compute stage0 on ipu 0: (x@0) -> (y@0)\n"
            "  store y@0 to host\n");
}

const char* const kSkip =
    "agraph (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) c = Abs(b) d = Add(a, c) y = Add(x, d) }";

TEST(Pipelined, ASkipConnectionHopsFromStageToStage) {
  const executor::Program program = pipelined(placed(kSkip, {0, 1, 2, 3, 4}), pipeline_of(6));
  // x passes 4 hops, a passes 3, b, c and d one each.
  EXPECT_THAT(print(program), HasSubstr("  copy x@3 -> x@4, d@3 -> d@4, a@2 -> a@3, c@2 -> c@3, x@2 -> x@3, "
                                        "b@1 -> b@2, a@1 -> a@2, x@1 -> x@2, a@0 -> a@1, x@0 -> x@1\n"));
  for (const executor::Buffer& one : program.buffers) EXPECT_EQ(one.slots, 1) << one.name;
}

TEST(Pipelined, CopiesGoToTheNextStageOnly) {
  // Eight copies, four of them of the input (PopART's test of discontiguous copies).
  const executor::Program program =
      pipelined(placed("agraph (float[2] x) => (float[2] y)"
                       "{ a = Relu(x) b = Neg(a) c = Abs(b) d = Relu(c) y = Add(x, d) }",
                       {0, 1, 2, 3, 4}),
                pipeline_of(5));
  const auto copies = steps_of_kind<CopyBetweenProcessors>(program.steps);
  std::size_t most = 0;
  for (const CopyBetweenProcessors& copy : copies) {
    most = std::max(most, copy.transfers.size());
    for (const executor::Transfer& one : copy.transfers) {
      EXPECT_EQ(program[one.to.buffer].processor, program[one.from.buffer].processor + 1);
    }
  }
  EXPECT_EQ(most, 8U);
}

TEST(Pipelined, AStageThatComesBackToItsProcessorReadsFromAStash) {
  const executor::Program program =
      pipelined(placed("agraph (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Add(a, b) }",
                       {0, 1, 0}, {0, 1, 2}),
                pipeline_of(8));
  EXPECT_EQ(buffer(program, "a", 0).slots, 3);  // restored two stages later: 2 - 0 + 1
  EXPECT_EQ(buffer(program, "a", 0).role, executor::Role::Stash);
  EXPECT_EQ(buffer(program, "a", 1).slots, 1);
  EXPECT_THAT(steps_of(program), HasSubstr("repeat 6 times\n"
                                           "  load x@0 from host\n"
                                           "  compute stage0 on ipu 0: (x@0) -> (a@0[2+1i])\n"
                                           "  compute stage1 on ipu 1: (a@1) -> (b@1)\n"
                                           "  compute stage2 on ipu 0: (a@0[0+1i], b@0) -> (y@0)\n"
                                           "  store y@0 to host\n"
                                           "  copy b@1 -> b@0, a@0[2+1i] -> a@1\n"
                                           "compute stage1 on ipu 1: (a@1) -> (b@1)\n"
                                           "compute stage2 on ipu 0: (a@0[0], b@0) -> (y@0)\n"));
}

TEST(Pipelined, StashesOfTheFormOfTrainingHoldTwiceTheDistanceToTheLossAndOne) {
  // Four stages forward and three back over the same processors; each way back reads what its way forward
  // made.
  const executor::Program program =
      pipelined(placed("agraph (float[2] x) => (float[2] g0)"
                       "{ a0 = Relu(x) a1 = Exp(a0) a2 = Abs(a1) a3 = Sin(a2)"
                       "  g3 = Neg(a3) g2 = Mul(g3, a2) g1 = Mul(g2, a1) g0 = Mul(g1, a0) }",
                       {0, 1, 2, 3, 3, 2, 1, 0}, {0, 1, 2, 3, 3, 4, 5, 6}),
                pipeline_of(9));
  EXPECT_EQ(buffer(program, "a0", 0).slots, 2 * (4 - 1 - 0) + 1);
  EXPECT_EQ(buffer(program, "a1", 1).slots, 2 * (4 - 1 - 1) + 1);
  EXPECT_EQ(buffer(program, "a2", 2).slots, 2 * (4 - 1 - 2) + 1);
  for (const char* arrived : {"a0", "a1", "a2"}) {
    EXPECT_EQ(buffer(program, arrived, arrived[1] - '0' + 1).slots, 1) << arrived;
  }
}

TEST(Pipelined, AnInputForLaterStagesWaitsOrTravels) {
  const executor::Program program = pipelined(placed("agraph (float[2] x, float[2] m) => (float[2] y)"
                                                     "{ a = Relu(x) b = Add(a, m) y = Add(b, x) }",
                                                     {0, 1, 0}, {0, 1, 2}),
                                              pipeline_of(4));
  EXPECT_EQ(buffer(program, "x", 0).slots, 3);
  EXPECT_EQ(buffer(program, "m", 1).slots, 1);  // comes from the host where it is first used
  EXPECT_THAT(steps_of(program), HasSubstr("load x@0[1] from host\nload m@1 from host\n"));
}

TEST(Pipelined, AValueThatArrivedAndWaitsNeedsASlotACycle) {
  // a arrives on ipu 1 for stage 1 and is used there again in stage 3, two cycles later.
  const executor::Program program = pipelined(
      placed("agraph (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) c = Abs(b) y = Add(a, c) }",
             {0, 1, 0, 1}, {0, 1, 2, 3}),
      pipeline_of(6));
  EXPECT_EQ(buffer(program, "a", 1).slots, 3);
}

TEST(Pipelined, StoresAnEarlyOutputInItsOwnStage) {
  const executor::Program program =
      pipelined(placed("agraph (float[2] x) => (float[2] a, float[2] y) { a = Relu(x) y = Neg(a) }", {0, 1}),
                pipeline_of(2));
  EXPECT_THAT(steps_of(program), ::testing::StartsWith("load x@0 from host\n"
                                                       "compute stage0 on ipu 0: (x@0) -> (a@0)\n"
                                                       "store a@0 to host\n"));
}

TEST(Pipelined, CyclesAreBatchesPlusStagesLessOne) {
  for (int batches : {3, 4, 10}) {
    const executor::Program program = pipelined(placed(kChain, {0, 1, 2}), pipeline_of(batches));
    int cycles_of_first_stage = 0;
    int cycles_after = 0;
    for (const executor::Step& step : program.steps) {
      const auto* repeat = std::get_if<executor::Repeat>(&step.action);
      const auto* load = std::get_if<executor::LoadFromHost>(&step.action);
      if (repeat != nullptr) cycles_of_first_stage += repeat->count;
      if (load != nullptr) ++cycles_of_first_stage;
      const auto* compute = std::get_if<executor::Compute>(&step.action);
      const bool is_last = compute != nullptr && name_of(program, *compute) == "stage2";
      if (is_last && step.micro_batch > batches - 3) ++cycles_after;
    }
    EXPECT_EQ(cycles_of_first_stage, batches);
    EXPECT_EQ(cycles_after, 2);
  }
}

}  // namespace
}  // namespace podium::testing
