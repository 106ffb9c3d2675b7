// Loop and Scan: a Scan that goes through the iterations in reverse. In each it computes the body again from
// the states that the forward loop had there, which the loop hands out, and then the body's gradients.
#include <algorithm>
#include <map>

#include "ir/ops/gradients_body.h"
#include "ir/ops/scanning.h"
#include "ir/passes/differentiate.h"
#include "ir/passes/remove_dead.h"

namespace podium::ir {
namespace {

using ValueIds = std::vector<ValueId>;

// A product of rows with a captured matrix. The gradient of the matrix is one product after the loop, not a
// sum of many small ones; and as most of the work of a loop is in such products, the forward loop hands them
// out, too.
struct PartedProduct {
  ValueId rows;
  ValueId result;
  std::size_t input = 0;  // of the op: the matrix
};

// An x of the body and the input of the op that it is, is the state of or is a slice of.
struct Wanted {
  ValueId inner;
  std::size_t input = 0;
  std::int64_t axis = 0;  // of a slice, as is the direction
  std::int64_t direction = 0;
};

class LoopGradient {
 public:
  LoopGradient(GradientContext& context, Scanning scan)
      : context_(context), scan_(std::move(scan)), body_(scan_.body), results_(body_.outputs) {
    kept_.assign(body_.inputs.begin(), body_.inputs.begin() + static_cast<std::ptrdiff_t>(scan_.states));
    for (ValueId drawn : take_random(body_)) kept_.push_back(drawn);
    if (scan_.number.valid()) kept_.push_back(scan_.number);
  }

  void run() {
    find_wanted();
    part_products();
    differentiate_body();
    const std::vector<std::size_t> read = finish_body();
    hand_over(append_backward(keep(read)));
  }

 private:
  std::size_t input_of_captured(std::size_t i) const { return context_.op.formal_inputs() + i; }

  // States that change smoothly with what is wanted carry a gradient back, too.
  void find_wanted() {
    const std::size_t first_slice = scan_.first_state + scan_.states;
    for (std::size_t i = 0; i < scan_.slices.size(); ++i) {
      const Port& slice = scan_.slices[i];
      if (context_.wants(first_slice + i))
        slices_.push_back({slice.inner, first_slice + i, slice.axis, slice.direction});
    }
    for (std::size_t i = 0; i < scan_.captured.size(); ++i) {
      if (context_.wants(input_of_captured(i)))
        captured_.push_back({scan_.captured[i].inner, input_of_captured(i)});
    }
    std::vector<bool> carries;
    for (std::size_t i = 0; i < scan_.states; ++i) carries.push_back(context_.wants(scan_.first_state + i));
    while (grow(carries)) {
    }
    for (std::size_t i = 0; i < scan_.states; ++i) {
      if (carries[i]) carried_.push_back({kept_[i], scan_.first_state + i});
    }
  }

  bool grow(std::vector<bool>& carries) const {
    ValueIds starts;
    for (const Wanted& x : slices_) starts.push_back(x.inner);
    for (const Wanted& x : captured_) starts.push_back(x.inner);
    for (std::size_t i = 0; i < scan_.states; ++i) {
      if (carries[i]) starts.push_back(kept_[i]);
    }
    const std::vector<bool> depends = dependents(body_, starts);
    bool grows = false;
    for (std::size_t i = 0; i < scan_.states; ++i) {
      if (carries[i] || !depends[results_[i].index]) continue;
      carries[i] = grows = true;
    }
    return grows;
  }

  void part_products() {
    std::vector<Port> matrices;
    for (Op& op : body_.ops) {
      if (!op.is("MatMul")) continue;
      for (const Wanted& matrix : captured_) {
        const ValueId outer = context_.input(matrix.input);
        const Type rows = body_[op.inputs[0]].type;
        if (op.inputs[1] != matrix.inner || context_.type(outer).rank() != 2) continue;
        if (!rows.is_static() || rows.rank() == 0) continue;  // what changes its shape is not stacked
        parted_.push_back({op.inputs[0], op.outputs[0], matrix.input});
        op.inputs[1] = body_.add_value(body_.fresh_name("matrix"), context_.type(outer));
        matrices.push_back({op.inputs[1], outer});
        break;
      }
    }
    scan_.captured.insert(scan_.captured.end(), matrices.begin(), matrices.end());
  }

  ValueId like(ValueId value, std::string_view name) {
    const Type type = body_[value].type;
    return body_.add_value(body_.fresh_name(name), type);
  }

