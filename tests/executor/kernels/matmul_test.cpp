#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/kernel.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run_text;
using testing::tensor;
using ::testing::ThrowsMessage;
using testing::values;

template <class T>
std::vector<T> halves(const std::vector<float>& numbers) {
  std::vector<T> result;
  for (float number : numbers) result.push_back(T(number));
  return result;
}

template <class T>
std::vector<float> floats(const ir::Datum& datum) {
  std::vector<float> result;
  for (T value : values<T>(datum)) result.push_back(static_cast<float>(value));
  return result;
}

std::vector<float> counting(std::int64_t count) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>(i % 7 - 3));
  return result;
}

TEST(MatMul, BroadcastsBatchesOfBothOperands) {
  const auto y =
      run_text("g (float[2,1,1,2] a, float[3,2,1] b) => (float[2,3,1,1] y) { y = MatMul(a, b) }",
               {tensor<float>({2, 1, 1, 2}, {1, 2, 3, 4}), tensor<float>({3, 2, 1}, {1, 0, 0, 1, 1, 1})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1, 2, 3, 3, 4, 7));
}

TEST(MatMul, TakesAVectorOnEitherSideOfABatch) {
  const ir::Datum vector = tensor<double>({2}, {1, 10});
  const ir::Datum batch = tensor<double>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto left =
      run_text("g (double[2] a, double[2,2,2] b) => (double[2,2] y) { y = MatMul(a, b) }", {vector, batch});
  EXPECT_THAT(values<double>(left[0]), ElementsAre(31, 42, 75, 86));
  const auto right =
      run_text("g (double[2,2,2] a, double[2] b) => (double[2,2] y) { y = MatMul(a, b) }", {batch, vector});
  EXPECT_THAT(values<double>(right[0]), ElementsAre(21, 43, 65, 87));
}

TEST(MatMul, WrapsIntegers) {
  const auto y =
      run_text("g (int32[1,2] a, int32[2,1] b) => (int32[1,1] y) { y = MatMul(a, b) }",
               {tensor<std::int32_t>({1, 2}, {1 << 30, -3}), tensor<std::int32_t>({2, 1}, {4, 5})});
  EXPECT_THAT(values<std::int32_t>(y[0]), ElementsAre(-15));
}

TEST(MatMul, RoundsHalvesOnceAtTheEnd) {
  // 2048 + 1 is not a half; summed in halves the ones would be lost.
  const auto y = run_text("g (float16[1,3] a, float16[3,1] b) => (float16[1,1] y) { y = MatMul(a, b) }",
                          {tensor<Float16>({1, 3}, halves<Float16>({2048, 1, 1})),
                           tensor<Float16>({3, 1}, halves<Float16>({1, 1, 1}))});
  EXPECT_THAT(floats<Float16>(y[0]), ElementsAre(2050));
}

