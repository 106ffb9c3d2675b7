#include "executor/sim/kept_rows.h"

#include <algorithm>

namespace podium::sim {
namespace {

using ir::TypedOp;

double elements_from(const ir::Dims& dims, std::int64_t first) {
  double elements = 1;
  for (auto i = static_cast<std::size_t>(first); i < dims.size(); ++i)
    elements *= static_cast<double>(dims[i]);
  return elements;
}

// Of the samples that are normalised together: none where the running statistics are inputs.
double batch_elements(const TypedOp& op) {
  const ir::Dims& dims = op.dims(0);
  if (op.get_int("training_mode") == 0) return 1;
  return elements_from(dims, 0) / static_cast<double>(dims.size() > 1 ? dims[1] : 1);
}

// The elements that a statistic is made of; 1 where the op makes none.
double row_elements(const TypedOp& op) {
  const ir::Dims& dims = op.dims(0);
  const auto rank = std::ssize(dims);
  if (rank == 0 || op.op.is("LRN")) return 1;
  if (op.op.is("BatchNormalization")) return batch_elements(op);
  if (op.op.is("SoftmaxCrossEntropyLoss")) return static_cast<double>(dims[1]);
  if (const auto* groups = op.get_if<std::int64_t>("num_groups"))
    return elements_from(dims, 1) / static_cast<double>(*groups);
  if (const auto* axes = op.get_if<ir::IntList>("axes")) {
    double elements = 1;
    for (std::int64_t axis : *axes) elements *= static_cast<double>(dims[ir::normalized_axis(axis, rank)]);
    return elements;
  }
  const auto* axis = op.get_if<std::int64_t>("axis");
  if (axis == nullptr) return elements_from(dims, std::min<std::int64_t>(2, rank));
  const std::int64_t first = ir::normalized_axis(*axis, rank);
  const bool has_rest = op.op.is("LayerNormalization") || op.op.is("RMSNormalization");
  return has_rest ? elements_from(dims, first) : static_cast<double>(dims[first]);
}

}  // namespace

bool keeps_row(double elements, const device::Device& device) {
  constexpr double kSingleBytes = 4;
  return elements * kSingleBytes <= static_cast<double>(device.row_bytes);
}

double operand_reads(const TypedOp& op, const device::Device& device) {
  const bool is_loss = op.op.is("SoftmaxCrossEntropyLoss");
  const bool normalizes =
      (is_loss || op.op.spec->category == ir::Category::Normalizing) && op.input(0).is_static();
  return normalizes && row_elements(op) > 1 && !keeps_row(row_elements(op), device) ? 2 : 1;
}

}  // namespace podium::sim
