// Ops of com.microsoft on few-bit numbers against their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/importer/by_hand.h"
#include "tests/support/graph_text.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Dims;
using ir::Tensor;
using testing::Doubles;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::expect_near;
using testing::run_text;
using testing::tensor;
using testing::values;

using Bytes = std::vector<std::uint8_t>;

// Half to even, as ONNX rounds.
Bytes quantized_by_hand(const Doubles& x, double scale, double zero) {
  Bytes y;
  for (const double value : x)
    y.push_back(static_cast<std::uint8_t>(std::clamp(std::nearbyint(value / scale) + zero, 0.0, 255.0)));
  return y;
}

Doubles real_by_hand(const Bytes& x, double scale, double zero) {
  Doubles y;
  for (const std::uint8_t value : x) y.push_back((value - zero) * scale);
  return y;
}

const Bytes kA{0, 10, 120, 255, 33, 128};
const Bytes kB{200, 3, 128, 90, 91, 7};

Datum scalar(float value) { return tensor<float>({}, {value}); }
Datum zero(int value) { return tensor<std::uint8_t>({}, {static_cast<std::uint8_t>(value)}); }

// One node of A with scale 0.25 and zero point 128, a result with scale 0.5 and zero point 10.
Bytes unary_result(const std::string& op, const Dims& dims) {
  const std::string text =
      "g (uint8[" + std::to_string(dims[0]) + "," + std::to_string(dims[1]) +
      (dims.size() > 2 ? "," + std::to_string(dims[2]) + "," + std::to_string(dims[3]) : "") +
      "] x, float s, uint8 z, float t, uint8 u) => (uint8[] y) { y = com.microsoft." + op +
      " (x, s, z, t, u) }";
  return values<std::uint8_t>(
      run_text(text, {tensor<std::uint8_t>(dims, kA), scalar(0.25F), zero(128), scalar(0.5F), zero(10)})[0]);
}

TEST(ContributedQuantization, BinaryOpsRoundOnceAtTheEnd) {
  const Doubles a = real_by_hand(kA, 0.25, 128);
  const Doubles b = real_by_hand(kB, 0.5, 3);
  const auto run = [&](const std::string& op) {
    return values<std::uint8_t>(run_text(
        "g (uint8[6] a, float s, uint8 z, uint8[6] b, float t, uint8 u, float r, uint8 w) => (uint8[] y) "
        "{ y = com.microsoft." +
            op + " (a, s, z, b, t, u, r, w) }",
        {tensor<std::uint8_t>({6}, kA), scalar(0.25F), zero(128), tensor<std::uint8_t>({6}, kB), scalar(0.5F),
         zero(3), scalar(0.75F), zero(40)})[0]);
  };
  EXPECT_THAT(run("QLinearAdd"), ElementsAreArray(quantized_by_hand(testing::sum_of(a, b), 0.75, 40)));
  EXPECT_THAT(run("QLinearMul"),
              ElementsAreArray(quantized_by_hand(testing::both(a, b, std::multiplies<>()), 0.75, 40)));
}

TEST(ContributedQuantization, UnaryOpsAreThoseOfRealNumbers) {
  const Doubles x = real_by_hand(kA, 0.25, 128);
  EXPECT_THAT(unary_result("QLinearSigmoid", {2, 3}),
              ElementsAreArray(quantized_by_hand(testing::each(x, testing::sigmoid_by_hand), 0.5, 10)));
  const auto leaky = [](double value) { return value < 0 ? 0.125 * value : value; };
  EXPECT_THAT(unary_result("QLinearLeakyRelu <alpha = 0.125>", {2, 3}),
              ElementsAreArray(quantized_by_hand(testing::each(x, leaky), 0.5, 10)));
}

