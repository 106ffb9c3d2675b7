#include "executor/numeric/fuse_matmul.h"

#include <cmath>
#include <limits>

#include "executor/kernels/tools/kernel.h"
#include "executor/numeric/fuse_post_ops.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::IntList;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

TEST(FuseMatmul, PacksConstantFactors) {
  Sketch s;
  s.output(s.op("MatMul", {s.input({2, 3, 4}), s.weight({4, 5})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  EXPECT_EQ(ops_of(s.graph), "MatMul:0 = podium.MatMul(x0, w1)\n");
}

TEST(FuseMatmul, LeavesVectorsAndBatchesOfWeightsAlone) {
  Sketch s;
  s.output(s.op("MatMul", {s.input({4}), s.weight({4, 5})}));
  s.output(s.op("MatMul", {s.input({2, 3, 4}), s.weight({2, 4, 5})}));
  EXPECT_FALSE(fuse_matmul(s.graph));
}

TEST(FuseMatmul, LeavesDefaultsThatARunMayReplaceAlone) {
  Sketch s;
  const ValueId w = s.weight({4, 5});
  s.graph.inputs.push_back(w);
  s.output(s.op("MatMul", {s.input({3, 4}), w}));
  EXPECT_FALSE(fuse_matmul(s.graph));
}

TEST(FuseMatmul, ScalesWeightsAndBiasOfGemm) {
  Sketch s;
  s.output(s.op("Gemm", {s.input({3, 4}), s.weight({5, 4}), s.weight({5})},
                {{"transB", std::int64_t{1}}, {"alpha", 0.5F}, {"beta", -2.0F}}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  EXPECT_EQ(ops_of(s.graph), "Gemm:0 = podium.MatMul(x0, w1:1, w2:2) {transB=1}\n");
}

TEST(FuseMatmul, LeavesGemmWithATransposedFirstFactorOrAMatrixAddedAlone) {
  Sketch s;
  s.output(s.op("Gemm", {s.input({4, 3}), s.weight({4, 5})}, {{"transA", std::int64_t{1}}}));
  s.output(s.op("Gemm", {s.input({3, 4}), s.weight({4, 5}), s.weight({3, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_FALSE(fuse_matmul(s.graph));
}

TEST(FuseMatmul, DropsTheFlatteningOfRows) {
  Sketch s;
  const ValueId rows = s.op("Reshape", {s.input({2, 3, 4}), s.ints({-1, 4})});
  const ValueId y = s.op("Gemm", {rows, s.weight({4, 5}), s.weight({5})});
  s.output(s.op("Reshape", {y, s.ints({2, 3, 5})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  EXPECT_EQ(ops_of(s.graph), "Reshape:4 = podium.MatMul(x0, w1, w2) {transB=0}\n");
}

// Numbers of few bits, all of their range in turn.
template <class T>
ValueId narrow(Sketch& s, const ir::Dims& dims, int lowest, int count) {
  ir::Tensor tensor(ir::data_type_of<T>, dims);
  int next = 0;
  for (T& value : tensor.values<T>()) value = T(static_cast<std::int8_t>(lowest + next++ * 7 % count));
  return s.graph.add_constant(s.graph.fresh_name("q"), std::move(tensor));
}

// Over two strips of columns, the second of which is not full; one row, several at once, and so many that
// strips become floats first.
template <class T>
void expect_narrow_product(int lowest, int count) {
  enum class ZeroPoints : std::uint8_t { None, Alike, Own };
  for (const ZeroPoints zero_points : {ZeroPoints::None, ZeroPoints::Alike, ZeroPoints::Own}) {
    for (const std::int64_t block : {0, 1, 4, 16}) {
      Sketch s;
      constexpr std::int64_t kInner = 10;
      constexpr std::int64_t kColumns = 70;
      const bool is_blocked = block > 0;
      const ir::Dims groups =
          is_blocked ? ir::Dims{(kInner + block - 1) / block, kColumns} : ir::Dims{kColumns};
      std::vector<ValueId> inputs{narrow<T>(s, {kInner, kColumns}, lowest, count), s.weight(groups, 0.1F)};
      if (zero_points == ZeroPoints::Alike) inputs.push_back(narrow<T>(s, groups, lowest + 1, 1));
      if (zero_points == ZeroPoints::Own) inputs.push_back(narrow<T>(s, groups, lowest, count));
      const ValueId w =
          s.op("DequantizeLinear", inputs, {{"axis", std::int64_t{!is_blocked}}, {"block_size", block}});
      for (const std::int64_t rows : {1, 5, 9}) s.output(s.op("MatMul", {s.input({rows, kInner}), w}));
      expect_same_when_fused(s.graph);
      EXPECT_TRUE(fuse_matmul(s.graph));
      ASSERT_EQ(s.graph.ops.size(), 3U);
      for (const ir::Op& op : s.graph.ops) EXPECT_TRUE(op.is("DequantizedMatMul", "podium"));
    }
  }
}

TEST(FuseMatmul, MultipliesWeightsOfFewBitsAsTheyAre) {
  expect_narrow_product<std::int8_t>(-128, 256);
  expect_narrow_product<std::uint8_t>(0, 256);
  expect_narrow_product<ir::Int4>(-8, 16);
  expect_narrow_product<ir::Uint4>(0, 16);
  expect_narrow_product<ir::Uint2>(0, 4);
}

// Rows of weights, as MatMulNBits has them, are turned in front of the product.
ValueId turned_rows(Sketch& s) {
  const ValueId rows =
      s.op("DequantizeLinear",
           {narrow<ir::Uint4>(s, {70, 10}, 0, 16), s.weight({70, 3}), narrow<ir::Uint4>(s, {70, 3}, 0, 16)},
           {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{4}}});
  return s.op("Transpose", {rows}, {{"perm", ir::IntList{1, 0}}});
}

TEST(FuseMatmul, MultipliesRowsOfFewBitsThatAreTurnedAsTheyAre) {
  Sketch s;
  s.output(s.op("MatMul", {s.input({5, 10}), turned_rows(s)}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  ASSERT_EQ(s.graph.ops.size(), 1U);
  EXPECT_TRUE(s.graph.ops[0].is("DequantizedMatMul", "podium"));
}

TEST(FuseMatmul, LeavesTurnedRowsAloneWhoseBlocksAreNotOfTheSum) {
  Sketch s;
  const ValueId columns = s.op("DequantizeLinear", {narrow<ir::Uint4>(s, {8, 10}, 0, 16), s.weight({2, 10})},
                               {{"axis", std::int64_t{0}}, {"block_size", std::int64_t{4}}});
  s.output(s.op("MatMul", {s.input({5, 10}), s.op("Transpose", {columns})}));
  expect_same_when_fused(s.graph);
  EXPECT_FALSE(fuse_matmul(s.graph));
}

TEST(FuseMatmul, TakesTheTransposedWeightsAndTheBiasOfAGemm) {
  Sketch s;
  const ValueId weights =
      s.op("DequantizeLinear",
           {narrow<ir::Uint4>(s, {70, 10}, 0, 16), s.weight({70, 3}), narrow<ir::Uint4>(s, {70, 3}, 0, 16)},
           {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{4}}});
  s.output(s.op("Gemm", {s.input({5, 10}), weights, s.weight({70})}, {{"transB", std::int64_t{1}}}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  ASSERT_EQ(s.graph.ops.size(), 1U);
  EXPECT_TRUE(s.graph.ops[0].is("DequantizedMatMul", "podium"));
}

// As they are once constants are folded: y = x w, with w of 8 bits.
Sketch with_folded_weights(std::int64_t rows) {
  Sketch s;
  const ir::Tensor q = *s.graph[narrow<std::int8_t>(s, {64, 260}, -128, 256)].constant;
  const ir::Tensor scale = *s.graph[s.weight({260}, 0.1F)].constant;
  const ir::Op dequantize{.spec = ir::find_op("", "DequantizeLinear"),
                          .name = "w",
                          .inputs = {ValueId{0}, ValueId{1}},
                          .outputs = {ValueId{2}},
                          .attributes = {{"axis", std::int64_t{1}}}};
  const std::vector<ir::Datum> inputs{q, scale};
  const ValueId w = s.graph.add_constant("w", kernels::evaluate(dequantize, inputs)[0].tensor);
  s.output(s.op("MatMul", {s.input({rows, 64}), w}));
  return s;
}

// The same of rows: y = x transposed(w).
Sketch with_folded_rows(std::int64_t rows) {
  Sketch s;
  const ir::Tensor q = *s.graph[narrow<ir::Uint4>(s, {260, 64}, 0, 16)].constant;
  const ir::Tensor scale = *s.graph[s.weight({260, 4}, 0.1F)].constant;
  const ir::Op dequantize{.spec = ir::find_op("", "DequantizeLinear"),
                          .name = "w",
                          .inputs = {ValueId{0}, ValueId{1}},
                          .outputs = {ValueId{2}},
                          .attributes = {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{16}}}};
  const ir::Op transpose{
      .spec = ir::find_op("", "Transpose"), .name = "t", .inputs = {ValueId{0}}, .outputs = {ValueId{1}}};
  const auto wide = kernels::evaluate(dequantize, std::vector<ir::Datum>{q, scale});
  const ValueId w = s.graph.add_constant("w", kernels::evaluate(transpose, wide)[0].tensor);
  s.output(s.op("MatMul", {s.input({rows, 64}), w}));
  return s;
}

const ir::Tensor& weights_of(const Sketch& s) { return *s.graph[s.graph.ops[0].inputs[1]].constant; }

void expect_narrow(Sketch s, ir::DataType type) {
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  ASSERT_EQ(s.graph.ops.size(), 1U);
  EXPECT_TRUE(s.graph.ops[0].is("DequantizedMatMul", "podium"));
  EXPECT_EQ(weights_of(s).type(), type);
}

// For more than six rows strips of them become floats first.
TEST(FuseMatmul, MultipliesWithFoldedWeightsOfFewBitsAsTheyWere) {
  for (const std::int64_t rows : {1, 6, 7, 100}) {
    expect_narrow(with_folded_weights(rows), ir::DataType::Int8);
    expect_narrow(with_folded_rows(rows), ir::DataType::Uint4);
  }
}

// So results do not depend on who has read the weights before.
TEST(FuseMatmul, TakesFoldedWeightsAsTheyWereAfterTheyHaveBeenRead) {
  Sketch s = with_folded_weights(1);
  EXPECT_NE(weights_of(s).raw(), nullptr);
  expect_narrow(std::move(s), ir::DataType::Int8);
}

TEST(FuseMatmul, PacksFoldedTranspositionsFromWhatTheyWereBefore) {
  for (const ir::IntList& perm : {ir::IntList{1, 0}, ir::IntList{}, ir::IntList{0, 1}}) {
    Sketch s;
    const bool is_swap = perm != ir::IntList{0, 1};
    const ir::Tensor given = *s.graph[s.weight(is_swap ? ir::Dims{260, 64} : ir::Dims{64, 260})].constant;
    ir::Op transpose{
        .spec = ir::find_op("", "Transpose"), .name = "w", .inputs = {ValueId{0}}, .outputs = {ValueId{1}}};
    if (!perm.empty()) ir::set_attribute(transpose, "perm", perm);
    const std::vector<ir::Datum> inputs{given};
    const ValueId w = s.graph.add_constant("w", kernels::evaluate(transpose, inputs)[0].tensor);
    s.output(s.op("MatMul", {s.input({9, 64}), w}));
    expect_same_when_fused(s.graph);
    EXPECT_TRUE(fuse_matmul(s.graph));
    EXPECT_EQ(weights_of(s).dims(), is_swap ? given.dims() : (ir::Dims{64, 260}));
    EXPECT_EQ(weights_of(s).memory_id() == given.memory_id(), is_swap);
  }
}

TEST(FuseMatmul, DequantisesWeightsWhoseScaleCannotLeaveTheSum) {
  const float infinity = std::numeric_limits<float>::infinity();
  // Of each row of the weights its own; an infinite one; one that makes weights infinite.
  for (const float number : {0.0F, infinity, 3e38F}) {
    Sketch s;
    const ValueId scale = number == 0 ? s.weight({4}) : s.number(number);
    const ValueId w = s.op("DequantizeLinear", {narrow<std::int8_t>(s, {4, 5}, -128, 256), scale},
                           {{"axis", std::int64_t{number != 0}}});
    s.output(s.op("MatMul", {s.input({3, 4}), w}));
    EXPECT_FALSE(fuse_matmul(s.graph)) << number;
  }
}

TEST(FuseMatmul, IsFiniteInNarrowProductsWhereDequantisedOnesAre) {
  for (const float scale : {1e-40F, 1e-3F, 1.0F, 1e30F}) {
    Sketch s;
    const ValueId w = s.op("DequantizeLinear", {narrow<std::uint8_t>(s, {10, 40}, 1, 255), s.number(scale)});
    s.output(s.op("MatMul", {s.input({1, 10}), w}));
    ir::Tensor x(ir::DataType::Float, {1, 10});
    for (float& one : x.values<float>()) one = std::min(1e34F / scale, 3e38F);
    const float plain = testing::run_graph(s.graph, false, {x})[0].data<float>()[39];
    const float fused = testing::run_graph(s.graph, true, {x})[0].data<float>()[39];
    EXPECT_TRUE(std::isfinite(plain)) << scale;
    EXPECT_NEAR(fused / plain, 1, 1e-4) << scale;
  }
}

TEST(FuseMatmul, KeepsInfiniteAndMissingNumbersApartInNarrowProducts) {
  Sketch s;
  const ValueId w = s.op("DequantizeLinear", {narrow<std::uint8_t>(s, {3, 4}, 0, 256), s.number(0.5F),
                                              narrow<std::uint8_t>(s, {}, 7, 256)});
  s.output(s.op("MatMul", {s.input({3, 3}), w}));
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<ir::Datum> inputs{ir::Tensor::of<float>({3, 3}, {infinity, 1, 1, nan, 1, 1, 1, 2, 3})};
  const ir::Tensor plain = testing::run_graph(s.graph, false, inputs)[0];
  const ir::Tensor fused = testing::run_graph(s.graph, true, inputs)[0];
  for (int i = 0; i < 12; ++i) {
    const float wanted = plain.data<float>()[i];
    const float found = fused.data<float>()[i];
    EXPECT_TRUE(std::isnan(wanted) ? std::isnan(found) : wanted == found) << i << ": " << found;
  }
}

TEST(FusePostOps, TakesBiasResidualAndActivation) {
  Sketch s;
  ValueId y = s.op("MatMul", {s.input({2, 3, 4}), s.weight({4, 5})});
  y = s.op("Add", {s.weight({5}), y});
  y = s.op("Add", {y, s.input({2, 3, 5})});
  s.output(s.op("Relu", {y}));
  expect_same_when_fused(s.graph);
  fuse_matmul(s.graph);
  EXPECT_TRUE(fuse_post_ops(s.graph));
  EXPECT_EQ(ops_of(s.graph),
            "Relu:3 = podium.MatMul(x0, w1, w2, x1) {activation=\"Relu\", alpha=0, beta=0}\n");
}

TEST(FusePostOps, KeepsAResidualThatIsReadAgain) {
  Sketch s;
  const ValueId x = s.op("Relu", {s.input({3, 4})});
  const ValueId y = s.op("Add", {s.op("MatMul", {x, s.weight({4, 4})}), x});
  s.output(s.op("Mul", {y, x}));
  expect_same_when_fused(s.graph);
}

TEST(FusePostOps, StopsAtTheFirstActivation) {
  Sketch s;
  const ValueId y = s.op("MatMul", {s.input({3, 4}), s.weight({4, 5})});
  s.output(s.op("Tanh", {s.op("Relu", {y})}));
  expect_same_when_fused(s.graph);
  fuse_matmul(s.graph);
  fuse_post_ops(s.graph);
  EXPECT_EQ(ops_of(s.graph),
            "Relu:1 = podium.MatMul(x0, w1) {activation=\"Relu\", alpha=0, beta=0}\n"
            "Tanh:2 = Tanh(Relu:1)\n");
}

TEST(FusePostOps, LeavesAnAddThatStretchesTheProductAlone) {
  Sketch s;
  const ValueId y = s.op("MatMul", {s.input({1, 4}), s.weight({4, 5})});
  s.output(s.op("Add", {y, s.input({3, 5})}));
  fuse_matmul(s.graph);
  EXPECT_FALSE(fuse_post_ops(s.graph));
}

TEST(FusePostOps, LeavesAnIntermediateThatTheGraphGivesOutAlone) {
  Sketch s;
  const ValueId y = s.op("MatMul", {s.input({3, 4}), s.weight({4, 5})});
  s.output(y);
  s.output(s.op("Relu", {y}));
  fuse_matmul(s.graph);
  EXPECT_FALSE(fuse_post_ops(s.graph));
}

TEST(FusePostOps, TakesEveryActivationAfterAProductAndAConvolution) {
  const std::vector<std::pair<const char*, std::vector<ir::Attribute>>> activations{
      {"Relu", {}},
      {"Sigmoid", {}},
      {"Tanh", {}},
      {"HardSwish", {}},
      {"Mish", {}},
      {"LeakyRelu", {{"alpha", 0.2F}}},
      {"Elu", {{"alpha", 0.7F}}},
      {"Swish", {{"alpha", 1.5F}}},
      {"Gelu", {{"approximate", std::string("none")}}},
      {"Gelu", {{"approximate", std::string("tanh")}}}};
  for (const auto& [name, attributes] : activations) {
    SCOPED_TRACE(name);
    Sketch s;
    s.output(s.op(name, {s.op("MatMul", {s.input({7, 40}), s.weight({40, 50})})}, attributes));
    s.output(s.op(name, {s.op("Conv", {s.input({1, 8, 7, 7}), s.weight({20, 8, 3, 3})})}, attributes));
    expect_same_when_fused(s.graph);
    fuse_matmul(s.graph);
    EXPECT_TRUE(fuse_post_ops(s.graph));
  }
}

TEST(FusePostOps, TakesAClipBetweenConstants) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({2, 4, 5, 5}), s.weight({8, 4, 3, 3}), s.weight({8})});
  s.output(s.op("Clip", {y, s.number(-0.25F), s.number(0.5F)}));
  s.output(s.op("Clip", {s.op("MatMul", {s.input({3, 4}), s.weight({4, 5})}), s.number(-0.25F)}));
  expect_same_when_fused(s.graph);
}

TEST(FusePostOps, AddsTheSkipConnectionOfAConvolution) {
  Sketch s;
  const ValueId x = s.op("Conv", {s.input({1, 3, 8, 8}), s.weight({16, 3, 3, 3})});
  const ValueId y = s.op("Conv", {s.op("Relu", {x}), s.weight({16, 16, 1, 1}), s.weight({16})});
  s.output(s.op("Relu", {s.op("Add", {y, x})}));
  expect_same_when_fused(s.graph);
}

// Large enough for Winograd's algorithm.
TEST(FusePostOps, AddsBiasSkipConnectionAndActivationToLargeConvolutions) {
  Sketch s;
  const ValueId x = s.input({2, 40, 17, 15});
  const std::vector<ir::Attribute> same{{"pads", IntList{1, 1, 1, 1}}};
  ValueId y = s.op("Conv", {x, s.weight({40, 40, 3, 3}, 0.1F), s.weight({40})}, same);
  y = s.op("Relu", {s.op("Add", {s.op("Conv", {y, s.weight({40, 40, 3, 3}, 0.1F)}, same), x})});
  s.output(y);
  expect_same_when_fused(s.graph);
}

// By products of taps that lie together.
TEST(FusePostOps, ConvolutionsOfLinesOfManyChannelsGiveWhatTheirSumsGive) {
  struct Window {
    std::int64_t channels;
    std::int64_t taps;
    std::int64_t move;
    IntList pads;
  };
  for (const Window& window :
       {Window{512, 3, 2, {0, 0}}, Window{512, 3, 2, {1, 1}}, Window{512, 2, 2, {0, 0}},
        Window{1024, 3, 1, {1, 0}}, Window{256, 10, 4, {4, 0}}, Window{1024, 2, 5, {0, 1}}}) {
    const std::vector<ir::Attribute> attributes{{"strides", IntList{window.move}}, {"pads", window.pads}};
    Sketch s;
    const ValueId x = s.input({2, window.channels, 31});
    const auto conv = [&](std::vector<ValueId> more) {
      std::vector<ValueId> inputs{x, s.weight({256, window.channels, window.taps}, 0.02F)};
      inputs.insert(inputs.end(), more.begin(), more.end());
      return s.op("Conv", inputs, attributes);
    };
    s.output(s.op("Tanh", {s.op("Add", {s.op("Relu", {conv({s.weight({256})})}), conv({})})}));
    expect_same_when_fused(s.graph);
  }
}

TEST(FusePostOps, LargeConvolutionsOfAnyPaddingGiveWhatTheirSumsGive) {
  for (const IntList& pads :
       {IntList{0, 0, 0, 0}, IntList{0, 1, 1, 0}, IntList{1, 0, 1, 0}, IntList{2, 1, 0, 2}}) {
    Sketch s;
    const ValueId x = s.input({2, 40, 19, 18});
    s.output(
        s.op("Relu", {s.op("Conv", {x, s.weight({33, 40, 3, 3}, 0.1F), s.weight({33})}, {{"pads", pads}})}));
    expect_same_when_fused(s.graph);
  }
}

// Of lines, planes and volumes, with a last strip of weights that is not full.
TEST(FusePostOps, ConvolutionsOfManyChannelsGiveWhatTheirSumsGive) {
  struct Window {
    ir::Dims x;
    ir::Dims kernel;
    IntList strides;
    IntList dilations;
    IntList pads;
  };
  for (const Window& of :
       {Window{{29}, {3}, {2}, {1}, {1, 0}}, Window{{17, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
        Window{{7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        Window{{15, 16}, {3, 2}, {1, 1}, {2, 3}, {2, 0, 1, 3}},
        Window{{5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1, 1, 1, 1}}}) {
    Sketch s;
    ir::Dims x{2, 64};
    x.insert(x.end(), of.x.begin(), of.x.end());
    ir::Dims w{68, 64};
    w.insert(w.end(), of.kernel.begin(), of.kernel.end());
    const std::vector<ir::Attribute> attributes{
        {"strides", of.strides}, {"dilations", of.dilations}, {"pads", of.pads}};
    const ValueId image = s.input(x);
    const auto conv = [&](std::vector<ValueId> more) {
      std::vector<ValueId> inputs{image, s.weight(w, 0.05F)};
      inputs.insert(inputs.end(), more.begin(), more.end());
      return s.op("Conv", inputs, attributes);
    };
    const ValueId first = s.op("Sigmoid", {conv({s.weight({68})})});
    s.output(s.op("Relu", {s.op("Add", {conv({s.weight({68})}), first})}));
    expect_same_when_fused(s.graph);
  }
}

}  // namespace
}  // namespace podium::numeric
