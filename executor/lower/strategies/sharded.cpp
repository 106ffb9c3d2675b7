#include <algorithm>

#include "executor/lower/draft/cut_update.h"
#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/remote.h"
#include "executor/lower/draft/update.h"
#include "executor/lower/strategies/strategies.h"

namespace podium::lower {

using executor::CopyBetweenProcessors;
using ir::ValueId;

namespace {

// For each of the part's reads, the place of the op that reads it first.
std::vector<std::size_t> first_readers(const Part& part) {
  std::vector<int> read_of_value(part.graph.values.size(), -1);
  for (std::size_t i = 0; i < part.graph.inputs.size(); ++i) {
    read_of_value[part.graph.inputs[i].index] = static_cast<int>(i);
  }
  std::vector<std::size_t> first(part.reads.size(), part.graph.ops.size());
  for (std::size_t i = 0; i < part.graph.ops.size(); ++i) {
    for (ValueId id : part.graph.ops[i].inputs) {
      const int read = id.valid() ? read_of_value[id.index] : -1;
      if (read >= 0) first[read] = std::min(first[read], i);
    }
  }
  return first;
}

class Sharded {
 public:
  Sharded(Draft& draft, Remote& remote)
      : draft_(draft),
        remote_(remote),
        io_(draft),
        is_on_(draft.graph.values.size()),
        update_(draft, io_, [this](ValueId id) -> std::vector<int>& { return places(id); }) {
    for (const PlacedVariable& variable : draft.variables.all()) {
      places(variable.value).push_back(variable.processor);
    }
  }

  void add(Part& part, int processor, const std::string& name) {
    remote_.bring_weights(part, processor, io_.first_cycle(), cycle_.steps);
    bring_reads(part, processor);
    cycle_.steps.push_back(
        {io_.first_cycle(), draft_.compute(draft_.add_block(part, processor, name), part)});
    for (ValueId id : part.writes) {
      places(id).push_back(processor);
      io_.store(id, processor, io_.first_cycle(), cycle_.steps);
    }
  }
  void add_update(Part& part, int processor, const std::string& name) { update_.add(part, processor, name); }
  void finish() { draft_.program.steps = io_.run(std::move(cycle_), update_.take()); }

 private:
  std::vector<int>& places(ValueId id) { return is_on_[id.index]; }

  // Brings what a part reads: from the host what comes from there, the rest from the processor that made it.
  // What one op is the first to read comes in one copy.
  void bring_reads(const Part& part, int processor) {
    const std::vector<std::size_t> first = first_readers(part);
    CopyBetweenProcessors copy;
    for (std::size_t i = 0; i < part.reads.size(); ++i) {
      const ValueId id = part.reads[i];
      std::vector<int>& where = places(id);
      if (!remote_.weight(id) && std::find(where.begin(), where.end(), processor) == where.end()) {
        if (draft_.variables.is_hyper_parameter(id)) {
          io_.load_once(id, processor);
        } else if (where.empty()) {
          io_.load(id, processor, io_.first_cycle(), cycle_.steps);
        } else {
          copy.transfers.push_back({{draft_.buffer(id, where.front())}, {draft_.buffer(id, processor)}});
        }
        where.push_back(processor);
      }
      const bool is_last_of_op = i + 1 == part.reads.size() || first[i + 1] != first[i];
      if (is_last_of_op && !copy.transfers.empty()) {
        cycle_.steps.push_back({io_.first_cycle(), {.action = std::exchange(copy, {})}});
      }
    }
  }

  Draft& draft_;
  Remote& remote_;
  HostIo io_;
  Cycle cycle_;
  std::vector<std::vector<int>> is_on_;  ///< processors that hold a value, the one that had it first in front
  UpdateSteps update_;
};

// Ops run in sections, and in each on one processor after the other: one section ends with an op that makes
// an output for the IO tiles, so that it leaves while the rest computes; the last ones are what changes for
// the next micro-batch, the update, and what follows it.
struct Sections {
  std::vector<int> of_op;
  int update = 0;
};

Sections cut_into_sections(const Draft& draft) {
  std::vector<bool> leaves(draft.graph.values.size(), false);
  for (std::size_t i = 0; i < draft.graph.outputs.size(); ++i) {
    const ValueId id = draft.graph.outputs[i];
    if (!draft.variables.is_update(i) && leaves_at_once(draft, id)) leaves[id.index] = true;
  }
  Sections sections;
  for (std::size_t i = 0; i < draft.graph.ops.size(); ++i) {
    sections.of_op.push_back(sections.update);
    for (ValueId id : draft.graph.ops[i].outputs) {
      if (id.valid() && leaves[id.index] && i + 1 < draft.graph.ops.size()) ++sections.update;
    }
  }
  // Where there is one part only, it reads variables before it changes them.
  const int last = sections.update;
  const int late = last == 0 && draft.placement.processors == 1 ? last : last + 1;
  sections.update = late + 1;
  const UpdateSections update = cut_update(draft.graph, draft.variables);
  for (std::size_t i = 0; i < sections.of_op.size(); ++i) {
    if (draft.variables.is_late(i)) sections.of_op[i] = late;
    if (draft.variables.is_outer(i)) sections.of_op[i] = sections.update + update.of_op[i];
  }
  return sections;
}

}  // namespace

executor::Program sharded(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                          Warnings& warnings, const Variables& variables) {
  Draft draft(graph, placement, options, variables);
  Remote remote(draft, warnings);
  const Sections sections = cut_into_sections(draft);
  std::vector<int> group;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    group.push_back(sections.of_op[i] * placement.processors + placement.ops[i].processor);
  }
  std::vector<Part> parts = make_parts(graph, group, false, remote.streamed());
  Sharded strategy(draft, remote);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const int section = parts[p].group / placement.processors;
    const int processor = parts[p].group % placement.processors;
    if (section >= sections.update) {
      strategy.add_update(parts[p], processor, fmt::format("update{}", p));
    } else {
      strategy.add(parts[p], processor, parts.size() == 1 ? "all" : fmt::format("part{}", p));
    }
  }
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
