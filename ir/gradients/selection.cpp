// Ops whose outputs are elements of their inputs: what flows goes back to where each element came from.
// One rule serves most: run the op again on the positions 1, 2, ... of the input's elements, which says where
// each output element came from (0: from nowhere), and add up the flow by these numbers with a
// ScatterElements. Cheaper rules stand in where they exist: slices of step 1 are padded, known
// padding is cut off, Gather adds up slices, ops that only permute are undone. Scatters share what flows
// among data and updates by their reduction.
#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/pad.h"
#include "ir/ops/slice.h"
#include "ir/permutation.h"

namespace podium::ir {
namespace {

// first, first + 1, ... in the shape of `like`.
ValueId positions(GradientContext& context, ValueId like, std::int64_t first) {
  const Dims dims = context.static_dims(like);
  std::vector<std::int64_t> numbers(element_count(dims));
  std::iota(numbers.begin(), numbers.end(), first);
  return context.builder.constant(Tensor::ints(numbers).reshaped(dims));
}

// The op itself on other inputs.
ValueId again(GradientContext& context, std::vector<ValueId> inputs) {
  return context.builder.ops(context.op.spec->domain, context.op.spec->name, std::move(inputs), 1,
                             context.op.attributes)[0];
}

// Sums the gradient by the position that each output element came from: 1 to `count`; 0 is nowhere.
Term add_up(GradientContext& context, ValueId origins, std::int64_t count) {
  const ValueId all = context.ints({-1});
  const Term flow = flow_of(context).with("Reshape", all);
  const Term nothing =
      term(context, context.call("Expand", {context.number(0, flow), context.ints({count + 1})}));
  const ValueId sums =
      context.call("ScatterElements", {nothing, context.call("Reshape", {origins, all}), flow},
                   {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
  return term(context, context.call("Slice", {sums, context.ints({1}), context.ints({count + 1})}));
}

// The incoming gradient with zeros around it.
ValueId padded(GradientContext& context, const Dims& pads) {
  return flow_of(context).with("Pad", context.ints(pads));
}

std::optional<Dims> known_ints(GradientContext& context, std::size_t i) {
  if (!context.has_input(i)) return Dims{};
  const std::optional<Tensor>& known = context.builder.graph()[context.input(i)].constant;
  return known ? std::optional(known->to_ints()) : std::nullopt;
}

IntList axis_first(std::int64_t axis, std::int64_t rank) {
  IntList order(rank);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return order;
}

// Adds up slices along `axis`, which `index_rank` axes of indices have replaced in `flow`, where these say
// that they come from.
ValueId add_up_slices(GradientContext& context, const Dims& dims, std::int64_t axis, ValueId indices,
                      std::int64_t index_rank) {
  const auto rank = std::ssize(dims);
  IntList flow_order(rank - 1 + index_rank);
  std::iota(flow_order.begin(), flow_order.end(), std::int64_t{0});
  std::rotate(flow_order.begin(), flow_order.begin() + axis, flow_order.begin() + axis + index_rank);
  const IntList order = axis_first(axis, rank);
  Dims rows;
  for (std::int64_t from : order) rows.push_back(dims[from]);
  const Term flow = flow_of(context);
  const Term nothing{&context, context.call("Expand", {context.number(0, flow), context.ints(rows)})};
  rows[0] = -1;
  const Term updates = flow.call("Transpose", {{"perm", flow_order}}).with("Reshape", context.ints(rows));
  const ValueId column = context.call("Reshape", {indices, context.ints({-1, 1})});
  const ValueId sums =
      context.call("ScatterND", {nothing, column, updates}, {{"reduction", std::string("add")}});
  return context.call("Transpose", {sums}, {{"perm", inverse_order(order)}});
}

// The op applied to the positions of input 0's elements says where each output element came from.
void selection_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  const ValueId x = context.input(0);
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = positions(context, x, 1);
  const std::int64_t count = element_count(context.static_dims(x));
  context.set(0, context.reshape_like(add_up(context, again(context, inputs), count), x));
}

void gather_gradient(GradientContext& context) {
  const Dims dims = context.static_dims(context.input(0));
  const std::int64_t axis = normalized_axis(attribute<std::int64_t>(context.op, "axis"), std::ssize(dims));
  context.set(0, add_up_slices(context, dims, axis, context.input(1), context.rank(context.input(1))));
}

// The gradient goes to the first of equal elements or slices.
void unique_gradient(GradientContext& context) {
  if (!context.output_gradient().valid()) return;
  const ValueId x = context.input(0);
  const Dims dims = context.static_dims(x);
  const ValueId first = context.builder.ops("", "Unique", {x}, 2, context.op.attributes)[1];
  if (const auto* axis = attribute_if<std::int64_t>(context.op, "axis")) {
    return context.set(0, add_up_slices(context, dims, normalized_axis(*axis, std::ssize(dims)), first, 1));
  }
  const ValueId flat = add_up_slices(context, {element_count(dims)}, 0, first, 1);
  context.set(0, context.reshape_like(flat, x));
}

// Columns that the indices name; of one dimension a row.
void array_feature_extractor_gradient(GradientContext& context) {
  const ValueId x = context.input(0);
  const Dims dims = context.static_dims(x);
  Dims rows = dims;
  rows.back() = -1;
  context.output_gradients[0] = flow_of(context).with("Reshape", context.ints(rows));
  const ValueId indices = context.call("Reshape", {context.input(1), context.ints({-1})});
  context.set(0, add_up_slices(context, dims, std::ssize(dims) - 1, indices, 1));
}

void slice_gradient(GradientContext& context) {
  const auto starts = known_ints(context, 1);
  const auto ends = known_ints(context, 2);
  const auto axes = known_ints(context, 3);
  const auto steps = known_ints(context, 4);
  if (!starts || !ends || !axes || !steps) return selection_gradient(context);
  const Dims dims = context.static_dims(context.input(0));
  Dims pads(2 * dims.size());
  const std::vector<AxisSlice> slices = slices_of(dims, *starts, *ends, *axes, *steps);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (slices[i].step != 1) return selection_gradient(context);
    pads[i] = slices[i].first;
    pads[i + dims.size()] = dims[i] - slices[i].first - slices[i].count;
  }
  context.set(0, padded(context, pads));
}

// Of a Pad that adds constants, axis by axis, where they are known before the run.
std::optional<std::vector<AxisPads>> known_pads(GradientContext& context) {
  if (attribute<std::string>(context.op, "mode") != "constant") return std::nullopt;
  const auto pads = known_ints(context, 1);
  auto axes = known_ints(context, 3);
  if (!pads || !axes) return std::nullopt;
  const std::int64_t rank = context.rank(context.input(0));
  if (!context.has_input(3)) {
    axes->resize(rank);
    std::iota(axes->begin(), axes->end(), std::int64_t{0});
  }
  return pads_of(*pads, *axes, rank);
}

// What flows to the elements that a Pad keeps: the padding is cut off, and what was cut off gets nothing.
ValueId without_padding(GradientContext& context, const std::vector<AxisPads>& pads) {
  const Dims dims = context.static_dims(context.input(0));
  const auto rank = dims.size();
  Dims starts(rank);
  Dims ends(rank);
  Dims back(2 * rank);
  bool cuts = false;
  for (std::size_t i = 0; i < rank; ++i) {
    starts[i] = pads[i].begin;
    ends[i] = pads[i].begin + dims[i];
    back[i] = -pads[i].begin;
    back[i + rank] = -pads[i].end;
    cuts = cuts || pads[i].begin < 0 || pads[i].end < 0;
  }
  if (cuts) return padded(context, back);
  return context.call("Slice", {flow_of(context), context.ints(starts), context.ints(ends)});
}

// The padding is cut off the gradient. An input element that padding repeated gets the sum over its copies.
void pad_gradient(GradientContext& context) {
  const ValueId x = context.input(0);
  const auto pads = known_pads(context);
  if (pads && context.wants(0)) context.set(0, without_padding(context, *pads));
  if (pads && !context.wants(2)) return;
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = positions(context, x, 1);
  if (inputs.size() > 2) inputs[2] = kNoValue;
  while (!inputs.back().valid()) inputs.pop_back();
  const ValueId origins = again(context, inputs);
  if (context.wants(0) && !pads) {
    context.set(0, context.reshape_like(add_up(context, origins, element_count(context.static_dims(x))), x));
  }
  if (context.wants(2)) {
    const Term is_added =
        term(context, origins).with("Equal", context.builder.constant(Tensor::scalar<std::int64_t>(0)));
    context.set(2, context.sum_to_shape_of(choose(is_added, flow_of(context), 0), context.input(2)));
  }
}

void reverse_sequence_gradient(GradientContext& context) {
  context.set(0, again(context, {context.output_gradient(), context.input(1)}));
}

void trilu_gradient(GradientContext& context) {
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = context.output_gradient();
  context.set(0, again(context, inputs));
}

void depth_to_space_gradient(GradientContext& context) {
  context.set(0, flow_of(context).call("SpaceToDepth", context.op.attributes));
}

void space_to_depth_gradient(GradientContext& context) {
  context.set(0, flow_of(context).call("DepthToSpace", context.op.attributes));
}

// ScatterElements or ScatterND, and the op that gathers again.
class Scattering {
 public:
  explicit Scattering(GradientContext& context) : context_(context) {
    const bool by_element = context.op.is("ScatterElements");
    gather_ = by_element ? "GatherElements" : "GatherND";
    if (by_element) axis_.push_back({"axis", attribute<std::int64_t>(context.op, "axis")});
  }

