// Conversions go by bits. A Layout says how a type lays out sign, exponent and mantissa and which codes are
// special; rounding a float to a layout adds half a unit in the last kept place, less one bit when the kept
// part is even, so that ties go to even, and a carry moves into the exponent by itself. Below the smallest
// normal number, adding a float whose last place is the spacing of the subnormals rounds to them. Doubles go
// to half by way of a float rounded to odd, which keeps the second rounding right. Small floats decode
// through tables.
#include "ir/element.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace podium::ir {
namespace {

// How a small float lays out its bits.
struct Layout {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_sign;
  bool has_infinity;   // exponent all ones, mantissa zero
  bool unsigned_zero;  // NaN is the pattern of minus zero
  bool has_nan;
};

Layout layout_of(DataType type) {
  switch (type) {
    case DataType::Float8E4M3FN:
      return {4, 3, 7, true, false, false, true};
    case DataType::Float8E4M3FNUZ:
      return {4, 3, 8, true, false, true, true};
    case DataType::Float8E5M2:
      return {5, 2, 15, true, true, false, true};
    case DataType::Float8E5M2FNUZ:
      return {5, 2, 16, true, false, true, true};
    case DataType::Float4E2M1:
      return {2, 1, 1, true, false, false, false};
    case DataType::Float6E2M3:
      return {2, 3, 1, true, false, false, false};
    case DataType::Float6E3M2:
      return {3, 2, 3, true, false, false, false};
    default:
      return {8, 0, 127, false, false, false, true};  // float8e8m0: powers of two only
  }
}

std::uint8_t nan_bits(const Layout& layout) {
  if (layout.unsigned_zero) return 0x80;
  if (!layout.has_sign) return 0xFF;
  return 0x7F;
}

std::uint8_t largest_bits(const Layout& layout) {
  if (!layout.has_sign) return 0xFE;
  if (layout.has_infinity) return 0x7B;
  if (layout.unsigned_zero) return 0x7F;
  if (layout.has_nan) return 0x7E;
  return static_cast<std::uint8_t>((1 << (layout.exponent_bits + layout.mantissa_bits)) - 1);
}

// The code of a finite positive number, to nearest, ties to even; may be beyond the largest number.
std::uint32_t nearest_code(float magnitude, const Layout& layout) {
  const int lowest = 1 - layout.bias;  // exponent of the smallest normal number and of all subnormal ones
  auto bits = std::bit_cast<std::uint32_t>(magnitude);
  if (bits < static_cast<std::uint32_t>(lowest + 127) << 23) {
    // Adding a number whose unit in the last place is the spacing of the subnormals rounds to them.
    const auto unit_bits = static_cast<std::uint32_t>(lowest - layout.mantissa_bits + 23 + 127) << 23;
    return std::bit_cast<std::uint32_t>(magnitude + std::bit_cast<float>(unit_bits)) - unit_bits;
  }
  const int dropped = 23 - layout.mantissa_bits;
  bits += ((bits >> dropped) & 1) + (1U << (dropped - 1)) - 1;
  return (bits >> dropped) - (static_cast<std::uint32_t>(127 - layout.bias) << layout.mantissa_bits);
}

float decode(std::uint8_t bits, DataType type) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (type == DataType::Float8E8M0) return bits == 0xFF ? kNan : std::ldexp(1.0F, bits - 127);
  const Layout layout = layout_of(type);
  const int sign_shift = layout.exponent_bits + layout.mantissa_bits;
  const bool negative = ((bits >> sign_shift) & 1) != 0;
  const int code = bits & ((1 << sign_shift) - 1);
  if (layout.unsigned_zero && bits == 0x80) return kNan;
  if (layout.has_infinity && code >= 0x7C) {
    if (code > 0x7C) return kNan;
    return negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
  if (layout.has_nan && !layout.has_infinity && !layout.unsigned_zero && code == 0x7F) return kNan;
  const int exponent = code >> layout.mantissa_bits;
  const int mantissa = code & ((1 << layout.mantissa_bits) - 1);
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << layout.mantissa_bits);
  const float magnitude =
      std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - layout.bias - layout.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

[[maybe_unused]] constexpr Layout kHalf{5, 10, 15, true, true, false, true};

std::array<float, 256> all_small_floats(DataType type) {
  std::array<float, 256> values{};
  for (std::size_t bits = 0; bits < values.size(); ++bits) {
    values[bits] = decode(static_cast<std::uint8_t>(bits), type);
  }
  return values;
}

}  // namespace

