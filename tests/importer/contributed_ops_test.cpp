// Ops of com.microsoft against their definitions, and their gradients against differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importer/import.h"
#include "tests/importer/by_hand.h"
#include "tests/support/refusal.h"

namespace podium {
namespace {

using ir::Dims;
using testing::both;
using testing::doubles;
using testing::Doubles;
using testing::each;
using ::testing::ElementsAre;
using testing::expect_gradients_of_differences;
using testing::expect_near;
using testing::gelu_by_hand;
using ::testing::HasSubstr;
using testing::list;
using testing::numbers;
using testing::product_by_hand;
using testing::run_text;
using testing::sum_of;
using testing::tensor;
using testing::transposed_by_hand;
using testing::values;

// Numbers of both signs.
ir::Tensor signed_numbers(Dims dims, double phase = 0) {
  ir::Tensor x = numbers(std::move(dims), phase);
  for (double& value : x.values<double>()) value = 3 * (value - 1);
  return x;
}

// The result of one node with double inputs x, y, z, and so on, and the gradients of it by all of them.
Doubles checked_result(const std::string& call, const std::vector<ir::Datum>& inputs) {
  std::string text = "g (";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += std::string(i == 0 ? "" : ", ") + "double[";
    for (int axis = 0; axis < inputs[i].tensor.rank(); ++axis)
      text += (axis == 0 ? "" : ",") + std::to_string(inputs[i].tensor.dim(axis));
    text += std::string("] ") + "xyzuvw"[i];
  }
  text += ") => (double[] r) { r = com.microsoft." + call + " }";
  expect_gradients_of_differences(text, inputs);
  return doubles(run_text(text, inputs)[0]);
}

TEST(ContributedOps, GelusAreThoseOfOnnxAfterTheirBias) {
  const ir::Tensor x = signed_numbers({3, 4});
  const ir::Tensor bias = signed_numbers({4}, 1);
  const Doubles sum = sum_of(doubles(x), doubles(bias));
  expect_near(checked_result("Gelu (x)", {x}), each(doubles(x), gelu_by_hand));
  expect_near(checked_result("BiasGelu (x, y)", {x, bias}), each(sum, gelu_by_hand));
  expect_near(checked_result("FastGelu (x)", {x}), each(doubles(x), testing::tanh_gelu_by_hand));
  expect_near(checked_result("FastGelu (x, y)", {x, bias}), each(sum, testing::tanh_gelu_by_hand));
  const ir::Tensor w = signed_numbers({4, 4}, 2);
  const Doubles product = sum_of(product_by_hand(doubles(x), doubles(w), 4), doubles(bias));
  expect_near(checked_result("GemmFastGelu (x, y, z)", {x, w, bias}),
              each(product, testing::tanh_gelu_by_hand));
}

TEST(ContributedOps, BiasSplitGeluGatesTheLeftHalfByTheRight) {
  const ir::Tensor x = signed_numbers({2, 4});
  const ir::Tensor bias = signed_numbers({4}, 1);
  const Doubles sum = sum_of(doubles(x), doubles(bias));
  Doubles wanted;
  for (std::size_t row = 0; row < 8; row += 4) {
    for (std::size_t i = 0; i < 2; ++i) wanted.push_back(sum[row + i] * gelu_by_hand(sum[row + i + 2]));
  }
  expect_near(checked_result("BiasSplitGelu (x, y)", {x, bias}), wanted);
}

TEST(ContributedOps, SumsWithABiasAddWhatIsAroundThem) {
  const ir::Tensor x = signed_numbers({2, 3, 4});
  const ir::Tensor bias = signed_numbers({4}, 1);
  const ir::Tensor skip = signed_numbers({2, 3, 4}, 2);
  const Doubles sum = sum_of(sum_of(doubles(x), doubles(bias)), doubles(skip));
  expect_near(checked_result("BiasAdd (x, y, z)", {x, bias, skip}), sum);
  // Without training nothing is dropped.
  expect_near(checked_result("BiasDropout (x, y, z)", {x, bias, skip}), sum);
  expect_near(checked_result("BiasDropout (x, y)", {x, bias}), sum_of(doubles(x), doubles(bias)));
  const ir::Tensor gate = signed_numbers({2, 3, 1}, 3);
  const Doubles g = doubles(gate);
  Doubles gated = doubles(x);
  for (std::size_t i = 0; i < gated.size(); ++i) gated[i] += doubles(skip)[i] * g[i / 4];
  expect_near(checked_result("GatedAdd (x, y, z)", {x, skip, gate}), gated);
}

TEST(ContributedOps, BiasSoftmaxIsOverAllAxesFromItsOwnOn) {
  const ir::Tensor x = signed_numbers({2, 2, 3});
  const ir::Tensor bias = signed_numbers({1, 2, 3}, 1);
  const Doubles weights = each(sum_of(doubles(x), doubles(bias)), [](double s) { return std::exp(s); });
  const auto normalised = [&](std::size_t width) {
    Doubles wanted;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto row = weights.begin() + static_cast<std::ptrdiff_t>(i / width * width);
      wanted.push_back(weights[i] / std::accumulate(row, row + static_cast<std::ptrdiff_t>(width), 0.0));
    }
    return wanted;
  };
  const std::string op = "BiasSoftmax <is_inner_broadcast = 0, axis = ";
  expect_near(checked_result(op + "2> (x, y)", {x, bias}), normalised(3));
  expect_near(checked_result(op + "1> (x, y)", {x, bias}), normalised(6));
}

