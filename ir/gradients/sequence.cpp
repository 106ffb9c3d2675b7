// Sequences and optionals. The gradient of a sequence is a sequence of as many items, that of an optional an
// optional.
#include "ir/gradients/body.h"
#include "ir/gradients/differentiate.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

ValueId whole(GradientContext& context, std::int64_t value) {
  return context.builder.constant(Tensor::scalar(value));
}

// The position that input i names in a sequence, counted from the front.
ValueId place(GradientContext& context, std::size_t i, ValueId sequence) {
  const Term given = term(context, context.input(i)).cast(DataType::Int64);
  const Term length{&context, context.call("SequenceLength", {sequence})};
  return choose(given < term(context, whole(context, 0)), given + length, given);
}

// The sum of a sequence of tensors that are shaped like `like`; of none it is 0.
ValueId sum_of_items(GradientContext& context, ValueId sequence, ValueId like) {
  const ValueId nothing = context.filled_like(like, 0);
  const ValueId items = context.call("SequenceInsert", {sequence, nothing});
  const std::vector<Attribute> stacked{{"axis", std::int64_t{0}}, {"new_axis", std::int64_t{1}}};
  const ValueId all = context.call("ConcatFromSequence", {items}, stacked);
  const ValueId sum = context.call("ReduceSum", {all, context.ints({0})}, {{"keepdims", std::int64_t{0}}});
  return context.reshape_like(sum, like);
}

// The op on the same items, with a body that computes itself again and then its gradients.
class MappedBackward {
 public:
  explicit MappedBackward(GradientContext& context)
      : context_(context), op_{.spec = context.op.spec}, body_(*attribute<Body>(context.op, "body")) {
    if (!random_values(body_).empty()) throw Error("no gradient through what body draws at random");
    for (std::size_t i = 0; i < context.op.inputs.size(); ++i) {
      if (context.wants(i)) wanted_.push_back(i);
    }
  }

  void run() {
    const std::size_t formal = context_.op.formal_inputs();
    const auto first_captured = [&](auto& list) { return list.begin() + formal; };
    std::vector<ValueId> xs;
    for (std::size_t i : wanted_) xs.push_back(body_.inputs[i]);
    op_.inputs = context_.op.inputs;
    op_.captures = context_.op.captures;
    std::vector<FlowInto> flows;
    std::vector<ValueId> outer;
    for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
      const ValueId flow = context_.output_gradients[i];
      if (!flow.valid()) continue;
      const Type type = *context_.type(flow).inner;
      flows.push_back({body_.outputs[i], body_.add_value(body_.fresh_name("flow"), type)});
      outer.push_back(flow);
    }
    op_.inputs.insert(first_captured(op_.inputs), outer.begin(), outer.end());
    std::vector<ValueId> inner;
    for (const FlowInto& flow : flows) inner.push_back(flow.gradient);
    body_.inputs.insert(first_captured(body_.inputs), inner.begin(), inner.end());
    body_.outputs.clear();
    for (ValueId id : differentiate(body_, flows, xs, {}, {})) body_.outputs.push_back(handed_on(body_, id));
    hand_over();
  }

 private:
  // Each item has its own gradient; an input that is no sequence is shared by all items and gets the sum.
  void hand_over() {
    set_attribute(op_, "body", std::make_shared<const Graph>(std::move(body_)));
    const std::vector<ValueId> found = context_.builder.append(std::move(op_), wanted_.size());
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      const std::size_t i = wanted_[k];
      const ValueId x = context_.input(i);
      const bool is_shared = i >= context_.op.formal_inputs() || context_.type(x).is_tensor();
      if (is_shared && !context_.type(x).is_tensor())
        throw Error("no gradient of '{}', which body captures and is no tensor",
                    context_.builder.graph()[x].name);
      context_.set(i, is_shared ? sum_of_items(context_, found[k], x) : found[k]);
    }
  }

  GradientContext& context_;
  Op op_;
  Graph body_;
  std::vector<std::size_t> wanted_;
};

void sequence_construct_gradient(GradientContext& context) {
  for (std::size_t i = 0; i < context.op.inputs.size(); ++i) {
    if (!context.wants(i)) continue;
    const ValueId at = whole(context, i);
    context.set(i, context.call("SequenceAt", {context.output_gradient(), at}));
  }
}

