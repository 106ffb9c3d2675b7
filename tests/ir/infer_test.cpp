#include "ir/infer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/kernels/tools/kernel.h"
#include "importer/import.h"
#include "ir/builder.h"
#include "ir/machine_memory.h"
#include "ir/zero_tensor.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMostDim = std::int64_t{1} << 62;

Graph folded(const std::string& body, InferOptions options = {.evaluate = kernels::evaluate}) {
  Graph graph = testing::model_of(body).graph;
  infer(graph, options);
  return graph;
}

const Value& output(const Graph& graph, std::size_t i = 0) { return graph[graph.outputs[i]]; }

std::string error_of(const std::string& body) {
  return testing::refusal([&] { folded(body); });
}

// As models are written without weights: only their types are known.
TEST(Infer, FoldsWhatIsMadeOfConstantsWithoutTheirData) {
  Graph graph = testing::model_of(
                    "g (float[4, 2] x) => (float[4, 3] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> "
                    "{ t = Transpose(w) n = Neg(t) y = MatMul(x, n) }")
                    .graph;
  for (ValueId id : graph.value_ids()) {
    if (graph[id].name != "w") continue;
    graph[id].constant.reset();
    graph[id].data_left_out = true;
  }
  Graph unfolded = graph;
  infer(unfolded);
  EXPECT_EQ(unfolded.ops.size(), 3U);
  infer(graph, {.evaluate = kernels::evaluate});
  ASSERT_EQ(graph.ops.size(), 1U);
  const Value& operand = graph[graph.ops[0].inputs[1]];
  EXPECT_TRUE(operand.data_left_out);
  EXPECT_FALSE(operand.constant);
  EXPECT_EQ(operand.type.dims, (Dims{2, 3}));
}

TEST(Infer, FoldsWhatIsKnown) {
  const Graph graph =
      folded("g (float[2] x) => (float[2] y, float[2] z) <float[2] k = {1, 2}> { z = Neg(k) y = Add(x, z) }");
  EXPECT_EQ(graph.ops.size(), 1U);
  ASSERT_TRUE(output(graph, 1).constant);
  EXPECT_TRUE(identical(*output(graph, 1).constant, testing::tensor<float>({2}, {-1, -2})));
}

TEST(Infer, FoldsNothingWithoutSomebodyWhoEvaluates) {
  const Graph graph =
      folded("g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> { z = Neg(k) y = Add(x, z) }", {});
  EXPECT_EQ(graph.ops.size(), 2U);
  EXPECT_EQ(to_string(output(graph).type), "float[2]");
}

TEST(Infer, RefusesADimensionThatNoMemoryHoldsWhateverIsBesideIt) {
  for (const Dims& dims : {Dims{0, kMostDim}, Dims{kUnknown, kMostDim}}) {
    Graph graph;
    Builder build(graph);
    build.input("x", Type::tensor(DataType::Float, dims));
    EXPECT_THAT(testing::refusal([&] { infer(graph); }), HasSubstr("does not fit memory"));
  }
  EXPECT_THAT(testing::refusal([] {
                Tensor(DataType::Float, {0, kMostDim});
              }),
              HasSubstr("does not fit memory"));
}

TEST(Infer, ATensorLargerThanTheMachinesMemoryIsRefusedBeforeItIsTaken) {
  for (const DataType type : {DataType::String, DataType::Double}) {
    EXPECT_THAT(testing::refusal([&] { Tensor(type, {machine_memory() / 8 + 1}); }),
                HasSubstr("does not fit memory"));
  }
}

TEST(Infer, NeverFoldsRandomNumbers) {
  const Graph graph = folded("g () => (float[2] y) <float[2] k = {1, 2}> { y = RandomNormalLike(k) }");
  EXPECT_EQ(graph.ops.size(), 1U);
}

TEST(Infer, FoldsNothingThatGrowsTooLarge) {
  const std::string body =
      "g () => (float[N] y) <int64[1] n = {1000}, float[1] one = {1}> { y = Expand(one, n) }";
  EXPECT_EQ(folded(body, {.evaluate = kernels::evaluate, .most_folded_bytes = 3999}).ops.size(), 1U);
  EXPECT_EQ(folded(body, {.evaluate = kernels::evaluate, .most_folded_bytes = 4000}).ops.size(), 0U);
}

// Each of six results is as large as one may be: together they are 24,000 bytes, beside 32 of constants.
TEST(Infer, FoldsFourTimesInAllWhatItFoldsOfOneOp) {
  std::string body = "g () => (float[N] y) <int64[1] n = {1000}";
  for (int i = 0; i < 6; ++i) body += fmt::format(", float[1] k{0} = {{{0}}}", i);
  body += "> { ";
  for (int i = 0; i < 6; ++i) body += fmt::format("e{} = Expand(k{}, n) ", i, i);
  body += "y = Sum(e0, e1, e2, e3, e4, e5) }";
  const Graph graph = folded(body, {.evaluate = kernels::evaluate, .most_folded_bytes = 4000});
  EXPECT_EQ(graph.ops.size(), 3U) << print(graph);
}

