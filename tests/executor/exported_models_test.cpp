// Models as exporters write them, run the whole way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using testing::run_graph;
using testing::run_text;
using testing::tensor;
using testing::values;

TEST(ExportedModels, ComputeShapesFromTheShapesOfTheirInputs) {
  const std::string graph = R"(g (float[N, 6] x) => (float[A, B, C] y) {
    shape = Shape(x)
    zero = Constant <value_int = 0> ()
    batch = Gather <axis = 0> (shape, zero)
    axes = Constant <value_ints = [0]> ()
    first = Unsqueeze(batch, axes)
    rest = Constant <value_ints = [2, 3]> ()
    target = Concat <axis = 0> (first, rest)
    y = Reshape(x, target)
  })";
  const auto y = run_text(graph, {tensor<float>({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})});
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{2, 2, 3}));
}

TEST(ExportedModels, ReshapeToAShapeThatIsAnInput) {
  const std::string graph = "g (float[6] x, int64[K] s) => (float[A, B] y) { y = Reshape(x, s) }";
  const auto y = run_text(graph, {tensor<float>({6}, {1, 2, 3, 4, 5, 6}), ir::Tensor::ints({3, -1})});
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{3, 2}));
}

TEST(ExportedModels, ChooseInNestedBranchesThatReadOuterValues) {
  const std::string graph = R"(g (float[2] x, bool outer, bool inner) => (float[2] y) {
    y = If (outer) <
      then_branch = t () => (float[2] a) {
        a = If (inner) <
          then_branch = tt () => (float[2] b) { b = Add(x, x) },
          else_branch = te () => (float[2] c) { c = Mul(x, x) }>
      },
      else_branch = e () => (float[2] d) { d = Neg(x) }>
  })";
  const auto run = [&](bool outer, bool inner) {
    return values<float>(run_text(
        graph, {tensor<float>({2}, {3, 4}), ir::Tensor::scalar(outer), ir::Tensor::scalar(inner)})[0]);
  };
  EXPECT_THAT(run(true, true), ElementsAre(6, 8));
  EXPECT_THAT(run(true, false), ElementsAre(9, 16));
  EXPECT_THAT(run(false, true), ElementsAre(-3, -4));
}

TEST(ExportedModels, QuantiseDynamicallyAndMultiplyIntegers) {
  const std::string graph = R"(g (float[1, 4] x, uint8[4, 2] w, float ws, uint8 wz) => (float[1, 2] y) {
    q, scale, zero = DynamicQuantizeLinear(x)
    product = MatMulInteger(q, w, zero, wz)
    number = Cast <to = 1> (product)
    both = Mul(scale, ws)
    y = Mul(number, both)
  })";
  const auto y = run_text(graph, {tensor<float>({1, 4}, {0, 1, 2, 255}),
                                  tensor<std::uint8_t>({4, 2}, {11, 9, 11, 9, 11, 9, 11, 9}),
                                  ir::Tensor::scalar(0.5F), ir::Tensor::scalar<std::uint8_t>(10)});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(129, -129));
}

TEST(ExportedModels, CarryQuantisedWeightsBetweenQuantizeAndDequantize) {
  const std::string graph = R"(g (float[1, 2] x, int8[2, 2] w, float s, int8 z) => (float[1, 2] y) {
    xq = QuantizeLinear(x, s, z)
    xd = DequantizeLinear(xq, s, z)
    wd = DequantizeLinear(w, s, z)
    y = MatMul(xd, wd)
  })";
  const auto y =
      run_text(graph, {tensor<float>({1, 2}, {1.1F, -2}), tensor<std::int8_t>({2, 2}, {2, 0, 0, 4}),
                       ir::Tensor::scalar(0.5F), ir::Tensor::scalar<std::int8_t>(0)});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1, -4));
}

TEST(ExportedModels, SelectBoxesWhoseNumberOnlyTheDataDecide) {
  const std::string graph = R"(g (float[1, 3, 4] boxes, float[1, 1, 3] scores, int64[1] most, float[1] iou)
      => (int64[n] kept) {
    picked = NonMaxSuppression(boxes, scores, most, iou)
    column = Constant <value_ints = [2]> ()
    chosen = Gather <axis = 1> (picked, column)
    flat = Constant <value_ints = [-1]> ()
    kept = Reshape(chosen, flat)
  })";
  const auto kept = run_text(graph, {tensor<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F, 5, 5, 6, 6}),
                                     tensor<float>({1, 1, 3}, {0.9F, 0.8F, 0.7F}), ir::Tensor::ints({3}),
                                     tensor<float>({1}, {0.5F})});
  EXPECT_THAT(values<std::int64_t>(kept[0]), ElementsAre(0, 2));
}

TEST(ExportedModels, RefuseASequenceWhoseItemsContradictItsType) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId items =
      builder.input("s", ir::Type::sequence(ir::Type::tensor(ir::DataType::Float, {2})));
  builder.output(builder.op("SequenceAt", {items, builder.constant(ir::Tensor::scalar<std::int64_t>(0))}));
  const auto run = [&](ir::Tensor item) {
    return run_graph(graph, {ir::Datum::sequence({std::move(item)})});
  };
  EXPECT_THAT(values<float>(run(tensor<float>({2}, {1, 2}))[0]), ElementsAre(1, 2));
  EXPECT_THROW(run(tensor<double>({2}, {1, 2})), Error);
  EXPECT_THROW(run(tensor<float>({3}, {1, 2, 3})), Error);
}

TEST(ExportedModels, HaveTenThousandNodes) {
  std::string graph = "g (float[1] v0, float[1] one) => (float[1] v10000) {\n";
  for (int i = 0; i < 10000; ++i) graph += fmt::format("v{} = Add(v{}, one)\n", i + 1, i);
  const auto y = run_text(graph + "}", {tensor<float>({1}, {0}), tensor<float>({1}, {1})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(10000));
}

}  // namespace
}  // namespace podium
