// A view is followed back, with the boxes that are wanted of what it is a view of, to the first value of
// which all devices have been brought theirs; from there on each device makes its own.
#include "annotate/part_views.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "annotate/cut_planner.h"
#include "annotate/fit_part.h"
#include "ir/ops/loops.h"

namespace podium::annotate {

using ir::Op;
using ir::TypedOp;
using ir::ValueId;

void PartViews::make(ValueId id, const Boxes& wanted, Context context) {
  const Held& held = held_[id];
  if (held.on.empty() || is_sum(held) || held.is_variable || !type(id).is_static()) return;
  if (have_all(id, wanted)) return;
  std::vector<View> views;  // the last one first
  Boxes boxes = wanted;
  while (!are_known(id, boxes, context)) {
    const Op* op = view_that_makes(id, context);
    if (op == nullptr) return;
    OpCut cut(ir::loops_of(TypedOp(whole_, *op)), plan_.devices);
    if (follow(cut, Side::Output, 0, type(id).dims, boxes) != Followed::Yes) return;
    if (wanted_boxes(cut, Side::Output, 0, type(id).dims) != boxes) return;
    views.push_back({op, cut, boxes});
    id = op->inputs[0];
    boxes = wanted_boxes(cut, Side::Input, 0, type(id).dims);
  }
  for (const View& view : views | std::views::reverse) emit(view, context);
}

bool PartViews::have_all(ValueId id, const Boxes& wanted) const {
  for (int device = 0; device < plan_.devices; ++device) {
    const auto& own = held_[id].on[device];
    if (wanted[device] && (!own || own->box != wanted[device])) return false;
  }
  return true;
}

bool PartViews::are_known(ValueId id, const Boxes& boxes, Context context) const {
  for (int device = 0; device < plan_.devices; ++device) {
    if (boxes[device] && !held_.known(id, device, *boxes[device], context)) return false;
  }
  return true;
}

// Of what devices have; nullptr where no view has made the value.
const Op* PartViews::view_that_makes(ValueId id, Context context) const {
  const ir::OpId maker = makers_.contains(id) ? makers_[id] : ir::OpId();
  if (!maker.valid()) return nullptr;
  const Op& op = ops_[maker.number()];
  const bool can_be_made = is_view(op) && context_of(op) == context &&
                           std::ranges::all_of(op.inputs.begin() + 1, op.inputs.end(),
                                               [&](ValueId input) { return whole_.is_constant(input); });
  if (!can_be_made) return nullptr;
  const Held& source = held_[op.inputs[0]];
  return source.on.empty() || is_sum(source) || !type(op.inputs[0]).is_static() ? nullptr : &op;
}

void PartViews::emit(const View& view, Context context) {
  const Op& op = *view.op;
  const TypedOp typed(whole_, op);
  for (int device = 0; device < plan_.devices; ++device) {
    if (!view.boxes[device]) continue;
    const Box& box = *view.boxes[device];
    Op part = op;
    ir::remove_attribute(part, kShardingPlace);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ir::Dims& dims = type(op.inputs[i]).dims;
      const Box own = i == 0 ? box_for(view.cut, Side::Input, 0, dims, device) : whole_box(dims);
      part.inputs[i] = held_.bring(op.inputs[i], device, own, context);
    }
    held_.put_on(part, device, context);
    fit_part(part, typed, view.cut, device, {box}, held_);
    ir::Type local = type(op.outputs[0]);
    local.dims = dims_of(box);
    const ValueId made = out_.add_value(out_.fresh_part_name(whole_[op.outputs[0]].name), local);
    part.outputs = {made};
    out_.ops.push_back(std::move(part));
    held_.note_made(op.outputs[0], device, box, context, made);
  }
}

}  // namespace podium::annotate
