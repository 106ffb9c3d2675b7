// Reverse mode: ops are visited from the last to the first. A value collects contributions of its readers;
// when its producer is visited they are summed to one gradient, and the producer's row appends ops for the
// gradients of its inputs that depend on an x. An x itself is independent of what it is made from.
// A builder that needs numbers of the run throws NeedsRun; what it has appended is dropped and a LateGradient
// takes its place. `grown` is told the forward op of every appended one, so that it can inherit a place.
#include "ir/gradients/differentiate.h"

#include <algorithm>
#include <ranges>

#include "ir/gradients/gradient.h"
#include "ir/gradients/late.h"
#include "ir/ops/recurrent.h"

namespace podium::ir {
namespace {

// Only float numbers carry a gradient, also those in sequences and optionals.
bool carries_gradient(const Type& type) {
  return type.is_tensor() || !type.inner ? is_float(type.element) : carries_gradient(*type.inner);
}

class Differentiation {
 public:
  Differentiation(Graph& graph, std::span<const ValueId> xs, std::span<const ValueId> passed,
                  const DifferentiateOptions& options)
      : graph_(graph), builder_(graph), options_(options) {
    give_what_gradients_read(graph);
    original_ops_ = graph.ops.size();
    told_ops_ = original_ops_;
    is_x_.resize(std::ssize(graph.values), false);
    flowing_.resize(std::ssize(graph.values));
    last_contributor_.resize(std::ssize(graph.values));
    for (ValueId x : xs) is_x_[x] = true;
    // An x that an op produces is taken as independent of the op's inputs.
    std::vector<ValueId> starts(xs.begin(), xs.end());
    starts.insert(starts.end(), passed.begin(), passed.end());
    depends_ = dependents(graph, starts);
  }

  void run(std::span<const FlowInto> flows) {
    const auto makers = producers(graph_);
    for (const FlowInto& flow : flows) {
      const ValueId y = flow.value;
      if (!depends_[y]) continue;
      const OpId maker = makers[y];
      add(y, flow.gradient.valid() ? flow.gradient : filled_like(y, 1), maker);
      tell_of_grown(maker);
    }
    for (OpId id : IdRange<OpId>(original_ops_) | std::views::reverse) go_back_through(id);
  }

  ValueId gradient_of(ValueId x) {
    const ValueId total = sum(x);
    return total.valid() || !options_.zeros ? total : filled_like(x, 0);
  }

  // The sum of all contributions so far, which replaces them.
  ValueId sum(ValueId value) {
    std::vector<ValueId>& parts = flowing_[value];
    if (parts.empty()) return kNoValue;
    parts = {GradientContext(builder_, Op{}, {}, {}).sum(parts)};
    const OpId last = last_contributor_[value];
    tell_of_grown(last);
    if (options_.flowed) options_.flowed(value, parts[0], last);
    return parts[0];
  }

 private:
  ValueId filled_like(ValueId like, double value) {
    GradientContext context(builder_, Op{}, {}, {});
    return context.filled_like(like, value);
  }

  void add(ValueId to, ValueId gradient, OpId contributor) {
    flowing_[to].push_back(gradient);
    last_contributor_[to] = contributor;
  }

  // Calls `grown` for the ops that have been appended since the last call.
  void tell_of_grown(OpId forward) {
    for (; told_ops_ < graph_.ops.size(); ++told_ops_) {
      if (options_.grown) options_.grown(forward);
    }
  }

  void go_back_through(OpId id) {
    const Op op = graph_[id];
    std::vector<ValueId> flowing;
    for (ValueId output : op.outputs) {
      const bool flows = output.valid() && !is_x_[output];
      flowing.push_back(flows ? sum(output) : kNoValue);
    }
    std::vector<bool> wanted;
    for (ValueId input : op.inputs) wanted.push_back(input.valid() && depends_[input]);
    const auto is_there = [](ValueId value) { return value.valid(); };
    if (std::none_of(flowing.begin(), flowing.end(), is_there)) return;
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
    if (op.spec->refuses_gradient)
      throw Error("no gradient: {}", op.spec->no_gradient).at(graph_.describe(op));
    if (gives_no_elements(op)) return give_zeros(id, op, wanted);
    if (find_gradient(*op.spec) == nullptr) {
      if (!op.spec->no_gradient.empty()) return;
      throw Error("{}: its gradient is not known", graph_.describe(op));
    }
    call_builder(id, op, std::move(flowing), std::move(wanted));
  }

  // What has no elements has no gradient either, and a loop over its steps, however many, need not turn.
  bool gives_no_elements(const Op& op) const {
    const auto is_tensor = [&](ValueId value) { return !value.valid() || graph_[value].type.is_tensor(); };
    return std::all_of(op.inputs.begin(), op.inputs.end(), is_tensor) &&
           std::all_of(op.outputs.begin(), op.outputs.end(), [&](ValueId value) {
             if (!value.valid()) return true;
             const Type& type = graph_[value].type;
             return is_tensor(value) && type.is_static() && type.element_count() == 0;
           });
  }

