#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/error.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::kInfinity;
using testing::kNan;
using testing::list;
using testing::run_op;
using testing::run_op_outputs;
using testing::run_text;
using testing::tensor;
using testing::values;

ir::Attribute integer_attribute(ir::AttributeName name, std::int64_t value) { return {name, value}; }

TEST(QuantizeLinear, RoundsHalfToEvenAndSaturates) {
  const Tensor x = list<float>({0.5F, 1.5F, 2.5F, -1e9F, 1e9F, -std::numeric_limits<float>::infinity()});
  const Tensor y = run_op("QuantizeLinear", {x, Tensor::scalar(1.0F), Tensor::scalar<std::int8_t>(1)});
  EXPECT_THAT(values<std::int8_t>(y), ElementsAre(1, 3, 3, -128, 127, -128));
}

TEST(QuantizeLinear, GivesUint8WithoutAZeroPoint) {
  const Tensor y = run_op("QuantizeLinear", {list<std::int32_t>({-1, 10, 1000}), Tensor::scalar(2.0F)});
  EXPECT_THAT(values<std::uint8_t>(y), ElementsAre(0, 5, 255));
}

TEST(QuantizeLinear, ScalesEachSliceOfAnAxis) {
  const Tensor x = tensor<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor scale = list<float>({1, 2});
  const Tensor zero = list<std::uint16_t>({0, 10});
  EXPECT_THAT(
      values<std::uint16_t>(run_op("QuantizeLinear", {x, scale, zero}, {integer_attribute("axis", 1)})),
      ElementsAre(1, 2, 12, 12, 5, 6, 14, 14));
  EXPECT_THAT(
      values<std::uint16_t>(run_op("QuantizeLinear", {x, scale, zero}, {integer_attribute("axis", -1)})),
      ElementsAre(1, 11, 3, 12, 5, 13, 7, 14));
}

TEST(QuantizeLinear, ScalesBlocksOfWhichTheLastIsCut) {
  const Tensor rows = tensor<float>({1, 5}, {2, 4, 6, 8, 10});
  const Tensor scale = tensor<float>({1, 3}, {1, 2, 5});
  const std::vector<ir::Attribute> by_two{
      integer_attribute("axis", 1), integer_attribute("block_size", 2),
      integer_attribute("output_dtype", static_cast<std::int64_t>(DataType::Int8))};
  EXPECT_THAT(values<std::int8_t>(run_op("QuantizeLinear", {rows, scale}, by_two)),
              ElementsAre(2, 4, 3, 4, 2));
  const Tensor columns = tensor<float>({3, 2}, {2, 4, 6, 8, 10, 12});
  const Tensor scales = tensor<float>({2, 2}, {1, 2, 5, 6});
  const std::vector<ir::Attribute> down{integer_attribute("axis", 0), integer_attribute("block_size", 2)};
  EXPECT_THAT(values<std::uint8_t>(run_op("QuantizeLinear", {columns, scales}, down)),
              ElementsAre(2, 2, 6, 4, 2, 2));
}

TEST(QuantizeLinear, KnowsTheRangeOfShortIntegers) {
  const auto quantized = [](DataType type) {
    const Tensor x = list<float>({-100, 100});
    const Tensor y = run_op("QuantizeLinear", {x, Tensor::scalar(1.0F)},
                            {integer_attribute("output_dtype", static_cast<std::int64_t>(type))});
    return values<float>(run_op("Cast", {y}, {integer_attribute("to", 1)}));
  };
  EXPECT_THAT(quantized(DataType::Int4), ElementsAre(-8, 7));
  EXPECT_THAT(quantized(DataType::Uint4), ElementsAre(0, 15));
  EXPECT_THAT(quantized(DataType::Int2), ElementsAre(-2, 1));
  EXPECT_THAT(quantized(DataType::Uint2), ElementsAre(0, 3));
  EXPECT_THAT(quantized(DataType::Float4E2M1), ElementsAre(-6, 6));
  EXPECT_THAT(quantized(DataType::Float8E5M2), ElementsAre(-96, 96));
}

TEST(QuantizeLinear, DividesInThePrecisionAskedFor) {
  const std::vector<Tensor> inputs{list<float>({1000.4F}), Tensor::scalar(1.0F),
                                   Tensor::scalar<std::int16_t>(0)};
  const auto half = static_cast<std::int64_t>(DataType::Bfloat16);
  EXPECT_THAT(values<std::int16_t>(run_op("QuantizeLinear", inputs)), ElementsAre(1000));
  const Tensor x = list<float>({1001});
  const Tensor y =
      run_op("QuantizeLinear", {x, inputs[1], inputs[2]}, {integer_attribute("precision", half)});
  EXPECT_THAT(values<std::int16_t>(y), ElementsAre(1000));
}

