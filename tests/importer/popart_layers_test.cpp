// PopART's own layers against their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importer/import.h"
#include "tests/importer/by_hand.h"
#include "tests/support/refusal.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;
using testing::doubles;
using testing::Doubles;
using ::testing::ElementsAre;
using testing::expect_gradients_of_differences;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::numbers;
using testing::run_text;
using testing::tensor;
using testing::values;

TEST(PopartLayers, CallRunsItsCallee) {
  const std::string text =
      "g (double[2] x, double[2] y) => (double[] r) { s, d = ai.graphcore.Call <num_outputs = 2, callee = "
      "c (double[2] a, double[2] b) => (double[2] p, double[2] q) { p = Add (a, b) t = Mul (p, x) q = Sub (t, b) }> "
      "(y, x) r = Mul (s, d) }";
  const std::vector<Datum> inputs{tensor<double>({2}, {2, 3}), tensor<double>({2}, {5, 7})};
  // p = y + x; q = p x - x
  EXPECT_THAT(doubles(run_text(text, inputs)[0]), ElementsAre(7 * (14 - 2), 10 * (30 - 3)));
  expect_gradients_of_differences(text, inputs);
}

TEST(PopartLayers, GroupNormalizationGivesItsStatistics) {
  const std::string text =
      "g (double[2,4,3] x, double[4] s, double[4] b) => (double[] y, double[] m, double[] d) "
      "{ y, m, d = ai.graphcore.GroupNormalization <num_groups = 2, epsilon = 0.25> (x, s, b) }";
  const Tensor x = numbers({2, 4, 3});
  const Tensor scale = numbers({4}, 1);
  const Tensor bias = numbers({4}, 2);
  Doubles wanted;
  Doubles means;
  Doubles inverses;
  for (std::size_t group = 0; group < 4; ++group) {
    const Doubles all = doubles(x);
    const Doubles one(all.begin() + static_cast<std::ptrdiff_t>(6 * group),
                      all.begin() + static_cast<std::ptrdiff_t>(6 * group + 6));
    double mean = 0;
    double squares = 0;
    for (const double value : one) mean += value / 6;
    for (const double value : one) squares += std::pow(value - mean, 2) / 6;
    means.push_back(mean);
    inverses.push_back(1 / std::sqrt(squares + 0.25));
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t channel = group % 2 * 2 + i / 3;
      wanted.push_back((one[i] - mean) * inverses.back() * doubles(scale)[channel] + doubles(bias)[channel]);
    }
  }
  const auto out = run_text(text, {x, scale, bias});
  expect_near(doubles(out[0]), wanted);
  expect_near(doubles(out[1]), means);
  expect_near(doubles(out[2]), inverses);
  expect_gradients_of_differences(text, {x, scale, bias});
}

// Gates are forget, input, candidate and output; weights are [4, input + hidden, hidden].
struct LstmByHand {
  std::size_t batch = 2;
  std::size_t width = 3;
  std::size_t hidden = 2;
  Doubles weights = {};
  Doubles bias = {};
  Doubles h = {};
  Doubles c = {};

  double gate(std::size_t which, std::size_t b, std::size_t j, const Doubles& x, std::size_t t) const {
    double sum = bias[which * hidden + j];
    for (std::size_t i = 0; i < width + hidden; ++i) {
      const double from = i < width ? x[(t * batch + b) * width + i] : h[b * hidden + i - width];
      sum += from * weights[(which * (width + hidden) + i) * hidden + j];
    }
    return sum;
  }
  void step(const Doubles& x, std::size_t t) {
    LstmByHand next = *this;
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t j = 0; j < hidden; ++j) {
        const auto sigmoid = [&](std::size_t which) {
          return testing::sigmoid_by_hand(gate(which, b, j, x, t));
        };
        const std::size_t at = b * hidden + j;
        next.c[at] = sigmoid(0) * c[at] + sigmoid(1) * std::tanh(gate(2, b, j, x, t));
        next.h[at] = sigmoid(3) * std::tanh(next.c[at]);
      }
    }
    *this = next;
  }
};

