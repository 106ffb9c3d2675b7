#include <gmock/gmock.h>

#include "tests/executor/lower/placed.h"

namespace podium::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

executor::Program sharded(const std::string& body, const std::vector<int>& processors,
                          const Strategy& strategy = {}) {
  Placed model = placed(body, processors);
  return lower::lower(std::move(model.graph), model.placement, strategy);
}

// How many tensors each copy moves.
std::vector<std::size_t> tensors_per_copy(const executor::Program& program) {
  std::vector<std::size_t> counts;
  for (const auto& copy : steps_of_kind<executor::CopyBetweenProcessors>(program.steps)) {
    counts.push_back(copy.transfers.size());
  }
  return counts;
}

TEST(Sharded, OnOneProcessorIsOneBlock) {
  EXPECT_EQ(print(sharded("agraph (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {0, 0})),
            "buffer x: 1 x float[2] on ipu 0 compute\n"
            "buffer y: 1 x float[2] on ipu 0 compute\n"
            "block all on ipu 0: 2 ops\n"
            "load x@0 from host\n"
            "compute all on ipu 0: (x@0) -> (y@0)\n"
            "store y@0 to host\n");
}

TEST(Sharded, GathersAWeightInPartsForTheOpsThatReadIt) {
  Strategy strategy{.replicas = 2};
  strategy.weights.location.sharded = true;
  strategy.weights.min_elements_for_sharding = 2;
  const std::string body =
      "agraph (float[2] x) => (float[2] y) <float[2] w0 = {1, 2}, float[2] w1 = {3, 4}> "
      "{ a = Mul(x, w0) b = Mul(a, w1) y = Neg(b) }";
  EXPECT_EQ(steps_of(sharded(body, {0, 0, 0}, strategy)),
            "all-gather w0@0 -> w0__g0@0\n"
            "load x@0 from host\n"
            "compute part0 on ipu 0: (x@0, w0__g0@0) -> (a@0)\n"
            "all-gather w1@0 -> w1__g0@0\n"
            "compute part1 on ipu 0: (a@0, w1__g0@0) -> (y@0)\n"
            "store y@0 to host\n");
}

TEST(Sharded, RunsOneProcessorAfterTheOtherForEachBatch) {
  EXPECT_EQ(steps_of(sharded("agraph (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {0, 1},
                             {.batches_per_step = 3})),
            "repeat 3 times\n"
            "  load x@0 from host\n"
            "  compute part0 on ipu 0: (x@0) -> (a@0)\n"
            "  copy a@0 -> a@1\n"
            "  compute part1 on ipu 1: (a@1) -> (y@1)\n"
            "  store y@1 to host\n");
}

TEST(Sharded, TakesAValueOnceToEachProcessorThatNeedsIt) {
  const std::string text = steps_of(sharded(
      "agraph (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) c = Abs(b) d = Add(a, c) y = Add(a, d) }",
      {0, 1, 0, 1, 1}));
  EXPECT_EQ(text,
            "load x@0 from host\n"
            "compute part0 on ipu 0: (x@0) -> (a@0)\n"
            "copy a@0 -> a@1\n"
            "compute part1 on ipu 1: (a@1) -> (b@1)\n"
            "copy b@1 -> b@0\n"
            "compute part2 on ipu 0: (b@0) -> (c@0)\n"
            "copy c@0 -> c@1\n"
            "compute part3 on ipu 1: (a@1, c@1) -> (y@1)\n"
            "store y@1 to host\n");
}

TEST(Sharded, LeavesAControlFlowOpWhole) {
  const executor::Program program = sharded(
      "agraph (bool c, float[2] x) => (float[2] z) { y = If (c) <"
      "then_branch = t () => (float[2] u) { u = Relu(x) }, else_branch = e () => (float[2] v) { v = Neg(x) }>"
      " z = Abs(y) }",
      {0, 1});
  EXPECT_THAT(tensors_per_copy(program), ElementsAre(1));
  EXPECT_EQ(program.blocks.size(), 2U);
}

// Which copies become one: those of values that one op is the first to read (PopART's tests MergeCopies0 to
// 4).
TEST(Sharded, OneCopyBringsWhatOneOpReadsFirst) {
  EXPECT_THAT(tensors_per_copy(sharded("agraph (float[4,4] i, float[4,4] c) => (float[4,4] a1)"
                                       "{ a0 = Add(i, c) a1 = Add(i, a0) }",
                                       {0, 1})),
              ElementsAre(2));
}

TEST(Sharded, ACopyForAnEarlierOpStandsAlone) {
  EXPECT_THAT(tensors_per_copy(
                  sharded("agraph (float[4,4] i) => (float[4,4] out) <float[1] c1 = {1}, float[1] c2 = {2}>"
                          "{ a0 = Add(i, c1) a1 = Add(i, c2) a2 = Sum(i, a0, a1) out = Add(a1, a2) }",
                          {0, 1, 1, 1})),
              ElementsAre(1, 1));
}

TEST(Sharded, AValueReadTwiceIsInTheCopyForTheFirstReader) {
  EXPECT_THAT(tensors_per_copy(sharded("agraph (float[4,4] i) => (float[4,4] out) <float[1] c1 = {1}>"
                                       "{ a0 = Add(i, c1) a1 = Add(i, a0) out = Add(a0, a1) }",
                                       {0, 1, 1})),
              ElementsAre(2));
}

TEST(Sharded, AConstantBesideCopiesIsNotCopied) {
  EXPECT_THAT(
      tensors_per_copy(sharded("agraph (float[1] i1, float[1] i2) => (float[4] out) <float[1] c1 = {1}>"
                               "{ a0 = Concat <axis = 0> (i1, i2) out = Concat <axis = 0> (i1, a0, c1) }",
                               {0, 1})),
      ElementsAre(2));
}

TEST(Sharded, OneCopyBringsValuesOfSeveralProcessors) {
  EXPECT_THAT(tensors_per_copy(sharded("agraph (float[4,4] i0, float[4,4] i1) => (float[4,4] a2)"
                                       "{ a0 = Add(i0, i1) a1 = Add(i0, i1) a2 = Add(a0, a1) }",
                                       {0, 1, 2})),
              ElementsAre(2, 2));
}

TEST(Sharded, NothingIsCopiedOnOneProcessor) {
  EXPECT_THAT(
      tensors_per_copy(sharded("agraph (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {0, 0})),
      IsEmpty());
}

}  // namespace
}  // namespace podium::testing