TEST(MatMul, OfNothingIsZero) {
  const auto y = run_text("g (float[2,0] a, float[0,2] b) => (float[2,2] y) { y = MatMul(a, b) }",
                          {tensor<float>({2, 0}, {}), tensor<float>({0, 2}, {})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(0, 0, 0, 0));
}

TEST(MatMul, SaysWhichSizesDoNotMeet) {
  EXPECT_THAT(
      [] {
        run_text("g (float[2,3] a, float[2,3] b) => (float[N,M] y) { y = MatMul(a, b) }",
                 {tensor<float>({2, 3}, counting(6)), tensor<float>({2, 3}, counting(6))});
      },
      ThrowsMessage<Error>(HasSubstr("cannot multiply [2,3] by [2,3]: 3 columns meet 2 rows")));
}

TEST(Gemm, BroadcastsAColumnAndScales) {
  const auto y = run_text(
      "g (float[2,2] a, float[2,3] b, float[2,1] c) => (float[2,3] y) { y = Gemm <alpha = 2.0, beta = 0.5, "
      "transA = 1> (a, b, c) }",
      {tensor<float>({2, 2}, {1, 0, 0, 1}), tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
       tensor<float>({2, 1}, {10, 20})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(7, 9, 11, 18, 20, 22));
}

TEST(Gemm, ScalesIntegersInDouble) {
  const auto y = run_text(
      "g (int64[1,1] a, int64[1,2] b, int64[2] c) => (int64[1,2] y) { y = Gemm <alpha = 0.5, beta = 0.5> (a, "
      "b, c) }",
      {tensor<std::int64_t>({1, 1}, {3}), tensor<std::int64_t>({1, 2}, {3, -3}),
       tensor<std::int64_t>({2}, {2, 0})});
  EXPECT_THAT(values<std::int64_t>(y[0]), ElementsAre(5, -4));
}

TEST(Gemm, ComputesBfloat16InFloat) {
  const auto y = run_text(
      "g (bfloat16[1,2] a, bfloat16[1,2] b, bfloat16 c) => (bfloat16[1,1] y) { y = Gemm <transB = 1> (a, b, "
      "c) }",
      {tensor<Bfloat16>({1, 2}, halves<Bfloat16>({256, 1})),
       tensor<Bfloat16>({1, 2}, halves<Bfloat16>({1, 1})), tensor<Bfloat16>({}, halves<Bfloat16>({1}))});
  EXPECT_THAT(floats<Bfloat16>(y[0]), ElementsAre(258));
}

TEST(Gemm, IgnoresCWhenBetaIsZero) {
  const auto y = run_text(
      "g (float[1,1] a, float[1,1] b, float c) => (float[1,1] y) { y = Gemm <beta = 0.0> (a, b, c) }",
      {tensor<float>({1, 1}, {2}), tensor<float>({1, 1}, {3}),
       tensor<float>({}, {std::numeric_limits<float>::infinity()})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(6));
}

TEST(MatMulInteger, SubtractsAZeroPointOfEachRowAndColumn) {
  const auto y = run_text(
      "g (uint8[2,2] a, uint8[2,2] b, uint8[2] za, uint8[2] zb) => (int32[2,2] y) { y = MatMulInteger(a, b, "
      "za, zb) }",
      {tensor<std::uint8_t>({2, 2}, {255, 0, 10, 20}), tensor<std::uint8_t>({2, 2}, {200, 100, 0, 255}),
       tensor<std::uint8_t>({2}, {5, 10}), tensor<std::uint8_t>({2}, {0, 100})});
  EXPECT_THAT(values<std::int32_t>(y[0]), ElementsAre(250 * 200, -5 * 155, 0, 10 * 155));
}

TEST(MatMulInteger, MixesSigns) {
  const auto y =
      run_text("g (int8[1,2] a, uint8[2,1] b) => (int32[1,1] y) { y = MatMulInteger(a, b) }",
               {tensor<std::int8_t>({1, 2}, {-128, 127}), tensor<std::uint8_t>({2, 1}, {255, 254})});
  EXPECT_THAT(values<std::int32_t>(y[0]), ElementsAre(-128 * 255 + 127 * 254));
}

TEST(QLinearMatMul, ScalesEachColumnAndSaturates) {
  const auto y = run_text(
      "g (int8[1,2] a, float as, int8 az, int8[2,3] b, float[3] bs, int8[3] bz, float ys, int8 yz) => "
      "(int8[1,3] y) "
      "{ y = QLinearMatMul(a, as, az, b, bs, bz, ys, yz) }",
      {tensor<std::int8_t>({1, 2}, {10, 20}), tensor<float>({}, {0.5F}), tensor<std::int8_t>({}, {0}),
       tensor<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<float>({3}, {1, 0.1F, 10}),
       tensor<std::int8_t>({3}, {0, 1, 0}), tensor<float>({}, {1}), tensor<std::int8_t>({}, {1})});
  // 90 / 2 = 45; (10 + 80) / 20 = 4.5 rounds to even 4; the last is far too large.
  EXPECT_THAT(values<std::int8_t>(y[0]), ElementsAre(46, 5, 127));
}

// One op on constants, for what the text of a graph cannot say and for weights that a kernel packs.
ir::Datum run_node(const std::string& type, const std::vector<ir::Datum>& inputs,
                   std::vector<ir::Attribute> attributes = {}) {
  ir::Graph graph;
  ir::Builder builder(graph);
  std::vector<ir::ValueId> ids;
  for (const ir::Datum& input : inputs) ids.push_back(builder.constant(input.tensor));
  builder.op(type, ids, std::move(attributes));
  return evaluate(graph.ops.back(), inputs)[0];
}

template <class T>
ir::Datum bytes(const ir::Dims& dims, int step) {
  std::vector<T> numbers(ir::element_count(dims));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i * step + i / 5);
  return tensor<T>(dims, numbers);
}

// A product of [2,3,37] and [37,21] with zero points of the dimensions given, by weights that are constant
// and by the definition.
template <class A, class B>
void expect_packed_weights_give_the_definition(const ir::Dims& of_a, const ir::Dims& of_b) {
  constexpr std::int64_t kRows = 6;
  constexpr std::int64_t kInner = 37;
  constexpr std::int64_t kColumns = 21;
  const ir::Datum a = bytes<A>({2, 3, kInner}, 7);
  const ir::Datum b = bytes<B>({kInner, kColumns}, 11);
  const ir::Datum zero_a = bytes<A>(of_a, 31);
  const ir::Datum zero_b = bytes<B>(of_b, 53);
  std::vector<std::int32_t> expected;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kColumns; ++c) {
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < kInner; ++k) {
        sum += (values<A>(a)[r * kInner + k] - values<A>(zero_a)[r % zero_a.tensor.size()]) *
               (values<B>(b)[k * kColumns + c] - values<B>(zero_b)[c % zero_b.tensor.size()]);
      }
      expected.push_back(sum);
    }
  }
  EXPECT_EQ(values<std::int32_t>(run_node("MatMulInteger", {a, b, zero_a, zero_b})), expected);
}