  // What flows into the body's results: a state of the reverse loop, or a slice of what flows into a stack.
  std::vector<FlowInto> flows_in() {
    std::vector<FlowInto> flows;
    for (const Wanted& state : carried_) {
      const std::size_t i = state.input - scan_.first_state;
      flows.push_back({results_[i], like(results_[i], "flow")});
      const ValueId first = context_.output_gradients[i];
      states_.push_back(
          {flows.back().gradient, first.valid() ? first : context_.filled_like(last_state(state), 0)});
    }
    for (const Port& stack : scan_.stacks) {
      if (!stack.outer.valid()) continue;
      flows.push_back({stack.inner, like(stack.inner, "flow")});
      scan_.slices.push_back({flows.back().gradient, stack.outer, stack.axis, stack.direction});
    }
    return flows;
  }

  // A state as the loop leaves it, which may have another shape than the one it came with.
  ValueId last_state(const Wanted& state) {
    const ValueId first = context_.input(state.input);
    if (context_.type(first) == body_[state.inner].type) return first;
    Graph& graph = context_.builder.graph();
    ValueId& last = graph[context_.id].outputs[state.input - scan_.first_state];
    if (last.valid()) return last;
    const ValueId added = graph.add_value(graph.fresh_name("last"), Type(body_[state.inner].type));
    return graph[context_.id].outputs[state.input - scan_.first_state] = added;
  }

  void differentiate_body() {
    const std::vector<FlowInto> flows = flows_in();
    ValueIds xs;
    for (const auto* some : {&carried_, &slices_, &captured_}) {
      for (const Wanted& x : *some) xs.push_back(x.inner);
    }
    ValueIds products;
    for (const PartedProduct& part : parted_) products.push_back(part.result);
    const ValueIds found = differentiate(body_, flows, xs, products, {.zeros = false});
    Builder builder(body_);
    GradientContext inner(builder, Op{}, {}, {});
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool may_lack = i >= carried_.size() + slices_.size();
      gradients_.push_back(found[i].valid() || may_lack ? found[i] : inner.filled_like(xs[i], 0));
    }
  }

  // Gradients of captured values become states that sum them. Gives which of the kept values the body still
  // reads.
  std::vector<std::size_t> finish_body() {
    Builder builder(body_);
    const std::size_t first_captured = carried_.size() + slices_.size();
    ValueIds outputs(gradients_.begin(), gradients_.begin() + std::ssize(carried_));
    std::vector<Wanted> summed;
    for (std::size_t i = 0; i < captured_.size(); ++i) {
      const ValueId found = gradients_[first_captured + i];
      if (!found.valid()) continue;
      states_.push_back(
          {like(captured_[i].inner, "sum"), context_.filled_like(context_.input(captured_[i].input), 0)});
      outputs.push_back(GradientContext(builder, Op{}, {}, {}).sum({states_.back().inner, found}));
      summed.push_back(captured_[i]);
    }
    captured_ = std::move(summed);
    for (std::size_t i = 0; i < slices_.size(); ++i) outputs.push_back(gradients_[carried_.size() + i]);
    take_products();
    const ValueIds flows(gradients_.end() - std::ssize(parted_), gradients_.end());
    for (std::size_t i = 0; i < parted_.size(); ++i) {
      outputs.push_back(parted_[i].rows);
      outputs.push_back(flows[i].valid() ? flows[i] : filled_in_body(parted_[i].result));
    }
    body_.inputs = inputs_of_body();
    body_.outputs.clear();
    for (ValueId id : outputs) body_.outputs.push_back(handed_on(body_, id));
    remove_dead(body_);
    return read_inputs();
  }

  // The reverse loop is given the results.
  void take_products() {
    for (const PartedProduct& part : parted_) {
      kept_.push_back(part.result);
      std::erase_if(body_.ops, [&](const Op& op) { return op.outputs[0] == part.result; });
    }
  }

  ValueId filled_in_body(ValueId value) {
    Builder builder(body_);
    return GradientContext(builder, Op{}, {}, {}).filled_like(value, 0);
  }

  // States, kept values, slices, captured values.
  ValueIds inputs_of_body() const {
    ValueIds inputs;
    for (const Port& state : states_) inputs.push_back(state.inner);
    inputs.insert(inputs.end(), kept_.begin(), kept_.end());
    for (const auto* some : {&scan_.slices, &scan_.captured}) {
      for (const Port& port : *some) inputs.push_back(port.inner);
    }
    return inputs;
  }

