// What random ops draw. A node with a seed draws as ONNX's reference does, from NumPy's RandomState: the same
// seed gives the same numbers. All others draw by counters: the number of an element follows from the seed of
// the session, the op's stream, the micro-batch and the element's place in the whole tensor, so that it does
// not depend on threads, and neither on how the op is cut, sliced, copied or run again (semantics, section
// 11.3).
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace podium::kernels {

/// The generator of ONNX's reference.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint32_t seed) : generator_(seed) {}

  /// A number in [0, 1) with 53 random bits.
  double uniform();
  void uniform(double* numbers, std::int64_t count);
  /// A number of the normal distribution with mean 0 and deviation 1.
  double normal();
  /// True with this probability, which is in [0, 1].
  bool happens(double probability);

 private:
  std::mt19937 generator_;
  double spare_ = 0;  // the second of the two numbers that one draw of normal gives
  bool has_spare_ = false;
};

/// Philox-4x32 with 10 rounds: of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
/// 3".
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// The numbers of consecutive elements: each call is for the next one.
class ElementNumbers {
 public:
  ElementNumbers(std::uint64_t key, std::uint64_t moment, std::int64_t first)
      : key_(key), moment_(moment), element_(static_cast<std::uint64_t>(first)) {}

  double uniform();
  /// The same, several at a time.
  void uniform(double* numbers, std::int64_t count);
  double normal();
  bool happens(double probability) { return uniform() < probability; }

 private:
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  std::uint64_t key_;
  std::uint64_t moment_;
  std::uint64_t element_;
  std::uint64_t known_ = ~std::uint64_t{0};  // the block whose numbers are `words_`
  std::array<std::uint32_t, 4> words_ = {};
};

}  // namespace podium::kernels
