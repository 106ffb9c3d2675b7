// Bounds come from two sides. A sum's is the roundoff of so many terms of its magnitudes, for which the op is
// run once more on the magnitudes of its operands. What is computed in steps with sums inside is probed: its
// operands are moved by a large and by a small share of themselves, and it can be off by as much more than a
// rounding as its results move more than they do.
#include "executor/compare/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "executor/kernels/tools/kernel.h"
#include "executor/session/host_arrays.h"
#include "ir/filled.h"
#include "ir/ops/loops.h"

namespace podium::compare {
namespace {

using ir::DataType;
using ir::Datum;
using ir::Tensor;

struct Roundoff {
  double sum;     // of the type in which is added
  double result;  // of a type narrower than that, in which parts and results are kept; else 0
  double least;   // half the smallest step of the type: what a product may lose below it
};

std::optional<Roundoff> roundoff_of(DataType type) {
  const double of_float = std::ldexp(1, -24);
  switch (type) {
    case DataType::Double:
      return Roundoff{std::ldexp(1, -53), 0, std::ldexp(1, -1074)};
    case DataType::Float:
      return Roundoff{of_float, 0, std::ldexp(1, -149)};
    case DataType::Float16:
      return Roundoff{of_float, std::ldexp(1, -11), std::ldexp(1, -24)};
    case DataType::Bfloat16:
      return Roundoff{of_float, std::ldexp(1, -8), std::ldexp(1, -133)};
    default:
      return std::nullopt;
  }
}

bool is_float_tensor(const Datum& datum) {
  return datum.is_tensor() && datum.tensor.defined() && is_float(datum.tensor.type());
}

Tensor plain(std::string_view name, const Datum& of) {
  const ir::Op op{.spec = ir::find_op("", name), .inputs = {ir::ValueId{0}}, .outputs = {ir::ValueId{1}}};
  return kernels::evaluate(op, {&of, 1})[0].tensor;
}

// The op on magnitudes: nothing in it may turn a sign.
ir::Op without_signs(ir::Op op) {
  if (op.is("Sub")) op.spec = ir::find_op("", "Add");
  for (const std::string_view factor : {"alpha", "beta"}) {
    if (const float* value = ir::attribute_if<float>(op, factor))
      set_attribute(op, factor, std::fabs(*value));
  }
  return op;
}

// The operands, each element changed by a share of itself, up or down.
Operands changed(const Operands& operands, double share, std::mt19937& random) {
  Operands result = operands;
  for (Datum& datum : result) {
    if (!is_float_tensor(datum)) continue;
    Tensor doubles = cast(datum.tensor, DataType::Double);
    if (datum.tensor.type() == DataType::Double) doubles = doubles.clone();
    for (double& value : doubles.values<double>()) value *= 1 + ((random() & 1U) != 0 ? share : -share);
    datum = cast(doubles, datum.tensor.type());
  }
  return result;
}

// Whether the sum of a loss, which a mean divides, may overflow in some order of its terms: then nothing is
// known of it. A loss of the magnitudes of scores may be some times as small as that of the scores.
bool may_overflow(const PlainOps& ops, const ir::Op& op, const Operands& magnitudes) {
  constexpr double kTimes = 16;
  const auto* reduction = ir::attribute_if<std::string>(op, "reduction");
  if (reduction == nullptr || *reduction == "none") return false;
  ir::Op whole = op;
  set_attribute(whole, "reduction", std::string("sum"));
  const Tensor sum = ops.run_once(without_signs(whole), magnitudes)[0].tensor;
  const Tensor several = ir::filled(sum.type(), {}, kTimes * cast(sum, DataType::Double).data<double>()[0]);
  return !std::isfinite(cast(several, DataType::Double).data<double>()[0]);
}

// Whether the squares that a norm adds up may overflow, whole or in the steps in which parts of them are put
// together: no probe by a share of the numbers shows that.
bool squares_may_overflow(const ir::Op& op, const Operands& operands) {
  constexpr std::string_view kNorms[] = {
      "BatchNormalization",        "GlobalLpPool",       "GroupNormalization",
      "InstanceNormalization",     "LayerNormalization", "LpNormalization",
      "MeanVarianceNormalization", "RMSNormalization",   "ReduceL2"};
  if (std::ranges::find(kNorms, op.spec->name) == std::end(kNorms)) return false;
  return std::ranges::any_of(operands, [](const Datum& operand) {
    if (!is_float_tensor(operand)) return false;
    const double most = operand.tensor.type() == DataType::Double ? std::numeric_limits<double>::max()
                                                                  : std::numeric_limits<float>::max();
    const Tensor numbers = cast(operand.tensor, DataType::Double);
    const double limit = std::sqrt(most / static_cast<double>(std::max<std::int64_t>(numbers.size(), 1)));
    return std::ranges::any_of(numbers.values<double>(),
                               [&](double value) { return std::fabs(value) > limit; });
  });
}

// What results are off from those of doubles is what rounding makes of them in one order: of equal numbers a
// variance that is none, which no probe shows, since probes make the numbers unequal.
void widen_to_errors(const ir::Op& op, const Operands& operands, const std::vector<Datum>& results,
                     std::vector<std::optional<Tensor>>& bounds) {
  Operands doubles = operands;
  for (std::size_t i = 0; i < doubles.size(); ++i) {
    Datum& operand = doubles[i];
    if (op.inputs[i].valid() && !(operand.is_tensor() && operand.tensor.defined())) return;
    if (is_float_tensor(operand)) operand = cast(operand.tensor, DataType::Double);
  }
  std::vector<Datum> exact;
  try {
    exact = kernels::evaluate(op, doubles);
  } catch (const Error&) {
    return;  // an op that has no doubles
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!bounds[i] || !is_float_tensor(exact[i])) continue;
    const Tensor from = cast(results[i].tensor, DataType::Double);
    const Tensor to = cast(exact[i].tensor, DataType::Double);
    const auto limits = bounds[i]->values<double>();
    for (std::int64_t e = 0; e < from.size(); ++e)
      limits[e] = std::max(limits[e], 2 * std::fabs(to.data<double>()[e] - from.data<double>()[e]));
  }
}

Tensor infinite(const Tensor& like) {
  return ir::filled(like.type(), like.dims(), std::numeric_limits<double>::infinity());
}

}  // namespace

