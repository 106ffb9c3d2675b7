#include "executor/kernels/add_up.h"

#include "executor/kernels/dispatch.h"
#include "executor/kernels/parallel.h"

namespace podium::kernels {
namespace {

using ir::Tensor;

// `Sum` is the type that terms of type T are added in.
template <class T, class Sum>
void add(std::span<const Tensor* const> terms, bool mean, std::int64_t first, std::int64_t count,
         Tensor& result) {
  T* out = result.data<T>();
  const auto divisor = static_cast<Sum>(mean ? terms.size() : 1);
  parallel_ranges(count, static_cast<std::int64_t>(terms.size()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      auto sum = static_cast<Sum>(terms.front()->data<T>()[first + i]);
      for (const Tensor* term : terms.subspan(1)) {
        sum = static_cast<Sum>(sum + static_cast<Sum>(term->data<T>()[first + i]));
      }
      out[i] = static_cast<T>(mean ? static_cast<Sum>(sum / divisor) : sum);
    }
  });
}

template <class T>
constexpr bool is_narrow_float = std::is_same_v<T, ir::Float16> || std::is_same_v<T, ir::Bfloat16>;

}  // namespace

void add_up(std::span<const Tensor* const> terms, bool mean, std::int64_t first, std::int64_t count,
            Tensor& sum) {
  dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(sum.type(), [&](auto tag) {
    using T = decltype(tag);
    add<T, std::conditional_t<is_narrow_float<T>, float, T>>(terms, mean, first, count, sum);
    return true;
  });
}

}  // namespace podium::kernels
