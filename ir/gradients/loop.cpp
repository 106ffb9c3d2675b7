// Loop and Scan: a Scan that goes through the iterations in reverse, in three steps.
//   plan_loop_gradient   says which states carry a gradient back and which products are taken out of the
//   loop. make_reverse         makes the body of the reverse loop: the body once more, from the states as the
//   forward
//                        loop had them in the iteration, and behind it the body's gradients. Its inputs are
//                        states (flows into carried states, sums for captured values, lists), then what the
//                        forward loop keeps for it, slices, and captured values.
//   keep_for_reverse     lets the forward loop hand out what is kept: stacked, or, what may change its shape
//                        from one iteration to the next, in a list of which the reverse loop takes the last
//                        item and leaves the rest.
// "Kept" counts, in this order: states as an iteration finds them, what it drew at random, its number, and
// the results of products.
#include <algorithm>
#include <map>

#include "ir/gradients/body.h"
#include "ir/gradients/differentiate.h"
#include "ir/gradients/families.h"
#include "ir/gradients/loop_plan.h"
#include "ir/remove_dead.h"

namespace podium::ir {
namespace {

using ValueIds = std::vector<ValueId>;

// The reverse loop before it is appended.
struct ReverseLoop {
  Graph body = {};
  std::vector<Port> states = {};  // those of lists last
  std::vector<Port> slices = {};
  std::vector<Port> captured = {};
  std::vector<LoopInput> summed = {};     // captured inputs whose gradients are summed in states
  std::vector<std::size_t> stacked = {};  // of what is kept: what it reads of it iteration by iteration
  std::vector<std::size_t> listed = {};   // and from lists

  Port& state_of_list(std::size_t n) { return states[states.size() - listed.size() + n]; }
};

ValueId filled_in(Graph& body, ValueId like, double value) {
  Builder builder(body);
  return GradientContext(builder, Op{}, {}, {}).filled_like(like, value);
}

ValueId value_like(Graph& body, ValueId value, std::string_view name) {
  const Type type = body[value].type;
  return body.add_value(body.fresh_name(name), type);
}

// A state as the forward loop leaves it, which may have another shape than the one it came with.
ValueId last_state(GradientContext& context, const Scanning& scan, const LoopInput& state) {
  const ValueId first = context.input(state.input);
  const Type type = scan.body[state.inner].type;
  if (context.type(first) == type) return first;
  Graph& graph = context.builder.graph();
  const std::size_t output = state.input - scan.first_state;
  if (const ValueId last = graph[context.id].outputs[output]; last.valid()) return last;
  const ValueId added = graph.add_value(graph.fresh_name("last"), type);
  return graph[context.id].outputs[output] = added;
}

// Makes the reverse loop of a plan; `scan` as the plan was made for.
class ReverseMaker {
 public:
  ReverseMaker(GradientContext& context, const Scanning& scan, const LoopPlan& plan, ValueIds drawn)
      : context_(context), scan_(scan), plan_(plan) {
    made_.body = scan.body;
    made_.slices = scan.slices;
    made_.captured = scan.captured;
    kept_.assign(scan.body.inputs.begin(), scan.body.inputs.begin() + scan.states);
    kept_.insert(kept_.end(), drawn.begin(), drawn.end());
    if (scan.number.valid()) kept_.push_back(scan.number);
  }

  ReverseLoop make() {
    take_matrices_in_again();
    const Gradients gradients = differentiate_body();
    const ValueIds outputs = outputs_of(gradients);
    take_products_out();
    set_ports(outputs);
    take_what_is_read();
    return std::move(made_);
  }

 private:
  // In the body; those of captured values and products may lack.
  struct Gradients {
    ValueIds carried;
    ValueIds slices;
    ValueIds captured;
    ValueIds products;
  };

  // A product's matrix is another value than the one whose gradient is summed in the loop.
  void take_matrices_in_again() {
    Graph& body = made_.body;
    for (const LoopProduct& product : plan_.products) {
      const ValueId outer = context_.input(product.input);
      const ValueId matrix = body.add_value(body.fresh_name("matrix"), context_.type(outer));
      body.ops[product.op].inputs[1] = matrix;
      made_.captured.push_back({matrix, outer});
    }
  }