TEST(ContributedOps, FusedMatMulTransposesAndScales) {
  const ir::Tensor a = signed_numbers({2, 3});
  const ir::Tensor b = signed_numbers({3, 4}, 1);
  const Doubles wanted = product_by_hand(doubles(a), doubles(b), 3);
  const Doubles half = each(wanted, [](double x) { return x / 2; });
  const ir::Tensor at = tensor<double>({3, 2}, transposed_by_hand(doubles(a), 3));
  const ir::Tensor bt = tensor<double>({4, 3}, transposed_by_hand(doubles(b), 4));
  expect_near(checked_result("FusedMatMul (x, y)", {a, b}), wanted);
  expect_near(checked_result("FusedMatMul <transA = 1, transB = 1, alpha = 0.5> (x, y)", {at, bt}), half);
  expect_near(checked_result("TransposeMatMul <transB = 1> (x, y)", {a, bt}), wanted);
  expect_near(checked_result("FusedMatMulActivation <activation = \"Relu\", transA = 1> (x, y)", {at, b}),
              each(wanted, [](double x) { return std::max(x, 0.0); }));
  expect_near(checked_result("FusedMatMulActivation <activation = \"LeakyRelu\", activation_alpha = 0.25, "
                             "alpha = 0.5> (x, y)",
                             {a, b}),
              each(half, [](double x) { return x < 0 ? x / 4 : x; }));
}

// A is [2, 3, 4] for three products of [2, 4].
TEST(ContributedOps, FusedMatMulTakesTheBatchFromBehindTheFirstAxis) {
  const ir::Tensor a = signed_numbers({2, 3, 4});
  const ir::Tensor b = signed_numbers({3, 4, 2}, 1);
  const Doubles x = doubles(a);
  const Doubles y = doubles(b);
  Doubles wanted;
  for (std::size_t batch = 0; batch < 3; ++batch) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 4; ++k) sum += x[(i * 3 + batch) * 4 + k] * y[(batch * 4 + k) * 2 + j];
        wanted.push_back(sum);
      }
    }
  }
  expect_near(checked_result("FusedMatMul <transBatchA = 1> (x, y)", {a, b}), wanted);
}

TEST(ContributedOps, FusedMatMulFindsAxesInsideABranch) {
  const auto out = run_text(
      "g (float[2,1] x, bool c) => (float[1,1] y) { h = Abs (x) y = If (c) <"
      "then_branch = t () => (float[1,1] p) { p = com.microsoft.FusedMatMul <transA = 1> (h, x) },"
      "else_branch = e () => (float[1,1] q) { z = Abs (h) q = com.microsoft.FusedMatMul <transA = 1> (z, z) }> }",
      {tensor<float>({2, 1}, {-1, 2}), tensor<bool>({}, {true})});
  EXPECT_THAT(values<float>(out[0]), ElementsAre(3));
}

