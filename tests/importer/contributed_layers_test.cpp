// Normalisations, embeddings and convolutions of com.microsoft against their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/importer/by_hand.h"

namespace podium {
namespace {

using ir::Tensor;
using testing::doubles;
using testing::Doubles;
using testing::each;
using ::testing::ElementsAre;
using testing::expect_gradients_of_differences;
using testing::expect_near;
using testing::layer_norm_by_hand;
using testing::numbers;
using testing::rms_norm_by_hand;
using testing::run_text;
using testing::sigmoid_by_hand;
using testing::sum_of;
using testing::tensor;
using testing::values;

const Tensor kX = numbers({2, 3, 4});
const Tensor kSkip = numbers({2, 3, 4}, 1);
const Tensor kScale = numbers({4}, 2);
const Tensor kBias = numbers({4}, 3);
const Tensor kAdded = numbers({4}, 4);

TEST(ContributedLayers, SimplifiedLayerNormalizationDividesByTheRootMeanSquare) {
  const Doubles wanted = rms_norm_by_hand(doubles(kX), doubles(kScale), 0.25);
  for (const char* domain : {"", "com.microsoft."}) {
    const std::string text =
        "g (double[2,3,4] x, double[4] s) => (double[] y, double[] r) { y, r = " + std::string(domain) +
        "SimplifiedLayerNormalization <epsilon = 0.25> (x, s) }";
    const auto out = run_text(text, {kX, kScale});
    expect_near(doubles(out[0]), wanted);
    const Doubles ones(4, 1.0);
    const Doubles divided = rms_norm_by_hand(doubles(kX), ones, 0.25);
    const Doubles inverse = doubles(out[1]);
    EXPECT_EQ(out[1].tensor.dims(), (ir::Dims{2, 3, 1}));
    for (std::size_t row = 0; row < 6; ++row)
      EXPECT_NEAR(inverse[row], divided[row * 4] / doubles(kX)[row * 4], 1e-12);
    expect_gradients_of_differences(text, {kX, kScale});
  }
}

TEST(ContributedLayers, RefusesAnAxisBeforeAllOthers) {
  EXPECT_THROW(run_text("g (double[2,3,4] x, double[4] s) => (double[] y, double[] r) "
                        "{ y, r = SimplifiedLayerNormalization <axis = -9223372036854775808> (x, s) }",
                        {kX, kScale}),
               Error);
}

TEST(ContributedLayers, SkipLayerNormalizationNormalisesASumAndGivesItOut) {
  const std::string text =
      "g (double[2,3,4] x, double[2,3,4] k, double[4] s, double[4] b, double[4] a) => "
      "(double[] y, float[] m, float[] d, double[] sum) "
      "{ y, m, d, sum = com.microsoft.SkipLayerNormalization <epsilon = 0.25> (x, k, s, b, a) }";
  const std::vector<ir::Datum> inputs{kX, kSkip, kScale, kBias, kAdded};
  const auto out = run_text(text, inputs);
  const Doubles sum = sum_of(sum_of(doubles(kX), doubles(kSkip)), doubles(kAdded));
  expect_near(doubles(out[0]), layer_norm_by_hand(sum, doubles(kScale), doubles(kBias), 0.25));
  expect_near(doubles(out[3]), sum);
  const auto mean = values<float>(out[1]);
  EXPECT_NEAR(mean[0], (sum[0] + sum[1] + sum[2] + sum[3]) / 4, 1e-6);
  expect_gradients_of_differences(text, inputs);
}

TEST(ContributedLayers, SkipLayerNormalizationNeedsNeitherBias) {
  const std::string text =
      "g (double[2,3,4] x, double[1,3,4] k, double[4] s) => (double[] y) "
      "{ y = com.microsoft.SkipLayerNormalization (x, k, s) }";
  const Tensor skip = numbers({1, 3, 4}, 5);
  const Doubles sum = sum_of(doubles(kX), doubles(skip));
  expect_near(doubles(run_text(text, {kX, skip, kScale})[0]),
              layer_norm_by_hand(sum, doubles(kScale), {}, 1e-12), 1e-9);
}

TEST(ContributedLayers, SkipSimplifiedLayerNormalizationGivesItsSumOut) {
  const std::string text =
      "g (double[2,3,4] x, double[2,3,4] k, double[4] s, double[4] a) => (double[] y, double[] sum) "
      "{ y, , , sum = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.25> (x, k, s, a) }";
  const std::vector<ir::Datum> inputs{kX, kSkip, kScale, kAdded};
  const auto out = run_text(text, inputs);
  const Doubles sum = sum_of(sum_of(doubles(kX), doubles(kSkip)), doubles(kAdded));
  expect_near(doubles(out[0]), rms_norm_by_hand(sum, doubles(kScale), 0.25));
  expect_near(doubles(out[1]), sum);
  expect_gradients_of_differences(text, inputs);
}

TEST(ContributedLayers, GatedRmsNormNormalisesRunsAsLongAsItsScale) {
  const std::string text =
      "g (double[2,3,4] x, double[2] s, double[2,3,4] gate) => (double[] y) "
      "{ y = com.microsoft.GatedRMSNorm <epsilon = 0.25> (x, s, gate) }";
  const Tensor scale = numbers({2}, 1);
  Doubles wanted = rms_norm_by_hand(doubles(kX), doubles(scale), 0.25);
  const Doubles gate = doubles(kSkip);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] *= gate[i] * sigmoid_by_hand(gate[i]);
  expect_near(doubles(run_text(text, {kX, scale, kSkip})[0]), wanted);
  expect_gradients_of_differences(text, {kX, scale, kSkip});
}

class EmbedLayerNormalization : public ::testing::Test {
 protected:
  const ir::Datum ids_ = tensor<std::int32_t>({2, 2}, {2, 0, 1, 1});
  const ir::Datum segments_ = tensor<std::int32_t>({2, 2}, {0, 1, 1, 0});
  const Tensor words_ = numbers({3, 4});
  const Tensor positions_ = numbers({5, 4}, 1);
  const Tensor segment_table_ = numbers({2, 4}, 2);

