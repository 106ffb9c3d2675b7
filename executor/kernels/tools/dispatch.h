// From an element type known when a kernel is prepared to a C++ type.
#pragma once

#include "ir/element.h"
#include "ir/error.h"

namespace podium::kernels {

/// Calls `use` with a value of the one C++ type among Ts whose element type is `type` and gives its result.
/// Every type listed is an instance of the kernel: list what must be native, convert the rest.
template <class... Ts, class Use>
auto dispatch(ir::DataType type, Use&& use) {
  using Result = std::common_type_t<decltype(use(Ts{}))...>;
  Result result{};
  const bool found = ((ir::data_type_of<Ts> == type ? (result = use(Ts{}), true) : false) || ...);
  if (!found) throw Error("elements of type {} are not supported here", name_of(type));
  return result;
}

}  // namespace podium::kernels
