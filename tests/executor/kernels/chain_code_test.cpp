#include "executor/kernels/fused/chain_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/graph_text.h"

namespace podium::kernels {
namespace {

using testing::graph_of;

// Values of one dimension are in pieces, others are numbers.
ir::IdMap<ir::ValueId, bool> in_pieces(const ir::Graph& graph) {
  ir::IdMap<ir::ValueId, bool> found;
  for (const ir::Value& value : graph.values) found.push_back(value.type.rank() == 1);
  return found;
}

std::shared_ptr<const ChainCode> code_of(const ir::Graph& graph) {
  return ChainCode::of(graph, in_pieces(graph));
}

class ChainCodes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!code_of(graph_of("g (float[8] x) => (float[8] y) { y = Sqrt(x) }")))
      GTEST_SKIP() << "this processor has no AVX2";
  }
};

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(first + static_cast<float>(i)) * (i % 3 == 0 ? 1e3F : 1e-3F);
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

constexpr const char* kMomentum =
    "g (float[8] m, float[8] x, float[8] w, float a, float b) => (float[8] n, float[8] v) {"
    " p = Mul(m, a) q = Mul(x, b) n = Add(p, q) s = Mul(n, n) r = Sqrt(s) t = Add(r, b) d = Div(n, t)"
    " e = Mul(a, d) v = Sub(w, e) }";

// With vectors, and what is left of one; results lie where operands do, and beside them nothing is written.
TEST_F(ChainCodes, RoundAfterEachOpAnyNumberOfElements) {
  const auto code = code_of(graph_of(kMomentum));
  ASSERT_TRUE(code);
  float a = 0.9F;
  float b = 0.1F;
  for (std::size_t count : {0, 1, 7, 8, 15, 16, 17, 31, 33, 1000}) {
    std::vector<float> m = numbers(count + 1, 1);
    std::vector<float> x = numbers(count + 1, 2);
    std::vector<float> w = numbers(count + 1, 3);
    std::vector<float> n = m;
    std::vector<float> v = w;
    for (std::size_t i = 0; i < count; ++i) {
      const volatile float p = m[i] * a;  // rounded: no product and sum in one
      const volatile float q = x[i] * b;
      n[i] = p + q;
      const volatile float s = n[i] * n[i];
      const volatile float d = n[i] / (std::sqrt(s) + b);
      const volatile float e = a * d;
      v[i] = w[i] - e;
    }
    code->run(std::vector<void*>{m.data(), x.data(), w.data(), &a, &b, m.data(), w.data()}, count);
    EXPECT_TRUE(same_bits(m, n)) << count;
    EXPECT_TRUE(same_bits(w, v)) << count;
    EXPECT_TRUE(same_bits(x, numbers(count + 1, 2))) << count;
  }
}

TEST_F(ChainCodes, KeepInfinitiesAndWhatIsNoNumber) {
  const auto code =
      code_of(graph_of("g (float[8] x, float k) => (float[8] y) { r = Sqrt(x) y = Div(k, r) }"));
  std::vector<float> x{0, -0.0F, -1, std::numeric_limits<float>::infinity(), 1e-45F, 4};
  float k = 1;
  code->run(std::vector<void*>{x.data(), &k, x.data()}, std::ssize(x));
  EXPECT_EQ(x[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(x[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(x[2]));
  EXPECT_EQ(x[3], 0);
  EXPECT_FLOAT_EQ(x[4], 1 / std::sqrt(1e-45F));
  EXPECT_EQ(x[5], 0.5F);
}

// Bools come in, stay between ops and go out: a byte of 0 or 1 each, and beside them nothing is written.
TEST_F(ChainCodes, ReadAndWriteBools) {
  const auto code = code_of(
      graph_of("g (bool[8] a, bool b, float[8] x, float k) => (bool[8] c, float[8] y) {"
               " n = Not(a) g = Greater(x, k) o = Or(n, g) c = And(o, b) m = Neg(x) y = Where(c, x, m) }"));
  ASSERT_TRUE(code);
  for (const std::size_t count : {1, 7, 8, 15, 16, 17, 33, 1000}) {
    for (const std::uint8_t b : {0, 1}) {
      std::vector<float> x = numbers(count, 2);
      std::vector<std::uint8_t> a(count);
      for (std::size_t i = 0; i < count; ++i) a[i] = i % 5 < 3 ? 1 : 0;
      std::vector<std::uint8_t> c(count + 1, 7);
      std::vector<float> y(count + 1, 7);
      float k = 0.0001F;
      std::uint8_t number = b;
      code->run(std::vector<void*>{a.data(), &number, x.data(), &k, c.data(), y.data()}, count);
      for (std::size_t i = 0; i < count; ++i) {
        const bool expected = (a[i] == 0 || x[i] > k) && b != 0;
        ASSERT_EQ(c[i], expected ? 1 : 0) << i << " of " << count;
        ASSERT_EQ(y[i], expected ? x[i] : -x[i]) << i << " of " << count;
      }
      EXPECT_EQ(c[count], 7);
      EXPECT_EQ(y[count], 7);
    }
  }
}

TEST_F(ChainCodes, AreNotThereForOtherOpsTypesOrTooManyValues) {
  EXPECT_FALSE(code_of(graph_of("g (float[8] x) => (float[8] y) { y = Sin(x) }")));
  EXPECT_FALSE(code_of(graph_of("g (double[8] x) => (double[8] y) { y = Sqrt(x) }")));
  const auto sum_of = [](int count) {
    std::string inputs = "float[8] x0";
    std::string ops;
    for (int i = 1; i < count; ++i) {
      inputs += fmt::format(", float[8] x{}", i);
      ops += fmt::format(" y{} = Add({}, x{})", i, i == 1 ? std::string("x0") : fmt::format("y{}", i - 1), i);
    }
    return graph_of(fmt::format("g ({}) => (float[8] y{}) {{{} }}", inputs, count - 1, ops));
  };
  EXPECT_TRUE(code_of(sum_of(11)));
  EXPECT_FALSE(code_of(sum_of(12)));  // more pointers than registers
  // Each square waits for the last op but one.
  const auto squares_of = [](int count) {
    std::string ops = " s0 = Mul(x, x)";
    for (int i = 1; i < count; ++i) ops += fmt::format(" s{} = Mul(s{}, x)", i, i - 1);
    std::string last = fmt::format("s{}", count - 1);
    for (int i = 0; i < count - 1; ++i) {
      ops += fmt::format(" t{} = Add({}, s{})", i, last, i);
      last = fmt::format("t{}", i);
    }
    return graph_of(fmt::format("g (float[8] x) => (float[8] {}) {{{} }}", last, ops));
  };
  EXPECT_TRUE(code_of(squares_of(12)));
  EXPECT_FALSE(code_of(squares_of(40)));
}

}  // namespace
}  // namespace podium::kernels