  Doubles row(const Tensor& table, std::size_t i) const {
    const Doubles all = doubles(table);
    return {all.begin() + static_cast<std::ptrdiff_t>(4 * i),
            all.begin() + static_cast<std::ptrdiff_t>(4 * i + 4)};
  }
  Doubles embedded(const std::vector<std::size_t>& position, const std::vector<std::size_t>& segment) const {
    Doubles sum;
    const std::vector<std::size_t> word{2, 0, 1, 1};
    for (std::size_t i = 0; i < 4; ++i) {
      Doubles one = sum_of(row(words_, word[i]), row(positions_, position[i]));
      if (!segment.empty()) one = sum_of(one, row(segment_table_, segment[i]));
      sum.insert(sum.end(), one.begin(), one.end());
    }
    return sum;
  }
};

TEST_F(EmbedLayerNormalization, LooksUpWordsPlacesAndSegments) {
  const std::string text =
      "g (int32[2,2] i, int32[2,2] t, double[3,4] w, double[5,4] p, double[2,4] q, double[4] s, double[4] b, "
      "int32[2,2] m, int32[2,2] o) => (double[] y, int32[] n, double[] sum) "
      "{ y, n, sum = com.microsoft.EmbedLayerNormalization <epsilon = 0.25> (i, t, w, p, q, s, b, m, o) }";
  const std::vector<ir::Datum> inputs{ids_,
                                      segments_,
                                      words_,
                                      positions_,
                                      segment_table_,
                                      kScale,
                                      kBias,
                                      tensor<std::int32_t>({2, 2}, {1, 1, 1, 0}),
                                      tensor<std::int32_t>({2, 2}, {4, 3, 0, 2})};
  const auto out = run_text(text, inputs);
  const Doubles sum = embedded({4, 3, 0, 2}, {0, 1, 1, 0});
  expect_near(doubles(out[0]), layer_norm_by_hand(sum, doubles(kScale), doubles(kBias), 0.25));
  EXPECT_THAT(values<std::int32_t>(out[1]), ElementsAre(2, 1));
  expect_near(doubles(out[2]), sum);
  expect_gradients_of_differences(text, inputs);
}

TEST_F(EmbedLayerNormalization, CountsPlacesByItselfAndNeedsNoSegments) {
  const auto out = run_text(
      "g (int32[2,2] i, double[3,4] w, double[5,4] p, double[4] s, double[4] b) => (double[] y, int32[] n) "
      "{ y, n = com.microsoft.EmbedLayerNormalization <epsilon = 0.25> (i, , w, p, , s, b) }",
      {ids_, words_, positions_, kScale, kBias});
  expect_near(doubles(out[0]),
              layer_norm_by_hand(embedded({0, 1, 0, 1}, {}), doubles(kScale), doubles(kBias), 0.25));
  EXPECT_THAT(values<std::int32_t>(out[1]), ElementsAre(0, 0));
}

// The bucket of a distance as T5 has it.
std::size_t bucket_by_hand(std::ptrdiff_t distance, std::ptrdiff_t buckets, double farthest, bool both_ways) {
  std::ptrdiff_t base = 0;
  std::ptrdiff_t size = std::max<std::ptrdiff_t>(-distance, 0);
  if (both_ways) {
    buckets /= 2;
    base = distance > 0 ? buckets : 0;
    size = std::abs(distance);
  }
  const std::ptrdiff_t exact = buckets / 2;
  if (size < exact) return static_cast<std::size_t>(base + size);
  const double share = std::log(static_cast<double>(size) / static_cast<double>(exact)) /
                       std::log(farthest / static_cast<double>(exact));
  const auto wide = exact + static_cast<std::ptrdiff_t>(share * static_cast<double>(buckets - exact));
  return static_cast<std::size_t>(base + std::min(wide, buckets - 1));
}

TEST(ContributedLayers, RelativePositionBiasIsOneANearDistanceAndThenWider) {
  const Tensor table = numbers({8, 2});
  const Tensor rows = tensor<std::int64_t>({1}, {12});
  for (const bool both_ways : {false, true}) {
    const std::string text =
        "g (double[8,2] t, int64[1] q, int64[1] k) => (double[] y) { y = com.microsoft.RelativePositionBias "
        "<max_distance = 11, is_bidirectional = " +
        std::string(both_ways ? "1" : "0") + "> (t, q, k) }";
    Doubles wanted;
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::ptrdiff_t i = 0; i < 12; ++i) {
        for (std::ptrdiff_t j = 0; j < 12; ++j)
          wanted.push_back(doubles(table)[bucket_by_hand(j - i, 8, 11, both_ways) * 2 + h]);
      }
    }
    expect_near(doubles(run_text(text, {table, rows, rows})[0]), wanted);
    expect_gradients_of_differences(text, {table, rows, rows});
  }
}

