#include "executor/numeric/fuse_group_norm.h"

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

using ir::Op;
using ir::OpId;
using ir::Tensor;
using ir::ValueId;

namespace {

// A constant of a number for each channel of a tensor of this rank, [C, 1, ...] or [1, C, 1, ...].
const Tensor* of_channels(const Rewriter& rewriter, ValueId id, std::int64_t channels, std::int64_t rank) {
  const Tensor* tensor = rewriter.constant(id);
  const bool fits = tensor != nullptr && tensor->size() == channels && tensor->rank() >= rank - 1 &&
                    tensor->rank() <= rank && tensor->dims()[tensor->rank() - rank + 1] == channels;
  return fits ? tensor : nullptr;
}

// What multiplies or is added behind `value`, the same for all elements of a channel, and the op.
struct Following {
  OpId id;
  const Tensor* numbers = nullptr;
};
std::optional<Following> following(const Rewriter& rewriter, ValueId value, std::string_view name,
                                   const ir::Dims& x) {
  const auto reader = rewriter.only_reader(value, name);
  if (!reader) return std::nullopt;
  const Tensor* numbers = of_channels(rewriter, rewriter.other_input(*reader, value), x[1], std::ssize(x));
  return numbers == nullptr ? std::nullopt : std::optional(Following{*reader, numbers});
}

void fuse_group_norm_at(Rewriter& rewriter, OpId id) {
  const Op norm = rewriter.op(id);
  const auto joining = rewriter.producer(norm.inputs[0], "Reshape");
  const auto parting = rewriter.only_reader(norm.outputs[0], "Reshape");
  if (!joining || !parting || rewriter.op(*parting).inputs[0] != norm.outputs[0]) return;
  const ValueId x = rewriter.op(*joining).inputs[0];
  const ir::Dims dims = rewriter.type(x).dims;
  const ir::Dims grouped = rewriter.type(norm.inputs[0]).dims;
  const Tensor* scale = rewriter.constant(norm.inputs[1]);
  const Tensor* bias = rewriter.constant(norm.inputs[2]);
  if (dims.size() < 3 || grouped[0] != dims[0] || dims[1] % grouped[1] != 0 ||
      rewriter.type(rewriter.op(*parting).outputs[0]).dims != dims || scale == nullptr || bias == nullptr)
    return;
  const std::int64_t channels = dims[1];
  const std::int64_t in_group = channels / grouped[1];
  OpId last = *parting;
  const auto multiplied = following(rewriter, rewriter.op(last).outputs[0], "Mul", dims);
  if (multiplied) last = multiplied->id;
  const auto added = following(rewriter, rewriter.op(last).outputs[0], "Add", dims);
  if (added) last = added->id;
  Tensor factors(ir::DataType::Float, {channels});
  Tensor shifts(ir::DataType::Float, {channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    const float factor = multiplied ? multiplied->numbers->data<float>()[c] : 1;
    factors.data<float>()[c] = scale->data<float>()[c / in_group] * factor;
    shifts.data<float>()[c] = bias->data<float>()[c / in_group] * factor;
    if (added) shifts.data<float>()[c] += added->numbers->data<float>()[c];
  }
  ir::Graph& graph = rewriter.graph();
  const ValueId scales = graph.add_constant(graph.fresh_name("scale"), std::move(factors));
  const ValueId biases = graph.add_constant(graph.fresh_name("bias"), std::move(shifts));
  Op fused = make_op("GroupNormalization", "", {x, scales, biases}, rewriter.op(last).outputs,
                     {{"epsilon", ir::attribute<float>(norm, "epsilon")}, {"num_groups", grouped[1]}});
  fused.name = norm.name;
  rewriter.replace(last, std::move(fused));
}

}  // namespace

bool fuse_group_norm(ir::Graph& graph) {
  return rewrite_ops(graph, [](Rewriter& rewriter, OpId id) {
    const ir::Op& op = rewriter.op(id);
    if (op.is("InstanceNormalization") && is_static_float(rewriter.graph(), op))
      fuse_group_norm_at(rewriter, id);
  });
}

}  // namespace podium::numeric
