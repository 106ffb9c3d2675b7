#include <cmath>

#include "annotate/op_steps.h"

namespace podium::annotate {
namespace {

using ir::Term;
using ir::TermBuilder;
using ir::TypedOp;
using ir::ValueId;

bool is_real(ir::DataType element) {
  return element == ir::DataType::Float || element == ir::DataType::Double ||
         element == ir::DataType::Float16 || element == ir::DataType::Bfloat16;
}

// All axes where none are given; nothing for those that are not known or do nothing.
std::vector<std::int64_t> reduced_axes(const TypedOp& op) {
  const std::int64_t rank = op.input(0).rank();
  std::vector<std::int64_t> axes;
  if (op.has_input(1)) {
    if (op.constant(1) == nullptr) return {};
    for (std::int64_t axis : op.constant(1)->to_ints()) axes.push_back(ir::normalized_axis(axis, rank));
  }
  if (!axes.empty() || op.get_int("noop_with_empty_axes") != 0) return axes;
  for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

std::vector<InputAxis> reduction_axes(const TypedOp& op) {
  return is_real(op.element(0)) ? axes_of_input(0, reduced_axes(op)) : std::vector<InputAxis>{};
}

/// What a reduction reads: in float where its elements are narrower. Its axes are read before steps are
/// appended, since constants move then.
struct Reduced {
  std::vector<std::int64_t> axes;
  Term x;

  Reduced(TermBuilder& builder, const TypedOp& op)
      : axes(reduced_axes(op)), x(widened(builder, op.op.inputs[0])) {}

  Term total(Term of, std::string_view reduction, std::int64_t keepdims) const {
    return of.with(reduction, of.builder->ints(axes), {{"keepdims", keepdims}});
  }
};

std::int64_t keeps(const TypedOp& op) { return op.get_int("keepdims"); }

Term narrowed(Term wide, const TypedOp& op) {
  return wide.builder->type(wide).element == op.element(0) ? wide : wide.cast(op.element(0));
}

std::vector<ValueId> smallest(TermBuilder& builder, const TypedOp& op) {
  const Reduced reduced(builder, op);
  return {narrowed(-reduced.total(-reduced.x, "ReduceMax", keeps(op)), op)};
}

std::vector<ValueId> root_of_squares(TermBuilder& builder, const TypedOp& op) {
  const Reduced reduced(builder, op);
  return {narrowed(reduced.total(reduced.x, "ReduceSumSquare", keeps(op)).call("Sqrt"), op)};
}

std::vector<ValueId> log_of_sum(TermBuilder& builder, const TypedOp& op) {
  const Reduced reduced(builder, op);
  return {narrowed(reduced.total(reduced.x, "ReduceSum", keeps(op)).call("Log"), op)};
}

// Powers of what is left without the largest, where that is a number.
std::vector<ValueId> log_of_powers(TermBuilder& builder, const TypedOp& op) {
  const Reduced reduced(builder, op);
  const Term largest = reduced.total(reduced.x, "ReduceMax", 1);
  const Term moved = choose(largest.call("Abs") < HUGE_VAL, largest, 0);
  const Term powers = reduced.total((reduced.x - moved).call("Exp"), "ReduceSum", 1);
  const Term y = powers.call("Log") + moved;
  if (keeps(op) != 0) return {narrowed(y, op)};
  return {narrowed(y.with("Squeeze", builder.ints(reduced.axes)), op)};
}

// The norm of all places of an image's channel.
std::vector<InputAxis> global_pool_axes(const TypedOp& op) {
  std::vector<InputAxis> axes;
  for (std::int64_t axis = 2; axis < op.input(0).rank(); ++axis) axes.push_back({0, axis});
  return axes;
}

std::vector<ValueId> global_norm(TermBuilder& builder, const TypedOp& op) {
  std::vector<std::int64_t> axes;
  for (const InputAxis& one : global_pool_axes(op)) axes.push_back(one.axis);
  const auto p = static_cast<double>(op.get_int("p"));
  const Term x = widened(builder, op.op.inputs[0]);
  const Term power = x.call("Abs").with("Pow", builder.number(p, x));
  const Term sum = power.with("ReduceSum", builder.ints(axes));
  return {narrowed(sum.with("Pow", builder.number(1 / p, x)), op)};
}

std::vector<InputAxis> choice_axes(const TypedOp& op) {
  if (!is_real(op.element(0)) || op.input(0).rank() == 0) return {};
  return {{0, ir::normalized_axis(op.get_int("axis"), op.input(0).rank())}};
}

// The first, or last, place among all parts that has what is largest of all. A number that is none counts as
// the best one.
std::vector<ValueId> place_of_best(TermBuilder& builder, const TypedOp& op) {
  const std::int64_t axis = ir::normalized_axis(op.get_int("axis"), op.input(0).rank());
  const ValueId axes = builder.ints({axis});
  const Term given = term(builder, op.op.inputs[0]);
  const Term x = op.op.is("ArgMin") ? -given : given;
  const Term best = x.with("ReduceMax", axes);
  const Term is_best = x.with("Equal", best).with("Or", x.call("IsNaN"));
  const Term places = counted_along(builder, op.dims(0)[axis], axis, op.input(0).rank());
  const std::vector<ir::Attribute> keeps{{"keepdims", op.get_int("keepdims")}};
  const auto best_place = [&](Term of, std::int64_t none) {
    const ValueId nowhere = builder.builder.constant(ir::Tensor::scalar(none));
    return choose(is_best, of, term(builder, nowhere)).with("ReduceMax", axes, keeps);
  };
  if (op.get_int("select_last_index") != 0) return {best_place(places, -1)};
  return {-best_place(-places, -op.dims(0)[axis])};
}

}  // namespace

std::span<const StepsRow> reduction_rows() {
  static const std::vector<StepsRow> kRows{
      {"ReduceMin", reduction_axes, smallest},
      {"ReduceL2", reduction_axes, root_of_squares},
      {"ReduceLogSum", reduction_axes, log_of_sum},
      {"ReduceLogSumExp", reduction_axes, log_of_powers},
      {"GlobalLpPool", global_pool_axes, global_norm},
      {"ArgMax", choice_axes, place_of_best},
      {"ArgMin", choice_axes, place_of_best},
  };
  return kRows;
}

}  // namespace podium::annotate
