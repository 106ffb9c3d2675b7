#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>

#include "tests/support/graph_text.h"
#include "tests/support/near.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using testing::expect_near;
using testing::graph_of;
std::vector<double> wave(std::size_t count) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<double>((i * 53 + 7) % 89) * 0.37 - 11;
  return numbers;
}

std::vector<float> to_floats(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

struct Statistics {
  double mean = 0;
  double variance = 0;
};

Statistics statistics_of(const std::vector<double>& x, const std::vector<std::size_t>& members) {
  Statistics result;
  const double count = static_cast<double>(members.size());
  for (std::size_t i : members) result.mean += x[i] / count;
  for (std::size_t i : members) result.variance += (x[i] - result.mean) * (x[i] - result.mean) / count;
  return result;
}

// Normalises x [n, c, size] by the statistics of the elements for which same_group(i, j) holds.
template <class SameGroup>
std::vector<double> naive_normalization(const std::vector<double>& x, double epsilon,
                                        const SameGroup& same_group) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<std::size_t> members;
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (same_group(i, j)) members.push_back(j);
    }
    const Statistics group = statistics_of(x, members);
    y[i] = (x[i] - group.mean) / std::sqrt(group.variance + epsilon);
  }
  return y;
}

constexpr std::size_t kChannels = 4;
constexpr std::size_t kSize = 6;
const ir::Dims kDims{3, 4, 2, 3};
const std::vector<double> kScale{1, 2, -0.5, 3};
const std::vector<double> kBias{0, 1, 2, -1};

std::size_t channel_of(std::size_t i) { return i / kSize % kChannels; }
std::size_t image_of(std::size_t i) { return i / kSize / kChannels; }

std::vector<double> with_affine(std::vector<double> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * kScale[channel_of(i)] + kBias[channel_of(i)];
  return y;
}

TEST(BatchNormalization, UsesTheGivenStatisticsOfAnyType) {
  const auto results = run_text(
      "agraph (float[1,2,2] x, double[2] s, double[2] b, float16[2] m, float16[2] v) => (float[] y) {"
      " y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v) }",
      {tensor<float>({1, 2, 2}, {1, 2, 3, 4}), tensor<double>({2}, {2, 1}), tensor<double>({2}, {0, 10}),
       tensor<ir::Float16>({2}, {ir::Float16(1), ir::Float16(0)}),
       tensor<ir::Float16>({2}, {ir::Float16(4), ir::Float16(1)})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{0, 1, 13, 14}));
}

TEST(BatchNormalization, InTrainingUsesAndUpdatesStatistics) {
  const std::vector<double> x = wave(72);
  const auto results = run_text(
      "agraph (double[3,4,2,3] x, double[4] s, double[4] b, float[4] m, float[4] v) => (double[] y, float[] "
      "rm, "
      "float[] rv) {"
      " y, rm, rv = BatchNormalization <training_mode = 1, momentum = 0.75> (x, s, b, m, v) }",
      {tensor<double>(kDims, x), tensor<double>({4}, kScale), tensor<double>({4}, kBias),
       tensor<float>({4}, {1, 2, 3, 4}), tensor<float>({4}, {4, 3, 2, 1})});
  const auto same = [](std::size_t i, std::size_t j) { return channel_of(i) == channel_of(j); };
  expect_near<double>(results[0], with_affine(naive_normalization(x, 1e-5, same)), 1e-6);
  std::vector<std::size_t> first_channel;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (channel_of(i) == 0) first_channel.push_back(i);
  }
  const Statistics first = statistics_of(x, first_channel);
  EXPECT_NEAR(values<float>(results[1])[0], 0.75 * 1 + 0.25 * first.mean, 1e-5);
  EXPECT_NEAR(values<float>(results[2])[0], 0.75 * 4 + 0.25 * first.variance, 1e-4);
}