TEST(ContributedQuantization, SoftmaxIsOfRowsOrOfAllThatFollowsItsAxis) {
  const Bytes x{128, 132, 128, 136, 128, 128};
  const auto run = [&](const std::string& attributes) {
    return values<std::uint8_t>(run_text(
        "g (uint8[1,2,3] x, float s, uint8 z, float t, uint8 u) => (uint8[] y) "
        "{ y = com.microsoft.QLinearSoftmax <" +
            attributes + "> (x, s, z, t, u) }",
        {tensor<std::uint8_t>({1, 2, 3}, x), scalar(0.25F), zero(128), scalar(1.0F / 256), zero(0)})[0]);
  };
  const double one = std::exp(1.0);
  const double two = std::exp(2.0);
  const auto share = [](double part, double all) { return quantized_by_hand({part / all}, 1.0 / 256, 0)[0]; };
  EXPECT_THAT(run("opset = 13"), ElementsAre(share(1, 2 + one), share(one, 2 + one), share(1, 2 + one),
                                             share(two, 2 + two), share(1, 2 + two), share(1, 2 + two)));
  const double all = 4 + one + two;
  EXPECT_THAT(run("opset = 12, axis = 1"), ElementsAre(share(1, all), share(one, all), share(1, all),
                                                       share(two, all), share(1, all), share(1, all)));
}

TEST(ContributedQuantization, PoolsAverageRealNumbersWithChannelsWhereTheyAre) {
  const Doubles x = real_by_hand(kA, 0.25, 128);
  const auto mean = [&](std::vector<std::size_t> of) {
    double sum = 0;
    for (const std::size_t i : of) sum += x[i] / static_cast<double>(of.size());
    return quantized_by_hand({sum}, 0.5, 10)[0];
  };
  EXPECT_THAT(unary_result("QLinearAveragePool <kernel_shape = [1, 2]>", {1, 1, 2, 3}),
              ElementsAre(mean({0, 1}), mean({1, 2}), mean({3, 4}), mean({4, 5})));
  EXPECT_THAT(unary_result("QLinearAveragePool <kernel_shape = [3, 1], channels_last = 1>", {1, 3, 1, 2}),
              ElementsAre(mean({0, 2, 4}), mean({1, 3, 5})));
  EXPECT_THAT(unary_result("QLinearGlobalAveragePool", {1, 2, 1, 3}),
              ElementsAre(mean({0, 1, 2}), mean({3, 4, 5})));
  EXPECT_THAT(unary_result("QLinearGlobalAveragePool <channels_last = 1>", {1, 1, 3, 2}),
              ElementsAre(mean({0, 2, 4}), mean({1, 3, 5})));
  EXPECT_THAT(unary_result("QLinearReduceMean <axes = [1], keepdims = 0>", {2, 3}),
              ElementsAre(mean({0, 1, 2}), mean({3, 4, 5})));
}

TEST(ContributedQuantization, ConcatAndWhereGiveEachInputItsOwnScale) {
  const std::vector<Datum> inputs{scalar(0.5F),  zero(10),  tensor<std::uint8_t>({6}, kA),
                                  scalar(0.25F), zero(128), tensor<std::uint8_t>({6}, kB),
                                  scalar(1.0F),  zero(100)};
  const std::string names =
      "float r, uint8 w, uint8[6] a, float s, uint8 z, uint8[6] b, float t, uint8 u) => (uint8[] y) ";
  Bytes wanted = quantized_by_hand(real_by_hand(kA, 0.25, 128), 0.5, 10);
  const Bytes second = quantized_by_hand(real_by_hand(kB, 1, 100), 0.5, 10);
  Bytes chosen = wanted;
  for (std::size_t i = 1; i < 6; i += 2) chosen[i] = second[i];
  wanted.insert(wanted.end(), second.begin(), second.end());
  const auto joined = run_text(
      "g (" + names + "{ y = com.microsoft.QLinearConcat <axis = 0> (r, w, a, s, z, b, t, u) }", inputs);
  EXPECT_THAT(values<std::uint8_t>(joined[0]), ElementsAreArray(wanted));
  std::vector<Datum> with_condition = inputs;
  with_condition.insert(with_condition.begin(), tensor<bool>({6}, {true, false, true, false, true, false}));
  const auto where =
      run_text("g (bool[6] c, " + names + "{ y = com.microsoft.QLinearWhere (c, a, s, z, b, t, u, r, w) }",
               with_condition);
  EXPECT_THAT(values<std::uint8_t>(where[0]), ElementsAreArray(chosen));
}

