// exp, log, tanh, erf, sin, cos and their kin for float as straight-line code without branches, so that a
// plain loop over an array becomes vector instructions. Each is within 2 units in the last place and treats
// NaN, infinities, zeros and subnormals as the C library does, sin and cos near zero alone. Doubles go to the
// C library. The polynomials are minimax fits on the intervals that the comments name, or Taylor's series.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace podium::kernels {

/// a * b + c, rounded once where the machine has the instruction.
inline float fused(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

inline double fused(double a, double b, double c) {
#ifdef __FMA__
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// c[0] x^n + ... + c[n].
template <class T, std::size_t kTerms>
inline T polynomial(T x, const std::array<T, kTerms>& c) {
  return [&]<std::size_t... kRest>(std::index_sequence<kRest...>) {
    T sum = c[0];
    ((sum = fused(sum, x, c[kRest + 1])), ...);
    return sum;
  }
  (std::make_index_sequence<kTerms - 1>());
}

namespace fast_math {

inline constexpr float kLog2OfE = 1.44269504F;
inline constexpr float kLn2High = 0.693145752F;  // 15 bits, so that whole multiples are exact
inline constexpr float kLn2Low = 1.42860677e-06F;
inline constexpr float kRoundingShift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
inline constexpr std::array<float, 5> kExpm1{0.00139505143F, 0.00836890281F, 0.0416662055F, 0.166665187F,
                                             0.50000001F};
/// e^r - 1 for |r| <= ln(2) / 2.
inline float small_expm1(float r) {
  const float p = polynomial(r, kExpm1);
  return fused(r * r, p, r);
}

inline constexpr std::array<float, 9> kLog{0.0674663827F, -0.116756512F, 0.11888163F,
                                           -0.124055891F, 0.142195523F,  -0.166679958F,
                                           0.200021187F,  -0.250000096F, 0.333333126F};
/// (tanh(x) / x - 1) / x^2 in x^2, for |x| below kTanhEdge.
inline constexpr std::array<float, 6> kTanh{0.00214296163F, -0.00817739801F, 0.0217007031F,
                                            -0.053946763F,  0.13333206F,     -0.333333308F};
inline constexpr float kTanhEdge = 0.625F;
inline constexpr float kTanhIsOne = 20.0F;  ///< beyond, tanh rounds to 1
/// erf(x) / x - 1 in x^2, for |x| below kErfEdge.
inline constexpr std::array<float, 7> kErf{8.33165523e-05F, -0.000813357678F, 0.00520022478F, -0.0268590714F,
                                           0.112836896F,    -0.376126333F,    0.128379167F};
inline constexpr float kErfEdge = 0.927734375F;
/// (log(erfc(t)) + t) / t for t from there to kErfIsOne, beyond which erf rounds to 1.
inline constexpr std::array<float, 8> kLogErfc{-4.80335564e-06F, 4.39326279e-05F, 5.80189147e-05F,
                                               -0.00295355549F,  0.0227121909F,   -0.105298987F,
                                               -0.635606474F,    -0.128555831F};
inline constexpr float kErfIsOne = 4.0F;

/// x as n ln(2) + r: gives r, and n as a number and as bits to be added to an exponent.
struct Reduced {
  float r;
  float n;
  std::int32_t bits;
};
inline Reduced reduce(float x) {
  const float shifted = fused(x, kLog2OfE, kRoundingShift);
  const float n = shifted - kRoundingShift;
  const float r = fused(n, -kLn2Low, fused(n, -kLn2High, x));
  // Without a sign, as bits far out of the range of e^x would overflow.
  const std::uint32_t bits =
      std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRoundingShift);
  return {r, n, static_cast<std::int32_t>(bits)};
}

/// 2^n for n in [-126, 127].
inline float power_of_two(std::int32_t n) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23);
}

/// e^x for |x| <= kMostInRange, the result a normal number; bits without a meaning for others and for NaN.
inline constexpr float kMostInRange = 87.0F;
inline float exp_in_range(float x) {
  const Reduced part = reduce(x);
  const float mantissa = 1.0F + small_expm1(part.r);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(mantissa) +
                              (static_cast<std::uint32_t>(part.bits) << 23));
}

}  // namespace fast_math

/// e^x for x <= 0, as softmax needs it: 0 where it is below the normal numbers. The bits are those of
/// fast_exp else, in two thirds of the time.
inline float fast_exp_down(float x) {
  const float power = fast_math::exp_in_range(x);
  const float edge = x < -fast_math::kMostInRange ? 0.0F : x;  // NaN stays
  return x >= -fast_math::kMostInRange ? power : edge;
}

inline float fast_exp(float x) {
  // Beyond these the result is 0 and infinity all the same; NaN passes both comparisons.
  x = x < -105.0F ? -105.0F : x;
  x = x > 89.5F ? 89.5F : x;
  const fast_math::Reduced part = fast_math::reduce(x);
  const float mantissa = 1.0F + fast_math::small_expm1(part.r);
  const std::int32_t half = part.bits >> 1;  // in two steps, so that subnormal results are reached
  return mantissa * fast_math::power_of_two(half) * fast_math::power_of_two(part.bits - half);
}

inline float fast_expm1(float x) {
  const float low = x < -18.0F ? -18.0F : x;
  const float clipped = low > 88.8F ? 88.8F : low;
  const fast_math::Reduced part = fast_math::reduce(clipped);
  // 2^n (e^r - 1) + 2^n - 1, by halves for the largest n.
  const float scale = fast_math::power_of_two(part.bits - 1);
  const float sum = 2.0F * fused(fast_math::small_expm1(part.r), scale, scale - 0.5F);
  return x == 0.0F ? x : sum;
}

