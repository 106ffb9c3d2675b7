// Constants, ranges and identity matrices.
#include "ir/ops/generate.h"

#include <algorithm>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;

PreparedKernel constant(PrepareContext& context) {
  return [value = ir::constant_of(context.op)](const RunContext& run) {
    copy_elements(value.type(), value.raw(), run.output(0).raw(), value.size());
  };
}

PreparedKernel constant_of_shape(PrepareContext& context) {
  const auto* given = context.get_if<Tensor>("value");
  const Tensor value = given == nullptr ? Tensor::scalar(0.0F) : *given;
  return [value](const RunContext& run) {
    fill_elements(value.type(), value.raw(), run.output(0).raw(), run.output(0).size());
  };
}

// Every element from its index, so that no rounding error grows along the range.
template <class T>
void fill_range(const RunContext& run) {
  const auto values = run.output(0).values<T>();
  if constexpr (std::is_integral_v<T>) {
    // Unsigned, where wrapping is defined.
    auto next = static_cast<std::uint64_t>(*run.input(0).data<T>());
    const auto delta = static_cast<std::uint64_t>(*run.input(2).data<T>());
    for (T& value : values) {
      value = static_cast<T>(next);
      next += delta;
    }
  } else {
    const double start = run.input(0).to_number();
    const double delta = run.input(2).to_number();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = T(static_cast<float>(start + static_cast<double>(i) * delta));
    }
  }
}

template <>
void fill_range<double>(const RunContext& run) {
  const auto values = run.output(0).values<double>();
  const double start = run.input(0).to_number();
  const double delta = run.input(2).to_number();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * delta;
}

PreparedKernel range(PrepareContext& context) {
  return dispatch<float, double, Float16, Bfloat16, std::int16_t, std::int32_t, std::int64_t>(
      context.element(0), [](auto tag) -> PreparedKernel { return fill_range<decltype(tag)>; });
}

Tensor one(DataType type) {
  return dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                  std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>(
      type, [](auto tag) -> Tensor { return Tensor::scalar(decltype(tag)(1)); });
}

PreparedKernel eye_like(PrepareContext& context) {
  const std::int64_t rows = context.output(0).dims[0];
  const std::int64_t columns = context.output(0).dims[1];
  // Clamped: a diagonal far outside is as empty as one just outside.
  const std::int64_t k = std::clamp(context.get_int("k"), -rows, columns);
  const std::int64_t length = std::max<std::int64_t>(
      std::min(rows + std::min<std::int64_t>(k, 0), columns - std::max<std::int64_t>(k, 0)), 0);
  const std::int64_t first = k >= 0 ? k : -k * columns;
  const Tensor value = one(context.output(0).element);
  const StridedCopy diagonal(value.type(), {{length, 0, columns + 1}});
  return [value, diagonal, first](const RunContext& run) {
    Tensor& output = run.output(0);
    zero_elements(output.type(), output.raw(), output.size());
    diagonal.run(value.raw(), element_at(output.raw(), output.type(), first));
  };
}

}  // namespace

std::span<const KernelSpec> generate_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Constant", .prepare = constant},
      {.name = "ConstantOfShape", .prepare = constant_of_shape},
      {.name = "Range", .prepare = range},
      {.name = "EyeLike", .prepare = eye_like},
  };
  return kKernels;
}

}  // namespace podium::kernels