TEST(MatMulInteger, PacksConstantWeightsOfEitherSignWithAnyZeroPoints) {
  const auto with_zeros = [](const ir::Dims& of_a, const ir::Dims& of_b) {
    expect_packed_weights_give_the_definition<std::uint8_t, std::int8_t>(of_a, of_b);
    expect_packed_weights_give_the_definition<std::uint8_t, std::uint8_t>(of_a, of_b);
    expect_packed_weights_give_the_definition<std::int8_t, std::int8_t>(of_a, of_b);
    expect_packed_weights_give_the_definition<std::int8_t, std::uint8_t>(of_a, of_b);
  };
  with_zeros({1}, {1});
  with_zeros({3}, {21});
  with_zeros({2, 3, 1}, {1, 1});
  const ir::Datum a = bytes<std::uint8_t>({2, 4}, 9);
  const ir::Datum b = bytes<std::uint8_t>({4, 3}, 5);
  EXPECT_EQ(values<std::int32_t>(run_node("MatMulInteger", {a, b})),
            values<std::int32_t>(run_text(
                "g (uint8[2,4] a, uint8[4,3] b) => (int32[2,3] y) { y = MatMulInteger(a, b) }", {a, b})[0]));
}

TEST(QLinearMatMul, ComputesSmallFloats) {
  using F8 = ir::Float8E4M3FN;
  const auto one = [](float value) { return tensor<F8>({}, {F8(value)}); };
  const ir::Datum y =
      run_node("QLinearMatMul", {tensor<F8>({1, 2}, {F8(2), F8(3)}), tensor<float>({}, {2}), one(1),
                                 tensor<F8>({2, 1}, {F8(4), F8(1)}), tensor<float>({}, {1}), one(0),
                                 tensor<float>({}, {4}), one(1)});
  EXPECT_THAT(floats<F8>(y), ElementsAre(4));  // ((2-1)*4 + (3-1)*1) * 2 / 4 + 1
}