TEST(ContributedQuantization, QLinearConvMayHaveItsChannelsLast) {
  const auto run = [](const std::string& attributes, const std::string& shape, const Dims& dims) {
    return values<std::uint8_t>(run_text(
        "g (uint8[" + shape +
            "] x, float s, uint8 z, uint8[1,2,1,1] w, float t, uint8 u, float r, uint8 v) => (uint8[] y) "
            "{ y = com.microsoft.QLinearConv <" +
            attributes + "> (x, s, z, w, t, u, r, v) }",
        {tensor<std::uint8_t>(dims, {1, 2, 3, 4}), scalar(1), zero(0),
         tensor<std::uint8_t>({1, 2, 1, 1}, {12, 110}), scalar(0.5F), zero(10), scalar(1), zero(7)})[0]);
  };
  EXPECT_THAT(run("channels_last = 1", "1,1,2,2", {1, 1, 2, 2}), ElementsAre(108, 210));
  EXPECT_THAT(run("channels_last = 0", "1,2,1,2", {1, 2, 1, 2}), ElementsAre(158, 209));
}

TEST(ContributedQuantization, ProductsOfIntegersAreScaledAfterwards) {
  const Doubles a = real_by_hand({1, 2, 3, 4}, 0.5, 2);
  const Doubles b = real_by_hand({9, 8, 7, 6}, 0.25, 5);
  Doubles wanted = testing::product_by_hand(a, b, 2);
  const std::string text =
      "g (uint8[2,2] a, uint8[2,2] b, float s, float t, uint8 z, uint8 u, float[2] c) => (float[] y, float[] p) "
      "{ y = com.microsoft.MatMulIntegerToFloat (a, b, s, t, z, u, c) "
      "p = com.microsoft.MatMulIntegerToFloat (a, b, s, t, z, u) }";
  const auto out =
      run_text(text, {tensor<std::uint8_t>({2, 2}, {1, 2, 3, 4}), tensor<std::uint8_t>({2, 2}, {9, 8, 7, 6}),
                      scalar(0.5F), scalar(0.25F), zero(2), zero(5), tensor<float>({2}, {10, 20})});
  expect_near(values<float>(out[1]), wanted, 1e-6);
  expect_near(values<float>(out[0]), testing::sum_of(wanted, {10, 20}), 1e-6);
}

TEST(ContributedQuantization, DynamicQuantizeMatMulQuantisesItsLeftFactor) {
  // 0 to 2.55 in 255 steps: exact.
  const auto out = run_text(
      "g (float[1,3] a, int8[3,2] b, float[2] t, int8[2] u, float[2] c) => (float[] y) "
      "{ y = com.microsoft.DynamicQuantizeMatMul (a, b, t, u, c) }",
      {tensor<float>({1, 3}, {0, 1, 2.55F}), tensor<std::int8_t>({3, 2}, {1, 2, 3, 4, 5, 6}),
       tensor<float>({2}, {0.5F, 2}), tensor<std::int8_t>({2}, {1, -1}), tensor<float>({2}, {100, 200})});
  expect_near(values<float>(out[0]), {100 + 0.5 * (1 * 2 + 2.55 * 4), 200 + 2 * (1 * 5 + 2.55 * 7)}, 1e-4);
}

TEST(ContributedQuantization, WideProductsAddUpIn32Bits) {
  const auto out = run_text(
      "g (int16[1,2] a, int16[2,1] b, uint8[3] x, uint8 z, uint8[3] y, int8[2,2] s) => "
      "(int32[] p, int32[] q, int32[] r) "
      "{ p = com.microsoft.MatMulInteger16 (a, b) q = com.microsoft.MulInteger (x, z, y) "
      "r = com.microsoft.ReduceSumInteger <axes = [1], keepdims = 0> (s) }",
      {tensor<std::int16_t>({1, 2}, {30000, -2}), tensor<std::int16_t>({2, 1}, {1000, 5}),
       tensor<std::uint8_t>({3}, {1, 2, 255}), zero(2), tensor<std::uint8_t>({3}, {10, 20, 255}),
       tensor<std::int8_t>({2, 2}, {127, 127, -128, 1})});
  EXPECT_THAT(values<std::int32_t>(out[0]), ElementsAre(29999990));
  EXPECT_THAT(values<std::int32_t>(out[1]), ElementsAre(-10, 0, 253 * 255));
  EXPECT_THAT(values<std::int32_t>(out[2]), ElementsAre(254, -127));
}

