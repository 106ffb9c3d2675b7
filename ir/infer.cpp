// Ops are inferred in their order: check element types against the row, call the row's infer, refuse sizes
// that no machine has. Outputs that infer knows become constants; so does an op whose inputs are all
// constants, by the evaluator, as far as FoldLimits allow; such an op is dropped. Where the data of constants
// are left out so are those of its outputs.
// A body is copied, gets the types (and constants) of its formal inputs and captures, is inferred like a
// graph, and becomes the op's new body. In a body an op that cannot be evaluated stays, for it may never run.
// So does an op of a body that does not fit its inputs: what it gives has no shape, so that it fails when it
// runs. The body's first failure is thrown when all of the body is done; the rows of the ops with bodies know
// whether the body runs for certain.
#include "ir/infer.h"

#include <algorithm>

#include "ir/bodies.h"
#include "ir/fold_limits.h"
#include "ir/infer_bodies.h"
#include "ir/interruption.h"
#include "ir/verify.h"

namespace podium::ir {

TypedOp::TypedOp(const Graph& graph, const Op& of) : op(of) {
  input_types.reserve(op.inputs.size());
  constants.reserve(op.inputs.size());
  output_types.reserve(op.outputs.size());
  for (ValueId id : op.inputs) {
    input_types.push_back(id.valid() ? graph[id].type : Type{});
    constants.push_back(graph.is_constant(id) ? &*graph[id].constant : nullptr);
  }
  for (ValueId id : op.outputs) output_types.push_back(id.valid() ? graph[id].type : Type{});
}

const Dims& TypedOp::dims(std::size_t i) const {
  IR_CHECK(input(i).has_rank, "input {} of {} has no rank", i, op.spec->name);
  return input(i).dims;
}

void InferContext::set_output(std::size_t i, Type type) {
  if (has_output(i)) output_types[i] = std::move(type);
}

void InferContext::set_output(std::size_t i, DataType element, Dims dims) {
  set_output(i, Type::tensor(element, std::move(dims)));
}

void InferContext::set_output_element(std::size_t i, DataType element) {
  set_output(i, Type::tensor(element));
}

void InferContext::set_constant(std::size_t i, Tensor tensor) {
  if (!has_output(i)) return;
  output_types[i] = tensor.type_and_dims();
  known_outputs.resize(op.outputs.size());
  known_outputs[i] = std::move(tensor);
}

std::vector<Type> InferContext::infer_body(std::string_view attribute_name, std::vector<Type> formal_inputs) {
  IR_CHECK(body_inference, "bodies of {} cannot be inferred here", op.spec->name);
  return body_inference(attribute_name, std::move(formal_inputs));
}

namespace {

// In a body an op that cannot be folded, or does not fit its inputs, is left as it is: it may never run.
enum class Level : std::uint8_t { Graph, Body };

// What a graph and its bodies are folded with.
struct Folding {
  const InferOptions& options;
  FoldLimits left;
};

std::optional<Error> infer_in_place(Graph& graph, Folding& folding, Level level);

// Infers a copy of the body and keeps it as the op's new body, also where it throws what fails in the body.
std::vector<Type> infer_one_body(Op& op, const Op& original, const TypedOp& typed, std::string_view name,
                                 std::vector<Type> formal, Folding& folding, const std::string& where) {
  Graph body = *attribute<Body>(original, name);
  const std::size_t first_capture = body.inputs.size() - op.captures;
  if (formal.size() != first_capture) {
    throw Error("{} takes {} inputs, {} needed", name, first_capture, formal.size());
  }
  for (std::size_t i = 0; i < formal.size(); ++i) {
    Type& declared = body[body.inputs[i]].type;
    // The body's declaration helps only where the caller knows nothing.
    if (formal[i].is_tensor() && formal[i].element == DataType::Undefined && !formal[i].has_rank) continue;
    declared = std::move(formal[i]);
  }
  for (int i = 0; i < op.captures; ++i) {
    Value& value = body[body.inputs[first_capture + i]];
    const std::size_t outer = op.formal_inputs() + i;
    value.type = typed.input(outer);
    value.constant.reset();  // it may have been one before it was taken to be trained
    if (const Tensor* known = typed.constant(outer)) value.constant = *known;
  }
  const std::optional<Error> failure = infer_in_place(body, folding, Level::Body);
  std::vector<Type> outputs;
  for (ValueId id : body.outputs) outputs.push_back(body[id].type);
  set_attribute(op, name, Body(std::make_shared<const Graph>(std::move(body))));
  if (failure) throw failure->at(std::string(name)).at(where);
  return outputs;
}

bool can_fold(const Graph& graph, const Op& op) {
  if (op.spec->random || op.inputs.empty() || has_body(op)) return false;
  return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
    return !id.valid() || graph.is_constant(id) || graph[id].data_left_out;
  });
}