  Term at_indices(Term value) const { return value.with(gather_, context_.input(1), axis_); }

  Term scatter(Term data, Term updates, const char* reduction) const {
    std::vector<Attribute> attributes = axis_;
    attributes.push_back({"reduction", std::string(reduction)});
    return term(context_, context_.call(context_.op.spec->name, {data, context_.input(1), updates},
                                        std::move(attributes)));
  }

  // The product of all other factors, also where one of them is 0.
  void set_product_gradient() {
    const Term data = term(context_, context_.input(0));
    const Term updates = term(context_, context_.input(2));
    const auto is_zero = [](Term x) { return x.with("Equal", x.like(0)); };
    const auto or_one = [&](Term x) { return choose(is_zero(x), x.like(1), x); };
    const auto counted = [&](Term x) { return choose(is_zero(x), x.like(1), 0); };
    const Term zeros = scatter(counted(data), counted(updates), "add");
    const Term flow = flow_of(context_) * scatter(or_one(data), or_one(updates), "mul");
    const auto without = [&](Term x, Term around, Term of) {
      return choose(around.with("Equal", counted(x)), of / or_one(x), 0);
    };
    if (context_.wants(0)) context_.set(0, without(data, zeros, flow));
    if (context_.wants(2)) context_.set(2, without(updates, at_indices(zeros), at_indices(flow)));
  }

