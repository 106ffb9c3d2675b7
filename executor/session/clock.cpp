#include "executor/session/clock.h"

#include <algorithm>
#include <array>

#include "executor/lower/lower.h"
#include "executor/numeric/observe_types.h"
#include "executor/numeric/prepared_block.h"
#include "executor/sim/simulate.h"
#include "ir/passes/inline_branches.h"

namespace podium {
namespace {

bool is_unknown(const ir::Type& type) {
  return type.is_tensor() && type.element != ir::DataType::Undefined && !type.is_static();
}

bool has_unknown_trips(const ir::Graph& graph, const ir::Op& op) {
  return op.is("Loop") && op.inputs[0].valid() && !graph.is_constant(op.inputs[0]);
}

// Values of ops that do not fit their inputs, and so never run, have no type.
bool has_unknown_sizes(const ir::Graph& body) {
  return std::ranges::any_of(body.ops, [&](const ir::Op& op) {
    return std::ranges::any_of(ir::outputs_of(op), [&](ir::ValueId id) {
      return body[id].type.is_tensor() && !body[id].type.is_static();
    });
  });
}

// Of which the clock cannot take the dearer branch, for it does not know what both cost.
bool has_unknown_branch(const ir::Graph& graph, const ir::Op& op) {
  if (!op.is("If") || !op.inputs[0].valid() || graph.is_constant(op.inputs[0])) return false;
  return std::ranges::any_of(std::array{"then_branch", "else_branch"}, [&](std::string_view name) {
    const ir::Graph& branch = *ir::attribute<ir::Body>(op, name);
    return has_unknown_sizes(branch) || undecided(branch);
  });
}

// The first micro-batch of an array of several.
ir::Datum first_of(const ir::Datum& given, const ir::Type& type) {
  if (!given.is_tensor() || !type.is_static() || given.tensor.dims() == type.dims) return given;
  return ir::Tensor::adopt(type.element, type.dims, given.tensor.raw(), nullptr);
}

// Input 0 of the ops that `is_wanted` takes becomes a constant, what it is on these inputs.
template <class Wanted>
bool fix_first_input(ir::Graph& graph, std::span<const ir::Datum> inputs, const Wanted& is_wanted) {
  ir::Graph probe = graph;
  probe.outputs.clear();
  for (const ir::Op& op : graph.ops) {
    if (is_wanted(graph, op)) probe.outputs.push_back(op.inputs[0]);
  }
  if (probe.outputs.empty()) return false;
  std::vector<const ir::Datum*> pointers;
  for (const ir::Datum& datum : inputs) pointers.push_back(&datum);
  numeric::PreparedBlock block(std::move(probe), {.fuse = false});
  auto found = block.run(pointers).begin();
  for (ir::Op& op : graph.ops) {
    if (!is_wanted(graph, op)) continue;
    op.inputs[0] = graph.add_constant(graph.fresh_name("decided"), (*found++)->tensor.clone());
  }
  return true;
}

// Ifs become the branches that they take on these inputs, each op of which is placed as its If was.
void take_branches(ir::Graph& graph, ir::Placement& placement, std::span<const ir::Datum> inputs) {
  // In a branch there may be others.
  while (fix_first_input(graph, inputs, has_unknown_branch)) {
    std::vector<ir::OpPlacement> placed;
    for (ir::OpId origin : ir::inline_branches(graph)) placed.push_back(placement.ops[origin.index]);
    placement.ops = std::move(placed);
  }
}

struct KnownGraph {
  ir::Graph graph;
  ir::Placement placement;
};

// The graph with what it is on these inputs in place of what is unknown.
KnownGraph with_known_sizes(ir::Graph graph, ir::Placement placement, std::span<const ir::Datum> inputs) {
  std::vector<ir::Datum> first;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    first.push_back(first_of(inputs[i], graph[graph.inputs[i]].type));
  }
  take_branches(graph, placement, first);
  const auto types = numeric::observe_types(graph, first);
  for (ir::ValueId id : graph.value_ids()) graph[id].type = types[id];
  // Loops get as many trips as they may make.
  fix_first_input(graph, first, has_unknown_trips);
  return {std::move(graph), std::move(placement)};
}

}  // namespace

std::optional<Undecided> undecided(const ir::Graph& graph) {
  const auto by_first_input = [&](std::string_view what, const ir::Op& op) {
    const bool is_input = std::ranges::find(graph.inputs, op.inputs[0]) != graph.inputs.end();
    return Undecided{fmt::format("the {} of {}", what, graph.describe(op)),
                     is_input ? graph[op.inputs[0]].name : ""};
  };
  for (const ir::Op& op : graph.ops) {
    if (has_unknown_trips(graph, op)) return by_first_input("number of trips", op);
    if (has_unknown_branch(graph, op)) return by_first_input("branch", op);
    for (ir::ValueId id : op.outputs) {
      if (!id.valid() || !is_unknown(graph[id].type)) continue;
      return Undecided{fmt::format("the size of '{}', {}", graph[id].name, to_string(graph[id].type))};
    }
  }
  return std::nullopt;
}

sim::CostOptions cost_options(const Strategy& strategy) {
  return {
      .outlining = strategy.outlining, .host_streams = strategy.host_streams, .merging = strategy.merging};
}

sim::Timeline Clock::run(const executor::Program& program) const {
  return sim::simulate(program, device,
                       {.sync = strategy.sync,
                        .io_tiles = strategy.io_tiles,
                        .events = events,
                        .costs = cost_options(strategy)});
}

Clocked LateClock::run(std::span<const ir::Datum> inputs) const {
  if (inputs.size() != training.graph.inputs.size()) {
    throw Error("sizes that only data decides: no clock with synthetic data");
  }
  ir::Training known = training;
  KnownGraph found = with_known_sizes(training.graph, placement, inputs);
  known.graph = std::move(found.graph);
  executor::Program program = known.variables.empty()
                                  ? lower::lower(std::move(known.graph), found.placement, clock.strategy)
                                  : lower::lower(std::move(known), found.placement, clock.strategy);
  sim::Timeline timeline = clock.run(program);
  return {std::move(timeline), std::move(program)};
}

}  // namespace podium
