// A gradient is found from its end:
//   dX = Where(Equal(labels, [0, 1, ...]), flow, 0) - Softmax(X) * flow
// with labels [rows, 1] and a flow of each row, or one number for all.
#include "executor/numeric/fuse_loss_gradient.h"

#include <optional>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::OpId;
using ir::ValueId;

// `id` is made by an op of this name for the one that reads it, and for no other.
std::optional<OpId> made_for_one(const Rewriter& rewriter, ValueId id, std::string_view name) {
  const auto found = rewriter.producer(id, name);
  return found && rewriter.only_reader(id).valid() ? found : std::nullopt;
}

bool are_counted(const Rewriter& rewriter, ValueId id, std::int64_t count) {
  const ir::Tensor* numbers = rewriter.constant(id);
  if (numbers == nullptr || numbers->type() != ir::DataType::Int64 || numbers->size() != count) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    if (numbers->data<std::int64_t>()[i] != i) return false;
  }
  return rewriter.type(id).dims.back() == count;
}

// The labels of Equal(labels, [0, 1, ...]).
std::optional<ValueId> labels_in(const Rewriter& rewriter, ValueId is_target, const Dims& scores) {
  const auto equal = made_for_one(rewriter, is_target, "Equal");
  if (!equal) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId labels = rewriter.op(*equal).inputs[i];
    const ir::Type labels_type = rewriter.type(labels);
    if (labels_type == ir::Type::tensor(ir::DataType::Int64, {scores[0], 1}) &&
        are_counted(rewriter, rewriter.op(*equal).inputs[1 - i], scores[1]))
      return labels;
  }
  return std::nullopt;
}

// The flow of Where(is target, flow, 0) with these labels.
struct Chosen {
  ValueId labels;
  ValueId flow;
};

std::optional<Chosen> chosen_in(const Rewriter& rewriter, ValueId id, const Dims& scores) {
  const auto where = made_for_one(rewriter, id, "Where");
  if (!where || rewriter.number(rewriter.op(*where).inputs[2]) != 0.0) return std::nullopt;
  const ValueId flow = rewriter.op(*where).inputs[1];
  const Dims& dims = rewriter.type(flow).dims;
  if (ir::element_count(dims) != 1 && dims != Dims{scores[0], 1}) return std::nullopt;
  const auto labels = labels_in(rewriter, rewriter.op(*where).inputs[0], scores);
  return labels ? std::optional(Chosen{*labels, flow}) : std::nullopt;
}

// X of Softmax(X) * flow.
std::optional<ValueId> scores_in(const Rewriter& rewriter, ValueId id, ValueId flow) {
  const auto mul = made_for_one(rewriter, id, "Mul");
  if (!mul) return std::nullopt;
  for (const ValueId shares : rewriter.op(*mul).inputs) {
    const auto softmax = made_for_one(rewriter, shares, "Softmax");
    if (!softmax || rewriter.other_input(*mul, shares) != flow) continue;
    const auto axis = ir::attribute<std::int64_t>(rewriter.op(*softmax), "axis");
    if (ir::normalized_axis(axis, rewriter.type(shares).rank()) == 1) return rewriter.op(*softmax).inputs[0];
  }
  return std::nullopt;
}

void fuse_loss_at(Rewriter& rewriter, OpId id) {
  const ir::Op& op = rewriter.op(id);
  if (!op.is("Sub") || !is_static_float(rewriter.graph(), op)) return;
  const ir::Type& type = rewriter.type(op.outputs[0]);
  if (type.rank() != 2) return;
  const auto chosen = chosen_in(rewriter, op.inputs[0], type.dims);
  const auto scores = chosen ? scores_in(rewriter, op.inputs[1], chosen->flow) : std::nullopt;
  if (!scores || !(rewriter.type(*scores) == type)) return;
  ir::Op fused =
      make_op("CrossEntropyGradient", "podium", {*scores, chosen->labels, chosen->flow}, {op.outputs[0]});
  fused.name = op.name;
  rewriter.replace(id, std::move(fused));
}

}  // namespace

bool fuse_loss_gradient(ir::Graph& graph) { return rewrite_ops(graph, fuse_loss_at); }

}  // namespace podium::numeric
