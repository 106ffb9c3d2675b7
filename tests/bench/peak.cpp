#include "tests/bench/peak.h"

#include <algorithm>
#include <chrono>

namespace podium::bench {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
using Vector = float __attribute__((vector_size(kBytes)));
constexpr int kLanes = kBytes / static_cast<int>(sizeof(float));
// More independent sums than latency times units of any core; few enough to stay in registers.
constexpr int kSums = 10;
constexpr int kRounds = 1 << 18;

Vector sum_of_chains(Vector factor, Vector addend) {
  Vector sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = factor * static_cast<float>(i);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * factor + addend;
  }
  Vector total = sums[0];
  for (int i = 1; i < kSums; ++i) total += sums[i];
  return total;
}

}  // namespace

double measure_peak() {
  using PeakClock = std::chrono::steady_clock;
  double best = 0;
  volatile float sink = 0.999F;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Vector factor = Vector{} + sink;
    const auto start = PeakClock::now();
    const Vector result = sum_of_chains(factor, factor);
    sink = result[0] > 0 ? 0.999F : 0.998F;
    const double seconds = std::chrono::duration<double>(PeakClock::now() - start).count();
    best = std::max(best, 2.0 * kLanes * kSums * kRounds / seconds / 1e9);
  }
  return best;
}

}  // namespace podium::bench
