#include "ir/element.h"

#include <bit>
#include <cmath>
#include <limits>

namespace podium::ir {
namespace {

// How a small float lays out its bits.
struct Layout {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_sign;
  bool has_infinity;  // exponent all ones, mantissa zero
  bool unsigned_zero; // NaN is the pattern of minus zero
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
  return layout.has_nan ? 0x7E : 0x07;
}

// Rounds a finite positive double to the nearest code, ties to even; may give a code beyond the largest.
int nearest_code(double magnitude, const Layout& layout) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int lowest = 1 - layout.bias;  // exponent of the subnormals' unit interval
  const int scale = std::max(exponent - 1, lowest) - layout.mantissa_bits;
  const double steps = std::nearbyint(std::ldexp(magnitude, -scale));
  // Codes count up by one through every binade, so the code is the binade's first plus the steps in it.
  const int binade = scale + layout.mantissa_bits - lowest;
  return (binade << layout.mantissa_bits) + static_cast<int>(steps);
}

std::uint8_t to_e8m0(float value, bool saturate) {
  if (std::isnan(value)) return 0xFF;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return saturate ? 0xFE : 0xFF;
  const auto bits = std::bit_cast<std::uint32_t>(magnitude);
  std::uint32_t exponent = bits >> 23;
  const std::uint32_t mantissa = bits & 0x7FFFFF;
  // Round half up in the exponent, as ONNX's cast with its default round_mode "up" is done by the Cast kernel;
  // here: to nearest, ties away.
  if (mantissa >= 0x400000 && exponent > 0) ++exponent;
  if (exponent == 0 && mantissa > 0x400000) exponent = 1;
  if (exponent > 0xFE) return saturate ? 0xFE : 0xFF;
  return static_cast<std::uint8_t>(exponent);
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1F;
  const std::uint32_t mantissa = bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(float value) { return double_to_half(value); }

std::uint16_t double_to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(magnitude)) return sign | 0x7E00;
  if (magnitude >= 65520) return sign | 0x7C00;
  if (magnitude == 0) return sign;
  constexpr Layout kHalf{5, 10, 15, true, true, false, true};
  return static_cast<std::uint16_t>(sign | nearest_code(magnitude, kHalf));
}

Bfloat16::Bfloat16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40);
  } else {
    bits = static_cast<std::uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);
  }
}

std::uint8_t float_to_small(float value, DataType type, bool saturate) {
  if (type == DataType::Float8E8M0) return to_e8m0(value, saturate);
  const Layout layout = layout_of(type);
  const int sign_shift = layout.exponent_bits + layout.mantissa_bits;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 1 << sign_shift : 0);
  const std::uint8_t largest = largest_bits(layout);
  if (std::isnan(value)) {
    if (!layout.has_nan) return largest;
    return layout.unsigned_zero ? nan_bits(layout) : static_cast<std::uint8_t>(nan_bits(layout) | sign);
  }
  const bool infinite = std::isinf(value);
  const int code = infinite ? 0xFFF : nearest_code(std::fabs(value), layout);
  if (value == 0 || code == 0) return layout.unsigned_zero ? 0 : sign;
  if (code <= largest) return static_cast<std::uint8_t>(code | sign);
  if (saturate || !layout.has_nan) return largest | sign;
  if (layout.has_infinity) return static_cast<std::uint8_t>(0x7C | sign);
  return layout.unsigned_zero ? nan_bits(layout) : static_cast<std::uint8_t>(nan_bits(layout) | sign);
}

float small_to_float(std::uint8_t bits, DataType type) {
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

}  // namespace podium::ir
