// Max, Min, Sum, Mean: from left to right over any number of inputs. Half and bfloat16 are rounded once, at
// the end.
#include "executor/kernels/binary_tables.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;

// One plan for each input after the first. It combines the result so far, which has the output's shape except
// at first, with the input.
std::vector<BroadcastPlan> plans_of(const PrepareContext& context) {
  Dims output = context.dims(0);
  for (std::size_t i = 1; i < context.input_count(); ++i) output = ir::broadcast(output, context.dims(i));
  std::vector<BroadcastPlan> plans;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    const Dims& left = i == 1 ? context.dims(0) : output;
    plans.push_back(plan_broadcast(output, std::array{&left, &context.dims(i)}));
  }
  return plans;
}

template <class T>
std::vector<const T*> pointers_to(const std::vector<Tensor>& tensors) {
  std::vector<const T*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(tensor.data<T>());
  return pointers;
}

// `finish` is applied to each result.
template <class T, class F, class Finish>
void accumulate(const std::vector<BroadcastPlan>& plans, const std::vector<const T*>& inputs, T* out,
                std::int64_t count, const F& f, const Finish& finish) {
  if (plans.empty() && inputs[0] != out) std::copy_n(inputs[0], count, out);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    combine(plans[i], i == 0 ? inputs[0] : out, inputs[i + 1], out, f);
  }
  if constexpr (!std::is_same_v<Finish, std::identity>) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = finish(out[i]);
  }
}

template <class T, class F, class Finish>
PreparedKernel native(PrepareContext& context, F f, Finish finish) {
  return [plans = plans_of(context), f, finish](const RunContext& run) {
    std::vector<const T*> inputs;
    for (std::size_t i = 0; i < run.inputs.size(); ++i) inputs.push_back(run.input(i).data<T>());
    accumulate(plans, inputs, run.output(0).data<T>(), run.output(0).size(), f, finish);
  };
}

template <class F, class Finish>
PreparedKernel through_float(PrepareContext& context, F f, Finish finish) {
  return [plans = plans_of(context), f, finish](const RunContext& run) {
    std::vector<Tensor> wide;
    for (std::size_t i = 0; i < run.inputs.size(); ++i) wide.push_back(as_float(run.input(i)));
    Tensor sum(DataType::Float, run.output(0).dims());
    accumulate(plans, pointers_to<float>(wide), sum.data<float>(), sum.size(), f, finish);
    from_float(sum.data<float>(), run.output(0), 0, sum.size());
  };
}

template <class F, class Finish = std::identity>
PreparedKernel fold_floats(PrepareContext& context, F f, Finish finish = {}) {
  if (context.element(0) == DataType::Float) return native<float>(context, f, finish);
  if (context.element(0) == DataType::Double) return native<double>(context, f, finish);
  return through_float(context, f, finish);
}

template <class F>
PreparedKernel fold_numbers(PrepareContext& context, F f) {
  if (ir::is_float(context.element(0))) return fold_floats(context, f);
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                  std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) { return native<decltype(tag)>(context, f, std::identity()); });
}

// NaN in either operand gives NaN.
PreparedKernel max(PrepareContext& context) {
  return fold_numbers(context, [](auto a, auto b) { return (a >= b) | (a != a) ? a : b; });
}

PreparedKernel min(PrepareContext& context) {
  return fold_numbers(context, [](auto a, auto b) { return (a <= b) | (a != a) ? a : b; });
}

PreparedKernel sum(PrepareContext& context) {
  return fold_floats(context, [](auto a, auto b) { return a + b; });
}

PreparedKernel mean(PrepareContext& context) {
  const auto count = static_cast<double>(context.input_count());
  return fold_floats(
      context, [](auto a, auto b) { return a + b; },
      [count](auto x) { return x / static_cast<decltype(x)>(count); });
}

}  // namespace

std::span<const KernelSpec> variadic_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Max", .prepare = max, .in_place = 1},
      {.name = "Min", .prepare = min, .in_place = 1},
      {.name = "Sum", .prepare = sum, .in_place = 1},
      {.name = "Mean", .prepare = mean, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