// [1, 2, 2, 4] with channels last: two groups of two channels over four places.
Doubles group_norm_by_hand(const Doubles& x, double epsilon) {
  Doubles y(x.size());
  for (std::size_t group = 0; group < 2; ++group) {
    double mean = 0;
    double squares = 0;
    const auto each_element = [&](const auto& visit) {
      for (std::size_t place = 0; place < 4; ++place) {
        for (std::size_t c = 2 * group; c < 2 * group + 2; ++c) visit(place * 4 + c, c);
      }
    };
    each_element([&](std::size_t i, std::size_t) { mean += x[i] / 8; });
    each_element([&](std::size_t i, std::size_t) { squares += std::pow(x[i] - mean, 2) / 8; });
    each_element([&](std::size_t i, std::size_t c) {
      y[i] = (x[i] - mean) / std::sqrt(squares + epsilon) * doubles(kScale)[c] + doubles(kBias)[c];
    });
  }
  return y;
}

double swish_by_hand(double x) { return x * sigmoid_by_hand(x); }

TEST(ContributedLayers, GroupNormHasItsChannelsLastAndAnActivation) {
  const std::string text =
      "g (double[1,2,2,4] x, double[4] s, double[4] b) => (double[] y) "
      "{ y = com.microsoft.GroupNorm <groups = 2, epsilon = 0.25, activation = 1> (x, s, b) }";
  const Tensor x = numbers({1, 2, 2, 4});
  expect_near(doubles(run_text(text, {x, kScale, kBias})[0]),
              each(group_norm_by_hand(doubles(x), 0.25), swish_by_hand));
  expect_gradients_of_differences(text, {x, kScale, kBias});
}

