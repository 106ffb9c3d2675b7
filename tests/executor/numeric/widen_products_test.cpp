#include "executor/numeric/widen_products.h"

#include "executor/kernels/tools/strip_products.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::DataType;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

// The last place of a number of 8 bits of fraction is 0.004 of it.
double rounding_of(DataType type) { return type == DataType::Float16 ? 2e-3 : 1.6e-2; }

// Rows that read the weights as they are, and more, for which they become floats.
TEST(WidenProducts, MultipliesInFloatAndRoundsOnce) {
  for (const DataType type : {DataType::Float16, DataType::Bfloat16}) {
    for (const std::int64_t rows : {std::int64_t{1}, kernels::kMostFloatRows, std::int64_t{40}}) {
      Sketch s;
      const ValueId x = s.cast(s.input({1, rows, 48}), type);
      s.output(s.cast(s.op("MatMul", {x, s.narrow_weight({48, 80}, type)}), DataType::Float));
      expect_same_when_fused(s.graph, rounding_of(type));
      EXPECT_TRUE(widen_products(s.graph));
      EXPECT_NE(ops_of(s.graph).find("podium.MatMul("), std::string::npos) << ops_of(s.graph);
    }
  }
}

TEST(WidenProducts, TakesInTheBiasOfAGemm) {
  Sketch s;
  const ValueId x = s.cast(s.input({3, 48}), DataType::Float16);
  const ValueId w = s.narrow_weight({80, 48}, DataType::Float16);
  s.output(
      s.cast(s.op("Gemm", {x, w, s.narrow_weight({80}, DataType::Float16)}, {{"transB", std::int64_t{1}}}),
             DataType::Float));
  expect_same_when_fused(s.graph, rounding_of(DataType::Float16));
  EXPECT_TRUE(widen_products(s.graph));
  EXPECT_EQ(ops_of(s.graph).find("Gemm("), std::string::npos) << ops_of(s.graph);
}

// As MatMulNBits has them: turned rows of 4 bits with a scale for each 16 of them.
TEST(WidenProducts, LeavesWeightsOfFewBitsNarrow) {
  for (const DataType type : {DataType::Float16, DataType::Bfloat16}) {
    for (const std::int64_t rows : {1, 40}) {
      Sketch s;
      ir::Tensor numbers(DataType::Uint4, {80, 48});
      for (std::int64_t i = 0; i < numbers.size(); ++i)
        static_cast<std::uint8_t*>(numbers.raw())[i] = static_cast<std::uint8_t>(i * 7 % 16);
      const ValueId w = s.op("DequantizeLinear",
                             {s.graph.add_constant("q", std::move(numbers)), s.narrow_weight({80, 3}, type)},
                             {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{16}}});
      const ValueId x = s.cast(s.op("Mul", {s.input({rows, 48}), s.number(1.0F / 16)}), type);
      s.output(s.cast(s.op("MatMul", {x, s.op("Transpose", {w})}), DataType::Float));
      expect_same_when_fused(s.graph, rounding_of(type));
      EXPECT_TRUE(widen_products(s.graph));
      EXPECT_NE(ops_of(s.graph).find("podium.DequantizedMatMul("), std::string::npos) << ops_of(s.graph);
    }
  }
}

TEST(WidenProducts, MakesFloatsOnceForAllThatReadThem) {
  Sketch s;
  const ValueId x = s.cast(s.input({3, 48}), DataType::Float16);
  for (int i = 0; i < 3; ++i)
    s.output(s.cast(s.op("MatMul", {x, s.narrow_weight({48, 80}, DataType::Float16)}), DataType::Float));
  expect_same_when_fused(s.graph, rounding_of(DataType::Float16));
  const std::size_t before = s.graph.ops.size();
  EXPECT_TRUE(widen_products(s.graph));
  EXPECT_EQ(s.graph.ops.size(), before + 3 + 1) << ops_of(s.graph);  // a cast of each result, and one of x
}

TEST(WidenProducts, GivesRecurrencesFloats) {
  Sketch s;
  const auto weight = [&](ir::Dims dims) { return s.narrow_weight(std::move(dims), DataType::Float16); };
  const ValueId x = s.cast(s.input({5, 2, 12}), DataType::Float16);
  const ValueId h = s.cast(s.input({2, 2, 20}), DataType::Float16);
  const auto made = s.builder.ops(
      "", "GRU", {x, weight({2, 60, 12}), weight({2, 60, 20}), weight({2, 120}), ir::kNoValue, h}, 2,
      {{"hidden_size", std::int64_t{20}}, {"direction", std::string("bidirectional")}});
  for (ValueId id : made) s.output(s.cast(id, DataType::Float));
  expect_same_when_fused(s.graph, rounding_of(DataType::Float16));
  EXPECT_TRUE(widen_products(s.graph));
  for (const ir::Op& op : s.graph.ops) {
    if (!op.is("GRU")) continue;
    for (ValueId id : inputs_of(op)) EXPECT_EQ(s.graph[id].type.element, DataType::Float);
  }
}

TEST(WidenProducts, LeavesFactorsAndWhatRunsMakeAlone) {
  Sketch s;
  const ValueId x = s.cast(s.input({3, 48}), DataType::Float16);
  const ValueId w = s.cast(s.input({48, 80}), DataType::Float16);
  s.output(s.op("MatMul", {x, w}));
  s.output(s.op("Gemm", {x, s.narrow_weight({48, 80}, DataType::Float16)}, {{"alpha", 0.5F}}));
  s.output(s.op("MatMul", {s.input({3, 48}), s.weight({48, 80})}));
  EXPECT_FALSE(widen_products(s.graph));
}

}  // namespace
}  // namespace podium::numeric
