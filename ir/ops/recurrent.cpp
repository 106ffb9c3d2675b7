// RNN, GRU and LSTM. X is [steps, batch, input], or [batch, steps, input] with layout 1; W is
// [directions, gates * hidden, input] and R [directions, gates * hidden, hidden], with 1, 3 and 4 gates. One
// rule infers all three: it reads the sizes off R, checks every other input against them, and gives Y of all
// steps and the last states.
#include "ir/ops/recurrent.h"

#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {
namespace {

bool reads_both_ways(const TypedOp& op) {
  const std::string& direction = op.get_string("direction");
  if (direction == "bidirectional") return true;
  if (direction == "forward" || direction == "reverse") return false;
  throw Error("direction is '{}', 'forward', 'reverse' or 'bidirectional' needed", direction);
}

std::int64_t dim(const TypedOp& op, std::size_t input, std::size_t axis) {
  if (input >= op.input_count() || !op.input(input).has_rank) return kUnknown;
  return axis < op.dims(input).size() ? op.dims(input)[axis] : kUnknown;
}

void check_dims(const InferContext& context, std::size_t input, const Dims& needed) {
  if (!context.has_input(input) || !context.has_rank(input)) return;
  const Dims& found = context.dims(input);
  bool fits = found.size() == needed.size();
  for (std::size_t i = 0; fits && i < needed.size(); ++i) {
    fits = found[i] == kUnknown || needed[i] == kUnknown || found[i] == needed[i];
  }
  if (!fits) {
    throw Error("{} is {}, {} needed", context.op.spec->inputs[input].name, to_string(found),
                to_string(needed));
  }
}

std::int64_t hidden_size(const TypedOp& op) {
  const std::int64_t of_weights = dim(op, RecurrentInput::kR, 2);
  const auto* given = op.get_if<std::int64_t>("hidden_size");
  if (given == nullptr) return of_weights;
  if (*given < 0) throw Error("hidden_size is {}, at least 0 needed", *given);
  if (of_weights != kUnknown && of_weights != *given) {
    throw Error("hidden_size is {}, R has {} columns", *given, of_weights);
  }
  return *given;
}

// kGates rows of W and R a hidden element; the LSTM has a cell state beside the hidden one.
template <int kGates, bool kHasCell>
void infer_recurrent(InferContext& context) {
  const RecurrentShape shape = recurrent_shape(context);
  const std::int64_t rows = times(shape.hidden, kGates);
  check_dims(context, RecurrentInput::kX, {kUnknown, kUnknown, kUnknown});
  check_dims(context, RecurrentInput::kW, {shape.directions, rows, shape.input});
  check_dims(context, RecurrentInput::kR, {shape.directions, rows, shape.hidden});
  check_dims(context, RecurrentInput::kB, {shape.directions, times(rows, 2)});
  check_dims(context, RecurrentInput::kLengths, {shape.batch});
  check_dims(context, RecurrentInput::kInitialH, shape.state());
  if (kHasCell) {
    check_dims(context, RecurrentInput::kInitialC, shape.state());
    check_dims(context, RecurrentInput::kPeepholes, {shape.directions, times(shape.hidden, 3)});
  }
  const DataType element = context.element(RecurrentInput::kX);
  context.set_output(RecurrentOutput::kY, element, shape.y());
  context.set_output(RecurrentOutput::kLastH, element, shape.state());
  if (kHasCell) context.set_output(RecurrentOutput::kLastC, element, shape.state());
}

// The products of every step; the gates are small beside them.
Work recurrent_work(const TypedOp& op) {
  const Dims& x = op.dims(RecurrentInput::kX);
  const Dims& w = op.dims(RecurrentInput::kW);
  double flop = 2;
  for (std::int64_t size : {x[0], x[1], w[0] * w[1]}) flop *= static_cast<double>(size);
  return {.flop = flop * static_cast<double>(x[2] + op.dims(RecurrentInput::kR)[2]), .bytes = io_bytes(op)};
}

bool recurrent_samples(const SampledOp& op) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.has(i)) continue;
    if (!has_recurrent_batch(i) || op.inputs[i] != recurrent_batch_axis(op.typed.op, i)) return false;
  }
  return op.has(RecurrentInput::kX);
}

OpSpec recurrent(std::string_view name, InferFunction infer, StringList activations) {
  return {
      .name = name,
      .since = 22,
      .inputs = {{"X"},
                 {"W"},
                 {"R"},
                 {"B", 'T', Formal::Optional},
                 {"sequence_lens", 'L', Formal::Optional},
                 {"initial_h", 'T', Formal::Optional}},
      .outputs = {{"Y", 'T', Formal::Optional}, {"Y_h", 'T', Formal::Optional}},
      .types = {{'T', kFloats}, {'L', {DataType::Int32}}},
      .attributes = {may_have("activation_alpha", AttributeKind::Floats),
                     may_have("activation_beta", AttributeKind::Floats),
                     with_default("activations", std::move(activations)),
                     may_have("clip", AttributeKind::Float),
                     with_default("direction", std::string("forward")),
                     may_have("hidden_size", AttributeKind::Int), with_default("layout", std::int64_t{0})},
      .infer = infer,
      .work = recurrent_work,
      .category = Category::Recurrent,
      .samples = recurrent_samples};
}

OpSpec lstm() {
  OpSpec spec = recurrent("LSTM", infer_recurrent<4, true>, {"Sigmoid", "Tanh", "Tanh"});
  spec.inputs.push_back({"initial_c", 'T', Formal::Optional});
  spec.inputs.push_back({"P", 'T', Formal::Optional});
  spec.outputs.push_back({"Y_c", 'T', Formal::Optional});
  spec.attributes.push_back(with_default("input_forget", std::int64_t{0}));
  return spec;
}

OpSpec gru() {
  OpSpec spec = recurrent("GRU", infer_recurrent<3, false>, {"Sigmoid", "Tanh"});
  spec.attributes.push_back(with_default("linear_before_reset", std::int64_t{0}));
  return spec;
}

}  // namespace

Dims RecurrentShape::y() const {
  return batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden};
}

Dims RecurrentShape::state() const {
  return batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
}

RecurrentShape recurrent_shape(const TypedOp& op) {
  const std::int64_t layout = op.get_int("layout");
  if (layout != 0 && layout != 1) throw Error("layout is {}, 0 or 1 needed", layout);
  const bool batch_first = layout == 1;
  return {.steps = dim(op, RecurrentInput::kX, batch_first ? 1 : 0),
          .batch = dim(op, RecurrentInput::kX, batch_first ? 0 : 1),
          .input = dim(op, RecurrentInput::kX, 2),
          .hidden = hidden_size(op),
          .directions = reads_both_ways(op) ? 2 : 1,
          .starts_reverse = op.get_string("direction") == "reverse",
          .batch_first = batch_first};
}

bool has_recurrent_batch(std::size_t input) {
  return input == RecurrentInput::kX || input == RecurrentInput::kLengths ||
         input == RecurrentInput::kInitialH || input == RecurrentInput::kInitialC;
}

int recurrent_batch_axis(const Op& op, std::size_t input) {
  return attribute<std::int64_t>(op, "layout") != 0 || input == RecurrentInput::kLengths ? 0 : 1;
}

std::span<const OpSpec> recurrent_ops() {
  static const std::vector<OpSpec> kRows{recurrent("RNN", infer_recurrent<1, false>, {"Tanh"}), gru(),
                                         lstm()};
  return kRows;
}

bool reads_last_step_first(const Op& gradient) {
  return attribute<std::string>(gradient, "direction") == "reverse";
}

}  // namespace podium::ir