TEST(ContributedQuantization, QGemmCountsItsBiasInUnitsOfBothScales) {
  const std::string head =
      "g (uint8[2,2] a, float s, uint8 z, uint8[2,2] b, float t, uint8 u, int32[2] c, float r, uint8 w) => ";
  const std::vector<Datum> inputs{tensor<std::uint8_t>({2, 2}, {1, 2, 3, 4}), scalar(0.5F),  zero(2),
                                  tensor<std::uint8_t>({2, 2}, {9, 8, 7, 6}), scalar(0.25F), zero(5),
                                  tensor<std::int32_t>({2}, {4, -4}),         scalar(0.5F),  zero(10)};
  // A transposed, less 2: {-1, 1}, {0, 2}; B less 5: {4, 3}, {2, 1}.
  const Doubles sums{-4 + 2 + 4, -3 + 1 - 4, 4 + 4, 2 - 4};
  const Doubles wanted = testing::each(sums, [](double sum) { return 2 * 0.125 * sum; });
  const std::string op = "{ y = com.microsoft.QGemm <transA = 1, alpha = 2.0> (a, s, z, b, t, u, c";
  expect_near(values<float>(run_text(head + "(float[] y) " + op + ") }", inputs)[0]), wanted, 1e-6);
  EXPECT_THAT(values<std::uint8_t>(run_text(head + "(uint8[] y) " + op + ", r, w) }", inputs)[0]),
              ElementsAreArray(quantized_by_hand(wanted, 0.5, 10)));
}

// N = 2, K = 20 in two blocks of 16.
struct BlockWeightsByHand {
  std::int64_t bits = 4;
  Bytes numbers = {};  // of all blocks, [2, 2, 16]
  Bytes packed() const {
    Bytes bytes;
    const auto per_byte = static_cast<std::size_t>(8 / bits);
    for (std::size_t i = 0; i < numbers.size(); i += per_byte) {
      unsigned byte = 0;
      for (std::size_t k = 0; k < per_byte; ++k)
        byte |= static_cast<unsigned>(numbers[i + k]) << (k * static_cast<std::size_t>(bits));
      bytes.push_back(static_cast<std::uint8_t>(byte));
    }
    return bytes;
  }
};

BlockWeightsByHand weights_of(std::int64_t bits) {
  BlockWeightsByHand weights{.bits = bits};
  for (std::size_t i = 0; i < 64; ++i)
    weights.numbers.push_back(static_cast<std::uint8_t>((i * 37 + 11) % (std::size_t{1} << bits)));
  return weights;
}

const std::vector<float> kBlockScales{0.5F, 0.25F, 2, 1};

Doubles block_product_by_hand(const Doubles& a, const BlockWeightsByHand& weights, const Doubles& zeros) {
  Doubles y;
  for (std::size_t n = 0; n < 2; ++n) {
    double sum = 0;
    for (std::size_t k = 0; k < 20; ++k) {
      const std::size_t block = n * 2 + k / 16;
      sum += a[k] * (weights.numbers[block * 16 + k % 16] - zeros[block]) * kBlockScales[block];
    }
    y.push_back(sum);
  }
  return y;
}

