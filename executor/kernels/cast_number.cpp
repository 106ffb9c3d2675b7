// Numbers to numbers. Every source is first widened, by blocks, to one of five types that hold it exactly;
// types that are wide already are read where they are. So each target needs five loops, not one for each
// source.
#include <algorithm>
#include <cmath>
#include <limits>

#include "executor/kernels/cast.h"
#include "executor/kernels/tools/elementwise.h"

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Tensor;

template <class T>
inline constexpr bool is_small_float = false;
template <DataType kType>
inline constexpr bool is_small_float<ir::SmallFloat<kType>> = true;
template <class T>
inline constexpr bool is_small_int = false;
template <int kBits, bool kSigned>
inline constexpr bool is_small_int<ir::SmallInt<kBits, kSigned>> = true;

template <class T>
struct WideType {
  using type = std::int32_t;
};
template <>
struct WideType<std::uint32_t> {
  using type = std::int64_t;
};
template <class T>
requires(is_narrow_float<T> || is_small_float<T>) struct WideType<T> {
  using type = float;
};
template <class T>
requires(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> ||
         std::is_same_v<T, std::uint64_t>) struct WideType<T> {
  using type = T;
};

// A float to an integer, towards zero. As by the machine's instructions, a number out of range wraps in 8 and
// 16 bits and becomes the lowest number in 32 and 64 bits.
template <class Int, class Float>
Int truncated(Float x) {
  constexpr auto kLimit = static_cast<Float>(-static_cast<double>(std::numeric_limits<Int>::min()));
  const bool fits = x >= -kLimit && x < kLimit;
  const Int number = static_cast<Int>(fits ? x : Float(0));
  return fits ? number : std::numeric_limits<Int>::min();
}

template <class Float>
std::uint64_t truncated_unsigned(Float x) {
  constexpr Float kHalf = Float(9223372036854775808.0);
  const bool upper = x >= kHalf;
  const auto low = static_cast<std::uint64_t>(truncated<std::int64_t>(upper ? x - kHalf : x));
  return upper ? low + (std::uint64_t{1} << 63) : low;
}

// An integer to a float that a second rounding does not harm (see ir::round_to_odd).
template <class Wide>
float odd_float(Wide x) {
  if constexpr (std::is_same_v<Wide, float>) {
    return x;
  } else if constexpr (std::is_integral_v<Wide> && sizeof(Wide) == 8) {
    // Bits that a double has no room for become one sticky bit.
    constexpr Wide kLow = 0x7FF;
    constexpr Wide kExact = Wide{1} << 52;
    bool exact = x < kExact;
    if constexpr (std::is_signed_v<Wide>) exact = exact && x > -kExact;
    const Wide sticky = exact ? x : static_cast<Wide>((x & ~kLow) | ((x & kLow) != 0 ? kLow + 1 : 0));
    return ir::round_to_odd(static_cast<double>(sticky));
  } else {
    return ir::round_to_odd(static_cast<double>(x));
  }
}

template <class To, class Wide>
To number(Wide x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != Wide(0);
  } else if constexpr (is_small_int<To>) {
    return To(static_cast<int>(number<std::int8_t>(x)));
  } else if constexpr (std::is_floating_point_v<To> || std::is_integral_v<Wide>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, std::uint64_t>) {
    return truncated_unsigned(x);
  } else if constexpr (sizeof(To) < 4) {
    return static_cast<To>(truncated<std::int32_t>(x));
  } else if constexpr (std::is_same_v<To, std::uint32_t>) {
    return static_cast<To>(truncated<std::int64_t>(x));
  } else {
    return truncated<To>(x);
  }
}

template <class From, class Wide>
void widen(const From* from, Wide* to, std::int64_t count) {
  if constexpr (is_narrow_float<From>) {
    to_float(from, to, count);
  } else if constexpr (is_small_int<From>) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i].value;
  } else if constexpr (std::is_same_v<From, bool>) {
    // As bytes: of booleans the compiler makes no vectors.
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Wide>(bytes[i] != 0);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Wide>(from[i]);
  }
}

template <class To>
void narrow(const float* from, To* to, std::int64_t count, const CastOptions& options) {
  if constexpr (is_narrow_float<To>) {
    from_float(from, to, count);
  } else if constexpr (std::is_same_v<To, ir::Float8E8M0>) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i].bits = ir::float_to_power(from[i], options.rounding, options.saturate);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i].bits = ir::float_to_small(from[i], ir::data_type_of<To>, options.saturate);
    }
  }
}

template <class Wide, class To>
void from_wide(const Wide* from, To* to, std::int64_t count, const CastOptions& options) {
  if constexpr (is_narrow_float<To> || is_small_float<To>) {
    if constexpr (std::is_same_v<Wide, float>) {
      narrow(from, to, count, options);
    } else {
      float block[kBlock];
      for (std::int64_t i = 0; i < count; ++i) block[i] = odd_float(from[i]);
      narrow(block, to, count, options);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = number<To>(from[i]);
  }
}

template <class Wide>
void write_block(const Wide* from, Tensor& to, std::int64_t first, std::int64_t count,
                 const CastOptions& options) {
  using namespace ir;  // NOLINT: every type of numbers
  dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ,
           Float8E5M2, Float8E5M2FNUZ, Float8E8M0, Float4E2M1, Float6E2M3, Float6E3M2, Int4, Uint4, Int2,
           Uint2>(to.type(), [&](auto tag) {
    from_wide(from, to.data<decltype(tag)>() + first, count, options);
    return true;
  });
}

template <class From>
void convert_from(const From* from, Tensor& to, std::int64_t first, std::int64_t count,
                  const CastOptions& options) {
  using Wide = typename WideType<From>::type;
  for (std::int64_t done = 0; done < count; done += kBlock) {
    const std::int64_t size = std::min(kBlock, count - done);
    if constexpr (std::is_same_v<From, Wide>) {
      write_block(from + done, to, first + done, size, options);
    } else {
      Wide block[kBlock];
      widen(from + done, block, size);
      write_block(block, to, first + done, size, options);
    }
  }
}

}  // namespace

void convert_numbers(const Tensor& from, Tensor& to, std::int64_t first, std::int64_t count,
                     const CastOptions& options) {
  using namespace ir;  // NOLINT: every type of numbers
  dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ,
           Float8E5M2, Float8E5M2FNUZ, Float8E8M0, Float4E2M1, Float6E2M3, Float6E3M2, Int4, Uint4, Int2,
           Uint2>(from.type(), [&](auto tag) {
    convert_from(from.data<decltype(tag)>() + first, to, first, count, options);
    return true;
  });
}

}  // namespace podium::kernels
