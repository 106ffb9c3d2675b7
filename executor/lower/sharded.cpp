#include <algorithm>

#include "executor/lower/draft.h"
#include "executor/lower/strategies.h"

namespace podium::lower {

using executor::CopyBetweenProcessors;
using executor::LoadFromHost;
using executor::Step;
using executor::StoreToHost;
using ir::ValueId;

namespace {

// Brings what a part reads: from the host what comes from there, the rest from the processor that made it.
void bring_reads(Draft& draft, const Part& part, std::vector<std::vector<int>>& is_on, std::vector<Step>& steps) {
  CopyBetweenProcessors copy;
  for (ValueId id : part.reads) {
    std::vector<int>& places = is_on[static_cast<std::size_t>(id.index)];
    if (std::find(places.begin(), places.end(), part.group) != places.end()) continue;
    if (places.empty()) {
      steps.push_back({.action = LoadFromHost{draft.input_index(id), {draft.buffer(id, part.group)}}});
    } else {
      copy.transfers.push_back({{draft.buffer(id, places.front())}, {draft.buffer(id, part.group)}});
    }
    places.push_back(part.group);
  }
  if (!copy.transfers.empty()) steps.push_back({.action = std::move(copy)});
}

}  // namespace

executor::Program sharded(const ir::Graph& graph, const ir::Placement& placement, const Options& options) {
  Draft draft(graph, placement, options);
  std::vector<int> processor_of(graph.ops.size());
  std::transform(placement.ops.begin(), placement.ops.end(), processor_of.begin(),
                 [](const ir::OpPlacement& op) { return op.processor; });
  std::vector<Part> parts = make_parts(graph, processor_of, false);
  std::vector<Step> body;
  std::vector<std::vector<int>> is_on(graph.values.size());  // processors, the one that made it first
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Part& part = parts[p];
    bring_reads(draft, part, is_on, body);
    const std::string name = parts.size() == 1 ? "all" : fmt::format("part{}", p);
    body.push_back(draft.compute(draft.add_block(part, part.group, name), part));
    for (ValueId id : part.writes) {
      is_on[static_cast<std::size_t>(id.index)].push_back(part.group);
      for (int output : draft.output_indices(id)) {
        body.push_back({.action = StoreToHost{{draft.buffer(id, part.group)}, output}});
      }
    }
  }
  if (options.batches_per_step == 1) {
    draft.program.steps = std::move(body);
  } else {
    for (Step& step : body) step.micro_batch_stride = 1;
    draft.program.steps.push_back({.action = executor::Repeat{options.batches_per_step, std::move(body)}});
  }
  return std::move(draft.program);
}

}  // namespace podium::lower
