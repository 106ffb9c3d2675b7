#include "ir/filled.h"

#include <algorithm>
#include <cmath>

#include "ir/element.h"
#include "ir/zero_tensor.h"

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

}  // namespace

Tensor filled(DataType element, Dims dims, double value) {
  Tensor tensor;
  with_float(element, [&](auto kind) {
    using T = decltype(kind);
    if (value == 0 && !std::signbit(value)) {
      tensor = zeros(element, std::move(dims));
    } else {
      tensor = Tensor(element, std::move(dims));
      std::fill_n(tensor.data<T>(), tensor.size(), to_float<T>(value));
    }
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
