// The parts of a recurrence's gradient that are the same whatever goes back through the steps: tensors are
// brought into one layout, directions taken apart and put together, products over all steps appended. Y has
// the states before each step, so that one product gives the gates of all steps again.
#include "ir/gradients/recurrence_gradient.h"

#include <limits>

#include "ir/gradients/expansion.h"

namespace podium::ir {
namespace {

Term sum_of(const std::vector<Term>& parts) {
  return {parts.at(0).builder, parts[0].builder->sum(std::vector<ValueId>(parts.begin(), parts.end()))};
}

Term transposed(Term x, IntList order) { return x.call("Transpose", {{"perm", std::move(order)}}); }

}  // namespace

RecurrentOperands::RecurrentOperands(GradientContext& context)
    : context_(context), shape_(recurrent_shape(TypedOp(context.builder.graph(), context.op))) {
  x_ = steps_first(context.input(RecurrentInput::kX));
}

void RecurrenceGradient::append(const std::function<Contribution(std::int64_t)>& direction) {
  using In = RecurrentInput;
  std::vector<Contribution> found;
  for (std::int64_t i = 0; i < shape().directions; ++i) found.push_back(direction(i));
  const auto all = [&](Term Contribution::*part) {
    Terms terms;
    for (const Contribution& one : found) terms.push_back(one.*part);
    return terms;
  };
  const auto in_directions = [&](Terms terms) {
    for (Term& one : terms) one = unsqueezed(one, 0);
    return joined(terms, 0);
  };
  if (context_.wants(In::kX)) context_.set(In::kX, as_laid_out(sum_of(all(&Contribution::x)), {1, 0, 2}));
  if (context_.wants(In::kW)) context_.set(In::kW, in_directions(all(&Contribution::w)));
  if (context_.wants(In::kR)) context_.set(In::kR, in_directions(all(&Contribution::r)));
  if (context_.wants(In::kB)) context_.set(In::kB, in_directions(all(&Contribution::b)));
  for (std::size_t k = 0; k < std::size(kStates); ++k) {
    if (!context_.wants(kStates[k])) continue;
    Terms states;
    for (const Contribution& one : found) states.push_back(term(context_, one.states.at(k)));
    context_.set(kStates[k], as_laid_out(in_directions(states), {1, 0, 2}));
  }
}

Term RecurrentOperands::unsqueezed(Term x, std::int64_t axis) {
  return x.with("Unsqueeze", context_.ints({axis}));
}

Term RecurrentOperands::as_laid_out(Term x, IntList order) {
  return shape_.batch_first ? transposed(x, std::move(order)) : x;
}

// Y and its gradient become [steps, directions, batch, hidden], states [directions, batch, hidden].
Term RecurrentOperands::steps_first(ValueId x) {
  return as_laid_out(term(context_, x), context_.rank(x) == 4 ? IntList{1, 2, 0, 3} : IntList{1, 0, 2});
}

Term RecurrentOperands::entry(Term of, std::int64_t direction, std::int64_t axis) {
  return parts_of(of, shape_.directions, axis)[direction].with("Squeeze", context_.ints({axis}));
}

Term RecurrentOperands::weights(std::size_t input, std::int64_t direction) {
  return entry(term(context_, context_.input(input)), direction, 0);
}

ValueId RecurrentOperands::given(ValueId id, std::int64_t direction, std::int64_t axis) {
  return id.valid() ? entry(steps_first(id), direction, axis).id : kNoValue;
}

ValueId RecurrentOperands::input_or_none(std::size_t i) const {
  return context_.has_input(i) ? context_.input(i) : kNoValue;
}

ValueId RecurrentOperands::given_input(std::size_t input, std::int64_t direction) {
  return given(input_or_none(input), direction, 0);
}

ValueId RecurrentOperands::given_flow(std::size_t output, std::int64_t direction) {
  const auto& flows = context_.output_gradients;
  return output < flows.size() ? given(flows[output], direction, output == RecurrentOutput::kY ? 1 : 0)
                               : kNoValue;
}

Term RecurrentOperands::first_state(std::size_t input, std::int64_t direction) {
  const ValueId given_one = given_input(input, direction);
  if (given_one.valid()) return term(context_, given_one);
  const Dims x = context_.static_dims(x_);
  const Dims r = context_.static_dims(context_.input(RecurrentInput::kR));
  return term(context_, context_.builder.constant(filled(context_.type(x_).element, {x[1], r[2]}, 0)));
}

Term RecurrentOperands::states_behind(std::int64_t direction) {
  return entry(steps_first(context_.output(RecurrentOutput::kY)), direction, 1);
}

// Y has zeros behind the end of a sequence, where one that is read from its end has its first state.
Term RecurrentOperands::states_before(std::int64_t direction) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const Term y = states_behind(direction);
  if (context_.static_dims(x_)[0] == 0) return y;  // no step has a state before it
  const Term first = unsqueezed(first_state(RecurrentInput::kInitialH, direction), 0);
  const auto steps = [&](std::int64_t from, std::int64_t to) {
    return term(context_,
                context_.call("Slice", {y, context_.ints({from}), context_.ints({to}), context_.ints({0})}));
  };
  if (!is_reverse(direction)) return joined({first, steps(0, -1)}, 0);
  const Term before = joined({steps(1, kEnd), first}, 0);
  if (!given_lengths().valid() || !context_.has_input(RecurrentInput::kInitialH)) return before;
  const std::int64_t count = context_.static_dims(x_)[0];
  const Term lengths = term(context_, given_lengths()).cast(DataType::Int64);
  const Term goes_on = counted(context_, {count, 1, 1}, 1) < unsqueezed(lengths, 1);
  return choose(goes_on, before, first);
}

