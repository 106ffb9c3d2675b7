#include "ir/passes/differentiate.h"

#include <algorithm>

#include "ir/gradient.h"

namespace podium::ir {
namespace {

class Differentiation {
 public:
  Differentiation(Graph& graph, std::span<const ValueId> xs, const DifferentiateOptions& options)
      : graph_(graph), builder_(graph), options_(options) {
    give_masks();
    is_x_.resize(graph.values.size(), false);
    flowing_.resize(graph.values.size());
    last_contributor_.resize(graph.values.size());
    for (ValueId x : xs) is_x_[index_of(x)] = true;
    mark_dependents();
  }

  void run(ValueId y) {
    if (!depends_[index_of(y)]) return;
    const std::vector<OpId> makers = producers(graph_);
    add(y, options_.start.valid() ? options_.start : filled_like(y, 1), makers[index_of(y)]);
    tell_of_grown(makers[index_of(y)]);
    for (std::size_t i = original_ops_; i-- > 0;) go_back_through(i);
  }

  ValueId gradient_of(ValueId x) {
    const ValueId total = sum(x);
    return total.valid() || !options_.zeros ? total : filled_like(x, 0);
  }

 private:
  static std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id.index); }

  ValueId filled_like(ValueId like, double value) {
    GradientContext context(builder_, Op{}, {}, {});
    return context.filled_like(like, value);
  }

  // The gradient of Dropout needs to know what was dropped.
  void give_masks() {
    for (Op& op : graph_.ops) {
      if (!op.is("Dropout") || op.outputs.size() > 1) continue;
      Type mask = graph_[op.outputs[0]].type;
      mask.element = DataType::Bool;
      op.outputs.push_back(graph_.add_value(graph_.fresh_name(graph_[op.outputs[0]].name + "_mask"), mask));
    }
  }

  // Only float numbers carry a gradient. An x that ops produce is independent of what they read.
  void mark_dependents() {
    original_ops_ = graph_.ops.size();
    told_ops_ = original_ops_;
    depends_ = is_x_;
    for (const Op& op : graph_.ops) {
      const bool reads_one = std::any_of(op.inputs.begin(), op.inputs.end(),
                                         [&](ValueId id) { return id.valid() && depends_[index_of(id)]; });
      for (ValueId id : op.outputs) {
        if (reads_one && id.valid() && is_float(graph_[id].type.element)) depends_[index_of(id)] = true;
      }
    }
  }

  void add(ValueId to, ValueId gradient, OpId contributor) {
    flowing_[index_of(to)].push_back(gradient);
    last_contributor_[index_of(to)] = contributor;
  }

  // Of the ops that have been appended since the last call.
  void tell_of_grown(OpId forward) {
    for (; told_ops_ < graph_.ops.size(); ++told_ops_) {
      if (options_.grown && forward.valid()) options_.grown(graph_[forward], graph_.ops[told_ops_]);
    }
  }

  // Of all contributions so far; they become one.
  ValueId sum(ValueId value) {
    std::vector<ValueId>& parts = flowing_[index_of(value)];
    if (parts.empty()) return kNoValue;
    if (parts.size() > 1) parts = {builder_.op("Sum", parts)};
    tell_of_grown(last_contributor_[index_of(value)]);
    if (options_.flowed) options_.flowed(value, parts[0]);
    return parts[0];
  }

  void go_back_through(std::size_t op_index) {
    const Op op = graph_.ops[op_index];
    std::vector<ValueId> flowing;
    for (ValueId output : op.outputs) {
      const bool flows = output.valid() && !is_x_[index_of(output)];
      flowing.push_back(flows ? sum(output) : kNoValue);
    }
    std::vector<bool> wanted;
    for (ValueId input : op.inputs) wanted.push_back(input.valid() && depends_[index_of(input)]);
    const auto is_there = [](ValueId id) { return id.valid(); };
    if (std::none_of(flowing.begin(), flowing.end(), is_there)) return;
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
    if (op.spec->gradient == nullptr) {
      if (!op.spec->no_gradient.empty()) return;
      throw Error("{}: its gradient is not known", graph_.describe(op));
    }
    call_builder(op_index, op, std::move(flowing), std::move(wanted));
  }

  void call_builder(std::size_t op_index, const Op& op, std::vector<ValueId> flowing,
                    std::vector<bool> wanted) {
    GradientContext context(builder_, op, std::move(flowing), std::move(wanted));
    try {
      op.spec->gradient(context);
    } catch (const Error& error) {
      throw error.at(graph_.describe(op));
    }
    const OpId id{static_cast<std::int32_t>(op_index)};
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
  // Of the values that were there before.
  std::vector<bool> is_x_;
  std::vector<bool> depends_;
  std::vector<std::vector<ValueId>> flowing_;
  std::vector<OpId> last_contributor_;
};

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, ValueId y, std::span<const ValueId> xs,
                                   const DifferentiateOptions& options) {
  Differentiation differentiation(graph, xs, options);
  differentiation.run(y);
  std::vector<ValueId> gradients;
  for (ValueId x : xs) gradients.push_back(differentiation.gradient_of(x));
  return gradients;
}

}  // namespace podium::ir
