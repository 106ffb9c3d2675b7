#include "executor/kernels/tools/convert.h"

#include <gtest/gtest.h>

#include <cmath>

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;

TEST(Convert, WidensEveryHalfAsTheScalarConversionDoes) {
  std::vector<Float16> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> floats(halves.size());
  to_float(halves.data(), floats.data(), 65535);  // the last by the tail of the loop
  for (std::size_t i = 0; i < 65535; ++i) {
    const auto expected = static_cast<float>(halves[i]);
    EXPECT_TRUE(floats[i] == expected || (std::isnan(floats[i]) && std::isnan(expected))) << i;
  }
}

TEST(Convert, NarrowsWithTiesToEven) {
  const std::vector<float> floats{1.0F + 0x1p-11F, 1.0F + 0x3p-11F, 65519, 65520, 0x1p-25F,
                                  0x3p-26F,        -0.0F,           1,     2};
  std::vector<Float16> halves(floats.size());
  from_float(floats.data(), halves.data(), 9);
  for (std::size_t i = 0; i < floats.size(); ++i)
    EXPECT_EQ(halves[i].bits, Float16(floats[i]).bits) << floats[i];
  EXPECT_EQ(halves[0].bits, 0x3C00);
  EXPECT_EQ(halves[1].bits, 0x3C02);
  EXPECT_EQ(halves[3].bits, 0x7C00);
}

TEST(Convert, ReadsAPartOfATensorOfAnyNumbers) {
  const auto ints = ir::Tensor::of<std::int16_t>({4}, {1, -2, 3, -4});
  float floats[2];
  to_float(ints, 1, 2, floats);
  EXPECT_EQ(floats[0], -2);
  EXPECT_EQ(floats[1], 3);
  EXPECT_EQ(as_float(ir::Tensor::of<ir::Int4>({1}, {ir::Int4(-8)})).values<float>()[0], -8);
}

TEST(Convert, SharesAFloatTensor) {
  const auto tensor = ir::Tensor::of<float>({1}, {1});
  EXPECT_EQ(as_float(tensor).raw(), tensor.raw());
}

}  // namespace
}  // namespace podium::kernels
