// Ops with bodies: If, Loop, Scan, SequenceMap. Rows infer their bodies through the context.
// The type of an If's output is the narrowest that holds what either branch gives (join), or that of the
// branch which a constant condition takes. A Loop's states are inferred again and again: a state's type is
// joined with what the body gives back until nothing changes. The number of trips is known where M is
// constant and the body hands on its condition. Work is that of a body times the trips, of the dearer branch
// for an If. What fails in a body is an error here only where the body runs for certain: exported decoders
// have branches that fit only the inputs of their own case.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/work.h"

namespace podium::ir {
namespace {

// The narrowest type that holds the values of both types. `what` is for the error.
Type join(const Type& a, const Type& b, const std::string& what) {
  if (a.kind == Kind::Optional && b.kind != Kind::Optional) return Type::optional(join(*a.inner, b, what));
  if (b.kind == Kind::Optional && a.kind != Kind::Optional) return Type::optional(join(a, *b.inner, what));
  const auto is_unknown = [](const Type& type) {
    return type.is_tensor() && type.element == DataType::Undefined && !type.has_rank;
  };
  if (is_unknown(a)) return b;
  if (is_unknown(b)) return a;
  const bool elements_differ =
      a.element != b.element && a.element != DataType::Undefined && b.element != DataType::Undefined;
  if (a.kind != b.kind || elements_differ) throw Error("{} is {} and {}", what, to_string(a), to_string(b));
  Type result = a;
  if (a.element == DataType::Undefined) result.element = b.element;
  if (a.inner && b.inner) result.inner = std::make_shared<const Type>(join(*a.inner, *b.inner, what));
  if (!a.has_rank || !b.has_rank || a.dims.size() != b.dims.size()) {
    result.has_rank = false;
    result.dims.clear();
    return result;
  }
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i] != b.dims[i]) result.dims[i] = kUnknown;
  }
  return result;
}

void check_output_count(const InferContext& context, std::string_view body, std::size_t found) {
  if (found != context.output_count()) {
    throw Error("{} gives {} outputs, {} needed", body, found, context.output_count());
  }
}

void infer_taken(InferContext& context, std::string_view branch) {
  const std::vector<Type> types = context.infer_body(branch, {});
  check_output_count(context, branch, types.size());
  const Graph& body = *context.get<Body>(branch);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::optional<Tensor>& known = body[body.outputs[i]].constant;
    if (known) {
      context.set_constant(i, *known);
    } else {
      context.set_output(i, types[i]);
    }
  }
}

// What a body gives, and what fails in it whenever it runs.
struct BodyOutcome {
  std::vector<Type> types;
  std::optional<Error> failure = {};
};

BodyOutcome try_body(InferContext& context, std::string_view name, const std::vector<Type>& formal) {
  try {
    return {.types = context.infer_body(name, formal)};
  } catch (const Error& error) {
    BodyOutcome outcome{.types = {}, .failure = error};
    const Graph& body = *context.get<Body>(name);
    for (ValueId id : body.outputs) outcome.types.push_back(body[id].type);
    return outcome;
  }
}

void infer_if(InferContext& context) {
  // A branch that is known not to run is not checked: it may hold ops that could not run.
  const Tensor* condition = context.constant(0);
  const bool one_element = condition != nullptr && condition->size() == 1;
  if (one_element) return infer_taken(context, *condition->data<bool>() ? "then_branch" : "else_branch");
  const BodyOutcome then_outcome = try_body(context, "then_branch", {});
  const BodyOutcome else_outcome = try_body(context, "else_branch", {});
  check_output_count(context, "then_branch", then_outcome.types.size());
  check_output_count(context, "else_branch", else_outcome.types.size());
  if (then_outcome.failure && else_outcome.failure) throw *then_outcome.failure;
  for (std::size_t i = 0; i < then_outcome.types.size(); ++i) {
    const Type& then_type = (then_outcome.failure ? else_outcome : then_outcome).types[i];
    const Type& else_type = (else_outcome.failure ? then_outcome : else_outcome).types[i];
    context.set_output(i, join(then_type, else_type, fmt::format("output {} of the branches", i)));
  }
}

