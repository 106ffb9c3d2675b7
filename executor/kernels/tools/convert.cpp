#include "executor/kernels/tools/convert.h"

#include <algorithm>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "executor/kernels/tools/dispatch.h"

namespace podium::kernels {

using ir::Bfloat16;
using ir::DataType;
using ir::Float16;
using ir::Tensor;

void to_float(const Float16* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void from_float(const float* from, Float16* to, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
#endif
  for (; i < count; ++i) to[i] = Float16(from[i]);
}

void to_float(const Bfloat16* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void from_float(const float* from, Bfloat16* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = Bfloat16(from[i]);
}

namespace {

template <class T>
void widen(const T* from, float* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    to_float(from, to, count);
  } else if constexpr (std::is_arithmetic_v<T>) {
    std::transform(from, from + count, to, [](T value) { return static_cast<float>(value); });
  } else if constexpr (requires(T value) { static_cast<int>(value); }) {
    std::transform(from, from + count, to,
                   [](T value) { return static_cast<float>(static_cast<int>(value)); });
  } else {
    std::transform(from, from + count, to, [](T value) { return static_cast<float>(value); });
  }
}

template <class T>
void narrow(const float* from, T* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    from_float(from, to, count);
  } else {
    std::transform(from, from + count, to, [](float value) { return static_cast<T>(value); });
  }
}

}  // namespace

void to_float(const Tensor& from, std::int64_t first, std::int64_t count, float* to) {
  using namespace ir;  // NOLINT: every narrow type
  dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ,
           Float8E5M2, Float8E5M2FNUZ, Float8E8M0, Float4E2M1, Float6E2M3, Float6E3M2, Int4, Uint4, Int2,
           Uint2>(from.type(), [&](auto tag) {
    widen(from.data<decltype(tag)>() + first, to, count);
    return true;
  });
}

void from_float(const float* from, Tensor& to, std::int64_t first, std::int64_t count) {
  using namespace ir;  // NOLINT: every narrow type
  dispatch<float, double, Float16, Bfloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ,
           Float8E8M0, Float4E2M1, Float6E2M3, Float6E3M2>(to.type(), [&](auto tag) {
    narrow(from, to.data<decltype(tag)>() + first, count);
    return true;
  });
}

Tensor as_float(const Tensor& tensor) {
  if (tensor.type() == DataType::Float) return tensor;
  Tensor result(DataType::Float, tensor.dims());
  to_float(tensor, 0, tensor.size(), result.data<float>());
  return result;
}

}  // namespace podium::kernels