Term RecurrenceGradient::rows_of(Term x) { return x.call("Flatten", {{"axis", std::int64_t{-1}}}); }
Term RecurrenceGradient::turned_rows(Term x) { return rows_of(x).call("Transpose"); }

RecurrenceGradient::Contribution RecurrenceGradient::contribution(std::int64_t direction,
                                                                  const GateFlows& flows, Ids states) {
  using In = RecurrentInput;
  Contribution found{
      .x = flows.of_x, .w = flows.of_x, .r = flows.of_h, .b = flows.of_x, .states = std::move(states)};
  if (context_.wants(In::kX)) found.x = flows.of_x.with("MatMul", weights(In::kW, direction));
  if (context_.wants(In::kW)) found.w = turned_rows(flows.of_x).with("MatMul", rows_of(x()));
  if (context_.wants(In::kR)) found.r = turned_rows(flows.of_h).with("MatMul", rows_of(flows.h));
  if (!context_.wants(In::kB)) return found;
  const auto sum = [&](Term flow) {
    return flow.with("ReduceSum", context_.ints({0, 1}), {{"keepdims", std::int64_t{0}}});
  };
  const Term of_w = sum(flows.of_x);
  found.b = joined({of_w, flows.of_h.id == flows.of_x.id ? of_w : sum(flows.of_h)}, 0);
  return found;
}

bool has_usual_steps(const Op& op, const StringList& activations) {
  if (op.outputs.empty() || !op.outputs[RecurrentOutput::kY].valid()) return false;
  const auto* clip = attribute_if<float>(op, "clip");
  const StringList& names = attribute<StringList>(op, "activations");
  if ((clip != nullptr && *clip > 0) || names.empty() || names.size() % activations.size() != 0) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != activations[i % activations.size()]) return false;
  }
  return true;
}

std::vector<Term> scanned(TermBuilder& context, const std::vector<ValueId>& inputs, std::int64_t states,
                          std::int64_t slices, std::int64_t way, const ScanStep& step) {
  Graph graph;
  Builder builder(graph);
  TermBuilder inner(builder);
  std::vector<Term> given;
  for (std::int64_t i = 0; i < std::ssize(inputs); ++i) {
    const bool is_scanned = i >= states && i < states + slices;
    const Type type = is_scanned ? slice_type(context, inputs[i], 0) : context.type(inputs[i]);
    given.push_back(term(inner, builder.input(fmt::format("x{}", i), type)));
  }
  const std::vector<Term> results = step(given);
  for (const Term& result : results) builder.output(result.call("Identity"));
  Op scan{.spec = find_op("", "Scan"),
          .inputs = inputs,
          .captures = static_cast<int>(std::ssize(inputs) - states - slices)};
  scan.attributes = {{"body", std::make_shared<const Graph>(std::move(graph))},
                     {"num_scan_inputs", slices},
                     {"scan_input_directions", IntList(slices, way)},
                     {"scan_output_directions", IntList(results.size() - states, way)}};
  std::vector<Term> found;
  for (ValueId id : context.builder.append(std::move(scan), results.size()))
    found.push_back(term(context, id));
  return found;
}

ValueId given_or_zeros(const GradientContext& context, std::size_t input, const Dims& dims) {
  if (context.has_input(input)) return context.input(input);
  return context.builder.constant(filled(context.type(context.input(0)).element, dims, 0));
}

ValueId steps_that_go_on(GradientContext& context, const Dims& steps_and_batch, std::size_t lengths) {
  const Term at = counted(context, {steps_and_batch[0], 1, 1});
  const auto is_before = [&](Term ends) { return at < ends.with("Unsqueeze", context.ints({1})); };
  if (context.has_input(lengths))
    return is_before(term(context, context.input(lengths)).cast(DataType::Int64));
  return is_before(term(context, context.ints({steps_and_batch[0]})))
      .with("Expand", context.ints({steps_and_batch[0], steps_and_batch[1], 1}));
}

}  // namespace podium::ir