// Channels of one element are gone through row by row.
TEST(BatchNormalization, OfRowsAgreesWithItsDefinition) {
  const std::vector<double> x = wave(33 * 70);
  for (const char* training : {"0", "1"}) {
    const auto normalized = [&](const ir::Dims& dims) {
      return run_text(std::string("agraph (float[") + (dims.size() == 2 ? "N,C" : "N,C,L") +
                          "] x, float[C] s, float[C] b, float[C] m, float[C] v) => (float[] y" +
                          (*training == '1' ? ", float[] rm, float[] rv" : "") + ") { y" +
                          (*training == '1' ? ", rm, rv" : "") +
                          " = BatchNormalization <training_mode = " + training + "> (x, s, b, m, v) }",
                      {tensor<float>(dims, std::vector<float>(x.begin(), x.end())),
                       tensor<float>({70}, std::vector<float>(x.begin(), x.begin() + 70)),
                       tensor<float>({70}, std::vector<float>(x.begin() + 70, x.begin() + 140)),
                       tensor<float>({70}, std::vector<float>(70, 0.25F)),
                       tensor<float>({70}, std::vector<float>(70, 2.0F))});
    };
    const auto rows = normalized({33, 70});
    std::vector<double> expected(x.size());
    for (std::size_t c = 0; c < 70; ++c) {
      double mean = *training == '1' ? 0 : 0.25;
      double variance = *training == '1' ? 0 : 2;
      if (*training == '1') {
        for (std::size_t n = 0; n < 33; ++n) mean += x[n * 70 + c] / 33;
        for (std::size_t n = 0; n < 33; ++n) variance += (x[n * 70 + c] - mean) * (x[n * 70 + c] - mean) / 33;
      }
      for (std::size_t n = 0; n < 33; ++n)
        expected[n * 70 + c] = (x[n * 70 + c] - mean) / std::sqrt(variance + 1e-5) * x[c] + x[70 + c];
    }
    expect_near<float>(rows[0], expected, 1e-4);
    EXPECT_EQ(values<float>(normalized({33, 70, 1})[0]), values<float>(rows[0]));
  }
}

TEST(BatchNormalization, HasRunningStatisticsOnlyInTraining) {
  EXPECT_THROW(run_text("agraph (float[1,1] x, float[1] s) => (float[] y, float[] m) {"
                        " y, m = BatchNormalization(x, s, s, s, s) }",
                        {tensor<float>({1, 1}, {1}), tensor<float>({1}, {1})}),
               Error);
}

TEST(GroupNormalization, AgreesWithItsDefinitionForEveryNumberOfGroups) {
  const std::vector<double> x = wave(72);
  for (std::size_t groups : {1U, 2U, 4U}) {
    const std::string text =
        "agraph (float[3,4,2,3] x, float[4] s, float[4] b) => (float[] y) {"
        " y = GroupNormalization <num_groups = " +
        std::to_string(groups) + "> (x, s, b) }";
    const auto results =
        run_text(text, {tensor<float>(kDims, to_floats(x)), tensor<float>({4}, to_floats(kScale)),
                        tensor<float>({4}, to_floats(kBias))});
    const std::size_t in_group = kChannels / groups;
    const auto same = [&](std::size_t i, std::size_t j) {
      return image_of(i) == image_of(j) && channel_of(i) / in_group == channel_of(j) / in_group;
    };
    expect_near<float>(results[0], with_affine(naive_normalization(x, 1e-5, same)), 1e-5);
  }
}

TEST(GroupNormalization, RefusesGroupsThatDoNotDivideTheChannels) {
  EXPECT_THROW(run_text("agraph (float[1,3,1] x, float[3] s) => (float[] y) {"
                        " y = GroupNormalization <num_groups = 2> (x, s, s) }",
                        {tensor<float>({1, 3, 1}, {1, 2, 3}), tensor<float>({3}, {1, 1, 1})}),
               Error);
}

TEST(InstanceNormalization, NormalisesEachChannelOfEachImage) {
  const std::vector<double> x = wave(72);
  const auto results = run_text(
      "agraph (double[3,4,2,3] x, double[4] s, double[4] b) => (double[] y) {"
      " y = InstanceNormalization <epsilon = 0.5> (x, s, b) }",
      {tensor<double>(kDims, x), tensor<double>({4}, kScale), tensor<double>({4}, kBias)});
  const auto same = [](std::size_t i, std::size_t j) { return i / kSize == j / kSize; };
  expect_near<double>(results[0], with_affine(naive_normalization(x, 0.5, same)), 1e-12);
}

TEST(LayerNormalization, AgreesWithItsDefinitionFromEveryAxisOn) {
  const std::vector<double> x = wave(72);
  const std::size_t row_sizes[] = {72, 24, 6, 3};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::string text =
        "agraph (float[3,4,2,3] x, float[3] s, float[4,1,1] b) => (float[] y, float[] m, float[] d) {"
        " y, m, d = LayerNormalization <axis = " +
        std::to_string(axis) + "> (x, s, b) }";
    const auto results = run_text(text, {tensor<float>(kDims, to_floats(x)), tensor<float>({3}, {1, 2, 3}),
                                         tensor<float>({4, 1, 1}, to_floats(kBias))});
    const std::size_t size = row_sizes[axis];
    auto expected =
        naive_normalization(x, 1e-5, [&](std::size_t i, std::size_t j) { return i / size == j / size; });
    for (std::size_t i = 0; i < x.size(); ++i) {
      expected[i] = expected[i] * static_cast<double>(i % 3 + 1) + kBias[channel_of(i)];
    }
    expect_near<float>(results[0], expected, 2e-5);
    std::vector<std::size_t> row(size);
    for (std::size_t i = 0; i < size; ++i) row[i] = i;
    const Statistics first = statistics_of(x, row);
    EXPECT_NEAR(values<float>(results[1])[0], first.mean, 1e-5);
    EXPECT_NEAR(values<float>(results[2])[0], 1 / std::sqrt(first.variance + 1e-5), 1e-5);
    EXPECT_EQ(results[1].tensor.size(), 72 / static_cast<std::int64_t>(size));
    EXPECT_EQ(results[1].tensor.rank(), 4);
  }
}

