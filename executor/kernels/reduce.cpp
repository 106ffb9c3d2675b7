// Reductions over axes: sums, means, products, norms, largest and smallest elements.
// A reduction is an operation that takes elements in (reduce_core.h) and a finish: nothing, division by the
// count, square root or logarithm. Axes that are known when the kernel is prepared are planned once, others
// in each run. LogSumExp takes two passes, the largest element first. Integers add up modulo 2^64; half types
// are widened for the whole op.
#include <cmath>
#include <optional>

#include "executor/kernels/families.h"
#include "executor/kernels/reduce_core.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"

namespace podium::kernels {
namespace {

/// Reduces x into y, both of the type that the function was made for.
using Reduce = void (*)(const ReducePlan& plan, const void* x, void* y);

enum class Finish { None, Mean, Root, Logarithm };

// Modulo 2^64 or in double, as a number of T's sign.
template <class T, class Total>
auto with_sign(Total total) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return static_cast<std::int64_t>(total);
  } else {
    return total;
  }
}

template <class T, Finish kFinish, class Total>
T finished(Total total, std::int64_t count) {
  const auto value = with_sign<T>(total);
  if constexpr (kFinish == Finish::Mean) {
    return static_cast<T>(value / static_cast<decltype(value)>(count));
  } else if constexpr (kFinish == Finish::Root) {
    return static_cast<T>(std::sqrt(static_cast<double>(value)));
  } else if constexpr (kFinish == Finish::Logarithm) {
    return static_cast<T>(std::log(static_cast<double>(value)));
  } else {
    return static_cast<T>(value);
  }
}

template <class Op, Finish kFinish>
void reduce_by(const ReducePlan& plan, const void* x, void* y) {
  using T = typename Op::Read;
  reduce_all<Op>(plan, static_cast<const T*>(x), static_cast<T*>(y), false,
                 [count = plan.count](auto total, T) { return finished<T, kFinish>(total, count); });
}

// log(sum(e^x)) = m + log(sum(e^(x - m))), where m is the largest x, so that nothing overflows.
template <class T>
void reduce_log_sum_exp(const ReducePlan& plan, const void* x, void* y) {
  const auto* from = static_cast<const T*>(x);
  auto* to = static_cast<T*>(y);
  reduce_all<Choosing<T, true>>(plan, from, to, false,
                                [](T largest, T) { return std::isfinite(largest) ? largest : T{0}; });
  reduce_all<AddingPowers<T>>(plan, from, to, true, [](double total, T shift) {
    return static_cast<T>(std::log(total) + static_cast<double>(shift));
  });
}

// Booleans are bytes of 0 and 1: the largest is "any", the smallest "all".
template <bool kLargest>
void reduce_bools(const ReducePlan& plan, const void* x, void* y) {
  reduce_all<Choosing<std::uint8_t, kLargest>>(
      plan, static_cast<const std::uint8_t*>(x), static_cast<std::uint8_t*>(y), false,
      [](std::uint8_t total, std::uint8_t) { return static_cast<std::uint8_t>(total != 0 ? 1 : 0); });
}

// The plan, unless the axes are known only in the run.
std::optional<ReducePlan> known_plan(const PrepareContext& context, bool noop) {
  const Tensor* axes = context.constant(1);
  if (context.has_input(1) && axes == nullptr) return std::nullopt;
  return plan_reduce(context.dims(0), reduced_axes(context.input(0).rank(), axes, noop));
}

void check_not_empty(const ReducePlan& plan, DataType type) {
  if (plan.count == 0 && ir::is_integer(type) && plan.outputs() > 0) {
    throw Error("the mean of no elements of type {} is not defined", name_of(type));
  }
}

// `reduce` works in float for the narrow floats, else in the type itself.
PreparedKernel prepare_with(PrepareContext& context, Reduce reduce, bool is_mean = false) {
  const bool noop = context.get_int("noop_with_empty_axes") != 0;
  const DataType type = context.element(0);
  const bool is_narrow = type == DataType::Float16 || type == DataType::Bfloat16;
  const std::int64_t count = context.input(0).element_count();
  if (is_narrow) {
    const std::int64_t outputs = context.output(0).element_count();
    context.need_scratch((count + outputs) * sizeof(float));
  }
  return [=, plan = known_plan(context, noop)](const RunContext& run) {
    const Tensor& x = run.input(0);
    const auto decide = [&] { return plan_reduce(x.dims(), reduced_axes(x.rank(), &run.input(1), noop)); };
    const std::optional<ReducePlan> late = plan ? std::nullopt : std::optional(decide());
    const ReducePlan& used = plan ? *plan : *late;
    if (is_mean) check_not_empty(used, type);
    if (!is_narrow) return reduce(used, x.raw(), run.output(0).raw());
    auto* wide = run.scratch<float>();
    to_float(x, 0, count, wide);
    reduce(used, wide, wide + count);
    from_float(wide + count, run.output(0), 0, run.output(0).size());
  };
}