  // Takes the others away. There must be something that says how many iterations there were: if need be,
  // their numbers.
  std::vector<std::size_t> read_inputs() {
    const auto uses = use_counts(body_);
    const auto first = body_.inputs.begin() + std::ssize(states_);
    const ValueIds kept(first, first + std::ssize(kept_));
    std::vector<std::size_t> read;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (uses[kept[i].index] == 0) continue;
      const Type& type = body_[kept[i]].type;
      (type.is_tensor() && !type.is_static() ? listed_ : read).push_back(i);
    }
    const auto number = std::find(kept_.begin(), kept_.end(), scan_.number) - kept_.begin();
    if (read.empty() && scan_.slices.empty()) read = {static_cast<std::size_t>(number)};
    auto end = body_.inputs.erase(first, first + std::ssize(kept));
    for (std::size_t i : read) end = body_.inputs.insert(end, kept[i]) + 1;
    for (std::size_t i : listed_) take_from_list(kept[i]);
    return read;
  }

  // What may change its shape from one iteration to the next is not stacked: the forward loop makes a list of
  // it, of which the reverse loop takes the last item and leaves the rest.
  void take_from_list(ValueId value) {
    const Type type = Type::sequence(body_[value].type);
    const ValueId list = body_.add_value(body_.fresh_name("list"), Type(type));
    const ValueId rest = body_.add_value(body_.fresh_name("rest"), Type(type));
    const ValueId last = body_.add_constant(body_.fresh_name("last"), Tensor::scalar<std::int64_t>(-1));
    const Op take{.spec = find_op("", "SequenceAt"), .inputs = {list, last}, .outputs = {value}};
    const Op leave{.spec = find_op("", "SequenceErase"), .inputs = {list}, .outputs = {rest}};
    body_.ops.insert(body_.ops.begin(), {take, leave});
    const auto at = std::ssize(states_);
    body_.inputs.insert(body_.inputs.begin() + at, list);
    body_.outputs.insert(body_.outputs.begin() + at, rest);
    states_.push_back({list, kNoValue});
  }

  // The forward loop's list of a value of its body becomes its last state.
  void make_list(Op& forward, Graph& body, std::size_t n, ValueId value, ValueId nothing) {
    const auto state = static_cast<std::ptrdiff_t>(scan_.states + n);
    const auto first = static_cast<std::ptrdiff_t>(scan_.first_state);
    const Type type = Type::sequence(body[value].type);
    const ValueId list = body.add_value(body.fresh_name("list"), Type(type));
    const ValueId longer = body.add_value(body.fresh_name("longer"), Type(type));
    body.ops.push_back(
        Op{.spec = find_op("", "SequenceInsert"), .inputs = {list, value}, .outputs = {longer}});
    body.inputs.insert(body.inputs.begin() + first + state, list);
    body.outputs.insert(body.outputs.begin() + (scan_.number.valid() ? 1 : 0) + state, longer);
    while (forward.formal_inputs() < scan_.first_state) {
      forward.inputs.insert(forward.inputs.end() - forward.captures, kNoValue);
    }
    forward.inputs.insert(forward.inputs.begin() + first + state, nothing);
    Graph& graph = context_.builder.graph();
    const ValueId whole = graph.add_value(graph.fresh_name("list"), Type(type));
    forward.outputs.insert(forward.outputs.begin() + state, whole);
    state_of_list(n).outer = whole;
  }

  Port& state_of_list(std::size_t n) { return states_[states_.size() - listed_.size() + n]; }

