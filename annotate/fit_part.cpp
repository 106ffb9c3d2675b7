// What an op says of sizes, in inputs and attributes, becomes that of its part: shapes and lengths, windows
// at true edges alone, counts of groups and heads, places of queries.
#include "annotate/fit_part.h"

#include "ir/attribute.h"
#include "ir/infer.h"
#include "ir/ops/attention.h"
#include "ir/ops/loops.h"

namespace podium::annotate {
namespace {

using ir::LoopResult;
using ir::Op;
using ir::TypedOp;

// Of the loop over `extent` blocks of several elements along an axis of the first input, if it is cut.
std::optional<std::int64_t> iterations_along(const OpCut& cut, int device, int axis, std::int64_t extent) {
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    const ir::Loop& loop = cut.loops[l];
    const bool is_own = loop.inputs[0].axis == axis && loop.extent == extent && !loop.slide;
    const bool has_results = loop.outputs[0].axis != ir::kNoAxis && loop.result == LoopResult::Apart;
    if (is_own && has_results && !cut.ranges[l].empty()) return length(cut.ranges[l][device]);
  }
  return std::nullopt;
}

// Which queries of all a part of an Attention has: they run along the first operand alone, beside the mask.
void say_places(Op& part, const OpCut& cut, int device) {
  using In = ir::AttentionInput;
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    const ir::Loop& loop = cut.loops[l];
    if (cut.ranges[l].empty() || loop.inputs[In::kQ].axis <= 0 || loop.inputs[In::kK].axis != ir::kNoAxis)
      continue;
    ir::IntList ranges;
    for (const IndexRange& own : cut.ranges[l][device]) ranges.insert(ranges.end(), {own.begin, own.end});
    set_attribute(part, std::string(ir::kQueryRanges), std::move(ranges));
  }
}

// Groups of channels and heads, of which the part has as many as its loop over them has iterations.
void fit_counts(Op& part, const TypedOp& whole, const OpCut& cut, int device) {
  for (const std::string_view name : {"group", "num_groups"}) {
    if (const auto* count = ir::attribute_if<std::int64_t>(part, name)) {
      if (const auto own = iterations_along(cut, device, 1, *count))
        set_attribute(part, std::string(name), *own);
    }
  }
  constexpr int kFeatures = 2;
  if (part.is("RotaryEmbedding")) {
    const auto heads = ir::attribute<std::int64_t>(part, "num_heads");
    if (const auto own = iterations_along(cut, device, kFeatures, heads))
      set_attribute(part, "num_heads", *own);
  }
  if (!part.is("Attention")) return;
  if (ir::sees_by_position(whole)) say_places(part, cut, device);
  const auto* heads = ir::attribute_if<std::int64_t>(part, "kv_num_heads");
  if (heads == nullptr || *heads == 0) return;
  if (const auto own = iterations_along(cut, device, kFeatures, *heads)) {
    set_attribute(part, "q_num_heads", ir::attribute<std::int64_t>(part, "q_num_heads") / *heads * *own);
    set_attribute(part, "kv_num_heads", *own);
  }
}

void add_bias_once(Op& part, const OpCut& cut, int device) {
  if (part.inputs.size() < 3) return;
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    const bool is_other = cut.loops[l].result == LoopResult::Summed && !cut.ranges[l].empty() &&
                          cut.ranges[l][device].front().begin != 0;
    if (is_other) part.inputs[2] = ir::kNoValue;
  }
}

// Sizes that an op has in an input or attribute; and what is added to a sum, which one part of it adds.
void fit_sizes(Op& part, const TypedOp& whole, const OpCut& cut, int device, const std::vector<Box>& boxes,
               Holdings& held) {
  if (part.is("Reshape") || part.is("Expand")) part.inputs[1] = held.ints(dims_of(boxes[0]));
  if (part.is("Split") && part.inputs.size() > 1 && part.inputs[1].valid()) {
    const auto axis = ir::normalized_axis(ir::attribute<std::int64_t>(part, "axis"), std::ssize(boxes[0]));
    std::vector<std::int64_t> sizes;
    for (const Box& box : boxes) sizes.push_back(length(box[axis]));
    part.inputs[1] = held.ints(sizes);
  }
  constexpr std::size_t kSizes = 3;
  if (part.is("Resize") && part.inputs.size() > kSizes && part.inputs[kSizes].valid())
    part.inputs[kSizes] = held.ints(dims_of(boxes[0]));
  if (part.is("Gemm") || part.is("Conv") || part.is("ConvTranspose")) add_bias_once(part, cut, device);
  fit_counts(part, whole, cut, device);
}

// A Squeeze that names no axes takes those of one element: of the whole, not of a part of one element.
void name_axes(const TypedOp& whole, Op& part, Holdings& held) {
  constexpr std::size_t kAxes = 1;
  if (!part.is("Squeeze") || whole.has_input(kAxes)) return;
  const ir::Dims& dims = whole.dims(0);
  ir::Dims ones;
  for (std::int64_t axis = 0; axis < std::ssize(dims); ++axis) {
    if (dims[axis] == 1) ones.push_back(axis);
  }
  part.inputs.resize(kAxes + 1);
  part.inputs[kAxes] = held.ints(ones);
}

// What is not cut may have windows of a size that nobody knows.
void fit_windows(Op& part, const TypedOp& typed, const OpCut& cut, int device) {
  const auto slides = slides_of(typed);
  if (!slides.empty()) fit_slides(part, slides, parts_of_slides(cut, slides, device));
}

}  // namespace

void fit_part(Op& part, const TypedOp& whole, const OpCut& cut, int device, const std::vector<Box>& boxes,
              Holdings& held) {
  if (!cut.is_cut()) return;
  fit_sizes(part, whole, cut, device, boxes, held);
  fit_windows(part, whole, cut, device);
  name_axes(whole, part, held);
}

}  // namespace podium::annotate
