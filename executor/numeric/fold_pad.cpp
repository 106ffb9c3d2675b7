#include "executor/numeric/fold_pad.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "executor/numeric/rewriter.h"
#include "ir/ops/window.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpId;
using ir::ValueId;

// How many zeros a Pad adds, at the begins of all axes and then at their ends; nullopt where it adds others,
// takes elements away, or nobody knows.
std::optional<Dims> zeros_of(const Rewriter& rewriter, const Op& pad) {
  const auto is_there = [&](std::size_t i) { return i < pad.inputs.size() && pad.inputs[i].valid(); };
  const auto constant = [&](std::size_t i) {
    return is_there(i) ? rewriter.constant(pad.inputs[i]) : nullptr;
  };
  if (ir::attribute<std::string>(pad, "mode") != "constant" || constant(1) == nullptr) return std::nullopt;
  if (is_there(2) && rewriter.number(pad.inputs[2]) != 0.0) return std::nullopt;
  if (is_there(3) && constant(3) == nullptr) return std::nullopt;
  const std::int64_t rank = rewriter.type(pad.inputs[0]).rank();
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (is_there(3)) axes = constant(3)->to_ints();
  const Dims given = constant(1)->to_ints();
  Dims zeros(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = ir::normalized_axis(axes[i], rank);
    zeros[axis] = given[i];
    zeros[axis + rank] = given[i + axes.size()];
  }
  const bool adds = std::ranges::all_of(zeros, [](std::int64_t count) { return count >= 0; });
  return adds ? std::optional(zeros) : std::nullopt;
}

void fold_into(Rewriter& rewriter, OpId conv_id) {
  Op conv = rewriter.op(conv_id);
  if (!conv.is("Conv")) return;
  const auto pad_id = rewriter.producer(conv.inputs[0], "Pad");
  const std::string& automatic = ir::attribute<std::string>(conv, "auto_pad");
  if (!pad_id || !rewriter.only_reader(conv.inputs[0]).valid() || automatic.starts_with("SAME")) return;
  const ir::Type& type = rewriter.type(rewriter.op(*pad_id).inputs[0]);
  if (type.element != ir::DataType::Float || !type.is_static() || type.rank() < 3) return;
  const auto zeros = zeros_of(rewriter, rewriter.op(*pad_id));
  if (!zeros) return;
  const std::int64_t rank = type.rank();
  if ((*zeros)[0] + (*zeros)[1] + (*zeros)[rank] + (*zeros)[rank + 1] > 0) return;
  const auto* given = ir::attribute_if<ir::IntList>(conv, "pads");
  const std::int64_t spatial = rank - 2;
  Dims pads(2 * spatial, 0);
  if (given != nullptr && automatic != "VALID") pads = *given;
  for (std::int64_t i = 0; i < spatial; ++i) {
    pads[i] += (*zeros)[i + 2];
    pads[i + spatial] += (*zeros)[i + 2 + rank];
  }
  conv.inputs[0] = rewriter.op(*pad_id).inputs[0];
  ir::set_attribute(conv, "auto_pad", std::string("NOTSET"));
  ir::set_attribute(conv, "pads", pads);
  rewriter.erase(*pad_id);
  rewriter.replace(conv_id, std::move(conv));
}

}  // namespace

bool fold_pad(ir::Graph& graph) { return rewrite_ops(graph, fold_into); }

}  // namespace podium::numeric