TEST(ContributedOps, FusedGemmHasAnActivation) {
  const ir::Tensor a = signed_numbers({2, 3});
  const ir::Tensor b = signed_numbers({4, 3}, 1);
  const ir::Tensor c = signed_numbers({4}, 2);
  const Doubles product = product_by_hand(doubles(a), transposed_by_hand(doubles(b), 3), 3);
  const Doubles wanted =
      both(product, doubles(c), [](double p, double s) { return std::tanh(0.5 * p + 2 * s); });
  expect_near(
      checked_result("FusedGemm <transB = 1, alpha = 0.5, beta = 2.0, activation = \"Tanh\"> (x, y, z)",
                     {a, b, c}),
      wanted);
}

TEST(ContributedOps, ComplexProductsMayConjugateTheSecond) {
  const ir::Tensor a = tensor<double>({1, 2}, {1, 2});
  const ir::Tensor b = tensor<double>({1, 2}, {3, 5});
  EXPECT_THAT(checked_result("ComplexMul (x, y)", {a, b}), ElementsAre(-7, 11));
  EXPECT_THAT(checked_result("ComplexMulConj (x, y)", {a, b}), ElementsAre(13, 1));
}

TEST(ContributedOps, CDistHoldsEveryRowAgainstEveryRow) {
  const ir::Tensor a = tensor<double>({2, 2}, {0, 0, 1, 1});
  const ir::Tensor b = tensor<double>({2, 2}, {3, 4, 1, 2});
  EXPECT_THAT(checked_result("CDist (x, y)", {a, b}), ElementsAre(25, 5, 13, 1));
  expect_near(checked_result("CDist <metric = \"euclidean\"> (x, y)", {a, b}),
              {5, std::sqrt(5.0), std::sqrt(13.0), 1});
}

