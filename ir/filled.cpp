#include "ir/filled.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "ir/element.h"

namespace podium::ir {
namespace {

// Calls `visit` with a number of the element type.
template <class Visit>
void with_float(DataType element, const Visit& visit) {
  switch (element) {
    case DataType::Float:
      return visit(float());
    case DataType::Double:
      return visit(double());
    case DataType::Float16:
      return visit(Float16());
    case DataType::Bfloat16:
      return visit(Bfloat16());
    default:
      throw Error("gradients of {} cannot be taken", name_of(element));
  }
}

template <class T>
T to_float(double value) {
  if constexpr (std::is_same_v<T, double>) return value;
  return T(static_cast<float>(value));
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, double>) return value;
  return static_cast<float>(value);
}

// Large memory that the system hands out as zeros: pages that nobody writes cost neither memory nor time,
// which is what an estimate of a model without its weights needs. The C library's would be cleared by hand
// where it has been used before.
Tensor zeros(DataType element, Dims dims) {
  const std::size_t bytes = element_count(dims) * storage_bytes(element);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("out of memory: {} bytes for one tensor", bytes);
  const std::shared_ptr<void> owner(memory, [bytes](void* pages) { munmap(pages, bytes); });
  return Tensor::adopt(element, std::move(dims), memory, owner);
}

}  // namespace

Tensor filled(DataType element, Dims dims, double value) {
  constexpr std::int64_t kLarge = 1 << 18;
  if (value == 0 && !std::signbit(value) && element_count(dims) >= kLarge)
    return zeros(element, std::move(dims));
  Tensor tensor(element, std::move(dims));
  with_float(element, [&](auto kind) {
    using T = decltype(kind);
    std::fill_n(tensor.data<T>(), tensor.size(), to_float<T>(value));
  });
  return tensor;
}

Tensor multiplied(const Tensor& tensor, double factor, DataType element) {
  Tensor result(element, tensor.dims());
  with_float(tensor.type(), [&](auto from_kind) {
    with_float(element, [&](auto to_kind) {
      using From = decltype(from_kind);
      using To = decltype(to_kind);
      const auto from = tensor.values<From>();
      std::transform(from.begin(), from.end(), result.values<To>().begin(),
                     [&](From value) { return to_float<To>(to_double(value) * factor); });
    });
  });
  return result;
}

}  // namespace podium::ir