  // What flows into the body's results: a state of the reverse loop, or a slice of what flows into a stack.
  std::vector<FlowInto> flows_in() {
    Graph& body = made_.body;
    std::vector<FlowInto> flows;
    for (const LoopInput& state : plan_.carried) {
      const std::size_t i = state.input - scan_.first_state;
      flows.push_back({body.outputs[i], value_like(body, body.outputs[i], "flow")});
      const ValueId first = context_.output_gradients[i];
      made_.states.push_back(
          {flows.back().gradient,
           first.valid() ? first : context_.filled_like(last_state(context_, scan_, state), 0)});
    }
    for (const Port& stack : scan_.stacks) {
      if (!stack.outer.valid()) continue;
      flows.push_back({stack.inner, value_like(body, stack.inner, "flow")});
      made_.slices.push_back({flows.back().gradient, stack.outer, stack.axis, stack.direction});
    }
    return flows;
  }

  Gradients differentiate_body() {
    const std::vector<FlowInto> flows = flows_in();
    ValueIds xs;
    for (const auto* some : {&plan_.carried, &plan_.slices, &plan_.captured}) {
      for (const LoopInput& x : *some) xs.push_back(x.inner);
    }
    ValueIds products;
    for (const LoopProduct& product : plan_.products) products.push_back(product.result);
    const ValueIds found = differentiate(made_.body, flows, xs, products, {.zeros = false});
    auto next = found.begin();
    const auto take = [&](std::size_t count) {
      const auto first = std::exchange(next, next + count);
      return ValueIds(first, next);
    };
    Gradients gradients{.carried = take(plan_.carried.size()),
                        .slices = take(plan_.slices.size()),
                        .captured = take(plan_.captured.size()),
                        .products = take(plan_.products.size())};
    fill_missing(gradients.carried, plan_.carried);
    fill_missing(gradients.slices, plan_.slices);
    return gradients;
  }

  void fill_missing(ValueIds& gradients, const std::vector<LoopInput>& of) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].valid()) gradients[i] = filled_in(made_.body, of[i].inner, 0);
    }
  }

  // Gradients of carried states, sums of those of captured values, then those of slices and both factors of
  // the products after the loop.
  ValueIds outputs_of(const Gradients& gradients) {
    Graph& body = made_.body;
    Builder builder(body);
    ValueIds outputs = gradients.carried;
    for (std::size_t i = 0; i < plan_.captured.size(); ++i) {
      if (!gradients.captured[i].valid()) continue;
      const LoopInput& of = plan_.captured[i];
      made_.states.push_back(
          {value_like(body, of.inner, "sum"), context_.filled_like(context_.input(of.input), 0)});
      outputs.push_back(
          GradientContext(builder, Op{}, {}, {}).sum({made_.states.back().inner, gradients.captured[i]}));
      made_.summed.push_back(of);
    }
    outputs.insert(outputs.end(), gradients.slices.begin(), gradients.slices.end());
    return with_factors(std::move(outputs), gradients.products);
  }

  ValueIds with_factors(ValueIds outputs, const ValueIds& flows) {
    for (std::size_t i = 0; i < plan_.products.size(); ++i) {
      outputs.push_back(plan_.products[i].rows);
      outputs.push_back(flows[i].valid() ? flows[i] : filled_in(made_.body, plan_.products[i].result, 0));
    }
    return outputs;
  }

  // The reverse loop is given their results.
  void take_products_out() {
    for (const LoopProduct& product : plan_.products) {
      kept_.push_back(product.result);
      std::erase_if(made_.body.ops, [&](const Op& op) { return op.outputs[0] == product.result; });
    }
  }

  void set_ports(const ValueIds& outputs) {
    Graph& body = made_.body;
    body.inputs.clear();
    for (const Port& state : made_.states) body.inputs.push_back(state.inner);
    body.inputs.insert(body.inputs.end(), kept_.begin(), kept_.end());
    for (const auto* some : {&made_.slices, &made_.captured}) {
      for (const Port& port : *some) body.inputs.push_back(port.inner);
    }
    body.outputs.clear();
    for (ValueId id : outputs) body.outputs.push_back(handed_on(body, id));
    remove_dead(body);
  }

  // Takes the other kept values away. There must be something that says how many iterations there were: if
  // need be, their numbers.
  void take_what_is_read() {
    Graph& body = made_.body;
    const auto uses = use_counts(body);
    const auto first = body.inputs.begin() + std::ssize(made_.states);
    const ValueIds kept(first, first + std::ssize(kept_));
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (uses[kept[i]] == 0) continue;
      const Type& type = body[kept[i]].type;
      (type.is_tensor() && !type.is_static() ? made_.listed : made_.stacked).push_back(i);
    }
    const std::size_t number = std::find(kept_.begin(), kept_.end(), scan_.number) - kept_.begin();
    if (made_.stacked.empty() && made_.slices.empty()) made_.stacked = {number};
    auto end = body.inputs.erase(first, first + std::ssize(kept));
    for (std::size_t i : made_.stacked) end = body.inputs.insert(end, kept[i]) + 1;
    for (std::size_t i : made_.listed) take_from_list(kept[i]);
  }

  void take_from_list(ValueId value) {
    Graph& body = made_.body;
    const Type type = Type::sequence(body[value].type);
    const ValueId list = body.add_value(body.fresh_name("list"), Type(type));
    const ValueId rest = body.add_value(body.fresh_name("rest"), Type(type));
    const ValueId last = body.add_constant(body.fresh_name("last"), Tensor::scalar<std::int64_t>(-1));
    const Op take{.spec = find_op("", "SequenceAt"), .inputs = {list, last}, .outputs = {value}};
    const Op leave{.spec = find_op("", "SequenceErase"), .inputs = {list}, .outputs = {rest}};
    body.ops.insert(body.ops.begin(), {take, leave});
    const auto at = std::ssize(made_.states);
    body.inputs.insert(body.inputs.begin() + at, list);
    body.outputs.insert(body.outputs.begin() + at, rest);
    made_.states.push_back({list, kNoValue});
  }

  GradientContext& context_;
  const Scanning& scan_;
  const LoopPlan& plan_;
  ValueIds kept_;  // of the body
  ReverseLoop made_;
};