// Zeros but for the item that was taken.
void sequence_at_gradient(GradientContext& context) {
  const ValueId at = place(context, 1, context.input(0));
  const ValueId others = context.call("SequenceErase", {context.filled_like(context.input(0), 0), at});
  context.set(0, context.call("SequenceInsert", {others, context.output_gradient(), at}));
}

// Without a position, at the end.
void sequence_insert_gradient(GradientContext& context) {
  const ValueId at = context.has_input(2) ? place(context, 2, context.input(0)) : whole(context, -1);
  const ValueId flow = context.output_gradient();
  if (context.wants(0)) context.set(0, context.call("SequenceErase", {flow, at}));
  if (context.wants(1)) context.set(1, context.call("SequenceAt", {flow, at}));
}

void sequence_erase_gradient(GradientContext& context) {
  const ValueId sequence = context.input(0);
  const ValueId at = context.has_input(1) ? place(context, 1, sequence) : whole(context, -1);
  const ValueId erased = context.filled_like(context.call("SequenceAt", {sequence, at}), 0);
  std::vector<ValueId> inputs{context.output_gradient(), erased};
  if (context.has_input(1)) inputs.push_back(at);
  context.set(0, context.call("SequenceInsert", inputs));
}

// Slices that were given by number lose their axis where keepdims says so; parts never do.
void split_to_sequence_gradient(GradientContext& context) {
  const bool is_gone = !context.has_input(1) && attribute<std::int64_t>(context.op, "keepdims") == 0;
  const ValueId joined = context.call(
      "ConcatFromSequence", {context.output_gradient()},
      {{"axis", attribute<std::int64_t>(context.op, "axis")}, {"new_axis", std::int64_t{is_gone}}});
  context.set(0, context.reshape_like(joined, context.input(0)));
}

void concat_from_sequence_gradient(GradientContext& context) {
  const std::int64_t axis = attribute<std::int64_t>(context.op, "axis");
  const Attribute along{"axis", axis};
  const ValueId flow = context.output_gradient();
  if (attribute<std::int64_t>(context.op, "new_axis") != 0) {
    return context.set(0, context.call("SplitToSequence", {flow}, {along, {"keepdims", std::int64_t{0}}}));
  }
  Graph body;
  Builder builder(body);
  const ValueId item = builder.input("item", *context.type(context.input(0)).inner);
  std::vector<Attribute> range{{"start", axis}};
  if (axis != -1) range.push_back({"end", axis + 1});
  body.outputs = {builder.op("Shape", {item}, range)};
  Op map{.spec = find_op("", "SequenceMap"), .inputs = {context.input(0)}};
  set_attribute(map, "body", std::make_shared<const Graph>(std::move(body)));
  const ValueId sizes = context.call("ConcatFromSequence", context.builder.append(std::move(map), 1),
                                     {{"axis", std::int64_t{0}}});
  context.set(0, context.call("SplitToSequence", {flow, sizes}, {along}));
}

void sequence_map_gradient(GradientContext& context) { MappedBackward(context).run(); }

void optional_gradient(GradientContext& context) {
  if (context.wants(0)) context.set(0, context.call("OptionalGetElement", {context.output_gradient()}));
}

// An input that is no optional is its own element.
void optional_get_element_gradient(GradientContext& context) {
  const ValueId flow = context.output_gradient();
  const bool is_optional = context.type(context.input(0)).kind == Kind::Optional;
  context.set(0, is_optional ? context.call("Optional", {flow}) : flow);
}

}  // namespace

std::span<const GradientRow> sequence_gradients() {
  static constexpr GradientRow kRows[]{
      {"SequenceConstruct", sequence_construct_gradient},
      {"SequenceInsert", sequence_insert_gradient},
      {"SequenceErase", sequence_erase_gradient},
      {"SequenceAt", sequence_at_gradient},
      {"SplitToSequence", split_to_sequence_gradient},
      {"ConcatFromSequence", concat_from_sequence_gradient},
      {"Optional", optional_gradient},
      {"OptionalGetElement", optional_get_element_gradient},
      {"SequenceMap", sequence_map_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