// Whether a body may run zero times.
enum class Trips : std::uint8_t { AtLeastOne, PerhapsNone };

// Infers `body` again and again until the types of its states accept those that it gives back.
// State i comes in at formal input first_in + i and leaves at output first_out + i.
std::vector<Type> infer_loop_body(InferContext& context, std::vector<Type>& formal, std::size_t first_in,
                                  std::size_t first_out, std::size_t states, Trips trips) {
  for (;;) {
    const auto [outputs, failure] = try_body(context, "body", formal);
    if (outputs.size() < first_out + states) {
      throw Error("body gives {} outputs, at least {} needed", outputs.size(), first_out + states);
    }
    if (failure && trips == Trips::AtLeastOne) throw *failure;
    if (failure) return outputs;
    bool is_stable = true;
    for (std::size_t i = 0; i < states; ++i) {
      Type& state = formal[first_in + i];
      Type joined =
          join(state, outputs[first_out + i], fmt::format("carried value {} before and after body", i));
      if (joined == state) continue;
      state = std::move(joined);
      is_stable = false;
    }
    if (is_stable) return outputs;
  }
}

// The iteration number and the condition are scalars unless the body says that they have one element.
Type scalar_or_one(const Type& declared, DataType element) {
  return declared.has_rank && declared.rank() == 1 ? Type::tensor(element, {1})
                                                   : Type::tensor(element, Dims{});
}

bool is_constant_true(const Tensor* condition) {
  return condition != nullptr && condition->type() == DataType::Bool && condition->size() == 1 &&
         *condition->data<bool>();
}

// True when the body hands on its condition or says true.
bool never_stops(const Graph& body) {
  ValueId condition = body.outputs[0];
  for (auto op = body.ops.rbegin(); op != body.ops.rend(); ++op) {
    if (op->is("Identity") && op->outputs[0] == condition) condition = op->inputs[0];
  }
  return condition == body.inputs[1] ||
         (body.is_constant(condition) && is_constant_true(&*body[condition].constant));
}

// Captured values follow the formal inputs, even where the last formal inputs are left out.
bool is_formal_given(const TypedOp& op, std::size_t i) {
  return i < op.op.formal_inputs() && op.has_input(i);
}

const Tensor* most_trips(const TypedOp& op) { return is_formal_given(op, 0) ? op.constant(0) : nullptr; }

std::int64_t known_trips(const InferContext& context) {
  const Tensor* most = most_trips(context);
  const bool starts = !is_formal_given(context, 1) || is_constant_true(context.constant(1));
  if (most == nullptr || most->size() != 1 || !starts) return kUnknown;
  if (!never_stops(*context.get<Body>("body"))) return kUnknown;
  return std::max<std::int64_t>(most->to_ints()[0], 0);
}

Trips trips_of_loop(const TypedOp& op) {
  const Tensor* most = most_trips(op);
  const bool may_start =
      !is_formal_given(op, 0) || (most != nullptr && most->size() == 1 && most->to_ints()[0] > 0);
  const bool starts = !is_formal_given(op, 1) || is_constant_true(op.constant(1));
  return may_start && starts ? Trips::AtLeastOne : Trips::PerhapsNone;
}

// The type of `count` tensors of a type stacked along `axis`.
Type stacked(const Type& type, std::int64_t count, std::int64_t axis, std::size_t output) {
  if (!type.is_tensor()) throw Error("scan output {} is {}, a tensor needed", output, to_string(type));
  if (!type.has_rank) return Type::tensor(type.element);
  Dims dims = type.dims;
  dims.insert(dims.begin() + normalized_axis(axis, type.rank() + 1, "scan_output_axes"), count);
  return Type::tensor(type.element, std::move(dims));
}