float half_to_float(std::uint16_t bits) {
#ifdef __F16C__
  return _cvtsh_ss(bits);
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1F;
  const std::uint32_t mantissa = bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
#endif
}

std::uint16_t float_to_half(float value) {
#ifdef __F16C__
  return _cvtss_sh(value, 0);
#else
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (std::isnan(magnitude)) return sign | 0x7E00;
  if (magnitude >= 65520) return sign | 0x7C00;
  return static_cast<std::uint16_t>(sign | nearest_code(magnitude, kHalf));
#endif
}

float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (nearest == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

std::uint16_t double_to_half(double value) { return float_to_half(round_to_odd(value)); }

Bfloat16::Bfloat16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40);
  } else {
    bits = static_cast<std::uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);
  }
}

std::uint8_t float_to_power(float value, PowerRounding rounding, bool saturate) {
  if (std::isnan(value)) return 0xFF;
  const auto bits = std::bit_cast<std::uint32_t>(std::fabs(value));
  std::uint32_t exponent = bits >> 23;
  const std::uint32_t mantissa = bits & 0x7FFFFF;
  // Below the smallest normal float the powers of two are 2^-127 (code 0) and 2^-126.
  const std::uint32_t middle = exponent == 0 ? 0x600000 : 0x400000;
  const std::uint32_t exact = exponent == 0 ? 0x400000 : 0;
  if (exponent != 0xFF && rounding == PowerRounding::Up && mantissa > exact) ++exponent;
  if (exponent != 0xFF && rounding == PowerRounding::Nearest && mantissa >= middle) ++exponent;
  if (exponent == 0xFF) return saturate ? 0xFE : 0xFF;
  return static_cast<std::uint8_t>(exponent);
}

std::uint8_t float_to_small(float value, DataType type, bool saturate) {
  if (type == DataType::Float8E8M0) return float_to_power(value, PowerRounding::Up, saturate);
  const Layout layout = layout_of(type);
  const int sign_shift = layout.exponent_bits + layout.mantissa_bits;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 1 << sign_shift : 0);
  const std::uint8_t largest = largest_bits(layout);
  const auto nan = static_cast<std::uint8_t>(layout.unsigned_zero ? 0x80 : nan_bits(layout) | sign);
  // Where there is no NaN it becomes minus zero. Source: ONNX's reference implementation and cases; its page
  // "Float stored in 4 bits" says the largest number.
  const auto minus_zero = static_cast<std::uint8_t>(1 << sign_shift);
  if (std::isnan(value)) return layout.has_nan ? nan : minus_zero;
  const std::uint32_t code = std::isinf(value) ? 0xFFFU : nearest_code(std::fabs(value), layout);
  if (code == 0) return layout.unsigned_zero ? 0 : sign;
  if (code <= largest) return static_cast<std::uint8_t>(code | sign);
  if (saturate || !layout.has_nan) return largest | sign;
  return layout.has_infinity ? static_cast<std::uint8_t>(0x7C | sign) : nan;
}

float small_to_float(std::uint8_t bits, DataType type) {
  // In the order of the types' numbers; nobody asks for the integers among them.
  static const std::array kTables{
      all_small_floats(DataType::Float8E4M3FN),
      all_small_floats(DataType::Float8E4M3FNUZ),
      all_small_floats(DataType::Float8E5M2),
      all_small_floats(DataType::Float8E5M2FNUZ),
      std::array<float, 256>{},
      std::array<float, 256>{},
      all_small_floats(DataType::Float4E2M1),
      all_small_floats(DataType::Float8E8M0),
      std::array<float, 256>{},
      std::array<float, 256>{},
      all_small_floats(DataType::Float6E2M3),
      all_small_floats(DataType::Float6E3M2),
  };
  return kTables[static_cast<std::size_t>(type) - static_cast<std::size_t>(DataType::Float8E4M3FN)][bits];
}

}  // namespace podium::ir