TEST(QuantizeLinear, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THROW(run_op("QuantizeLinear", {x, list<float>({1, 2})}), Error);
  EXPECT_THROW(run_op("QuantizeLinear", {x, tensor<float>({1, 2}, {1, 2})}), Error);
  EXPECT_THROW(run_op("QuantizeLinear", {x, list<float>({1, 2, 3}), list<std::uint8_t>({1})}), Error);
  EXPECT_THROW(run_op("QuantizeLinear", {x, Tensor::scalar(1.0F), Tensor::scalar<std::uint8_t>(1)},
                      {integer_attribute("output_dtype", 3)}),
               Error);
}

TEST(DequantizeLinear, UndoesEverySlice) {
  const Tensor x = tensor<std::int8_t>({2, 2}, {1, 2, 3, 4});
  const Tensor y = run_op("DequantizeLinear", {x, list<float>({2, 10}), list<std::int8_t>({1, 0})},
                          {integer_attribute("axis", 0)});
  EXPECT_THAT(values<float>(y), ElementsAre(0, 2, 30, 40));
}

// Beside halves, which go step by step.
TEST(QuantizeLinear, GivesTheSameInOnePassAsStepByStep) {
  constexpr std::int64_t kCount = 3001;
  Tensor x(ir::DataType::Float, {kCount});
  for (std::int64_t i = 0; i < kCount; ++i) x.data<float>()[i] = static_cast<float>(i - 1500) / 8;
  x.data<float>()[7] = kNan;
  x.data<float>()[8] = kInfinity;
  for (const std::string type : {"int8", "uint8"}) {
    const std::string zero = type == "int8" ? "-3" : "130";
    const auto outputs = run_text(
        fmt::format(
            "g (float[{0}] x) => ({1} a, {1} b, float[] back, float[] again)"
            " <float s = {{0.5}}, {1} z = {{{2}}}> {{ t = Cast <to = 10> (s) "
            " a = QuantizeLinear (x, s, z)  half = Cast <to = 10> (x)  b = QuantizeLinear (half, t, z)"
            " back = DequantizeLinear (a, s, z)  narrow = DequantizeLinear (a, t, z)  again = Cast <to = 1> (narrow) }}",
            kCount, type, zero),
        {x});
    EXPECT_EQ(values<float>(outputs[2]), values<float>(outputs[3]));
    if (type == "int8") {
      EXPECT_EQ(values<std::int8_t>(outputs[0]), values<std::int8_t>(outputs[1]));
    } else {
      EXPECT_EQ(values<std::uint8_t>(outputs[0]), values<std::uint8_t>(outputs[1]));
    }
  }
}

TEST(DequantizeLinear, KeepsLargeIntegersExactUntilTheZeroPointIsGone) {
  const Tensor x = list<std::int32_t>({100000001, 100000000});
  const Tensor zero = Tensor::scalar<std::int32_t>(100000000);
  EXPECT_THAT(values<float>(run_op("DequantizeLinear", {x, Tensor::scalar(0.5F), zero})),
              ElementsAre(0.5F, 0));
}

TEST(DequantizeLinear, TakesItsTypeFromTheScaleOrTheAttribute) {
  const Tensor x = list<std::uint8_t>({3});
  const auto half = static_cast<std::int64_t>(DataType::Float16);
  EXPECT_EQ(run_op("DequantizeLinear", {x, Tensor::scalar(ir::Bfloat16(2))}).type(), DataType::Bfloat16);
  const Tensor power = Tensor::scalar(ir::Float8E8M0(4));
  const Tensor y = run_op("DequantizeLinear", {x, power}, {integer_attribute("output_dtype", half)});
  EXPECT_EQ(static_cast<float>(values<ir::Float16>(y)[0]), 12);
  EXPECT_THROW(run_op("DequantizeLinear", {x, power}), Error);
}

TEST(DynamicQuantizeLinear, AlwaysCanSayZero) {
  const auto outputs = run_op_outputs("", "DynamicQuantizeLinear", {list<float>({1, 2, 5.1F})}, {}, 3);
  EXPECT_THAT(values<std::uint8_t>(outputs[0]), ElementsAre(50, 100, 255));
  EXPECT_FLOAT_EQ(values<float>(outputs[1])[0], 0.02F);
  EXPECT_EQ(values<std::uint8_t>(outputs[2])[0], 0);
  const auto zeros = run_op_outputs("", "DynamicQuantizeLinear", {list<float>({0, 0})}, {}, 3);
  EXPECT_THAT(values<std::uint8_t>(zeros[0]), ElementsAre(0, 0));
}

}  // namespace
}  // namespace podium::kernels
