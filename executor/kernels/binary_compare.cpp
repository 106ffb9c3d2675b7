// Comparisons. Greater is Less with its operands the other way round.
#include <functional>
#include <string>

#include "executor/kernels/binary_tables.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;

template <class F>
PreparedKernel compare_floats(PrepareContext& context, F f) {
  return dispatch<float, double, Float16, Bfloat16>(
      context.element(0), [&](auto tag) { return combine_kernel<decltype(tag), bool>(context, f); });
}

template <class F>
PreparedKernel compare_numbers(PrepareContext& context, F f) {
  if (ir::is_float(context.element(0))) return compare_floats(context, f);
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                  std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) { return combine_kernel<decltype(tag), bool>(context, f); });
}

PreparedKernel equal_strings(const PrepareContext& context) {
  return [plan = plan_of_two(context)](const RunContext& run) {
    const auto* a = run.input(0).data<std::string>();
    const auto* b = run.input(1).data<std::string>();
    bool* out = run.output(0).data<bool>();
    for_each_row(plan, [&](std::int64_t at, const Offsets& offsets, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        out[at + i] = a[offsets[0] + i * plan.steps[0]] == b[offsets[1] + i * plan.steps[1]];
      }
    });
  };
}

PreparedKernel equal(PrepareContext& context) {
  const DataType type = context.element(0);
  if (type == DataType::String) return equal_strings(context);
  if (ir::is_float(type)) return compare_floats(context, std::equal_to<>());
  return by_size(type,
                 [&](auto tag) { return combine_kernel<decltype(tag), bool>(context, std::equal_to<>()); });
}

PreparedKernel less(PrepareContext& context) { return compare_numbers(context, std::less<>()); }
PreparedKernel less_or_equal(PrepareContext& context) {
  return compare_numbers(context, std::less_equal<>());
}

// Prepares another comparison of (b, a).
template <PreparedKernel (*kPrepare)(PrepareContext&)>
PreparedKernel swapped(PrepareContext& context) {
  PrepareContext other(context.op);
  other.input_types = {context.input(1), context.input(0)};
  other.constants = {context.constant(1), context.constant(0)};
  other.output_types = context.output_types;
  return [prepared = kPrepare(other)](const RunContext& run) {
    const std::array<const Datum*, 2> inputs{run.inputs[1], run.inputs[0]};
    prepared({inputs, run.outputs, run.scratch_memory});
  };
}

}  // namespace

std::span<const KernelSpec> comparison_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Equal", .prepare = equal},
      {.name = "Less", .prepare = less},
      {.name = "LessOrEqual", .prepare = less_or_equal},
      {.name = "Greater", .prepare = swapped<less>},
      {.name = "GreaterOrEqual", .prepare = swapped<less_or_equal>},
  };
  return kKernels;
}

}  // namespace podium::kernels