std::int64_t summed_terms(const ir::TypedOp& op) {
  std::int64_t terms = 1;
  const auto is_static = [](const ir::Type& type) {
    return type.element == DataType::Undefined || type.is_static();
  };
  if (!std::ranges::all_of(op.input_types, is_static) || !std::ranges::all_of(op.output_types, is_static))
    return terms;
  for (const ir::Loop& loop : ir::loops_of(op)) {
    const bool adds = loop.result == ir::LoopResult::Summed || loop.result == ir::LoopResult::Averaged;
    if (adds) terms *= loop.extent;
  }
  return terms;
}

std::optional<Tensor> bound_of_sum(const Sum& sum, const Tensor& magnitudes) {
  const auto roundoff = roundoff_of(magnitudes.type());
  if (!roundoff) return std::nullopt;
  const double share = 2 * static_cast<double>(sum.terms + 1) * roundoff->sum +
                       2 * static_cast<double>(sum.parts + 1) * roundoff->result;
  const double lost =
      2 * static_cast<double>(sum.terms + sum.parts) * roundoff->least * std::max(1.0, std::fabs(sum.factor));
  Tensor bound = cast(magnitudes, DataType::Double);
  if (magnitudes.type() == DataType::Double) bound = bound.clone();
  for (double& value : bound.values<double>()) value = share * std::fabs(value) + lost;
  return bound;
}

Datum magnitude(const Datum& datum) { return is_float_tensor(datum) ? plain("Abs", datum) : datum; }

std::vector<Datum> sums_of_magnitudes(const PlainOps& ops, const ir::Op& op, const Operands& magnitudes) {
  std::vector<Datum> sums = ops.run_once(without_signs(op), magnitudes);
  if (may_overflow(ops, op, magnitudes)) sums[0] = infinite(sums[0].tensor);
  for (Datum& sum : sums) sum = magnitude(sum);
  return sums;
}

std::vector<std::optional<Tensor>> bounds_of_steps(const PlainOps& ops, const ir::Op& op,
                                                   const Operands& operands,
                                                   const std::vector<Datum>& results, std::int64_t terms) {
  constexpr int kProbes = 16;
  // Small changes move what an op makes of equal numbers as much as large ones do: what they differ by is
  // what rounding leaves.
  const std::array<double, 2> shares{1.0 / 128, std::ldexp(1, -18)};
  constexpr std::uint32_t kSeed = 1;
  const double enlarged = 4 * std::sqrt(static_cast<double>(terms));
  std::vector<std::optional<Tensor>> bounds(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_float_tensor(results[i])) bounds[i] = Tensor(DataType::Double, results[i].tensor.dims());
    if (bounds[i]) std::ranges::fill(bounds[i]->values<double>(), 0);
  }
  std::mt19937 random(kSeed);
  for (int probe = 0; probe < kProbes; ++probe) {
    const double share = shares[static_cast<std::size_t>(probe) % shares.size()];
    const std::vector<Datum> moved = ops.run_once(op, changed(operands, share, random));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!bounds[i]) continue;
      const Tensor from = cast(results[i].tensor, DataType::Double);
      const Tensor to = cast(moved[i].tensor, DataType::Double);
      const auto moves = bounds[i]->values<double>();
      for (std::int64_t e = 0; e < from.size(); ++e)
        moves[e] = std::max(moves[e], std::fabs(to.data<double>()[e] - from.data<double>()[e]) / share);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!bounds[i]) continue;
    const auto roundoff = roundoff_of(results[i].tensor.type());
    const Tensor from = cast(results[i].tensor, DataType::Double);
    const auto values = bounds[i]->values<double>();
    for (std::int64_t e = 0; e < from.size() && roundoff; ++e) {
      const double size = std::fabs(from.data<double>()[e]) + enlarged * values[e];
      values[e] =
          2 * (static_cast<double>(terms + 8) * roundoff->sum + roundoff->result) * size + roundoff->least;
    }
    if (!roundoff) bounds[i].reset();
  }
  widen_to_errors(op, operands, results, bounds);
  Operands magnitudes;
  for (const Datum& operand : operands) magnitudes.push_back(magnitude(operand));
  if (bounds[0] && may_overflow(ops, op, magnitudes)) bounds[0] = infinite(*bounds[0]);
  if (squares_may_overflow(op, operands)) {
    for (auto& bound : bounds) {
      if (bound) bound = infinite(*bound);
    }
  }
  return bounds;
}

}  // namespace podium::compare