// What is made of weights without their data has no data either, where it would be folded with them.
bool fold_left_out(Graph& graph, const Op& op, const FoldLimits& limits) {
  const TypedOp typed(graph, op);
  const auto is_known = [&](ValueId id) { return graph[id].type.is_tensor() && graph[id].type.is_static(); };
  if (!std::ranges::all_of(outputs_of(op), is_known) || !limits.allow_left_out(typed)) return false;
  for (ValueId id : outputs_of(op)) graph[id].data_left_out = true;
  return true;
}

// Nothing when the op cannot run and need not: a body may never be entered.
std::vector<Datum> evaluate(const Graph& graph, const Op& op, const InferOptions& options, Level level) {
  std::vector<Datum> inputs(op.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.inputs[i].valid()) inputs[i] = *graph[op.inputs[i]].constant;
  }
  try {
    return options.evaluate(op, inputs);
  } catch (const Error&) {
    if (level == Level::Graph) throw;
    return {};
  }
}

// True when every output became a constant.
bool fold(Graph& graph, Op& op, Folding& folding, Level level) {
  if (!folding.options.evaluate || !can_fold(graph, op)) return false;
  if (find_attribute(op, kLeftToRun) != nullptr) return false;
  const auto is_left_out = [&](ValueId id) { return graph[id].data_left_out; };
  if (std::ranges::any_of(inputs_of(op), is_left_out)) return fold_left_out(graph, op, folding.left);
  const TypedOp typed(graph, op);
  if (!folding.left.allow(typed)) {
    set_attribute(op, kLeftToRun, std::int64_t{1});
    return false;
  }
  std::vector<Datum> results = evaluate(graph, op, folding.options, level);
  if (results.empty()) return false;
  folding.left.count(typed, results);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid() && !results[i].is_tensor()) return false;
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    Value& value = graph[op.outputs[i]];
    value.type = results[i].tensor.type_and_dims();
    value.constant = std::move(results[i].tensor);
  }
  return true;
}

// A CastLike needs only the type of its second input: as a Cast it folds when the first input is known.
void forget_example(const Graph& graph, Op& op) {
  if (!op.is("CastLike") || op.inputs.size() != 2 || !op.inputs[1].valid()) return;
  const DataType type = graph[op.inputs[1]].type.element;
  if (type == DataType::Undefined) return;
  op.spec = find_op("", "Cast");
  op.inputs.resize(1);
  set_attribute(op, "to", std::int64_t{static_cast<int>(type)});
}

// A size that no machine can hold is refused before anything is computed from it: so is a dimension, which a
// dimension of 0 beside it, or one that is not known, would hide.
void check_size(const Type& type) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;
  const bool has_huge =
      std::any_of(type.dims.begin(), type.dims.end(), [](auto d) { return d > kMostBytes; });
  if (type.has_rank && has_huge) throw Error("{} does not fit memory", to_string(type));
  if (!type.is_static()) return;
  std::int64_t bytes = 0;
  const std::int64_t width = storage_bytes(type.element);
  if (__builtin_mul_overflow(type.element_count(), width, &bytes) || bytes > kMostBytes) {
    throw Error("{} does not fit memory", to_string(type));
  }
}