TEST(LayerNormalization, StashesItsStatisticsInTheTypeAskedFor) {
  const auto results = run_text(
      "agraph (float16[1,2] x, float16[2] s) => (float16[] y, bfloat16[] m) {"
      " y, m = LayerNormalization <stash_type = 16> (x, s) }",
      {tensor<ir::Float16>({1, 2}, {ir::Float16(1), ir::Float16(3)}),
       tensor<ir::Float16>({2}, {ir::Float16(1), ir::Float16(2)})});
  EXPECT_EQ(results[0].tensor.data<ir::Float16>()[1].bits, ir::Float16(2 / std::sqrt(1.00001F)).bits);
  EXPECT_EQ(results[1].tensor.data<ir::Bfloat16>()->bits, ir::Bfloat16(2.0F).bits);
}

TEST(LayerNormalization, RefusesAScaleThatDoesNotStretchToTheInput) {
  EXPECT_THROW(run_text("agraph (float[2,1] x, float[3] s) => (float[] y) { y = LayerNormalization(x, s) }",
                        {tensor<float>({2, 1}, {1, 2}), tensor<float>({3}, {1, 1, 1})}),
               Error);
}

TEST(RmsNormalization, DividesByTheRootMeanSquareInTheScalesType) {
  const auto results = run_text(
      "agraph (float16[2,2] x, double[1] s, float[2] f) => (double[] y, float[] z) {"
      " y = RMSNormalization <epsilon = 0.0> (x, s)  z = RMSNormalization <axis = 0, epsilon = 0.0> (x, f) }",
      {tensor<ir::Float16>({2, 2}, {ir::Float16(1), ir::Float16(7), ir::Float16(-3), ir::Float16(3)}),
       tensor<double>({1}, {10}), tensor<float>({2}, {1, 2})});
  expect_near<double>(results[0], {2, 14, -10, 10}, 1e-12);
  const double root = std::sqrt(68.0 / 4);
  expect_near<float>(results[1], {1 / root, 14 / root, -3 / root, 6 / root}, 1e-6);
}

TEST(LpNormalization, GivesRowsOfEveryLengthTheNormOfColumns) {
  for (int count = 1; count < 40; ++count) {
    std::vector<float> x;
    for (int i = 0; i < 2 * count; ++i) x.push_back(static_cast<float>(i * 7 % 13 - 6));
    for (int p : {1, 2}) {
      const auto outputs = run_text(
          fmt::format(
              "agraph (float[2,{0}] x) => (float[] rows, float[] columns) {{"
              " rows = LpNormalization <axis = 1, p = {1}> (x)  turned = Transpose <perm = [1, 0]> (x)"
              " normal = LpNormalization <axis = 0, p = {1}> (turned)  columns = Transpose <perm = [1, 0]> (normal) }}",
              count, p),
          {tensor<float>({2, count}, x)});
      EXPECT_THAT(values<float>(outputs[0]),
                  ::testing::Pointwise(::testing::FloatEq(), values<float>(outputs[1])));
    }
  }
}

TEST(LpNormalization, DividesByTheNormAndLeavesZerosAlone) {
  const auto results = run_text(
      "agraph (float[2,3] x) => (float[] y, float[] z) {"
      " y = LpNormalization <axis = 0> (x)  z = LpNormalization <p = 1> (x) }",
      {tensor<float>({2, 3}, {3, 0, -1, 4, 0, -3})});
  expect_near<float>(results[0], {0.6, 0, -1 / std::sqrt(10), 0.8, 0, -3 / std::sqrt(10)}, 1e-6);
  expect_near<float>(results[1], {0.75, 0, -0.25, 4.0 / 7, 0, -3.0 / 7}, 1e-6);
  EXPECT_THROW(run_text("agraph (float[1] x) => (float[] y) { y = LpNormalization <p = 3> (x) }",
                        {tensor<float>({1}, {1})}),
               Error);
}

