#include "ir/ops/totals.h"

#include <algorithm>

namespace podium::ir {
namespace {

std::ptrdiff_t count_without_axis(const SampledOp& op) {
  return std::count(op.inputs.begin(), op.inputs.end(), kNoAxis);
}

bool is_first_of_samples(const SampledOp& op) {
  return op.inputs[0] >= 0 && count_without_axis(op) + 1 == std::ssize(op.inputs);
}

// The kind of the totals among the inputs when the others are the same for all samples; else kNoAxis.
int kind_of_totals(const SampledOp& op) {
  const auto first = std::find_if(op.inputs.begin(), op.inputs.end(), is_total);
  if (first == op.inputs.end()) return kNoAxis;
  const std::ptrdiff_t totals = std::count(op.inputs.begin(), op.inputs.end(), *first);
  return totals + count_without_axis(op) == std::ssize(op.inputs) ? *first : kNoAxis;
}

}  // namespace

int total_of_first(const SampledOp& op) {
  const bool is_alone = count_without_axis(op) + 1 == std::ssize(op.inputs);
  return is_alone && is_total(op.inputs[0]) ? op.inputs[0] : kNoAxis;
}

int scaled_total(const SampledOp& op) {
  return count_without_axis(op) + 1 == std::ssize(op.inputs) ? kind_of_totals(op) : kNoAxis;
}

int sum_of_totals(const SampledOp& op) {
  const int kind = kind_of_totals(op);
  return kind == kAveraged || count_without_axis(op) == 0 ? kind : kNoAxis;
}

int sum_over_samples(const SampledOp& op) { return is_first_of_samples(op) ? kSummed : total_of_first(op); }

int mean_over_samples(const SampledOp& op) {
  return is_first_of_samples(op) ? kAveraged : total_of_first(op);
}

int sum_of_sizes(const SampledOp& op) { return is_first_of_samples(op) ? kSummed : kNoAxis; }

int loss_over_samples(const SampledOp& op) {
  constexpr std::size_t kWeights = 2;
  if (op.inputs[0] != 0 || op.inputs[1] != 0 || op.has(kWeights)) return kNoAxis;
  const std::string& reduction = op.typed.get_string("reduction");
  if (reduction == "sum") return kSummed;
  const bool all_count =
      !op.typed.has_input(kWeights) && op.typed.get_if<std::int64_t>("ignore_index") == nullptr;
  return reduction == "mean" && all_count ? kAveraged : kNoAxis;
}

}  // namespace podium::ir
