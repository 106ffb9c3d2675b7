#include "executor/kernels/tools/word_products.h"

#include <gtest/gtest.h>

#include <vector>

#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

template <class Byte>
std::vector<Byte> bytes(std::int64_t count, int seed) {
  std::vector<Byte> values(static_cast<std::size_t>(count));
  for (Byte& value : values) value = static_cast<Byte>((seed++ * 7919 + 13) % 1009);
  return values;
}

template <class A>
void expect_products(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(inner) + " x " + std::to_string(columns));
  const std::vector<A> a = bytes<A>(rows * inner, 1);
  const std::vector<std::int8_t> b = bytes<std::int8_t>(inner * columns, 2);
  std::vector<std::int32_t> found(static_cast<std::size_t>(rows * columns), -1);
  multiply_words(a.data(), rows, word_weights_of(b, inner, columns), found.data());
  std::vector<std::int32_t> wanted(found.size(), 0);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    for (std::int64_t l = 0; l < inner; ++l)
      wanted[i] += std::int32_t{a[i / columns * inner + l]} * b[l * columns + i % columns];
  }
  EXPECT_EQ(found, wanted);
}

TEST(WordProducts, AreThoseOfTheirBytes) {
  for (const std::int64_t rows : {1, 2, 5, 6, 7, 13}) {
    for (const std::int64_t inner : {1, 2, 7, 64}) {
      for (const std::int64_t columns : {1, 15, 16, 40}) {
        expect_products<std::int8_t>(rows, inner, columns);
        expect_products<std::uint8_t>(rows, inner, columns);
      }
    }
  }
}

// Sums of two such products do not fit 16 bits.
TEST(WordProducts, DoNotSaturate) {
  const std::vector<std::uint8_t> a(64, 255);
  const std::vector<std::int8_t> b(64, -128);
  std::int32_t sum = 0;
  multiply_words(a.data(), 1, word_weights_of(b, 64, 1), &sum);
  EXPECT_EQ(sum, 64 * 255 * -128);
}

TEST(WordProducts, AreTheSameOnAnyNumberOfThreads) {
  const std::vector<std::int8_t> a = bytes<std::int8_t>(20 * 100, 3);
  const WordWeights weights = word_weights_of(bytes<std::int8_t>(100 * 90, 4), 100, 90);
  const auto multiplied = [&](int threads) {
    const ThreadLimit limit(threads);
    std::vector<std::int32_t> c(20 * 90);
    multiply_words(a.data(), 20, weights, c.data());
    return c;
  };
  EXPECT_EQ(multiplied(2), multiplied(1));
}

}  // namespace
}  // namespace podium::kernels