TEST(QLinearMatMul, RefusesNumbersThatAreOfNoRowAndNoColumn) {
  const auto refusal_of = [](const std::string& a_scale, const std::string& b_scale) {
    return testing::refusal([&] {
      ir::Graph graph =
          testing::graph_of("g (uint8[2,3,4] a, float" + a_scale + " as, uint8[2,4,5] b, float" + b_scale +
                            " bs, uint8 z, float s) => (uint8[2,3,5] y) {"
                            " y = QLinearMatMul(a, as, z, b, bs, z, s, z) }");
      ir::infer(graph);
    });
  };
  for (const char* fits : {"", "[1]", "[3]", "[1,3,1]", "[2,3,1]", "[1,1]"})
    EXPECT_EQ(refusal_of(fits, ""), "") << fits;
  for (const char* fits : {"[5]", "[1,1,5]", "[2,1,5]"}) EXPECT_EQ(refusal_of("", fits), "") << fits;
  EXPECT_THAT(refusal_of("[2,3]", ""),
              HasSubstr("a_scale has shape [2,3]: one number, or one for each row of [2,3,4] needed"));
  for (const char* wrong : {"[2]", "[2,3,4]", "[2,1,3]", "[3,1]", "[3,3,1]"})
    EXPECT_NE(refusal_of(wrong, ""), "") << wrong;
  EXPECT_THAT(refusal_of("", "[2,5,1]"),
              HasSubstr("b_scale has shape [2,5,1]: one number, or one for each column of [2,4,5] needed"));
}

TEST(Einsum, AlignsEllipsesOfDifferentRanks) {
  const auto y = run_text(
      "g (float[2,3,1] a, float[3,2] b) => (float[2,3,2] y) { y = Einsum <equation = \"...i, ...j -> "
      "...ij\"> (a, b) }",
      {tensor<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6}), tensor<float>({3, 2}, {1, 10, 1, 10, 1, 10})});
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{2, 3, 1, 2}));
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60));
}

std::vector<float> einsum(const std::string& equation, const std::vector<ir::Datum>& inputs) {
  return floats<float>(run_node("Einsum", inputs, {{"equation", equation}}));
}

