// Random choices, the same for the same seed on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace podium::fuzz {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  /// 0 to n - 1; 0 where n is 0.
  std::size_t below(std::size_t n) { return n == 0 ? 0 : generator_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  auto& pick(List& list) {
    return list[below(list.size())];
  }

  /// Numbers at which counts, sizes, indices and their products go wrong, and small ones.
  std::int64_t whole_number() {
    using Int = std::numeric_limits<std::int32_t>;
    using Long = std::numeric_limits<std::int64_t>;
    static constexpr std::array<std::int64_t, 26> kNumbers{
        0,      1,      2,          3,          4,           5,           7,          8,         -1,
        -2,     -3,     16,         127,        128,         255,         256,        65535,     65536,
        100000, -65536, Int::max(), Int::min(), Long::max(), Long::min(), 1LL << 32U, 1LL << 62U};
    return one_in(2) ? static_cast<std::int64_t>(below(10)) : pick(kNumbers);
  }
  double real_number() {
    using Double = std::numeric_limits<double>;
    static constexpr std::array<double, 16> kNumbers{0,
                                                     -0.0,
                                                     1,
                                                     -1,
                                                     0.5,
                                                     2,
                                                     1e-3,
                                                     1e9,
                                                     1e30,
                                                     -1e30,
                                                     1e300,
                                                     1e38,
                                                     1e-45,
                                                     Double::infinity(),
                                                     -Double::infinity(),
                                                     Double::quiet_NaN()};
    return pick(kNumbers);
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace podium::fuzz
