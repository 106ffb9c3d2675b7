#include "ir/ops/samples.h"

#include <algorithm>

namespace podium::ir {

std::int64_t axis_attribute(const SampledOp& op, std::int64_t rank) {
  return normalized_axis(op.typed.get_int("axis"), rank);
}

bool each_element(const SampledOp& op) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.has(i) && op.input_from_last(i) != op.output_from_last(0)) return false;
  }
  return true;
}

bool one_input(const SampledOp& op) {
  return std::count(op.inputs.begin(), op.inputs.end(), kNoAxis) + 1 == std::ssize(op.inputs) && op.has(0);
}

bool along_attribute(const SampledOp& op) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.has(i)) continue;
    if (op.inputs[i] != op.outputs[0] || op.inputs[i] == axis_attribute(op, op.typed.input(i).rank()))
      return false;
  }
  return true;
}

bool keeps_whole_axis(const SampledOp& op) {
  const int axis = op.inputs[0];
  return one_input(op) && op.outputs[0] == axis &&
         op.typed.input(0).dims[axis] == op.typed.output(0).dims[axis];
}

bool first_axis(const SampledOp& op) { return one_input(op) && op.inputs[0] == 0; }

bool samples_come_first(const SampledOp& op, unsigned others) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool may_have = i == 0 || (others >> i & 1U) != 0;
    if (op.has(i) && (!may_have || op.inputs[i] != 0)) return false;
  }
  return op.has(0);
}

int axis_after_reshape(const Dims& from, int axis, const Dims& to) {
  std::int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= from[i];
  std::int64_t outer = 1;
  for (int i = 0; i < std::ssize(to); ++i) {
    if (outer == before && to[i] != 1) return i;
    outer *= to[i];
  }
  return kNoAxis;
}

}  // namespace podium::ir