TEST(Infer, FoldsNoMoreOfAGraphThatIsInferredAgain) {
  std::string body = "g (float[N] x) => (float[N] y) <int64[1] n = {1000}";
  for (int i = 0; i < 6; ++i) body += fmt::format(", float[1] k{0} = {{{0}}}", i);
  body += "> { ";
  for (int i = 0; i < 6; ++i) body += fmt::format("e{} = Expand(k{}, n) ", i, i);
  body += "y = Sum(x, e0, e1, e2, e3, e4, e5) }";
  const InferOptions options{.evaluate = kernels::evaluate, .most_folded_bytes = 4000};
  Graph graph = folded(body, options);
  for (int time = 0; time < 3; ++time) infer(graph, options);
  EXPECT_EQ(graph.ops.size(), 3U) << print(graph);
}

TEST(Infer, FoldsBodiesFromWhatTheirGraphHasLeft) {
  const std::string expand = "{ e0 = Expand(one, n) e1 = Expand(two, n) p = Concat <axis = 0> (e0, e1) }";
  const Graph graph = folded(
      "g (bool c) => (float[N] y) <int64[1] n = {1000}, float[1] one = {1}, float[1] two = {2}> { y = If(c) "
      "<then_branch = t () => (float[N] p) " +
          expand + ", else_branch = e () => (float[N] p) " + expand + "> }",
      {.evaluate = kernels::evaluate, .most_folded_bytes = 4000});
  std::size_t left = 0;
  for_each_body(graph.ops.at(0), [&](std::string_view, const Graph& branch) { left += branch.ops.size(); });
  EXPECT_EQ(left, 3U) << "the second branch finds nothing left";
}

TEST(Infer, FoldsNoTextsThatGrowWithoutEnd) {
  std::string body = "g () => (string[1] s40) <string[1] s0 = {\"ha\"}> { ";
  for (int i = 0; i < 40; ++i) body += fmt::format("s{} = StringConcat(s{}, s{}) ", i + 1, i, i);
  const Graph graph = folded(body + "}", {.evaluate = kernels::evaluate, .most_folded_bytes = 1 << 20});
  EXPECT_GT(graph.ops.size(), 20U) << "a text of a megabyte is one that was doubled 19 times";
  EXPECT_LT(graph.ops.size(), 30U);
}

TEST(Infer, FoldsNoSplitOfALongTextBesideManyShortOnes) {
  Graph graph;
  Builder build(graph);
  std::vector<std::string> texts(1000);
  const auto split = [&] {
    build.output(build.op("StringSplit", {build.constant(Tensor::of<std::string>({1000}, texts))}));
    infer(graph, {.evaluate = kernels::evaluate, .most_folded_bytes = 1 << 20});
  };
  texts[0] = "a b c";
  split();
  EXPECT_TRUE(graph.ops.empty());
  texts[0] = std::string(1000, 'a');
  split();
  EXPECT_EQ(graph.ops.size(), 1U);
}

// A product of two megabytes that would compute for a minute.
TEST(Infer, FoldsNothingThatComputesForLong) {
  Graph graph;
  Builder build(graph);
  const ValueId k = build.constant(zeros(DataType::Float, {500, 500}));
  const ValueId wide = build.op("Einsum", {k, k, k}, {{"equation", std::string("ij,kl,mn->jln")}});
  build.output(build.op("ReduceSum", {wide}));
  infer(graph, {.evaluate = kernels::evaluate, .most_folded_bytes = std::int64_t{1} << 40});
  EXPECT_EQ(graph.ops.size(), 2U);
}

TEST(Infer, KnowsShapesOfStaticValuesAndRanksOfOthers) {
  const Graph graph = folded(
      "g (float[2,3] x, float[2,N] z) => (int64[2] s, int64[2] t, int64 r) {"
      "s = Shape(x) t = Shape(z) r = Size(t) }");
  EXPECT_TRUE(output(graph, 0).constant);
  EXPECT_FALSE(output(graph, 1).constant);
  EXPECT_EQ(to_string(output(graph, 1).type), "int64[2]");
  EXPECT_TRUE(output(graph, 2).constant);
}

TEST(Infer, LooksOnlyAtTheBranchThatIsTaken) {
  const std::string branches =
      "<then_branch = t () => (float[3] p) { p = Squeeze(x, axes) }, else_branch = e () => (float[2,3] q) { "
      "q = Neg(x) }> }";
  const auto taking = [&](const std::string& taken) {
    return "g (float[2,3] x) => (float[2,3] y) <bool c = {" + taken + "}, int64[1] axes = {0}> { y = If(c) " +
           branches;
  };
  EXPECT_EQ(to_string(output(folded(taking("0"))).type), "float[2,3]");
  EXPECT_THAT(error_of(taking("1")), HasSubstr("then_branch"));
}

