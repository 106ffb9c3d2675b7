#include "ir/ops/conv_algorithm.h"

#include <gtest/gtest.h>

namespace podium::ir {
namespace {

ConvShape of_side(std::int64_t batch, std::int64_t channels, std::int64_t side) {
  return {.window = {.input = {side, side},
                     .kernel = {3, 3},
                     .strides = {1, 1},
                     .dilations = {1, 1},
                     .pads_begin = {1, 1},
                     .pads_end = {1, 1},
                     .output = {side, side}},
          .batch = batch,
          .in_channels = channels,
          .out_channels = channels};
}

ConvShape of_channels_apart(std::vector<std::int64_t> sides) {
  const Dims ones(sides.size(), 1);
  return {.window = {.input = sides,
                     .kernel = Dims(sides.size(), 3),
                     .strides = ones,
                     .dilations = ones,
                     .pads_begin = ones,
                     .pads_end = ones,
                     .output = sides},
          .group = 8,
          .kernel_size = element_count(Dims(sides.size(), 3)),
          .in_size = element_count(sides),
          .out_size = element_count(sides)};
}

TEST(ConvAlgorithm, PlanesPayBesideChannelsLastWhereTheLibraryHasNoVectors) {
  EXPECT_TRUE(pays_by_planes_among_channels_last(of_channels_apart({40})));
  EXPECT_FALSE(pays_by_planes_among_channels_last(of_channels_apart({40, 40})));
  EXPECT_TRUE(pays_by_planes_among_channels_last(of_channels_apart({4, 40, 40})));
}

TEST(ConvAlgorithm, PlanesNeedPaddingThatAddsElements) {
  ConvShape shape = of_channels_apart({40, 40});
  EXPECT_TRUE(pays_by_planes(shape));
  shape.window.pads_begin = {1, -1};
  EXPECT_FALSE(pays_by_planes(shape));
}

TEST(ConvAlgorithm, WinogradOfPackedWeightsPaysWithEnoughChannelsAndTilesOfAllImages) {
  EXPECT_TRUE(pays_by_packed_winograd(of_side(1, 32, 14)));
  EXPECT_FALSE(pays_by_packed_winograd(of_side(1, 31, 14)));
  EXPECT_TRUE(pays_by_packed_winograd(of_side(2, 512, 7)));
  EXPECT_FALSE(pays_by_packed_winograd(of_side(1, 512, 7)));
  ConvShape padded = of_side(1, 32, 14);
  padded.window.pads_begin = {0, 1};
  padded.window.pads_end = {1, 1};
  EXPECT_TRUE(pays_by_packed_winograd(padded));
  padded.window.pads_begin = {2, 1};
  EXPECT_FALSE(pays_by_packed_winograd(padded));
  ConvShape transposed = of_side(1, 32, 14);
  transposed.transposed = true;
  EXPECT_FALSE(pays_by_packed_winograd(transposed));
}

TEST(ConvAlgorithm, WinogradPaysWhereSumsAreManyForTheWeights) {
  EXPECT_TRUE(pays_by_winograd(of_side(8, 64, 56)));
  EXPECT_TRUE(pays_by_winograd(of_side(8, 512, 7)));
  EXPECT_FALSE(pays_by_winograd(of_side(1, 512, 7)));
  EXPECT_TRUE(pays_by_winograd(of_side(1, 128, 28)));
  EXPECT_FALSE(pays_by_winograd(of_side(8, 16, 56)));
  ConvShape strided = of_side(8, 64, 56);
  strided.window.strides = {2, 1};
  EXPECT_FALSE(pays_by_winograd(strided));
  ConvShape grouped = of_side(8, 64, 56);
  grouped.group = 2;
  EXPECT_FALSE(pays_by_winograd(grouped));
}

struct Sides {
  std::int64_t input;
  std::int64_t kernel;
  std::int64_t pad = 0;
  std::int64_t stride_in_row = 1;
};

ConvShape from_to(std::int64_t in_channels, std::int64_t out_channels, const Sides& sides) {
  const std::int64_t last = sides.input + 2 * sides.pad - sides.kernel;
  const Dims output{last + 1, last / sides.stride_in_row + 1};
  return {.window = {.input = {sides.input, sides.input},
                     .kernel = {sides.kernel, sides.kernel},
                     .strides = {1, sides.stride_in_row},
                     .dilations = {1, 1},
                     .pads_begin = {sides.pad, sides.pad},
                     .pads_end = {sides.pad, sides.pad},
                     .output = output},
          .in_channels = in_channels,
          .out_channels = out_channels,
          .kernel_size = sides.kernel * sides.kernel,
          .in_size = sides.input * sides.input,
          .out_size = output[0] * output[1]};
}

ConvShape back(ConvShape shape) {
  shape.transposed = true;
  std::swap(shape.window.input, shape.window.output);
  std::swap(shape.in_channels, shape.out_channels);
  std::swap(shape.in_size, shape.out_size);
  return shape;
}

TEST(ConvAlgorithm, RowsPayWhereChannelsAreFewAndRowsAreLong) {
  EXPECT_TRUE(pays_by_rows(from_to(3, 64, {224, 3, 1})));
  EXPECT_TRUE(pays_by_rows(from_to(64, 3, {128, 3, 1})));
  EXPECT_FALSE(pays_by_rows(from_to(16, 16, {32, 3, 1})));
  EXPECT_FALSE(pays_by_rows(from_to(64, 64, {56, 3, 1})));
  EXPECT_FALSE(pays_by_rows(from_to(3, 12, {9, 3})));         // rows of 7
  EXPECT_FALSE(pays_by_rows(from_to(1, 10, {28, 1})));        // a product
  EXPECT_FALSE(pays_by_rows(from_to(3, 10, {30, 3, 1, 2})));  // steps in a row
}

// The library has nothing fast for them; groups of more channels fill vectors, those of one have planes.
TEST(ConvAlgorithm, RowsPayForGroupsOfFewChannels) {
  const auto in_groups = [](std::int64_t channels, const Sides& sides) {
    ConvShape shape = from_to(channels, channels, sides);
    shape.group = 32;
    return shape;
  };
  EXPECT_TRUE(pays_by_rows(in_groups(4, {56, 3, 1})));
  EXPECT_TRUE(pays_by_rows_among_channels_last(in_groups(4, {56, 3, 1})));
  EXPECT_TRUE(pays_by_rows(in_groups(4, {28, 1})));
  EXPECT_FALSE(pays_by_rows(in_groups(8, {56, 3, 1})));
  EXPECT_FALSE(pays_by_rows(in_groups(1, {56, 3, 1})));
  EXPECT_FALSE(pays_by_rows(in_groups(4, {7, 3, 1})));  // rows of 7
  EXPECT_EQ(multiply_adds_by_rows(in_groups(4, {56, 3, 1})),
            32 * multiply_adds_by_rows(from_to(4, 4, {56, 3, 1})));
}

// Padding all around a small image is computed with.
TEST(ConvAlgorithm, RowsPayBackWhereTheWindowIsSmallBesideTheImage) {
  EXPECT_TRUE(pays_by_rows(back(from_to(8, 8, {32, 3, 1}))));
  EXPECT_FALSE(pays_by_rows(back(from_to(10, 20, {12, 5}))));
  EXPECT_FALSE(pays_by_rows(back(from_to(8, 8, {32, 3, 3}))));  // less than nothing around the image
}

// X and Y are moved there, which a large Y of many channels is not worth.
TEST(ConvAlgorithm, RowsPayAmongChannelsLastWhereLittleIsMoved) {
  EXPECT_TRUE(pays_by_rows_among_channels_last(from_to(1, 10, {28, 5})));
  EXPECT_TRUE(pays_by_rows_among_channels_last(from_to(64, 3, {128, 3, 1})));
  EXPECT_FALSE(pays_by_rows_among_channels_last(from_to(3, 64, {224, 3, 1})));
}

}  // namespace
}  // namespace podium::ir