// A view shows the elements of its input, all of them and no others.
void check_view(const InferContext& context) {
  if (!context.op.spec->view || !context.has_output(0)) return;
  const Type& from = context.input(0);
  const Type& to = context.output(0);
  if (from.is_static() && to.is_static() && from.element_count() != to.element_count())
    throw Error("{} cannot become {}", to_string(from), to_string(to));
}

void check_outputs(const InferContext& context) {
  check_view(context);
  for (std::size_t i = 0; i < context.output_types.size(); ++i) {
    try {
      check_size(context.output_types[i]);
    } catch (const Error& error) {
      throw error.at(fmt::format("output {}", i));
    }
  }
}

// Infers one op; true when it is no longer needed because its outputs are constants.
bool infer_op(Graph& graph, Op& op, Folding& folding, Level level) {
  const InferOptions& options = folding.options;
  if (options.evaluate) forget_example(graph, op);
  const Op original = has_body(op) ? op : Op{.spec = op.spec};
  InferContext context(graph, op);
  context.body_inference = [&](std::string_view name, std::vector<Type> formal) {
    return infer_one_body(op, original, context, name, std::move(formal), folding, graph.describe(op));
  };
  check_types(context);
  op.spec->infer(context);
  check_outputs(context);
  bool all_known = !context.known_outputs.empty() && options.evaluate;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    Value& value = graph[op.outputs[i]];
    value.type = context.output_types[i];
    const bool known = i < context.known_outputs.size() && context.known_outputs[i].has_value();
    if (known && options.evaluate) value.constant = std::move(context.known_outputs[i]);
    all_known = all_known && known;
  }
  return all_known || fold(graph, op, folding, level);
}

// Values without a shape make the engine infer the op when it runs, which finds the same failure again.
void forget_shapes(Graph& graph, const Op& op) {
  for (ValueId id : outputs_of(op)) {
    graph[id].constant.reset();
    graph[id].type = Type::tensor(graph[id].type.element);
  }
}

// Gives the first failure inside a body; one of a graph is thrown.
std::optional<Error> infer_in_place(Graph& graph, Folding& folding, Level level) {
  std::optional<Error> first;
  auto kept = graph.ops.begin();  // behind the last op that stays
  const auto keep = [&](Op& op) {
    if (&*kept != &op) *kept = std::move(op);
    ++kept;
  };
  for (Op& op : graph.ops) {
    look_for_interruption();
    try {
      if (!infer_op(graph, op, folding, level)) keep(op);
    } catch (const Error& error) {
      const std::string where = graph.describe(op);
      Error failure = error.is_at(where) ? error : error.at(where);
      if (level == Level::Graph) throw failure;
      if (!first) first = std::move(failure);
      forget_shapes(graph, op);
      keep(op);
    }
  }
  graph.ops.erase(kept, graph.ops.end());
  return first;
}

}  // namespace

void infer(Graph& graph, const InferOptions& options) {
  for (ValueId id : graph.inputs) {
    try {
      check_size(graph[id].type);
    } catch (const Error& error) {
      throw error.at(fmt::format("input '{}'", graph[id].name));
    }
  }
  Folding folding{options, FoldLimits(graph, options)};
  infer_in_place(graph, folding, Level::Graph);
}

void infer_with_bodies(Graph& graph, Op& op) {
  const InferOptions options;
  Folding folding{options, FoldLimits(graph, options)};
  infer_op(graph, op, folding, Level::Graph);
}

std::vector<Type> infer_outputs(const Op& op, std::span<const Datum* const> inputs) {
  InferContext context(op);
  for (const Datum* datum : inputs) {
    context.input_types.push_back(datum == nullptr ? Type{} : type_of(*datum));
    context.constants.push_back(datum != nullptr && datum->is_tensor() ? &datum->tensor : nullptr);
  }
  check_types(context);
  op.spec->infer(context);
  check_outputs(context);
  return std::move(context.output_types);
}

}  // namespace podium::ir
