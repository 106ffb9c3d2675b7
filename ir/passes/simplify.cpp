// One walk in order over the ops. An op whose output equals one of its inputs (simplify_rules.cpp) is dropped
// and later readers read that input; an op that can reach past the one before it (Transpose of Transpose)
// does. An If with a constant condition is replaced by the ops of its branch, which are simplified in turn.
// An output of the graph keeps its name, and an input of the graph is read where its reader is placed, so ops
// that bring a value to another place stay.
#include "ir/passes/simplify.h"

#include <algorithm>
#include <span>

#include "ir/at.h"
#include "ir/bodies.h"
#include "ir/passes/simplify_rules.h"
#include "ir/verify.h"

namespace podium::ir {
namespace {

// Ops from inside an op stay where that op was placed.
void annotate_like(const Op& outer, Op& op) {
  for (const Attribute& attribute : outer.attributes) {
    if (is_annotation(attribute.name)) set_attribute(op, attribute.name, attribute.value);
  }
}

// Goes through the ops once, in order, so that the replacement of an output is known before the output is
// read.
class Simplifier {
 public:
  // `outputs_have_names`: of a whole graph, not of a body.
  Simplifier(Graph& graph, bool outputs_have_names)
      : graph_(graph), outputs_have_names_(outputs_have_names), view_{graph, kept_, {}, {}} {
    grow();
    for (ValueId id : graph.inputs) view_.is_input[at(id)] = true;
    for (ValueId id : graph.outputs) is_output_[at(id)] = true;
  }

  bool run() {
    std::vector<Op> ops = std::move(graph_.ops);
    kept_.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      open_ = std::span(ops).subspan(i + 1);
      simplify_op(std::move(ops[i]));
    }
    graph_.ops = std::move(kept_);
    for (ValueId& id : graph_.outputs) id = stands_for_[at(id)];
    return changed_;
  }

 private:
  void grow() {
    const std::size_t before = stands_for_.size();
    stands_for_.resize(graph_.values.size());
    view_.producers.resize(graph_.values.size(), -1);
    view_.is_input.resize(graph_.values.size(), false);
    is_output_.resize(graph_.values.size(), false);
    for (std::size_t i = before; i < stands_for_.size(); ++i) stands_for_[i] = {static_cast<std::int32_t>(i)};
  }

  void simplify_op(Op op) {
    for (ValueId& id : op.inputs) {
      if (id.valid()) id = stands_for_[at(id)];
    }
    if (has_body(op)) {
      if (inline_branch(op)) return;
      changed_ |= edit_bodies(op, [](Graph& body) { return Simplifier(body, false).run(); });
    }
    changed_ |= shorten(view_, op);
    const ValueId same = same_value(view_, op);
    if (same.valid() && !brings_elsewhere(op, same) && replace(op.outputs[0], same)) return;
    for (ValueId id : op.outputs) {
      if (id.valid()) view_.producers[at(id)] = static_cast<std::int32_t>(kept_.size());
    }
    kept_.push_back(std::move(op));
  }

  // An input of the graph arrives at one place. Readers elsewhere get it through this op, so the op must
  // stay.
  bool brings_elsewhere(const Op& op, ValueId same) {
    if (!view_.is_input[at(same)]) return false;
    if (readers_.empty()) find_readers();
    const std::size_t output = at(op.outputs[0]);
    return output < readers_.size() &&
           std::any_of(readers_[output].begin(), readers_[output].end(),
                       [&](const Op* later) { return !in_same_place(*later, op); });
  }

  void find_readers() {
    readers_.resize(graph_.values.size());
    for (const Op& op : open_) {
      for (ValueId id : op.inputs) {
        if (id.valid()) readers_[at(id)].push_back(&op);
      }
    }
  }

  // False when the graph would lose an output's name.
  bool replace(ValueId output, ValueId by) {
    if (is_output_[at(output)]) {
      if (outputs_have_names_) {
        if (view_.is_input[at(by)] || is_output_[at(by)]) return false;
        std::swap(graph_[by].name, graph_[output].name);
      }
      is_output_[at(by)] = true;
    }
    stands_for_[at(output)] = by;
    changed_ = true;
    return true;
  }

  // Puts the ops of the branch that is known to be taken in the place of an If.
  bool inline_branch(const Op& op) {
    if (!op.is("If") || !graph_.is_constant(op.inputs[0]) || graph_[op.inputs[0]].constant->size() != 1)
      return false;
    const bool condition = *graph_[op.inputs[0]].constant->data<bool>();
    const Body body = attribute<Body>(op, condition ? "then_branch" : "else_branch");
    std::vector<ValueId> moved(body->values.size());
    for (std::size_t i = 0; i < body->inputs.size(); ++i)
      moved[at(body->inputs[i])] = op.inputs[op.formal_inputs() + i];
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (moved[i].valid()) continue;
      graph_.values.push_back(body->values[i]);
      moved[i] = {static_cast<std::int32_t>(graph_.values.size() - 1)};
    }
    grow();
    const auto move_all = [&](std::vector<ValueId>& ids) {
      for (ValueId& id : ids) {
        if (id.valid()) id = moved[at(id)];
      }
    };
    for (Op inner : body->ops) {
      move_all(inner.inputs);
      move_all(inner.outputs);
      annotate_like(op, inner);
      simplify_op(std::move(inner));
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid()) hand_on(stands_for_[at(moved[at(body->outputs[i])])], op.outputs[i], op);
    }
    return changed_ = true;
  }

  void hand_on(ValueId from, ValueId to, const Op& placed_like) {
    if (replace(to, from)) return;
    view_.producers[at(to)] = static_cast<std::int32_t>(kept_.size());
    kept_.push_back({.spec = find_op("", "Identity"), .inputs = {from}, .outputs = {to}});
    annotate_like(placed_like, kept_.back());
  }

  Graph& graph_;
  bool outputs_have_names_;
  std::vector<Op> kept_;
  std::span<const Op> open_;                     // not yet looked at
  std::vector<std::vector<const Op*>> readers_;  // per value, among the ops that are open; once it is needed
  SimplifyView view_;
  std::vector<ValueId> stands_for_;
  std::vector<bool> is_output_;
  bool changed_ = false;
};

}  // namespace

bool simplify(Graph& graph) { return Simplifier(graph, true).run(); }

}  // namespace podium::ir