TEST(PopartLayers, LstmHasItsGatesInPopartsOrder) {
  const Tensor x = numbers({4, 2, 3});
  const Tensor weights = numbers({4, 5, 2}, 1);
  const Tensor bias = numbers({4, 2}, 2);
  const Tensor state = numbers({2, 2, 2}, 3);
  const Doubles s = doubles(state);
  LstmByHand cell{.weights = doubles(weights),
                  .bias = doubles(bias),
                  .h = {s.begin(), s.begin() + 4},
                  .c = {s.begin() + 4, s.end()}};
  Doubles wanted;
  for (std::size_t t = 0; t < 4; ++t) {
    cell.step(doubles(x), t);
    wanted.insert(wanted.end(), cell.h.begin(), cell.h.end());
  }
  const std::string head =
      "g (double[4,2,3] x, double[4,5,2] w, double[4,2] b, double[2,2,2] s) => (double[] y, double[] c) "
      "{ y, c = ai.graphcore.LSTM ";
  const auto full = run_text(head + "(x, w, b, s) }", {x, weights, bias, state});
  expect_near(doubles(full[0]), wanted);
  EXPECT_EQ(full[0].tensor.dims(), (ir::Dims{4, 2, 2}));
  expect_near(doubles(full[1]), cell.c);
  const auto last = run_text(head + "<output_full_sequence = 0> (x, w, b, s) }", {x, weights, bias, state});
  expect_near(doubles(last[0]), cell.h);
  expect_gradients_of_differences(head + "(x, w, b, s) }", {x, weights, bias, state});
}

