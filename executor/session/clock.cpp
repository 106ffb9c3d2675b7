#include "executor/session/clock.h"

#include <algorithm>

#include "executor/lower/lower.h"
#include "executor/numeric/observe_types.h"
#include "executor/numeric/prepared_block.h"
#include "executor/sim/simulate.h"

namespace podium {
namespace {

bool is_unknown(const ir::Type& type) {
  return type.is_tensor() && type.element != ir::DataType::Undefined && !type.is_static();
}

bool has_unknown_trips(const ir::Graph& graph, const ir::Op& op) {
  return op.is("Loop") && op.inputs[0].valid() && !graph.is_constant(op.inputs[0]);
}

// The first micro-batch of an array of several.
ir::Datum first_of(const ir::Datum& given, const ir::Type& type) {
  if (!given.is_tensor() || !type.is_static() || given.tensor.dims() == type.dims) return given;
  return ir::Tensor::adopt(type.element, type.dims, given.tensor.raw(), nullptr);
}

// Loops get as many trips as they may make on these inputs.
void fix_trips(ir::Graph& graph, std::span<const ir::Datum> inputs) {
  ir::Graph probe = graph;
  probe.outputs.clear();
  for (const ir::Op& op : graph.ops) {
    if (has_unknown_trips(graph, op)) probe.outputs.push_back(op.inputs[0]);
  }
  if (probe.outputs.empty()) return;
  std::vector<const ir::Datum*> pointers;
  for (const ir::Datum& datum : inputs) pointers.push_back(&datum);
  numeric::PreparedBlock block(std::move(probe), {.fuse = false});
  auto trips = block.run(pointers).begin();
  for (ir::Op& op : graph.ops) {
    if (!has_unknown_trips(graph, op)) continue;
    op.inputs[0] = graph.add_constant(graph.fresh_name("trips"), (*trips++)->tensor.clone());
  }
}

// The graph with what it is on these inputs in place of what is unknown.
ir::Graph with_known_sizes(ir::Graph graph, std::span<const ir::Datum> inputs) {
  std::vector<ir::Datum> first;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    first.push_back(first_of(inputs[i], graph[graph.inputs[i]].type));
  }
  const auto types = numeric::observe_types(graph, first);
  for (ir::ValueId id : graph.value_ids()) graph[id].type = types[id];
  fix_trips(graph, first);
  return graph;
}

}  // namespace

std::optional<std::string> undecided(const ir::Graph& graph) {
  for (const ir::Op& op : graph.ops) {
    if (has_unknown_trips(graph, op)) return "the number of trips of " + graph.describe(op);
    for (ir::ValueId id : op.outputs) {
      if (!id.valid() || !is_unknown(graph[id].type)) continue;
      return fmt::format("the size of '{}', {}", graph[id].name, to_string(graph[id].type));
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
  known.graph = with_known_sizes(training.graph, inputs);
  executor::Program program = known.variables.empty()
                                  ? lower::lower(std::move(known.graph), placement, clock.strategy)
                                  : lower::lower(std::move(known), placement, clock.strategy);
  sim::Timeline timeline = clock.run(program);
  return {std::move(timeline), std::move(program)};
}

}  // namespace podium