TEST(Einsum, ReadsDiagonalsTracesAndSums) {
  const ir::Datum square = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(einsum("ii", {square}), ElementsAre(5));
  EXPECT_THAT(einsum("ii->i", {square}), ElementsAre(1, 4));
  EXPECT_THAT(einsum("ij->j", {square}), ElementsAre(4, 6));
  EXPECT_THAT(einsum("ba", {square}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(einsum("...->...", {square}), ElementsAre(1, 2, 3, 4));
}

TEST(Einsum, OfEmptySumsIsZero) {
  EXPECT_THAT(einsum("ij->i", {tensor<float>({2, 0}, {})}), ElementsAre(0, 0));
  EXPECT_THAT(einsum("ij,j->i", {tensor<float>({2, 0}, {}), tensor<float>({0}, {})}), ElementsAre(0, 0));
  EXPECT_THAT(einsum("ij->ji", {tensor<float>({2, 0}, {})}), ElementsAre());
}

TEST(Einsum, StretchesAxesOfOne) {
  const ir::Datum row = tensor<float>({1, 2}, {1, 2});
  const ir::Datum column = tensor<float>({2, 1}, {10, 20});
  EXPECT_THAT(einsum("ij,ij->ij", {row, column}), ElementsAre(10, 20, 20, 40));
  EXPECT_THAT(einsum("ij,ij->", {row, column}), ElementsAre(90));
}

TEST(Einsum, MultipliesThreeInputs) {
  const ir::Datum a = tensor<float>({2, 3}, counting(6));
  const ir::Datum b = tensor<float>({3, 2}, counting(6));
  const ir::Datum c = tensor<float>({2}, {2, -1});
  const std::vector<float> product = einsum("ij,jk->ik", {a, b});
  EXPECT_THAT(einsum("ij,jk,k->i", {a, b, c}),
              ElementsAre(2 * product[0] - product[1], 2 * product[2] - product[3]));
}

TEST(Einsum, MatchesASumOverAllLabels) {
  const std::vector<float> a = counting(2 * 3 * 4 * 5);
  const std::vector<float> b = counting(4 * 2 * 6 * 5);
  std::vector<float> expected(3 * 6 * 2, 0);  // sum over j and k of a[b,i,j,k] b[j,b,l,k]
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t k = 0; k < 5; ++k)
          for (std::size_t l = 0; l < 6; ++l)
            expected[(i * 6 + l) * 2 + n] +=
                a[((n * 3 + i) * 4 + j) * 5 + k] * b[((j * 2 + n) * 6 + l) * 5 + k];
  EXPECT_EQ(einsum("bijk,jblk->ilb", {tensor<float>({2, 3, 4, 5}, a), tensor<float>({4, 2, 6, 5}, b)}),
            expected);
}

TEST(Einsum, WrapsSmallIntegers) {
  const auto y = run_text("g (int8[2] a, int8[2] b) => (int8 y) { y = Einsum <equation = \"i,i\"> (a, b) }",
                          {tensor<std::int8_t>({2}, {100, 100}), tensor<std::int8_t>({2}, {2, 1})});
  EXPECT_THAT(values<std::int8_t>(y[0]), ElementsAre(44));
}

TEST(Einsum, RefusesWhatTheEquationDoesNotFit) {
  const ir::Datum square = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT([&] { einsum("ijk->i", {square}); },
              ThrowsMessage<Error>(HasSubstr("'ijk' needs 3 axes, the input has 2")));
  EXPECT_THAT([&] { einsum("ij->k", {square}); },
              ThrowsMessage<Error>(HasSubstr("a letter that no input has")));
  EXPECT_THAT([&] { einsum("i1->i", {square}); }, ThrowsMessage<Error>(HasSubstr("has '1' where a letter")));
  EXPECT_THAT([&] { einsum("ij,jk", {square}); },
              ThrowsMessage<Error>(HasSubstr("has 2 terms, the op has 1 inputs")));
}

TEST(Det, ExchangesRowsAndTakesHalves) {
  const auto y = run_text("g (float16[2,2,2] x) => (float16[2] y) { y = Det(x) }",
                          {tensor<Float16>({2, 2, 2}, halves<Float16>({0, 2, 3, 4, 1, 2, 2, 4}))});
  EXPECT_THAT(floats<Float16>(y[0]), ElementsAre(-6, 0));
}

TEST(Det, OfAnEmptyMatrixIsOne) {
  const auto y = run_text("g (double[0,0] x) => (double y) { y = Det(x) }", {tensor<double>({0, 0}, {})});
  EXPECT_THAT(values<double>(y[0]), ElementsAre(1));
}

template <class T>
void expect_product(const Product& p) {
  const auto fill = [](std::int64_t count) {
    std::vector<T> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<T>(i * 5 % 11));
    return result;
  };
  const std::vector<T> a = fill(p.m * p.k);
  const std::vector<T> b = fill(p.k * p.n);
  std::vector<T> c(static_cast<std::size_t>(p.m * p.n), T{1});
  std::vector<T> expected = c;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum{0};
      for (std::int64_t l = 0; l < p.k; ++l) {
        sum += a[p.transpose_a ? l * p.m + i : i * p.k + l] * b[p.transpose_b ? j * p.k + l : l * p.n + j];
      }
      expected[i * p.n + j] = T{2} * sum + T{3};
    }
  }
  multiply(p, a.data(), b.data(), c.data(), T{2}, T{3});
  EXPECT_EQ(c, expected) << p.m << " " << p.n << " " << p.k << " " << p.transpose_a << p.transpose_b;
}

TEST(Multiply, AgreesWithTheDefinitionInEveryForm) {
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{3, 5, 7}, {1, 9, 4}, {300, 1, 3}, {1, 1, 20}}) {
    for (int form = 0; form < 4; ++form) {
      const Product p{.m = m, .n = n, .k = k, .transpose_a = form % 2 == 1, .transpose_b = form > 1};
      expect_product<float>(p);
      expect_product<double>(p);
      expect_product<std::uint32_t>(p);
    }
  }
}

}  // namespace
}  // namespace podium::kernels