TEST(Infer, JoinsWhatBranchesGive) {
  const Graph graph = folded(
      "g (bool c, float[2,3] x) => (float[N,3] y) <int64[1] i = {0}> {"
      "y = If(c) <then_branch = t () => (float[1,3] p) { p = Gather(x, i) }, else_branch = e () => "
      "(float[2,3] q) { q = Neg(x) }> }");
  EXPECT_EQ(to_string(output(graph).type), "float[?,3]");
}

TEST(Infer, KnowsCapturedConstantsInBodies) {
  const Graph graph = folded(
      "g (bool c, float[2,3] x) => (float[6] y) <int64[1] flat = {6}> {"
      "y = If(c) <then_branch = t () => (float[6] p) { p = Reshape(x, flat) }, else_branch = e () => "
      "(float[6] q) { r = Neg(x) q = Reshape(r, flat) }> }");
  EXPECT_EQ(to_string(output(graph).type), "float[6]");
}

// A loop's state may change its shape: what the body makes of the first shape is not what it makes of all.
TEST(Infer, GeneralisesTheStateOfALoop) {
  const Graph graph = folded(
      "g (int64 n, bool c, float[1,2] x) => (float[N,2] y) {"
      "y = Loop(n, c, x) <body = b (int64 i, bool go, float[A,2] s) => (bool on, float[B,2] t) { on = "
      "Identity(go) t = Concat<axis = 0>(s, s) }> }");
  EXPECT_EQ(to_string(output(graph).type), "float[?,2]");
}

TEST(Infer, ABodyThatCannotBeFoldedMayNeverBeEntered) {
  const std::string body =
      "g (bool c, int64[1] x) => (int64[1] y) <int64[1] far = {7}, int64[2] data = {1, 2}> {"
      "y = If(c) <then_branch = t () => (int64[1] p) { p = Gather(data, far) }, else_branch = e () => "
      "(int64[1] q) { q = Neg(x) }> }";
  const auto out = testing::run_text(body, {Tensor::scalar(false), Tensor::ints({5})});
  EXPECT_EQ(testing::values<std::int64_t>(out[0]), std::vector<std::int64_t>{-5});
  EXPECT_THROW(testing::run_text(body, {Tensor::scalar(true), Tensor::ints({5})}), Error);
}

// The branch that fails whenever it runs says nothing about what comes out.
TEST(Infer, TakesTheTypesOfTheBranchThatFitsItsInputs) {
  const Graph graph = folded(
      "g (bool c, float[2] x, float[3] z) => (float[N] y) {"
      "y = If(c) <then_branch = t () => (float[N] p) { r = Add(x, z) p = Neg(r) }, else_branch = e () => "
      "(float[N] q) { q = Concat<axis = 0>(x, z) }> }");
  EXPECT_EQ(to_string(output(graph).type), "float[5]");
}

TEST(Infer, ABodyThatCertainlyRunsHasToFitItsInputs) {
  const auto with_trips = [&](const std::string& trips) {
    return "g (float[2] x, float[3] z) => (float[2] y) { n = Constant <value_int = " + trips +
           "> () y = Loop(n, , x) "
           "<body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t) { on = Identity(go) t = Add(s, z) }> }";
  };
  EXPECT_THAT(error_of(with_trips("1")), HasSubstr("node 'y' (Loop): body: node 't' (Add): "));
  EXPECT_EQ(to_string(output(folded(with_trips("0"))).type), "float[2]");
}

TEST(Infer, NamesTheNodeAndTheWayToIt) {
  EXPECT_THAT(error_of("g (float[2] x, float[3] z) => (float[2] y) { y = Add(x, z) }"),
              HasSubstr("node 'y' (Add)"));
  const std::string inner = error_of(
      "g (bool c, float[2] x, float[3] z) => (float[2] y) {"
      "y = If(c) <then_branch = t () => (float[2] p) { p = Add(x, z) }, else_branch = e () => (float[2] q) { "
      "q = Mul(x, z) }> }");
  EXPECT_THAT(inner, HasSubstr("node 'y' (If): then_branch: node 'p' (Add): "));
}

TEST(Infer, TypesAtRunTimeSeeNumbers) {
  const Graph graph = folded("g (float[2,3] x, int64[N] s) => (float[A,B] y) { y = Reshape(x, s) }");
  const Datum x = testing::tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Datum shape = Tensor::ints({3, -1});
  const std::vector<const Datum*> inputs{&x, &shape};
  EXPECT_EQ(to_string(infer_outputs(graph.ops[0], inputs)[0]), "float[3,2]");
}

}  // namespace
}  // namespace podium::ir