TEST(ContributedLayers, SkipGroupNormAddsARowPerChannel) {
  const std::string text =
      "g (double[1,2,2,4] x, double[4] s, double[4] b, double[1,4] k, double[4] a) => (double[] y, double[] sum) "
      "{ y, sum = com.microsoft.SkipGroupNorm <groups = 2, epsilon = 0.25, activation = 0> (x, s, b, k, a) }";
  const Tensor x = numbers({1, 2, 2, 4});
  const Tensor skip = numbers({1, 4}, 5);
  const auto out = run_text(text, {x, kScale, kBias, skip, kAdded});
  const Doubles sum = sum_of(sum_of(doubles(x), doubles(skip)), doubles(kAdded));
  expect_near(doubles(out[0]), group_norm_by_hand(sum, 0.25));
  expect_near(doubles(out[1]), sum);
  expect_gradients_of_differences(text, {x, kScale, kBias, skip, kAdded});
}

// One image of 2 channels and 3 x 3 places, a window of 2 x 2, one channel out.
double conv_by_hand(const Doubles& x, const Doubles& w, std::size_t row, std::size_t column) {
  double sum = 0;
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j)
        sum += x[(c * 3 + row + i) * 3 + column + j] * w[(c * 2 + i) * 2 + j];
    }
  }
  return sum;
}

TEST(ContributedLayers, FusedConvAddsAndActivates) {
  const std::string text =
      "g (double[1,2,3,3] x, double[1,2,2,2] w, double[1] b, double[1,1,2,2] z) => (double[] y) "
      "{ y = com.microsoft.FusedConv <activation = \"HardSigmoid\", activation_params = [0.125, 0.25]> "
      "(x, w, b, z) }";
  const Tensor x = numbers({1, 2, 3, 3});
  const Tensor w = numbers({1, 2, 2, 2}, 1);
  const Tensor b = tensor<double>({1}, {-6});
  const Tensor z = numbers({1, 1, 2, 2}, 2);
  Doubles wanted;
  for (std::size_t i = 0; i < 4; ++i) {
    const double sum = conv_by_hand(doubles(x), doubles(w), i / 2, i % 2) - 6 + doubles(z)[i];
    wanted.push_back(std::clamp(0.125 * sum + 0.25, 0.0, 1.0));
  }
  expect_near(doubles(run_text(text, {x, w, b, z})[0]), wanted);
  expect_gradients_of_differences(text, {x, w, b, z});
}

TEST(ContributedLayers, ConvolutionsMayHaveTheirChannelsLast) {
  const Tensor x = numbers({1, 2, 3, 3});
  const Tensor w = numbers({1, 2, 2, 2}, 1);
  Tensor last(ir::DataType::Double, {1, 3, 3, 2});
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t i = 0; i < 9; ++i) last.values<double>()[i * 2 + c] = doubles(x)[c * 9 + i];
  }
  Doubles wanted;
  for (std::size_t i = 0; i < 4; ++i) wanted.push_back(conv_by_hand(doubles(x), doubles(w), i / 2, i % 2));
  const std::string head = "g (double[1,3,3,2] x, double[1,2,2,2] w) => (double[] y) { y = com.microsoft.";
  expect_near(doubles(run_text(head + "NhwcConv (x, w) }", {last, w})[0]), wanted);
  expect_near(doubles(run_text(
                  head + "NhwcFusedConv <activation = \"Clip\", activation_params = [0.0, 5.0]> (x, w) }",
                  {last, w})[0]),
              each(wanted, [](double y) { return std::clamp(y, 0.0, 5.0); }));
  expect_gradients_of_differences(head + "NhwcConv (x, w) }", {last, w});
}

TEST(ContributedLayers, NhwcMaxPoolTakesTheLargestOfEachChannel) {
  const auto out = run_text(
      "g (uint8[1,2,2,2] x) => (uint8[] y) { y = com.microsoft.NhwcMaxPool <kernel_shape = [2, 2]> (x) }",
      {tensor<std::uint8_t>({1, 2, 2, 2}, {1, 50, 4, 20, 3, 30, 2, 40})});
  EXPECT_THAT(values<std::uint8_t>(out[0]), ElementsAre(4, 50));
}

}  // namespace
}  // namespace podium