void infer_loop(InferContext& context) {
  const Graph& body = *context.get<Body>("body");
  if (body.inputs.size() < 2 || body.outputs.empty()) {
    throw Error("body takes {} inputs and gives {} outputs, at least 2 and 1 needed", body.inputs.size(),
                body.outputs.size());
  }
  const std::size_t given = context.op.formal_inputs();
  const std::size_t states = given < 2 ? 0 : given - 2;
  std::vector<Type> formal{scalar_or_one(body[body.inputs[0]].type, DataType::Int64),
                           scalar_or_one(body[body.inputs[1]].type, DataType::Bool)};
  for (std::size_t i = 0; i < states; ++i) formal.push_back(context.input(2 + i));
  const std::vector<Type> outputs = infer_loop_body(context, formal, 2, 1, states, trips_of_loop(context));
  check_output_count(context, "body, beside its condition,", outputs.size() - 1);
  if (const Type& goes_on = outputs[0];
      goes_on.element != DataType::Undefined && goes_on.element != DataType::Bool)
    throw Error("body gives its condition as {}, one bool needed", to_string(goes_on));
  for (std::size_t i = 0; i < states; ++i) context.set_output(i, formal[2 + i]);
  const std::int64_t trips = known_trips(context);
  for (std::size_t i = states; i + 1 < outputs.size(); ++i) {
    context.set_output(i, stacked(outputs[i + 1], trips, 0, i));
  }
}

std::int64_t entry(const InferContext& context, std::string_view name, std::size_t i) {
  const IntList* list = context.get_if<IntList>(name);
  return list != nullptr && i < list->size() ? (*list)[i] : 0;
}

// Takes the scanned dimension out of a scan input's type; agrees on its length with the other scan inputs.
Type scanned(const InferContext& context, std::size_t input, std::size_t scan, std::int64_t& length) {
  const Type& type = context.input(input);
  if (!type.is_tensor()) throw Error("scan input {} is {}, a tensor needed", scan, to_string(type));
  if (!type.has_rank) return Type::tensor(type.element);
  Dims dims = type.dims;
  const auto axis =
      dims.begin() + normalized_axis(entry(context, "scan_input_axes", scan), type.rank(), "scan_input_axes");
  if (length != kUnknown && *axis != kUnknown && length != *axis) {
    throw Error("scan input {} has {} entries, {} needed as in the scan inputs before", scan, *axis, length);
  }
  if (*axis != kUnknown) length = *axis;
  dims.erase(axis);
  return Type::tensor(type.element, std::move(dims));
}

void infer_scan(InferContext& context) {
  const std::int64_t given = context.op.formal_inputs();
  const std::int64_t scans = context.get_int("num_scan_inputs");
  if (scans < 1 || scans > given) throw Error("num_scan_inputs is {}, 1 to {} needed", scans, given);
  const std::int64_t states = given - scans;
  std::vector<Type> formal;
  std::int64_t length = kUnknown;
  for (std::int64_t i = 0; i < given; ++i) {
    formal.push_back(i < states ? context.input(i) : scanned(context, i, i - states, length));
  }
  const Trips trips = length > 0 ? Trips::AtLeastOne : Trips::PerhapsNone;
  const std::vector<Type> outputs = infer_loop_body(context, formal, 0, 0, states, trips);
  check_output_count(context, "body", outputs.size());
  for (std::int64_t i = 0; i < std::ssize(outputs); ++i) {
    const bool is_state = i < states;
    context.set_output(
        i, is_state ? formal[i]
                    : stacked(outputs[i], length, entry(context, "scan_output_axes", i - states), i));
  }
}

void infer_sequence_map(InferContext& context) {
  std::vector<Type> formal;
  for (std::size_t i = 0; i < context.op.formal_inputs(); ++i) {
    const Type& type = context.input(i);
    if (i == 0 && type.kind != Kind::Sequence)
      throw Error("input_sequence is {}, a sequence needed", to_string(type));
    formal.push_back(type.kind == Kind::Sequence ? *type.inner : type);
  }
  const std::vector<Type> outputs = context.infer_body("body", std::move(formal));
  check_output_count(context, "body", outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) context.set_output(i, Type::sequence(outputs[i]));
}

Work work_of(const Graph& body) {
  Work total;
  for (const Op& op : body.ops) {
    const Work work = work_of(TypedOp(body, op));
    total.flop += work.flop;
    total.bytes += work.bytes;
  }
  return total;
}

