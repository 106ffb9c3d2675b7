// Random numbers as ONNX's reference draws them from NumPy's RandomState: the same seed gives the same
// numbers.
#pragma once

#include <random>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint32_t seed) : generator_(seed) {}

  /// A number in [0, 1) with 53 random bits.
  double uniform();
  /// A number of the normal distribution with mean 0 and deviation 1.
  double normal();
  /// True with this probability, which is in [0, 1].
  bool happens(double probability);

 private:
  std::mt19937 generator_;
  double spare_ = 0;  // the second of the two numbers that one draw of normal gives
  bool has_spare_ = false;
};

/// The seeds of an op's runs. With an attribute `seed` it is the same in every run; else each run has
/// another, made from the session's seed and from what tells the op from others.
std::function<std::uint32_t()> seeds_of(const PrepareContext& context);

}  // namespace podium::kernels