inline float fast_log(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool tiny = x < 1.17549435e-38F;
  const float scaled = tiny ? x * 8388608.0F : x;
  // Splits off the exponent so that the mantissa lies in [sqrt(1/2), sqrt(2)).
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scaled) - 0x3F3504F3U;
  const std::int32_t exponent = static_cast<std::int32_t>(bits) >> 23;
  const float f = std::bit_cast<float>((bits & 0x007FFFFFU) + 0x3F3504F3U) - 1.0F;
  const float n = static_cast<float>(exponent) - (tiny ? 23.0F : 0.0F);
  const float p = polynomial(f, fast_math::kLog);
  const float square = f * f;
  const float tail = fused(n, fast_math::kLn2Low, fused(square, f * p, -0.5F * square));
  const float log = fused(n, fast_math::kLn2High, f + tail);
  const float edge = x == 0.0F ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  const float positive = x == kInfinity ? kInfinity : log;
  return x > 0.0F ? positive : edge;
}

/// log(1 + x), also where 1 + x rounds.
inline float fast_log1p(float x) {
  const float sum = 1.0F + x;
  const float lost = x - (sum - 1.0F);
  // Nothing is lost beside infinity. As a choice between two logarithms this would be a branch.
  const float correction = (sum > 1e30F ? 0.0F : lost) / sum;
  const float log = fast_log(sum) + correction;
  return sum == 1.0F ? x : log;
}

inline float fast_tanh(float x) {
  const float magnitude = std::fabs(x);
  const float z = x * x;
  const float small = fused(z * polynomial(z, fast_math::kTanh), x, x);
  // NaN takes the way that keeps it.
  const float limited = magnitude > fast_math::kTanhIsOne ? fast_math::kTanhIsOne : magnitude;
  const float large = std::copysign(1.0F - 2.0F / (fast_math::exp_in_range(2.0F * limited) + 1.0F), x);
  return magnitude >= fast_math::kTanhEdge ? large : small;
}

inline float fast_sigmoid(float x) { return 1.0F / (1.0F + fast_exp(-x)); }

inline float fast_erf(float x) {
  const float magnitude = std::fabs(x);
  const float z = x * x;
  const float small = fused(polynomial(z, fast_math::kErf), x, x);
  const float t = magnitude > fast_math::kErfIsOne ? fast_math::kErfIsOne : magnitude;
  const float q = polynomial(t, fast_math::kLogErfc);
  const float large = std::copysign(1.0F - fast_math::exp_in_range(fused(q, t, -t)), x);
  const float result = magnitude < fast_math::kErfEdge ? small : large;
  return x != x ? x : result;
}

/// How far from zero fast_sin and fast_cos are right.
inline constexpr float kMostNearAngle = 1048576.0F;

namespace fast_math {

inline constexpr double kQuartersOfUnit = 0.63661977236758138;  // 2 / pi: quarters of a turn
// A quarter as a sum, the first part of which has 33 bits, so that whole multiples are exact.
inline constexpr double kQuarterHigh = 1.5707963267341256;
inline constexpr double kQuarterLow = 6.0771005065061922e-11;
inline constexpr double kWholeShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
// Taylor's series to x^11 and x^12, from the last term on: behind the bits of a float up to pi / 4.
inline constexpr std::array<double, 5> kSine{-2.505210838544172e-08, 2.7557319223985893e-06,
                                             -1.9841269841269841e-04, 8.3333333333333332e-03,
                                             -1.6666666666666666e-01};
inline constexpr std::array<double, 7> kCosine{2.08767569878681e-09,
                                               -2.755731922398589e-07,
                                               2.48015873015873e-05,
                                               -1.3888888888888889e-03,
                                               4.1666666666666664e-02,
                                               -0.5,
                                               1.0};

// The sine of x and so many quarters of a turn.
inline float sine_of_quarters_more(float x, std::int64_t quarters) {
  const double wide = x;
  const double shifted = fused(wide, kQuartersOfUnit, kWholeShift);
  const double whole = shifted - kWholeShift;
  const double r = fused(-whole, kQuarterLow, fused(-whole, kQuarterHigh, wide));
  const std::int64_t at = std::bit_cast<std::int64_t>(shifted) + quarters;
  const double z = r * r;
  const double sine = r * fused(z, polynomial(z, kSine), 1.0);  // which keeps the sign of a zero
  const double cosine = polynomial(z, kCosine);
  const double found = (at & 1) == 0 ? sine : cosine;
  const std::int64_t sign = (at & 2) << 62;
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<std::int64_t>(found) ^ sign));
}

}  // namespace fast_math

/// Up to kMostNearAngle from zero; nothing that counts beyond.
inline float fast_sin(float x) { return fast_math::sine_of_quarters_more(x, 0); }
inline float fast_cos(float x) { return fast_math::sine_of_quarters_more(x, 1); }

inline double fast_exp(double x) { return std::exp(x); }
inline double fast_exp_down(double x) { return std::exp(x); }
inline double fast_expm1(double x) { return std::expm1(x); }
inline double fast_log(double x) { return std::log(x); }
inline double fast_log1p(double x) { return std::log1p(x); }
inline double fast_tanh(double x) { return std::tanh(x); }
inline double fast_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double fast_erf(double x) { return std::erf(x); }

}  // namespace podium::kernels
