// C++ types for the element types that C++ lacks: half, bfloat16, the float8 family, 4- and 2-bit numbers.
// Each converts to and from float (integers: int) with ONNX's rounding: to nearest, ties to even.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "ir/data_type.h"

namespace podium::ir {

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
/// `value` rounded to odd: a float next to it whose last bit is 1, or `value` itself where it is exact.
/// Rounding the result to a narrower float gives what rounding `value` itself would, not a number rounded
/// twice.
float round_to_odd(double value);
/// Rounds once, where a cast through float would round twice.
std::uint16_t double_to_half(double value);
/// Bits of an 8-bit or 4-bit float. With `saturate`, a number out of range, infinity too, becomes the largest
/// number, not infinity or NaN; 4-bit floats have neither and always saturate. float8e8m0 rounds up. Source:
/// ONNX "Float stored in 8 bits" and "Float stored in 4 bits".
std::uint8_t float_to_small(float value, DataType type, bool saturate);
float small_to_float(std::uint8_t bits, DataType type);

/// Rounding to a power of two: the one above, the one below, or the nearer one (of two equally near the upper
/// one).
enum class PowerRounding : std::uint8_t { Up, Down, Nearest };
/// Bits of a float8e8m0, a type that holds only powers of two without sign. Zero becomes the smallest of
/// them.
std::uint8_t float_to_power(float value, PowerRounding rounding, bool saturate);

struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(float_to_half(value)) {}
  explicit operator float() const { return half_to_float(bits); }
};

struct Bfloat16 {
  std::uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float value);
  explicit operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};

template <DataType kType>
struct SmallFloat {
  std::uint8_t bits = 0;
  SmallFloat() = default;
  explicit SmallFloat(float value) : bits(float_to_small(value, kType, true)) {}
  explicit operator float() const { return small_to_float(bits, kType); }
};
using Float8E4M3FN = SmallFloat<DataType::Float8E4M3FN>;
using Float8E4M3FNUZ = SmallFloat<DataType::Float8E4M3FNUZ>;
using Float8E5M2 = SmallFloat<DataType::Float8E5M2>;
using Float8E5M2FNUZ = SmallFloat<DataType::Float8E5M2FNUZ>;
using Float8E8M0 = SmallFloat<DataType::Float8E8M0>;
using Float4E2M1 = SmallFloat<DataType::Float4E2M1>;
using Float6E2M3 = SmallFloat<DataType::Float6E2M3>;
using Float6E3M2 = SmallFloat<DataType::Float6E3M2>;

/// An integer of kBits bits kept in one byte, sign-extended; wraps on conversion.
template <int kBits, bool kSigned>
struct SmallInt {
  std::int8_t value = 0;
  SmallInt() = default;
  explicit SmallInt(int number) {
    const int kept = number & ((1 << kBits) - 1);
    value = static_cast<std::int8_t>(kSigned && kept >= (1 << (kBits - 1)) ? kept - (1 << kBits) : kept);
  }
  explicit operator int() const { return value; }
};
using Int4 = SmallInt<4, true>;
using Uint4 = SmallInt<4, false>;
using Int2 = SmallInt<2, true>;
using Uint2 = SmallInt<2, false>;

template <class T>
struct ElementType;
#define PODIUM_ELEMENT(cpp, onnx)                     \
  template <>                                         \
  struct ElementType<cpp> {                           \
    static constexpr DataType value = DataType::onnx; \
  }
PODIUM_ELEMENT(float, Float);
PODIUM_ELEMENT(double, Double);
PODIUM_ELEMENT(std::int8_t, Int8);
PODIUM_ELEMENT(std::int16_t, Int16);
PODIUM_ELEMENT(std::int32_t, Int32);
PODIUM_ELEMENT(std::int64_t, Int64);
PODIUM_ELEMENT(std::uint8_t, Uint8);
PODIUM_ELEMENT(std::uint16_t, Uint16);
PODIUM_ELEMENT(std::uint32_t, Uint32);
PODIUM_ELEMENT(std::uint64_t, Uint64);
PODIUM_ELEMENT(bool, Bool);
PODIUM_ELEMENT(std::string, String);
PODIUM_ELEMENT(Float16, Float16);
PODIUM_ELEMENT(Bfloat16, Bfloat16);
PODIUM_ELEMENT(std::complex<float>, Complex64);
PODIUM_ELEMENT(std::complex<double>, Complex128);
PODIUM_ELEMENT(Float8E4M3FN, Float8E4M3FN);
PODIUM_ELEMENT(Float8E4M3FNUZ, Float8E4M3FNUZ);
PODIUM_ELEMENT(Float8E5M2, Float8E5M2);
PODIUM_ELEMENT(Float8E5M2FNUZ, Float8E5M2FNUZ);
PODIUM_ELEMENT(Float8E8M0, Float8E8M0);
PODIUM_ELEMENT(Float4E2M1, Float4E2M1);
PODIUM_ELEMENT(Float6E2M3, Float6E2M3);
PODIUM_ELEMENT(Float6E3M2, Float6E3M2);
PODIUM_ELEMENT(Int4, Int4);
PODIUM_ELEMENT(Uint4, Uint4);
PODIUM_ELEMENT(Int2, Int2);
PODIUM_ELEMENT(Uint2, Uint2);
#undef PODIUM_ELEMENT

/// The ONNX element type of a C++ type: data_type_of<float> is DataType::Float.
template <class T>
inline constexpr DataType data_type_of = ElementType<T>::value;

}  // namespace podium::ir