// The forward loop's list number `n` of a value of its body becomes its last state. Gives the whole list.
ValueId make_list(Graph& graph, const Scanning& scan, std::size_t n, Op& forward, Graph& body, ValueId value,
                  ValueId nothing) {
  const std::size_t state = scan.states + n;
  const Type type = Type::sequence(body[value].type);
  const ValueId list = body.add_value(body.fresh_name("list"), Type(type));
  const ValueId longer = body.add_value(body.fresh_name("longer"), Type(type));
  body.ops.push_back(Op{.spec = find_op("", "SequenceInsert"), .inputs = {list, value}, .outputs = {longer}});
  body.inputs.insert(body.inputs.begin() + scan.first_state + state, list);
  body.outputs.insert(body.outputs.begin() + (scan.number.valid() ? 1 : 0) + state, longer);
  while (forward.formal_inputs() < scan.first_state) {
    forward.inputs.insert(forward.inputs.end() - forward.captures, kNoValue);
  }
  forward.inputs.insert(forward.inputs.begin() + scan.first_state + state, nothing);
  const ValueId whole = graph.add_value(graph.fresh_name("list"), Type(type));
  forward.outputs.insert(forward.outputs.begin() + state, whole);
  return whole;
}

// What is kept, in the forward loop's own body.
ValueIds kept_in_forward(const Scanning& scan, const LoopPlan& plan, Graph& body) {
  const auto first = body.inputs.begin() + scan.first_state;
  ValueIds kept(first, first + scan.states);
  for (ValueId drawn : random_values(body)) kept.push_back(drawn);
  if (scan.number.valid()) kept.push_back(scan.number);
  for (const LoopProduct& product : plan.products) kept.push_back(product.result);
  return kept;
}

void lengthen_lists(Op& forward, std::size_t by) {
  for (const AttributeName name :
       {AttributeName("scan_output_axes"), AttributeName("scan_output_directions")}) {
    const IntList* given = attribute_if<IntList>(forward, name);
    if (given == nullptr) continue;
    IntList longer = *given;
    longer.resize(given->size() + by, 0);
    set_attribute(forward, name, std::move(longer));
  }
}