  // The forward loop hands these out, iteration by iteration.
  ValueIds keep(const std::vector<std::size_t>& read) {
    Graph& graph = context_.builder.graph();
    ValueIds nothing;  // differentiate puts these in front
    for (std::size_t n = 0; n < listed_.size(); ++n) {
      const Type item = *body_[state_of_list(n).inner].type.inner;
      nothing.push_back(
          context_.call("SequenceEmpty", {}, {{"dtype", static_cast<std::int64_t>(item.element)}}));
    }
    Op& forward = graph[context_.id];
    Graph body = *attribute<Body>(forward, "body");
    ValueIds inside(body.inputs.begin() + static_cast<std::ptrdiff_t>(scan_.first_state),
                    body.inputs.begin() + static_cast<std::ptrdiff_t>(scan_.first_state + scan_.states));
    for (ValueId drawn : random_values(body)) inside.push_back(drawn);
    if (scan_.number.valid()) inside.push_back(scan_.number);
    for (const PartedProduct& part : parted_) inside.push_back(part.result);
    for (std::size_t n = 0; n < listed_.size(); ++n)
      make_list(forward, body, n, inside[listed_[n]], nothing[n]);
    ValueIds stacks;
    for (std::size_t i : read) {
      if (!body[inside[i]].type.is_tensor())
        throw Error("no gradient through a carried value that is no tensor");
      body.outputs.push_back(handed_on(body, inside[i]));
      stacks.push_back(graph.add_value(graph.fresh_name("kept")));
      forward.outputs.push_back(stacks.back());
    }
    for (const char* list : {"scan_output_axes", "scan_output_directions"}) {
      if (const IntList* given = attribute_if<IntList>(forward, list)) {
        IntList longer = *given;
        longer.resize(given->size() + read.size(), 0);
        set_attribute(forward, list, std::move(longer));
      }
    }
    set_attribute(forward, "body", std::make_shared<const Graph>(std::move(body)));
    context_.builder.infer_again(context_.id);
    return stacks;
  }

  std::vector<ValueId> append_backward(const ValueIds& stacks) {
    Op back{.spec = find_op("", "Scan")};
    IntList axes(stacks.size(), 0);
    IntList directions(stacks.size(), 1);
    for (const Port& state : states_) back.inputs.push_back(state.outer);
    back.inputs.insert(back.inputs.end(), stacks.begin(), stacks.end());
    for (const Port& slice : scan_.slices) {
      back.inputs.push_back(slice.outer);
      axes.push_back(slice.axis);
      directions.push_back(slice.direction);
    }
    for (const Port& captured : scan_.captured) back.inputs.push_back(captured.outer);
    back.captures = static_cast<int>(scan_.captured.size());
    IntList stack_axes;
    IntList stack_directions;
    for (const Wanted& slice : slices_) {
      stack_axes.push_back(slice.axis);
      stack_directions.push_back(slice.direction);
    }
    stack_axes.resize(slices_.size() + 2 * parted_.size(), 0);
    stack_directions.resize(stack_axes.size(), 0);
    const std::size_t outputs = body_.outputs.size();
    back.attributes = {{"body", std::make_shared<const Graph>(std::move(body_))},
                       {"num_scan_inputs", std::ssize(axes)},
                       {"scan_input_axes", axes},
                       {"scan_input_directions", directions},
                       {"scan_output_axes", stack_axes},
                       {"scan_output_directions", stack_directions}};
    return context_.builder.append(std::move(back), outputs);
  }

  void hand_over(const ValueIds& found) {
    auto next = found.begin();
    std::map<std::size_t, ValueIds> parts;
    for (const Wanted& x : carried_) parts[x.input].push_back(*next++);
    for (const Wanted& x : captured_) parts[x.input].push_back(*next++);
    next += std::ssize(listed_);
    for (const Wanted& x : slices_) parts[x.input].push_back(*next++);
    for (const PartedProduct& part : parted_) {
      const ValueId rows = context_.call("Flatten", {*next++}, {{"axis", std::int64_t{-1}}});
      const ValueId flows = context_.call("Flatten", {*next++}, {{"axis", std::int64_t{-1}}});
      parts[part.input].push_back(context_.call("MatMul", {context_.call("Transpose", {rows}), flows}));
    }
    for (auto& [input, all] : parts) {
      if (context_.wants(input)) context_.set(input, all.size() == 1 ? all[0] : context_.call("Sum", all));
    }
  }

  GradientContext& context_;
  Scanning scan_;
  Graph& body_;
  const ValueIds results_;  // of the body
  ValueIds kept_;  // of the body: states as an iteration finds them, what it drew, its number, products
  std::vector<Wanted> carried_;  // states
  std::vector<Wanted> slices_;
  std::vector<Wanted> captured_;
  std::vector<PartedProduct> parted_;
  std::vector<std::size_t> listed_;  // of kept_
  std::vector<Port> states_;         // of the reverse loop, those of lists last
  ValueIds gradients_;               // of carried_, slices_, captured_, results of parted_
};

}  // namespace

void loop_gradient(GradientContext& context) { LoopGradient(context, read_loop(context)).run(); }

void scan_gradient(GradientContext& context) { LoopGradient(context, read_scan(context)).run(); }

}  // namespace podium::ir
