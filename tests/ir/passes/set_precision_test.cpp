#include "ir/passes/set_precision.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/infer.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;

std::string as_half(const char* body) {
  Graph graph = graph_of(body);
  set_precision(graph, DataType::Float16);
  infer(graph);
  verify(graph);
  return print(graph);
}

TEST(SetPrecision, ConvertsInputsConstantsAndTypesThatAreAttributes) {
  EXPECT_EQ(as_half("g (float[2] x, int64[2] n) => (float[2] y) <float[2] k = {1, 2.5}>"
                    "{ a = Add(x, k) b = Cast<to = 1>(n) y = Mul(a, b) }"),
            "input x  # float16[2]\n"
            "input n  # int64[2]\n"
            "constant k  # float16[2]\n"
            "a = Add(x, k)  # float16[2]\n"
            "b = Cast(n) {to=10}  # float16[2]\n"
            "y = Mul(a, b)  # float16[2]\n"
            "output y\n");
}

TEST(SetPrecision, LeavesConstantsThatNothingReads) {
  EXPECT_EQ(as_half("g (float[2] x) => (float[2] y) <float[1] Step___k = {3}> { y = Neg(x) }"),
            "input x  # float16[2]\n"
            "constant Step___k  # float[1]\n"
            "y = Neg(x)  # float16[2]\n"
            "output y\n");
}

TEST(SetPrecision, LeavesConstantsThatMustBeFloat) {
  EXPECT_EQ(
      as_half(
          "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize(x, , s) }"),
      "input x  # float16[1,1,2,2]\n"
      "constant s  # float16[4]\n"
      "constant s:0  # float[4]\n"
      "y = Resize(x, _, s:0)  # float16[1,1,4,4]\n"
      "output y\n");
}

TEST(SetPrecision, ConvertsBodies) {
  const std::string text = as_half(
      "g (bool c, float[2] x) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] a) "
      "{ k = Constant<value = float[2] {1, 2}>() a = Add(x, k) }, else_branch = e () => (float[2] b) { b = "
      "Neg(x) }> }");
  EXPECT_NE(text.find("# float16[2]"), std::string::npos) << text;
  EXPECT_EQ(text.find("# float["), std::string::npos) << text;
}

TEST(SetPrecision, GoesBothWays) {
  Graph graph = graph_of("g (float16[2] x) => (float16[2] y) { y = Relu(x) }");
  set_precision(graph, DataType::Float);
  infer(graph);
  EXPECT_EQ(graph[graph.outputs[0]].type, Type::tensor(DataType::Float, {2}));
}

TEST(SetPrecision, RoundsNumbersAndLeavesOthers) {
  const Tensor half = in_precision(testing::tensor<float>({2}, {1.0F, 1.0F + 0x1p-12F}), DataType::Float16);
  EXPECT_EQ(half.type(), DataType::Float16);
  EXPECT_EQ(static_cast<float>(half.values<Float16>()[1]), 1.0F);
  EXPECT_EQ(in_precision(testing::tensor<std::int64_t>({1}, {3}), DataType::Float16).type(), DataType::Int64);
}

TEST(SetPrecision, KeepsFiniteWhatIsFinite) {
  const float lowest = std::numeric_limits<float>::lowest();
  const float endless = std::numeric_limits<float>::infinity();
  const Tensor half = in_precision(testing::tensor<float>({3}, {lowest, 1e5F, endless}), DataType::Float16);
  EXPECT_EQ(static_cast<float>(half.values<Float16>()[0]), -65504);
  EXPECT_EQ(static_cast<float>(half.values<Float16>()[1]), 65504);
  EXPECT_EQ(static_cast<float>(half.values<Float16>()[2]), endless);
}

}  // namespace
}  // namespace podium::ir