  void give_zeros(OpId id, const Op& op, const std::vector<bool>& wanted) {
    std::vector<std::pair<ValueId, ValueId>> gradients;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (wanted[i]) gradients.emplace_back(op.inputs[i], filled_like(op.inputs[i], 0));
    }
    tell_of_grown(id);
    for (const auto& [input, gradient] : gradients) add(input, gradient, id);
  }

  void call_builder(OpId id, const Op& op, std::vector<ValueId> flowing, std::vector<bool> wanted) {
    GradientContext context(builder_, op, std::move(flowing), std::move(wanted));
    context.id = id;
    const std::size_t ops = graph_.ops.size();
    try {
      find_gradient (*op.spec)(context);
    } catch (const NeedsRun& error) {
      if (!can_be_late(context)) throw error.at(graph_.describe(op));
      graph_.ops.resize(ops);
      append_late_gradient(context);
    } catch (const Error& error) {
      throw error.at(graph_.describe(op));
    }
    tell_of_grown(id);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (context.wanted[i] && context.input_gradients[i].valid())
        add(op.inputs[i], context.input_gradients[i], id);
    }
  }

  Graph& graph_;
  Builder builder_;
  const DifferentiateOptions& options_;
  std::size_t original_ops_ = 0;
  std::size_t told_ops_ = 0;
  // For the values that were there before.
  IdMap<ValueId, bool> is_x_;
  IdMap<ValueId, bool> depends_;
  IdMap<ValueId, std::vector<ValueId>> flowing_;
  IdMap<ValueId, OpId> last_contributor_;
};

}  // namespace

void put_empty_sequences_first(Graph& graph, std::int64_t appended) {
  const auto is_empty_sequence = [](const Op& op) { return op.is("SequenceEmpty"); };
  if (std::any_of(graph.ops.begin() + appended, graph.ops.end(), is_empty_sequence))
    std::stable_partition(graph.ops.begin(), graph.ops.end(), is_empty_sequence);
}

namespace {

void give_mask(Graph& graph, Op& op) {
  if (op.outputs.size() > 1) return;
  Type mask = graph[op.outputs[0]].type;
  mask.element = DataType::Bool;
  op.outputs.push_back(graph.add_value(graph.fresh_name(graph[op.outputs[0]].name + "_mask"), mask));
}

void give_states(Graph& graph, Op& op) {
  if (op.outputs.empty() || op.outputs[RecurrentOutput::kY].valid()) return;
  const Type type = Type::tensor(graph[op.inputs[RecurrentInput::kX]].type.element,
                                 recurrent_shape(TypedOp(graph, op)).y());
  op.outputs[RecurrentOutput::kY] = graph.add_value(graph.fresh_name(op.name + "_states"), type);
}

}  // namespace

void give_what_gradients_read(Graph& graph) {
  for (Op& op : graph.ops) {
    if (op.is("Dropout")) give_mask(graph, op);
    if (op.is("LSTM") || op.is("GRU") || op.is("RNN")) give_states(graph, op);
  }
}

IdMap<ValueId, bool> dependents(const Graph& graph, std::span<const ValueId> xs) {
  IdMap<ValueId, bool> depends(std::ssize(graph.values));
  for (ValueId x : xs) depends[x] = true;
  for (const Op& op : graph.ops) {
    bool reads_one = false;
    for (ValueId id : inputs_of(op)) reads_one = reads_one || depends[id];
    for (ValueId id : outputs_of(op)) {
      if (reads_one && carries_gradient(graph[id].type)) depends[id] = true;
    }
  }
  return depends;
}

std::vector<ValueId> differentiate(Graph& graph, std::span<const FlowInto> flows, std::span<const ValueId> xs,
                                   std::span<const ValueId> passed, const DifferentiateOptions& options) {
  const std::int64_t original_ops = std::ssize(graph.ops);
  Differentiation differentiation(graph, xs, passed, options);
  differentiation.run(flows);
  std::vector<ValueId> gradients;
  for (ValueId x : xs) gradients.push_back(differentiation.gradient_of(x));
  for (ValueId value : passed) gradients.push_back(differentiation.sum(value));
  if (!options.keeps_ids) put_empty_sequences_first(graph, original_ops);
  return gradients;
}

std::vector<ValueId> differentiate(Graph& graph, ValueId y, std::span<const ValueId> xs,
                                   const DifferentiateOptions& options) {
  const FlowInto flow{y, options.start};
  return differentiate(graph, std::span(&flow, 1), xs, {}, options);
}

}  // namespace podium::ir
