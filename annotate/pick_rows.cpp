#include "annotate/pick_rows.h"

#include "ir/filled.h"
#include "ir/zero_tensor.h"

namespace podium::annotate {

using ir::Op;
using ir::Tensor;
using ir::ValueId;

ValueId pick_rows(const ir::Graph& whole, const Op& op, const Op& part, const OpCut& cut, int device,
                  Holdings& held, ir::Graph& out) {
  const Context context = context_of(op);
  const ir::Type& data = whole[op.inputs[0]].type;
  const std::int64_t axis = ir::normalized_axis(ir::attribute<std::int64_t>(op, "axis"), data.rank());
  Ranges own;
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    if (cut.loops[l].result == ir::LoopResult::Summed && !cut.ranges[l].empty()) own = cut.ranges[l][device];
  }
  const auto number = [&](std::int64_t value) {
    Tensor tensor = whole[op.inputs[1]].type.element == ir::DataType::Int32
                        ? Tensor::scalar(static_cast<std::int32_t>(value))
                        : Tensor::scalar(value);
    return out.add_constant(out.fresh_name("row"), std::move(tensor));
  };
  const auto make = [&](std::string_view name, std::vector<ValueId> inputs) {
    return held.call(name, std::move(inputs), device, context);
  };
  const ValueId given = part.inputs[1];
  const ValueId index =
      make("Where", {make("Less", {given, number(0)}), make("Add", {given, number(data.dims[axis])}), given});
  ValueId is_own;
  ValueId place = number(0);
  std::int64_t before = 0;
  for (const ir::IndexRange& range : own) {
    const ValueId is_here = make("And", {make("GreaterOrEqual", {index, number(range.begin)}),
                                         make("Less", {index, number(range.end)})});
    is_own = is_own.valid() ? make("Or", {is_own, is_here}) : is_here;
    place = make("Where", {is_here, make("Sub", {index, number(range.begin - before)}), place});
    before += range.end - range.begin;
  }
  const ValueId rows = held.call("Gather", {part.inputs[0], place}, device, context, {{"axis", axis}});
  ir::Dims dims = out[is_own].type.dims;
  dims.insert(dims.end(), data.rank() - axis - 1, 1);
  const ValueId mask = make("Reshape", {is_own, held.ints(dims)});
  const ValueId zero = out.add_constant(out.fresh_name("zero"), ir::zeros(data.element, {}));
  const ValueId picked = make("Where", {mask, rows, zero});
  out[picked].name = out.fresh_part_name(whole[op.outputs[0]].name);
  return picked;
}

}  // namespace podium::annotate
