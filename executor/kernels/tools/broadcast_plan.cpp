#include "executor/kernels/tools/broadcast_plan.h"

#include "ir/error.h"

namespace podium::kernels {
namespace {

// Strides of an operand, per dimension of the output: 0 where it is stretched.
std::vector<std::int64_t> stretched_strides(const Dims& operand, std::size_t rank) {
  std::vector<std::int64_t> strides(rank, 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const std::int64_t size = operand[operand.size() - 1 - i];
    if (size != 1) strides[rank - 1 - i] = stride;
    stride *= size;
  }
  return strides;
}

bool continues(const Offsets& outer, const Offsets& inner, std::int64_t inner_size) {
  for (std::size_t i = 0; i < kMostOperands; ++i) {
    if (outer[i] != inner[i] * inner_size) return false;
  }
  return true;
}

}  // namespace

BroadcastPlan plan_broadcast(const Dims& output, std::span<const Dims* const> operands) {
  IR_CHECK(operands.size() <= kMostOperands);
  BroadcastPlan plan;
  std::array<std::vector<std::int64_t>, kMostOperands> strides;
  for (std::size_t i = 0; i < operands.size(); ++i)
    strides[i] = stretched_strides(*operands[i], output.size());
  for (std::size_t dim = 0; dim < output.size(); ++dim) {
    if (output[dim] == 1) continue;
    Offsets here = {};
    for (std::size_t i = 0; i < operands.size(); ++i) here[i] = strides[i][dim];
    if (!plan.sizes.empty() && continues(plan.strides.back(), here, output[dim])) {
      plan.sizes.back() *= output[dim];
      plan.strides.back() = here;
    } else {
      plan.sizes.push_back(output[dim]);
      plan.strides.push_back(here);
    }
  }
  if (plan.sizes.empty()) return plan;
  if (plan.sizes.size() > kMostOuter)
    throw Error("{} dimensions found, at most {} needed", output.size(), kMostOuter);
  plan.row = plan.sizes.back();
  plan.steps = plan.strides.back();
  plan.sizes.pop_back();
  plan.strides.pop_back();
  for (std::int64_t size : plan.sizes) plan.rows *= size;
  if (plan.row == 0) plan = {.row = 1, .rows = 0};
  return plan;
}

BroadcastPosition::BroadcastPosition(const BroadcastPlan& plan, std::int64_t row) : plan_(plan) {
  for (std::size_t dim = plan.sizes.size(); dim-- > 0;) {
    indices_[dim] = row % plan.sizes[dim];
    row /= plan.sizes[dim];
    for (std::size_t i = 0; i < kMostOperands; ++i) offsets_[i] += indices_[dim] * plan.strides[dim][i];
  }
}

void BroadcastPosition::next_row() {
  for (std::size_t dim = plan_.sizes.size(); dim-- > 0;) {
    const Offsets& strides = plan_.strides[dim];
    for (std::size_t i = 0; i < kMostOperands; ++i) offsets_[i] += strides[i];
    if (++indices_[dim] < plan_.sizes[dim]) return;
    for (std::size_t i = 0; i < kMostOperands; ++i) offsets_[i] -= indices_[dim] * strides[i];
    indices_[dim] = 0;
  }
}

}  // namespace podium::kernels
