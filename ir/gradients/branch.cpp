// If: each branch becomes one that computes itself again and then its gradients.
#include <algorithm>
#include <array>

#include "ir/gradients/body.h"
#include "ir/gradients/differentiate.h"
#include "ir/gradients/families.h"

namespace podium::ir {
namespace {

constexpr std::array<std::string_view, 2> kBranches{"then_branch", "else_branch"};

// A branch that is known not to run may not even have types.
bool may_run(const GradientContext& context, std::size_t branch) {
  const std::optional<Tensor>& condition = context.builder.graph()[context.input(0)].constant;
  return !condition || condition->size() != 1 || *condition->data<bool>() == (branch == 0);
}

// A value of a type that another branch gives; unknown dimensions are 0.
ValueId placeholder(Builder& builder, const Type& type) {
  Dims dims = type.dims;
  for (std::int64_t& size : dims) size = std::max<std::int64_t>(size, 0);
  return builder.constant(Tensor(type.element, std::move(dims)));
}

// Random numbers of the branches become outputs of the If. Gives those of each branch.
std::array<std::vector<ValueId>, 2> keep_random(GradientContext& context) {
  std::array<Graph, 2> bodies;
  std::array<std::vector<ValueId>, 2> drawn;
  for (std::size_t i = 0; i < 2; ++i) {
    bodies[i] = *attribute<Body>(context.op, kBranches[i]);
    if (may_run(context, i)) drawn[i] = random_values(bodies[i]);
  }
  std::array<std::vector<ValueId>, 2> outer;
  if (drawn[0].empty() && drawn[1].empty()) return outer;
  Graph& graph = context.builder.graph();
  Op& forward = graph[context.id];
  for (std::size_t i = 0; i < 2; ++i) {
    Builder other(bodies[1 - i]);
    for (ValueId value : drawn[i]) {
      other.output(placeholder(other, bodies[i][value].type));
      bodies[i].outputs.push_back(handed_on(bodies[i], value));
      outer[i].push_back(graph.add_value(graph.fresh_name("drawn")));
      forward.outputs.push_back(outer[i].back());
    }
  }
  for (std::size_t i = 0; i < 2; ++i)
    set_attribute(forward, kBranches[i], std::make_shared<const Graph>(bodies[i]));
  context.builder.infer_again(context.id);
  return outer;
}

// The backward branch. Its inputs are the captured values, the branches' random numbers and the incoming
// gradients.
struct BackwardBranch {
  const GradientContext& context;
  Graph body;

  std::vector<ValueId> add_inputs(std::size_t count) {
    std::vector<ValueId> added;
    for (std::size_t i = 0; i < count; ++i) added.push_back(body.add_value(body.fresh_name("flow")));
    body.inputs.insert(body.inputs.end(), added.begin(), added.end());
    return added;
  }

  // Makes the outputs of a branch that never runs.
  void give_placeholders() {
    body.ops.clear();
    body.outputs.clear();
    Builder builder(body);
    for (std::size_t i = 1; i < context.op.inputs.size(); ++i) {
      if (context.wants(i)) builder.output(placeholder(builder, context.type(context.input(i))));
    }
  }

  // The gradients of the captured values that somebody wants.
  void differentiate_outputs(const std::vector<ValueId>& flowing) {
    Builder builder(body);
    GradientContext inner(builder, Op{}, {}, {});
    std::vector<FlowInto> flows;
    std::size_t next = 0;
    for (std::size_t i = 0; i < context.op.outputs.size(); ++i) {
      if (!context.output_gradients[i].valid()) continue;
      body[flowing[next]].type = context.type(context.output_gradients[i]);
      flows.push_back({body.outputs[i], inner.reshape_like(flowing[next], body.outputs[i])});
      ++next;
    }
    std::vector<ValueId> xs;
    for (std::size_t i = 1; i < context.op.inputs.size(); ++i) {
      if (context.wants(i)) xs.push_back(body.inputs[i - 1]);
    }
    body.outputs.clear();
    for (ValueId id : differentiate(body, flows, xs, {}, {})) body.outputs.push_back(handed_on(body, id));
  }
};

void if_gradient(GradientContext& context) {
  const auto drawn = keep_random(context);
  Op back{.spec = context.op.spec, .inputs = context.op.inputs};
  std::vector<ValueId> flowing;
  for (ValueId id : context.output_gradients) {
    if (id.valid()) flowing.push_back(id);
  }
  for (const auto& more : {drawn[0], drawn[1], flowing})
    back.inputs.insert(back.inputs.end(), more.begin(), more.end());
  back.captures = back.inputs.size() - 1;
  for (std::size_t i = 0; i < 2; ++i) {
    BackwardBranch branch{context, *attribute<Body>(context.op, kBranches[i])};
    const bool runs = may_run(context, i);
    const std::vector<ValueId> own = runs ? take_random(branch.body) : std::vector<ValueId>();
    if (i == 1) branch.add_inputs(drawn[0].size());
    branch.body.inputs.insert(branch.body.inputs.end(), own.begin(), own.end());
    if (i == 0) branch.add_inputs(drawn[1].size());
    const std::vector<ValueId> inner = branch.add_inputs(flowing.size());
    runs ? branch.differentiate_outputs(inner) : branch.give_placeholders();
    set_attribute(back, kBranches[i], std::make_shared<const Graph>(std::move(branch.body)));
  }
  std::vector<std::size_t> wanted;
  for (std::size_t i = 1; i < context.op.inputs.size(); ++i) {
    if (context.wants(i)) wanted.push_back(i);
  }
  const std::vector<ValueId> gradients = context.builder.append(std::move(back), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) context.set(wanted[i], gradients[i]);
}

}  // namespace

std::span<const GradientRow> branch_gradients() {
  static constexpr GradientRow kRows[]{
      {"If", if_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