TEST(ContributedQuantization, MatMulNBitsUnpacksItsWeights) {
  const Tensor real = testing::numbers({1, 20});
  std::vector<float> a;
  for (const double value : real.values<double>()) a.push_back(static_cast<float>(value));
  for (const std::int64_t bits : {2, 4, 8}) {
    const BlockWeightsByHand weights = weights_of(bits);
    const Bytes packed = weights.packed();
    const std::string blob = std::to_string(packed.size() / 4);
    const std::string head = "g (float[1,20] a, uint8[2,2," + blob + "] b, float[4] s, ";
    const std::string op =
        ") => (float[] y) { y = com.microsoft.MatMulNBits <N = 2, K = 20, block_size = 16, bits = " +
        std::to_string(bits) + "> (a, b, s";
    const std::vector<Datum> inputs{tensor<float>({1, 20}, a),
                                    tensor<std::uint8_t>({2, 2, std::ssize(packed) / 4}, packed),
                                    tensor<float>({4}, kBlockScales)};
    const double middle = std::pow(2.0, static_cast<double>(bits - 1));
    std::vector<Datum> with_bias = inputs;
    with_bias.push_back(tensor<float>({2}, {100, 200}));
    expect_near(values<float>(run_text(head + "float[2] c" + op + ", , , c) }", with_bias)[0]),
                testing::sum_of(block_product_by_hand(testing::doubles(real), weights, Doubles(4, middle)),
                                {100, 200}),
                2e-3);
    // Two zero points of a row share bytes, and each row begins with a new one.
    BlockWeightsByHand zeros{.bits = bits};
    const auto per_row = static_cast<std::size_t>((2 * bits + 7) / 8 * 8 / bits);
    zeros.numbers.assign(2 * per_row, 0);
    zeros.numbers[0] = 1;
    zeros.numbers[1] = 2;
    zeros.numbers[per_row] = 3;
    std::vector<Datum> with_zeros = inputs;
    const Bytes zero_bytes = zeros.packed();
    with_zeros.push_back(tensor<std::uint8_t>({std::ssize(zero_bytes)}, zero_bytes));
    expect_near(
        values<float>(run_text(head + "uint8[" + std::to_string(zero_bytes.size()) + "] z" + op + ", z) }",
                               with_zeros)[0]),
        block_product_by_hand(testing::doubles(real), weights, {1, 2, 3, 0}), 2e-3);
    std::vector<Datum> with_numbers = inputs;
    with_numbers.push_back(tensor<float>({4}, {0.5F, 1.5F, 2, 0}));
    expect_near(values<float>(run_text(head + "float[4] z" + op + ", z) }", with_numbers)[0]),
                block_product_by_hand(testing::doubles(real), weights, {0.5, 1.5, 2, 0}), 2e-3);
  }
}

TEST(ContributedQuantization, MatMulNBitsLeavesKnownWeightsNarrow) {
  const BlockWeightsByHand weights = weights_of(4);
  const std::string text = "g (float[1,20] a) => (float[] y) <uint8[2,2,8] b = {" +
                           fmt::format("{}", fmt::join(weights.packed(), ",")) +
                           "}, float[4] s = {0.5,0.25,2,1}, uint8[2] z = {33,3}>"
                           " { y = com.microsoft.MatMulNBits <N = 2, K = 20, block_size = 16> (a, b, s, z) }";
  const ir::Graph graph = testing::graph_of(text);
  const auto found =
      std::ranges::find_if(graph.ops, [](const ir::Op& op) { return op.is("DequantizeLinear"); });
  ASSERT_NE(found, graph.ops.end());
  EXPECT_EQ(graph[found->inputs[0]].type, ir::Type::tensor(ir::DataType::Uint4, {2, 20}));
  EXPECT_EQ(graph[found->inputs[2]].type, ir::Type::tensor(ir::DataType::Uint4, {2, 2}));
  const Tensor real = testing::numbers({1, 20});
  std::vector<float> a;
  for (const double value : real.values<double>()) a.push_back(static_cast<float>(value));
  expect_near(values<float>(run_text(text, {tensor<float>({1, 20}, a)})[0]),
              block_product_by_hand(testing::doubles(real), weights, {1, 2, 3, 0}), 2e-3);
}

TEST(ContributedQuantization, MatMulNBitsHasAGradientByItsInput) {
  const Bytes packed = weights_of(4).packed();
  testing::expect_gradients_of_differences(
      "g (double[1,20] a, uint8[2,2,8] b, double[4] s) => (double[] y) "
      "{ y = com.microsoft.MatMulNBits <N = 2, K = 20, block_size = 16> (a, b, s) }",
      {testing::numbers({1, 20}), tensor<std::uint8_t>({2, 2, 8}, packed), testing::numbers({4}, 1)});
}