TEST(PopartLayers, MultiConvIsConvolutionsSideBySide) {
  const std::string text =
      "g (double[1,1,3] x, double[1,1,2] w, double[1,2,5] y, double[2,1,1] v, double[2] b) => (double[] p, double[] q) "
      "{ p, q = ai.graphcore.MultiConv <numConvs = 2, strides = [1, 2], pads = [1, 0, 0, 0], dilations = [1, 1], "
      "outPads = [0, 0, 0, 0], planType = \"serial\"> (x, w, , y, v, b) }";
  const std::vector<Datum> inputs{tensor<double>({1, 1, 3}, {1, 2, 3}), tensor<double>({1, 1, 2}, {10, 1}),
                                  tensor<double>({1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
                                  tensor<double>({2, 1, 1}, {2, 3}), tensor<double>({2}, {100, 200})};
  const auto out = run_text(text, inputs);
  EXPECT_THAT(doubles(out[0]), ElementsAre(1, 12, 23));
  EXPECT_THAT(doubles(out[1]), ElementsAre(102, 106, 110, 218, 224, 230));
  expect_gradients_of_differences(text, inputs);
  EXPECT_THAT(testing::refusal([] {
                testing::model_of(
                    "g (float[1,1,3] x, float[1,1,2] w) => (float[] p) "
                    "{ p = ai.graphcore.MultiConv <numConvs = 1, inDilations = [2]> (x, w) }");
              }),
              HasSubstr("inDilations has 2, 1 needed"));
}

TEST(PopartLayers, ShapedDropoutKeepsEverythingOutsideTraining) {
  const auto out = run_text(
      "g (float[2,2] x) => (float[] y) { y = ai.graphcore.ShapedDropout <shape = [2, 1], ratio = 0.25> (x) }",
      {tensor<float>({2, 2}, {1, 2, 3, 4})});
  EXPECT_THAT(values<float>(out[0]), ElementsAre(1, 2, 3, 4));
}

TEST(PopartLayers, NormalizeImageAddsAChannel) {
  const auto out = run_text(
      "g (uint8[1,2,3] x, float[3] o, float[3] s) => (float[] y) { y = ai.graphcore.NormalizeImage <scale = 0.5> (x, o, s) }",
      {tensor<std::uint8_t>({1, 2, 3}, {2, 4, 6, 8, 10, 12}), tensor<float>({3}, {1, 2, 3}),
       tensor<float>({3}, {10, 20, 30})});
  EXPECT_THAT(values<float>(out[0]), ElementsAre(0, 0, 0, 0, 30, 60, 90, 0));
}

TEST(PopartLayers, SplineWeightingSumsOverBases) {
  const std::string text =
      "g (double[2,3] x, double[4,3,2] w, double[2,2] b, int32[2,2] i) => (double[] y) "
      "{ y = ai.graphcore.SplineWeighting (x, w, b, i) }";
  const Tensor x = numbers({2, 3});
  const Tensor w = numbers({4, 3, 2}, 1);
  const Tensor b = numbers({2, 2}, 2);
  const std::vector<std::size_t> index{3, 0, 1, 1};
  Doubles wanted;
  for (std::size_t edge = 0; edge < 2; ++edge) {
    for (std::size_t out = 0; out < 2; ++out) {
      double sum = 0;
      for (std::size_t s = 0; s < 2; ++s) {
        for (std::size_t in = 0; in < 3; ++in)
          sum += doubles(b)[edge * 2 + s] * doubles(x)[edge * 3 + in] *
                 doubles(w)[(index[edge * 2 + s] * 3 + in) * 2 + out];
      }
      wanted.push_back(sum);
    }
  }
  const std::vector<Datum> inputs{x, w, b, tensor<std::int32_t>({2, 2}, {3, 0, 1, 1})};
  expect_near(doubles(run_text(text, inputs)[0]), wanted);
  expect_gradients_of_differences(text, inputs);
}

// The value of a uniform B-spline's piece k at v, by the recursion of Cox and de Boor over whole knots.
double spline_by_hand(std::size_t degree, double t) {
  if (degree == 0) return t >= 0 && t < 1 ? 1 : 0;
  const auto n = static_cast<double>(degree);
  return t / n * spline_by_hand(degree - 1, t) + (n + 1 - t) / n * spline_by_hand(degree - 1, t - 1);
}

TEST(PopartLayers, SplineBasisWeighsTheKernelsAroundAPoint) {
  const Tensor points = tensor<double>({3, 2}, {0.1, 0.9, 0.55, 0.3, 0.0, 0.7});
  const std::vector<std::size_t> sizes{5, 6};
  for (std::size_t degree = 0; degree < 4; ++degree) {
    const auto out = run_text(
        "g (double[3,2] x, int32[2] k, uint8[2] o) => (double[] b, int32[] i) { b, i = ai.graphcore.SplineBasis "
        "<degree = " +
            std::to_string(degree) + "> (x, k, o) }",
        {points, testing::list<std::int32_t>({5, 6}), testing::list<std::uint8_t>({1, 0})});
    const std::size_t pieces = degree + 1;
    Doubles wanted;
    std::vector<std::int32_t> indices;
    for (std::size_t e = 0; e < 3; ++e) {
      for (std::size_t s = 0; s < pieces * pieces; ++s) {
        double product = 1;
        std::size_t index = 0;
        for (std::size_t d = 0; d < 2; ++d) {
          const std::size_t piece = d == 0 ? s % pieces : s / pieces;
          const double span = static_cast<double>(sizes[d]) - (d == 0 ? static_cast<double>(degree) : 0);
          const double place = doubles(points)[e * 2 + d] * span;
          // Piece k is the part of the spline that lies degree - k knots back.
          product *= spline_by_hand(degree, place - std::floor(place) + static_cast<double>(degree - piece));
          index += (static_cast<std::size_t>(place) + piece) % sizes[d] * (d == 0 ? 1 : sizes[0]);
        }
        wanted.push_back(product);
        indices.push_back(static_cast<std::int32_t>(index));
      }
    }
    expect_near(doubles(out[0]), wanted, 1e-6);
    EXPECT_THAT(values<std::int32_t>(out[1]), ::testing::ElementsAreArray(indices));
  }
}

// All ways through `steps` steps, one class a step, that read as the target when repeats and blanks go.
double ctc_by_hand(const std::vector<Doubles>& logs, const std::vector<std::size_t>& target,
                   std::size_t blank) {
  const std::size_t classes = logs[0].size();
  double total = 0;
  const auto ways = static_cast<std::size_t>(std::pow(classes, logs.size()));
  for (std::size_t way = 0; way < ways; ++way) {
    std::vector<std::size_t> read;
    double log = 0;
    std::size_t rest = way;
    std::size_t last = blank;
    for (const Doubles& step : logs) {
      const std::size_t label = rest % classes;
      rest /= classes;
      log += step[label];
      if (label != blank && label != last) read.push_back(label);
      last = label;
    }
    if (read == target) total += std::exp(log);
  }
  return -std::log(total);
}

class PopartCtc : public ::testing::Test {
 protected:
  // Five steps of two sequences over four classes; class 1 is the blank.
  static constexpr std::size_t kBlank = 1;
  const Tensor scores_ = [] {
    Tensor x = numbers({5, 2, 4});
    for (double& value : x.values<double>()) value = std::log(value / 8);
    return x;
  }();
  const Datum targets_ = tensor<std::uint32_t>({2, 3}, {2, 2, 0, 3, 0, 0});
  const Datum lengths_ = testing::list<std::uint32_t>({5, 3});
  const Datum target_lengths_ = testing::list<std::uint32_t>({3, 1});

  double loss(std::size_t sequence, std::size_t steps, const std::vector<std::size_t>& target) const {
    std::vector<Doubles> logs;
    for (std::size_t t = 0; t < steps; ++t) {
      logs.emplace_back();
      for (std::size_t c = 0; c < 4; ++c) logs.back().push_back(doubles(scores_)[(t * 2 + sequence) * 4 + c]);
    }
    return ctc_by_hand(logs, target, kBlank);
  }
  static std::string text(const std::string& reduction) {
    return "g (double[5,2,4] x, uint32[2,3] t, uint32[2] n, uint32[2] m) => (double[] y) "
           "{ y, unused = ai.graphcore.Ctc <blank = 1, outDataType = 0, reduction = \"" +
           reduction + "\"> (x, t, n, m) }";
  }
};

TEST_F(PopartCtc, SumsOverAllWaysToReadTheTarget) {
  const double first = loss(0, 5, {2, 2, 0});
  const double second = loss(1, 3, {3});
  const std::vector<Datum> inputs{scores_, targets_, lengths_, target_lengths_};
  expect_near(doubles(run_text(text("None"), inputs)[0]), {first, second}, 1e-9);
  expect_near(doubles(run_text(text("Sum"), inputs)[0]), {first + second}, 1e-9);
  expect_near(doubles(run_text(text("Mean"), inputs)[0]), {(first / 3 + second) / 2}, 1e-9);
  const std::vector<Datum> empty{scores_, targets_, lengths_, testing::list<std::uint32_t>({2, 0})};
  expect_near(doubles(run_text(text("None"), empty)[0]), {loss(0, 5, {2, 2}), loss(1, 3, {})}, 1e-9);
  const std::string half =
      "g (double[5,2,4] x, uint32[2,3] t, uint32[2] n, uint32[2] m) => (float[] y) "
      "{ h = Cast <to = 10> (x) "
      "y, unused = ai.graphcore.Ctc <blank = 1, outDataType = 1, reduction = \"Sum\"> (h, t, n, m) }";
  expect_near(values<float>(run_text(half, inputs)[0]), {first + second}, 0.02);
  expect_gradients_of_differences(text("Sum"), inputs);
  expect_gradients_of_differences(text("Mean"), inputs);
}

}  // namespace
}  // namespace podium
