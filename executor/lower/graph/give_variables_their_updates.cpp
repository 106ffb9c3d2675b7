#include "executor/lower/graph/give_variables_their_updates.h"

#include <set>

namespace podium::lower {
namespace {

// The update that is what a variable has become by the end of a micro-batch; nullptr while it stays what it
// is.
const ir::Update* last_update(const ir::Training& training, ir::ValueId variable, bool accumulates) {
  const ir::Update* last = nullptr;
  for (const ir::Update& update : training.updates) {
    if (update.variable != variable || (update.outer && accumulates)) continue;
    if (last == nullptr || update.outer) last = &update;
  }
  return last;
}

}  // namespace

void give_variables_their_updates(PlacedGraph& placed, const Facts& facts) {
  ir::Graph& graph = placed.graph();
  const ir::Training& training = placed.training;
  std::set<std::size_t> is_update;
  for (const ir::Update& update : training.updates) is_update.insert(update.output);
  const std::set<ir::ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  const auto producer = producers(graph);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::ValueId output = graph.outputs[i];
    if (is_update.contains(i) || !inputs.contains(output)) continue;
    const ir::Update* update = last_update(training, output, facts.accumulates);
    if (update == nullptr) continue;
    const ir::ValueId becomes = graph.outputs[update->output];
    const auto context = update->outer ? ir::Context::Update : ir::Context::MicroBatch;
    graph.outputs[i] = placed.append_copy(becomes, graph[output].name,
                                          in_context(placed.place_of(producer[becomes], becomes), context));
  }
}

}  // namespace podium::lower