TEST(ContributedQuantization, MatMulBnb4LooksUpItsCodes) {
  // Rows of two: codes 15, 7 and 0, 3 of the normal floats; one block of four.
  const auto out = run_text(
      "g (float[1,2] a, uint8[2] b, float[1] s) => (float[] y, float[] z) "
      "{ y = com.microsoft.MatMulBnb4 <N = 2, K = 2, block_size = 4, quant_type = 1> (a, b, s) "
      "z = com.microsoft.MatMulBnb4 <N = 2, K = 2, block_size = 2, quant_type = 0, transB = 0> (a, b, t) "
      "t = Concat <axis = 0> (s, s) }",
      {tensor<float>({1, 2}, {1, 10}), tensor<std::uint8_t>({2}, {0xF7, 0x03}), tensor<float>({1}, {2})});
  expect_near(values<float>(out[0]), {2 * 1.0, 2 * (-1 + 10 * -0.39491748809814453)}, 1e-5);
  expect_near(values<float>(out[1]), {2 * (-0.25 + 10 * 0.0), 2 * (0.25 + 10 * 1.0)}, 1e-5);
}

TEST(ContributedQuantization, GatherBlockQuantizedMakesRealWhatItGathers) {
  const BlockWeightsByHand weights = weights_of(4);
  const auto out = run_text(
      "g (uint8[2,16] d, int64[1] i, float[2,2] s, uint8[2,1] z) => (float[] y, float[] w) "
      "{ y = com.microsoft.GatherBlockQuantized <block_size = 16> (d, i, s) "
      "w = com.microsoft.GatherBlockQuantized <block_size = 16> (d, i, s, z) }",
      {tensor<std::uint8_t>({2, 16}, weights.packed()), tensor<std::int64_t>({1}, {1}),
       tensor<float>({2, 2}, kBlockScales), tensor<std::uint8_t>({2, 1}, {0, 0x53})});
  Doubles wanted;
  Doubles shifted;
  for (std::size_t k = 0; k < 32; ++k) {
    const double number = weights.numbers[32 + k];
    wanted.push_back((number - 8) * kBlockScales[2 + k / 16]);
    shifted.push_back((number - (k < 16 ? 3 : 5)) * kBlockScales[2 + k / 16]);
  }
  EXPECT_EQ(out[0].tensor.dims(), (Dims{1, 32}));
  expect_near(values<float>(out[0]), wanted, 1e-6);
  expect_near(values<float>(out[1]), shifted, 1e-6);
}

TEST(ContributedQuantization, QuantizeLinearIsOnnxs) {
  const auto out = run_text(
      "g (float[2] x, float s, int16 z) => (int16[] q, float[] y) "
      "{ q = com.microsoft.QuantizeLinear (x, s, z) y = com.microsoft.DequantizeLinear (q, s, z) }",
      {tensor<float>({2}, {-1000, 3.3F}), scalar(0.5F), tensor<std::int16_t>({}, {5})});
  EXPECT_THAT(values<std::int16_t>(out[0]), ElementsAre(-1995, 12));
  EXPECT_THAT(values<float>(out[1]), ElementsAre(-1000, 3.5F));
}

TEST(ContributedQuantization, QAttentionProjectsIntegers) {
  const Bytes x{1, 2, 3, 4};
  const Bytes w{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12};
  const Doubles bias{0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  const Doubles qkv =
      testing::sum_of(testing::product_by_hand(real_by_hand(x, 0.25, 2), real_by_hand(w, 0.125, 5), 2), bias);
  const auto part = [&](std::size_t i) {
    return testing::HeadsByHand{1, 2, 1, 2, testing::columns_by_hand(qkv, 6, 2 * i, 2 * i + 2)};
  };
  const auto out = run_text(
      "g (uint8[1,2,2] x, uint8[2,6] w, float[6] b, float s, float t, int32[1] m, uint8 z, uint8 u) => (float[] y) "
      "{ y = com.microsoft.QAttention <num_heads = 1> (x, w, b, s, t, m, z, u) }",
      {tensor<std::uint8_t>({1, 2, 2}, x), tensor<std::uint8_t>({2, 6}, w),
       tensor<float>({6}, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F}), scalar(0.25F), scalar(0.125F),
       tensor<std::int32_t>({1}, {1}), zero(2), zero(5)});
  expect_near(
      values<float>(out[0]),
      testing::attention_by_hand(part(0), part(1), part(2),
                                 {.bias = [](auto, auto, auto, auto j) { return j > 0 ? -10000.0 : 0.0; }}),
      1e-5);
}

}  // namespace
}  // namespace podium