 private:
  GradientContext& context_;
  std::string gather_;
  std::vector<Attribute> axis_;
};

// Elements that equal an extreme share its gradient.
void scatter_gradient(GradientContext& context) {
  Scattering scattering(context);
  const auto& reduction = attribute<std::string>(context.op, "reduction");
  const Term updates = term(context, context.input(2));
  const Term flow = flow_of(context);
  if (reduction == "mul") return scattering.set_product_gradient();
  if (reduction == "none" || reduction == "add") {
    const Term nothing{&context, context.filled_like(updates, 0)};
    if (context.wants(0))
      context.set(0, reduction == "add" ? flow : scattering.scatter(flow, nothing, "none"));
    if (context.wants(2)) context.set(2, scattering.at_indices(flow));
    return;
  }
  const Term y = term(context, context.output());
  const auto gave = [](Term x, Term extreme) { return choose(x.with("Equal", extreme), x.like(1), 0); };
  const Term data_gave = gave(term(context, context.input(0)), y);
  const Term update_gave = gave(updates, scattering.at_indices(y));
  const Term share = flow / scattering.scatter(data_gave, update_gave, "add");
  if (context.wants(0)) context.set(0, data_gave * share);
  if (context.wants(2)) context.set(2, update_gave * scattering.at_indices(share));
}

void tensor_scatter_gradient(GradientContext& context) {
  const std::int64_t past = element_count(context.static_dims(context.input(0)));
  const std::int64_t update = element_count(context.static_dims(context.input(1)));
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = positions(context, context.input(0), 1);
  inputs[1] = positions(context, context.input(1), past + 1);
  const ValueId sums = add_up(context, again(context, inputs), past + update);
  const auto parts = context.builder.ops("", "Split", {sums, context.ints({past, update})}, 2);
  for (std::size_t i = 0; i < 2; ++i) context.set(i, context.reshape_like(parts[i], context.input(i)));
}

void top_k_gradient(GradientContext& context) {
  const ValueId nothing = context.filled_like(context.input(0), 0);
  context.set(0, context.call("ScatterElements", {nothing, context.output(1), context.output_gradient()},
                              {{"axis", attribute<std::int64_t>(context.op, "axis")}}));
}

// The two values: of the other elements and of the hot ones.
void one_hot_gradient(GradientContext& context) {
  const Term flow = flow_of(context);
  const ValueId all = context.ints({-1});
  const ValueId marks = context.call("Concat",
                                     {context.call("Reshape", {context.number(0, flow), all}),
                                      context.call("Reshape", {context.number(1, flow), all})},
                                     {{"axis", std::int64_t{0}}});
  const Term is_hot{&context, again(context, {context.input(0), context.input(1), marks})};
  const auto total = [&](Term value) { return value.with("Reshape", all).call("ReduceSum"); };
  const Term hot = total(flow * is_hot);
  context.set(2, context.call("Concat", {total(flow) - hot, hot}, {{"axis", std::int64_t{0}}}));
}

}  // namespace

std::span<const GradientRow> selection_gradients() {
  static constexpr GradientRow kRows[]{
      {"Tile", selection_gradient},
      {"Slice", slice_gradient},
      {"CenterCropPad", selection_gradient},
      {"Trilu", trilu_gradient},
      {"DepthToSpace", depth_to_space_gradient},
      {"SpaceToDepth", space_to_depth_gradient},
      {"Gather", gather_gradient},
      {"GatherElements", selection_gradient},
      {"GatherND", selection_gradient},
      {"ScatterElements", scatter_gradient},
      {"ScatterND", scatter_gradient},
      {"TensorScatter", tensor_scatter_gradient},
      {"Compress", selection_gradient},
      {"OneHot", one_hot_gradient},
      {"ReverseSequence", reverse_sequence_gradient},
      {"Pad", pad_gradient},
      {"TopK", top_k_gradient},
      {"Unique", unique_gradient},
      {"ArrayFeatureExtractor", array_feature_extractor_gradient, "ai.onnx.ml"},
  };
  return kRows;
}

}  // namespace podium::ir
