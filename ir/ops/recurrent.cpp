#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"

namespace podium::ir {
namespace {

std::int64_t directions(const TypedOp& op) {
  const std::string& direction = op.get_string("direction");
  if (direction == "bidirectional") return 2;
  if (direction == "forward" || direction == "reverse") return 1;
  throw Error("direction is '{}', 'forward', 'reverse' or 'bidirectional' needed", direction);
}

std::int64_t dim(const InferContext& context, std::size_t input, std::size_t axis) {
  return context.has_rank(input) && axis < context.dims(input).size() ? context.dims(input)[axis] : kUnknown;
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

std::int64_t hidden_size(const InferContext& context) {
  const std::int64_t of_weights = dim(context, 2, 2);
  const auto* given = context.get_if<std::int64_t>("hidden_size");
  if (given == nullptr) return of_weights;
  if (of_weights != kUnknown && of_weights != *given) {
    throw Error("hidden_size is {}, R has {} columns", *given, of_weights);
  }
  return *given;
}

// kGates rows of W and R a hidden element; the LSTM has a cell state beside the hidden one.
template <int kGates, bool kHasCell>
void infer_recurrent(InferContext& context) {
  const std::int64_t layout = context.get_int("layout");
  if (layout != 0 && layout != 1) throw Error("layout is {}, 0 or 1 needed", layout);
  const bool batch_first = layout == 1;
  const std::int64_t ways = directions(context);
  const std::int64_t hidden = hidden_size(context);
  const std::int64_t steps = dim(context, 0, batch_first ? 1 : 0);
  const std::int64_t batch = dim(context, 0, batch_first ? 0 : 1);
  const std::int64_t rows = hidden == kUnknown ? kUnknown : kGates * hidden;
  const Dims state = batch_first ? Dims{batch, ways, hidden} : Dims{ways, batch, hidden};
  check_dims(context, 0, {kUnknown, kUnknown, kUnknown});
  check_dims(context, 1, {ways, rows, dim(context, 0, 2)});
  check_dims(context, 2, {ways, rows, hidden});
  check_dims(context, 3, {ways, rows == kUnknown ? kUnknown : 2 * rows});
  check_dims(context, 4, {batch});
  check_dims(context, 5, state);
  if (kHasCell) {
    check_dims(context, 6, state);
    check_dims(context, 7, {ways, hidden == kUnknown ? kUnknown : 3 * hidden});
  }
  const DataType element = context.element(0);
  context.set_output(0, element,
                     batch_first ? Dims{batch, steps, ways, hidden} : Dims{steps, ways, batch, hidden});
  context.set_output(1, element, state);
  if (kHasCell) context.set_output(2, element, state);
}

// The products of every step; the gates are small beside them.
Work recurrent_work(const TypedOp& op) {
  double flop = 2;
  for (std::int64_t size : {op.dims(0)[0], op.dims(0)[1], op.dims(1)[0] * op.dims(1)[1]})
    flop *= static_cast<double>(size);
  return {.flop = flop * static_cast<double>(op.dims(0)[2] + op.dims(2)[2]), .bytes = io_bytes(op)};
}

OpSpec recurrent(std::string_view name, InferFunction infer, StringList activations,
                 GradientFunction gradient) {
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
      .gradient = gradient};
}

OpSpec lstm() {
  OpSpec spec = recurrent("LSTM", infer_recurrent<4, true>, {"Sigmoid", "Tanh", "Tanh"}, lstm_gradient);
  spec.inputs.push_back({"initial_c", 'T', Formal::Optional});
  spec.inputs.push_back({"P", 'T', Formal::Optional});
  spec.outputs.push_back({"Y_c", 'T', Formal::Optional});
  spec.attributes.push_back(with_default("input_forget", std::int64_t{0}));
  return spec;
}

OpSpec gru() {
  OpSpec spec = recurrent("GRU", infer_recurrent<3, false>, {"Sigmoid", "Tanh"}, gru_gradient);
  spec.attributes.push_back(with_default("linear_before_reset", std::int64_t{0}));
  return spec;
}

}  // namespace

std::span<const OpSpec> recurrent_ops() {
  static const std::vector<OpSpec> kRows{recurrent("RNN", infer_recurrent<1, false>, {"Tanh"}, rnn_gradient),
                                         gru(), lstm()};
  return kRows;
}

}  // namespace podium::ir