TEST(MeanVarianceNormalization, AgreesWithItsDefinitionOverAnyAxes) {
  const std::vector<double> x = wave(72);
  const auto results = run_text(
      "agraph (double[3,4,2,3] x) => (double[] y, double[] z) {"
      " y = MeanVarianceNormalization(x)  z = MeanVarianceNormalization <axes = [-3, 0]> (x) }",
      {tensor<double>(kDims, x)});
  const auto channel = [](std::size_t i, std::size_t j) { return channel_of(i) == channel_of(j); };
  const auto place = [](std::size_t i, std::size_t j) { return i % kSize == j % kSize; };
  expect_near<double>(results[0], naive_normalization(x, 0, channel), 1e-7);
  expect_near<double>(results[1], naive_normalization(x, 0, place), 1e-7);
}

TEST(Lrn, SumsSquaresOfNeighbouringChannels) {
  const std::vector<double> x = wave(2 * 5 * 300);
  for (int size : {1, 2, 5}) {
    const auto results = run_text(
        "agraph (float[2,5,300] x) => (float[] y) {"
        " y = LRN <size = " +
            std::to_string(size) + ", alpha = 0.5, beta = 0.6, bias = 2.0> (x) }",
        {tensor<float>({2, 5, 300}, to_floats(x))});
    std::vector<double> expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const int channel = static_cast<int>(i / 300 % 5);
      double sum = 0;
      for (int c = std::max(0, channel - (size - 1) / 2); c <= std::min(4, channel + size / 2); ++c) {
        const double at = x[i + static_cast<std::size_t>((c - channel + 5) * 300) - 1500];
        sum += at * at;
      }
      expected[i] = x[i] / std::pow(2 + 0.5 / size * sum, 0.6);
    }
    expect_near<float>(results[0], expected, 2e-5);
  }
}

TEST(Dropout, PassesEverythingOnOutsideTraining) {
  const auto results = run_text("agraph (float16[3] x) => (float16[] y, bool[] m) { y, m = Dropout(x) }",
                                {tensor<ir::Float16>({3}, {ir::Float16(1), ir::Float16(2), ir::Float16(3)})});
  EXPECT_EQ(results[0].tensor.data<ir::Float16>()[2].bits, ir::Float16(3).bits);
  EXPECT_EQ(values<bool>(results[1]), (std::vector<bool>{true, true, true}));
}

TEST(Dropout, InTrainingDropsByTheSeedAndScalesTheRest) {
  // The first numbers that the generator gives for seed 0: 0.549 0.715 0.603 0.545 0.424.
  const auto results = run_text(
      "agraph (double[5] x, float r, bool t) => (double[] y, bool[] m) { y, m = Dropout <seed = 0> (x, r, t) "
      "}",
      {tensor<double>({5}, {1, 2, 3, 4, 5}), tensor<float>({}, {0.6F}), tensor<bool>({}, {true})});
  EXPECT_EQ(values<bool>(results[1]), (std::vector<bool>{false, true, true, false, false}));
  expect_near<double>(results[0], {0, 5, 7.5, 0, 0}, 1e-6);
}

TEST(Dropout, TakesOneNumberForItsRatio) {
  for (const char* ratio : {"float[2]", "float[1,2]", "float[0]"}) {
    EXPECT_THROW(graph_of(fmt::format("g (float[1,2] x, {} r) => (y) {{ y = Dropout (x, r) }}", ratio)),
                 Error)
        << ratio;
  }
  EXPECT_THROW(graph_of("g (float x, float[1] r) => (y) { y = Dropout (x, r) }"), Error);
  EXPECT_NO_THROW(graph_of("g (float[1,2] x, float[1] r, bool t) => (y) { y = Dropout (x, r, t) }"));
}

TEST(Dropout, RefusesARatioOfOne) {
  EXPECT_THROW(run_text("agraph (float[1] x, float r, bool t) => (float[] y) { y = Dropout(x, r, t) }",
                        {tensor<float>({1}, {1}), tensor<float>({}, {1.0F}), tensor<bool>({}, {true})}),
               Error);
}

// 2^40 rows of nothing: an op whose outputs have no elements does not run.
TEST(Softmax, OfNothingEndsAtOnce) {
  const std::int64_t rows = std::int64_t{1} << 40;
  const auto y = run_text("g (float[N, 0, 2] x) => (float[N, 0, 2] y) { y = Softmax <axis = 1> (x) }",
                          {ir::Tensor(ir::DataType::Float, {rows, 0, 2})});
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{rows, 0, 2}));
}

}  // namespace
}  // namespace podium::testing