TEST(ContributedOps, OpsThatOnnxHasBecomeThose) {
  const auto x = tensor<float>({2, 2}, {1, 2, 3, 4});
  const auto run = [&](const std::string& call, const std::vector<ir::Datum>& inputs, const char* others) {
    return values<float>(run_text(
        "g (float[2,2] x" + std::string(others) + ") => (float[] y) { y = com.microsoft." + call + " }",
        inputs)[0]);
  };
  EXPECT_THAT(run("Trilu <upper = 0> (x)", {x}, ""), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(run("GatherND (x, i)", {x, tensor<std::int64_t>({1, 2}, {1, 0})}, ", int64[1,2] i"),
              ElementsAre(3));
  EXPECT_THAT(run("Pad (x, i)", {x, list<std::int64_t>({0, 1, 0, 0})}, ", int64[4] i"),
              ElementsAre(0, 1, 2, 0, 3, 4));
  EXPECT_THAT(run("ExpandDims (x, i)", {x, tensor<std::int32_t>({}, {1})}, ", int32 i"),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(run("TorchEmbedding (x, i)", {x, list<std::int64_t>({1})}, ", int64[1] i"), ElementsAre(3, 4));
}

TEST(ContributedOps, GridSampleKeepsItsNamesOfModes) {
  const auto out = run_text(
      "g (float[1,1,1,2] x, float[1,1,1,2] grid) => (float[] y) "
      "{ y = com.microsoft.GridSample <mode = \"bilinear\", align_corners = 1> (x, grid) }",
      {tensor<float>({1, 1, 1, 2}, {10, 20}), tensor<float>({1, 1, 1, 2}, {0.5F, 0})});
  EXPECT_THAT(values<float>(out[0]), ElementsAre(17.5F));
}

TEST(ContributedOps, RangeStepsByOneUnlessToldOtherwise) {
  const auto out = run_text(
      "g (int64 a, int64 b, int64 c) => (int64[] y, int64[] z) "
      "{ y = com.microsoft.Range (a, b) z = com.microsoft.Range (a, b, c) }",
      {tensor<std::int64_t>({}, {1}), tensor<std::int64_t>({}, {4}), tensor<std::int64_t>({}, {2})});
  EXPECT_THAT(values<std::int64_t>(out[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(values<std::int64_t>(out[1]), ElementsAre(1, 3));
}

TEST(ContributedOps, UniqueKeepsTheOrderOfFirstSight) {
  const auto out =
      run_text("g (float[6] x) => (float[] y, int64[] i, int64[] n) { y, i, n = com.microsoft.Unique (x) }",
               {list<float>({2, 1, 1, 3, 4, 3})});
  EXPECT_THAT(values<float>(out[0]), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(values<std::int64_t>(out[1]), ElementsAre(0, 1, 1, 2, 3, 2));
  EXPECT_THAT(values<std::int64_t>(out[2]), ElementsAre(1, 2, 2, 1));
}

TEST(ContributedOps, RfftGivesHalfOfTheSpectrum) {
  const Doubles found = checked_result("Rfft <signal_ndim = 1> (x)", {tensor<double>({1, 4}, {1, 2, 4, 8})});
  expect_near(found, {15, 0, -3, 6, -5, 0});
}

TEST(ContributedOps, InverseTurnsProductsBack) {
  const ir::Tensor x = tensor<double>({2, 2, 2}, {2, 1, 1, 1, 0, -4, 0.5, 3});
  expect_near(checked_result("Inverse (x)", {x}), {1, -1, -1, 2, 1.5, 2, -0.25, 0});
}

TEST(ContributedOps, UnfoldTensorGivesEverySlice) {
  const ir::Tensor x = tensor<double>({2, 5}, {0, 1, 2, 3, 4, 10, 11, 12, 13, 14});
  EXPECT_THAT(checked_result("UnfoldTensor <dim = 1, size = 3, step = 2> (x)", {x}),
              ElementsAre(0, 1, 2, 2, 3, 4, 10, 11, 12, 12, 13, 14));
  EXPECT_THAT(checked_result("UnfoldTensor <dim = 0, size = 2> (x)", {x}),
              ElementsAre(0, 10, 1, 11, 2, 12, 3, 13, 4, 14));
}

std::string refusal_of(const std::string& call) {
  return testing::refusal([&] {
    importer::import_text(
        testing::model_text("g (float[2,2] x) => (float[] y) { y = com.microsoft." + call + " }"));
  });
}

TEST(ContributedOps, SayWhatTheyDoNotTake) {
  EXPECT_THAT(refusal_of("Gelu (x, x)"), HasSubstr("2 inputs found, at most 1 needed"));
  EXPECT_THAT(refusal_of("BiasGelu (x)"), HasSubstr("input 1 is missing"));
  EXPECT_THAT(refusal_of("Gelu <beta = 1> (x)"), HasSubstr("attribute 'beta' is not known"));
  EXPECT_THAT(refusal_of("FusedMatMulActivation <activation = \"Sine\"> (x, x)"),
              HasSubstr("there is no activation 'Sine'"));
  EXPECT_THAT(refusal_of("NhwcMaxPool <kernel_shape = [1]> (x)"),
              HasSubstr("2 axes found, 3 or more needed"));
  EXPECT_THAT(refusal_of("MatMulNBits <N = 0, K = 1, block_size = 16> (x, x, x)"), HasSubstr("N is 0, 1 to"));
  EXPECT_THAT(refusal_of("MatMulNBits <N = 1, K = 1, block_size = 16, bits = 99> (x, x, x)"),
              HasSubstr("bits is 99, 2, 4 or 8 needed"));
  EXPECT_THAT(refusal_of("MultiHeadAttention <num_heads = 0> (x, x, x)"),
              HasSubstr("0 heads found, 1 or more needed"));
  EXPECT_THAT(refusal_of("Gellu (x)"), HasSubstr("there is no op 'Gellu' in domain 'com.microsoft'"));
  EXPECT_EQ(refusal_of("Gelu (x)"), "");
}

}  // namespace
}  // namespace podium