// The work of the dearer branch: data decides which one runs.
Work work_of_if(const TypedOp& op) {
  const Work then_work = work_of(*op.get<Body>("then_branch"));
  const Work else_work = work_of(*op.get<Body>("else_branch"));
  return {std::max(then_work.flop, else_work.flop), std::max(then_work.bytes, else_work.bytes)};
}

Work work_of_trips(const TypedOp& op, std::int64_t trips) {
  const Work once = work_of(*op.get<Body>("body"));
  const auto times = static_cast<double>(trips);
  return {once.flop * times, once.bytes * times};
}

// Where data decides the number of trips, the work of one.
Work work_of_loop(const TypedOp& op) {
  const Tensor* most = most_trips(op);
  return work_of_trips(
      op, most != nullptr && most->size() == 1 ? std::max<std::int64_t>(most->to_ints()[0], 0) : 1);
}

Work work_of_scan(const TypedOp& op) {
  const std::size_t first = op.op.formal_inputs() - op.get_int("num_scan_inputs");
  const Type& type = op.input(first);
  const IntList* axes = op.get_if<IntList>("scan_input_axes");
  if (!type.has_rank) return work_of_trips(op, 1);
  const std::int64_t axis =
      normalized_axis(axes == nullptr || axes->empty() ? 0 : axes->front(), type.rank());
  const std::int64_t length = type.dims[axis];
  return work_of_trips(op, length == kUnknown ? 1 : length);
}

Work work_of_sequence_map(const TypedOp& op) { return work_of_trips(op, 1); }

OpSpec if_row() {
  return {.name = "If",
          .since = 25,
          .inputs = {{"cond", 'B'}},
          .outputs = {{"outputs", 'V', Formal::Variadic, true}},
          .types = {{'B', kBool}, {'V', {}, true}},
          .attributes = {must_have("then_branch", AttributeKind::Graph),
                         must_have("else_branch", AttributeKind::Graph)},
          .infer = infer_if,
          .work = work_of_if};
}

OpSpec loop_row() {
  return {.name = "Loop",
          .since = 25,
          .inputs = {{"M", 'I', Formal::Optional},
                     {"cond", 'B', Formal::Optional},
                     {"v_initial", 'V', Formal::Variadic, true}},
          .outputs = {{"v_final_and_scan_outputs", 'V', Formal::Variadic, true}},
          .types = {{'I', kInt64}, {'B', kBool}, {'V', {}, true}},
          .attributes = {must_have("body", AttributeKind::Graph)},
          .infer = infer_loop,
          .work = work_of_loop};
}

OpSpec scan_row() {
  return {.name = "Scan",
          .since = 25,
          .gained = 8,
          .inputs = {{"initial_state_and_scan_inputs", 'V', Formal::Variadic, true}},
          .outputs = {{"final_state_and_scan_outputs", 'V', Formal::Variadic, true}},
          .types = {{'V', {}, true}},
          .attributes = {must_have("body", AttributeKind::Graph),
                         must_have("num_scan_inputs", AttributeKind::Int),
                         may_have("scan_input_axes", AttributeKind::Ints),
                         may_have("scan_input_directions", AttributeKind::Ints),
                         may_have("scan_output_axes", AttributeKind::Ints),
                         may_have("scan_output_directions", AttributeKind::Ints)},
          .infer = infer_scan,
          .work = work_of_scan};
}

OpSpec sequence_map_row() {
  return {.name = "SequenceMap",
          .since = 17,
          .gained = 17,
          .inputs = {{"input_sequence", 'S'}, {"additional_inputs", 'V', Formal::Variadic, true}},
          .outputs = {{"out_sequence", 'S', Formal::Variadic, true}},
          .types = {{'S', {}, true}, {'V', {}, true}},
          .attributes = {must_have("body", AttributeKind::Graph)},
          .infer = infer_sequence_map,
          .work = work_of_sequence_map};
}

}  // namespace

std::span<const OpSpec> control_ops() {
  static const std::vector<OpSpec> kRows = family(
      {.category = Category::Control, .no_samples = "what its bodies do with samples is not looked into"},
      {if_row(), loop_row(), scan_row(), sequence_map_row()});
  return kRows;
}

}  // namespace podium::ir