// The stacks that the forward loop hands out for the reverse one, in the order of `reverse.stacked`; lists
// become the outer values of their states.
ValueIds keep_for_reverse(GradientContext& context, const Scanning& scan, const LoopPlan& plan,
                          ReverseLoop& reverse) {
  Graph& graph = context.builder.graph();
  ValueIds nothing;  // differentiate puts these in front
  for (std::size_t n = 0; n < reverse.listed.size(); ++n) {
    const Type item = *reverse.body[reverse.state_of_list(n).inner].type.inner;
    nothing.push_back(
        context.call("SequenceEmpty", {}, {{"dtype", static_cast<std::int64_t>(item.element)}}));
  }
  Op& forward = graph[context.id];
  Graph body = *attribute<Body>(forward, "body");
  const ValueIds kept = kept_in_forward(scan, plan, body);
  for (std::size_t n = 0; n < reverse.listed.size(); ++n) {
    reverse.state_of_list(n).outer =
        make_list(graph, scan, n, forward, body, kept[reverse.listed[n]], nothing[n]);
  }
  ValueIds stacks;
  for (std::size_t i : reverse.stacked) {
    if (!body[kept[i]].type.is_tensor()) throw Error("no gradient through a carried value that is no tensor");
    body.outputs.push_back(handed_on(body, kept[i]));
    stacks.push_back(graph.add_value(graph.fresh_name("kept")));
    forward.outputs.push_back(stacks.back());
  }
  lengthen_lists(forward, reverse.stacked.size());
  set_attribute(forward, "body", std::make_shared<const Graph>(std::move(body)));
  context.builder.infer_again(context.id);
  return stacks;
}

// Appends the Scan, which takes the body. Gives its outputs.
ValueIds append_reverse(GradientContext& context, const LoopPlan& plan, ReverseLoop& reverse,
                        const ValueIds& stacks) {
  Op back{.spec = find_op("", "Scan")};
  IntList axes(stacks.size(), 0);
  IntList directions(stacks.size(), 1);
  for (const Port& state : reverse.states) back.inputs.push_back(state.outer);
  back.inputs.insert(back.inputs.end(), stacks.begin(), stacks.end());
  for (const Port& slice : reverse.slices) {
    back.inputs.push_back(slice.outer);
    axes.push_back(slice.axis);
    directions.push_back(slice.direction);
  }
  for (const Port& captured : reverse.captured) back.inputs.push_back(captured.outer);
  back.captures = reverse.captured.size();
  IntList stack_axes;
  IntList stack_directions;
  for (const LoopInput& slice : plan.slices) {
    stack_axes.push_back(slice.axis);
    stack_directions.push_back(slice.direction);
  }
  stack_axes.resize(plan.slices.size() + 2 * plan.products.size(), 0);
  stack_directions.resize(stack_axes.size(), 0);
  const std::size_t outputs = reverse.body.outputs.size();
  back.attributes = {{"body", std::make_shared<const Graph>(std::move(reverse.body))},
                     {"num_scan_inputs", std::ssize(axes)},
                     {"scan_input_axes", axes},
                     {"scan_input_directions", directions},
                     {"scan_output_axes", stack_axes},
                     {"scan_output_directions", stack_directions}};
  return context.builder.append(std::move(back), outputs);
}

// From the outputs of the reverse loop to the gradients of the loop's inputs.
void hand_over(GradientContext& context, const LoopPlan& plan, const ReverseLoop& reverse,
               const ValueIds& found) {
  auto next = found.begin();
  std::map<std::size_t, ValueIds> parts;
  for (const LoopInput& x : plan.carried) parts[x.input].push_back(*next++);
  for (const LoopInput& x : reverse.summed) parts[x.input].push_back(*next++);
  next += std::ssize(reverse.listed);
  for (const LoopInput& x : plan.slices) parts[x.input].push_back(*next++);
  for (const LoopProduct& product : plan.products) {
    const ValueId rows = context.call("Flatten", {*next++}, {{"axis", std::int64_t{-1}}});
    const ValueId flows = context.call("Flatten", {*next++}, {{"axis", std::int64_t{-1}}});
    parts[product.input].push_back(context.call("MatMul", {context.call("Transpose", {rows}), flows}));
  }
  for (auto& [input, all] : parts) {
    if (context.wants(input)) context.set(input, all.size() == 1 ? all[0] : context.call("Sum", all));
  }
}

void append_loop_gradient(GradientContext& context, Scanning scan) {
  const ValueIds drawn = take_random(scan.body);
  const LoopPlan plan = plan_loop_gradient(context, scan);
  ReverseLoop reverse = ReverseMaker(context, scan, plan, drawn).make();
  const ValueIds stacks = keep_for_reverse(context, scan, plan, reverse);
  const ValueIds found = append_reverse(context, plan, reverse, stacks);
  hand_over(context, plan, reverse, found);
}

void loop_gradient(GradientContext& context) { append_loop_gradient(context, read_loop(context)); }

void scan_gradient(GradientContext& context) { append_loop_gradient(context, read_scan(context)); }

}  // namespace

std::span<const GradientRow> loop_gradients() {
  static constexpr GradientRow kRows[]{
      {"Loop", loop_gradient},
      {"Scan", scan_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