template <template <class> class Op, Finish kFinish>
PreparedKernel prepare_numbers(PrepareContext& context) {
  DataType type = context.element(0);
  if (type == DataType::Float16 || type == DataType::Bfloat16) type = DataType::Float;
  const auto reduce = dispatch<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>(
      type, [](auto tag) -> Reduce { return reduce_by<Op<decltype(tag)>, kFinish>; });
  return prepare_with(context, reduce, kFinish == Finish::Mean);
}

template <class T>
using Sum = Adding<T, Plain>;
template <class T>
using SumOfMagnitudes = Adding<T, Magnitude>;
template <class T>
using SumOfSquares = Adding<T, Squared>;

template <bool kLargest>
PreparedKernel prepare_choice(PrepareContext& context) {
  DataType type = context.element(0);
  if (type == DataType::Bool) return prepare_with(context, reduce_bools<kLargest>);
  if (type == DataType::Float16 || type == DataType::Bfloat16) type = DataType::Float;
  const auto reduce = dispatch<float, double, std::int8_t, std::uint8_t, std::int32_t, std::int64_t,
                               std::uint32_t, std::uint64_t>(
      type, [](auto tag) -> Reduce { return reduce_by<Choosing<decltype(tag), kLargest>, Finish::None>; });
  return prepare_with(context, reduce);
}

// Integers are computed in double, as their logarithm is rarely an integer; the fraction is cut off.
template <class T>
void reduce_log_sum_exp_of_integers(const ReducePlan& plan, const void* x, void* y) {
  const auto* from = static_cast<const T*>(x);
  std::int64_t elements = plan.run * plan.kept.size() * plan.reduced.size();
  const std::vector<double> wide(from, from + elements);
  std::vector<double> results(plan.outputs());
  reduce_log_sum_exp<double>(plan, wide.data(), results.data());
  std::transform(results.begin(), results.end(), static_cast<T*>(y), [](double result) {
    return std::isfinite(result) ? static_cast<T>(result) : std::numeric_limits<T>::lowest();
  });
}

PreparedKernel prepare_log_sum_exp(PrepareContext& context) {
  if (context.element(0) == DataType::Double) return prepare_with(context, reduce_log_sum_exp<double>);
  if (ir::is_float(context.element(0))) return prepare_with(context, reduce_log_sum_exp<float>);
  return prepare_with(context, dispatch<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>(
                                   context.element(0), [](auto tag) -> Reduce {
                                     return reduce_log_sum_exp_of_integers<decltype(tag)>;
                                   }));
}

}  // namespace

std::span<const KernelSpec> reduce_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "ReduceSum", .prepare = prepare_numbers<Sum, Finish::None>},
      {.name = "ReduceMean", .prepare = prepare_numbers<Sum, Finish::Mean>},
      {.name = "ReduceMax", .prepare = prepare_choice<true>},
      {.name = "ReduceMin", .prepare = prepare_choice<false>},
      {.name = "ReduceProd", .prepare = prepare_numbers<Multiplying, Finish::None>},
      {.name = "ReduceL1", .prepare = prepare_numbers<SumOfMagnitudes, Finish::None>},
      {.name = "ReduceL2", .prepare = prepare_numbers<SumOfSquares, Finish::Root>},
      {.name = "ReduceLogSum", .prepare = prepare_numbers<Sum, Finish::Logarithm>},
      {.name = "ReduceLogSumExp", .prepare = prepare_log_sum_exp},
      {.name = "ReduceSumSquare", .prepare = prepare_numbers<SumOfSquares, Finish::None>},
      {.name = "ArgMax", .prepare = prepare_arg_max},
      {.name = "ArgMin", .prepare = prepare_arg_min},
      {.name = "CumSum", .prepare = prepare_cum_sum},
      {.name = "CumProd", .prepare = prepare_cum_prod},
  };
  return kKernels;
}

}  // namespace podium::kernels
