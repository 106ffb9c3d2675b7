#include <algorithm>

#include "executor/lower/host_io.h"
#include "executor/lower/remote.h"
#include "executor/lower/strategies.h"
#include "executor/lower/update.h"

namespace podium::lower {

using executor::CopyBetweenProcessors;
using ir::ValueId;

namespace {

// For each of the part's reads, the place of the op that reads it first.
std::vector<std::size_t> first_readers(const Part& part) {
  std::vector<int> read_of_value(part.graph.values.size(), -1);
  for (std::size_t i = 0; i < part.graph.inputs.size(); ++i) {
    read_of_value[static_cast<std::size_t>(part.graph.inputs[i].index)] = static_cast<int>(i);
  }
  std::vector<std::size_t> first(part.reads.size(), part.graph.ops.size());
  for (std::size_t i = 0; i < part.graph.ops.size(); ++i) {
    for (ValueId id : part.graph.ops[i].inputs) {
      const int read = id.valid() ? read_of_value[static_cast<std::size_t>(id.index)] : -1;
      if (read >= 0)
        first[static_cast<std::size_t>(read)] = std::min(first[static_cast<std::size_t>(read)], i);
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

  void add(Part& part, const std::string& name) {
    remote_.bring_weights(part, part.group, io_.first_cycle(), cycle_.steps);
    bring_reads(part);
    cycle_.steps.push_back(
        {io_.first_cycle(), draft_.compute(draft_.add_block(part, part.group, name), part)});
    for (ValueId id : part.writes) {
      places(id).push_back(part.group);
      io_.store(id, part.group, io_.first_cycle(), cycle_.steps);
    }
  }
  void add_update(Part& part, int processor, const std::string& name) { update_.add(part, processor, name); }
  void finish() { draft_.program.steps = io_.run(std::move(cycle_), update_.take()); }

 private:
  std::vector<int>& places(ValueId id) { return is_on_[static_cast<std::size_t>(id.index)]; }

  // Brings what a part reads: from the host what comes from there, the rest from the processor that made it.
  // What one op is the first to read comes in one copy.
  void bring_reads(const Part& part) {
    const std::vector<std::size_t> first = first_readers(part);
    CopyBetweenProcessors copy;
    for (std::size_t i = 0; i < part.reads.size(); ++i) {
      const ValueId id = part.reads[i];
      std::vector<int>& where = places(id);
      if (!remote_.weight(id) && std::find(where.begin(), where.end(), part.group) == where.end()) {
        if (draft_.variables.is_hyper_parameter(id)) {
          io_.load_once(id, part.group);
        } else if (where.empty()) {
          io_.load(id, part.group, io_.first_cycle(), cycle_.steps);
        } else {
          copy.transfers.push_back({{draft_.buffer(id, where.front())}, {draft_.buffer(id, part.group)}});
        }
        where.push_back(part.group);
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

}  // namespace

executor::Program sharded(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                          Warnings& warnings, const Variables& variables) {
  Draft draft(graph, placement, options, variables);
  Remote remote(draft, warnings);
  // Groups of the update come after all others, so that its parts do.
  std::vector<int> group;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    group.push_back(placement.ops[i].processor + (variables.is_outer(i) ? placement.processors : 0));
  }
  std::vector<Part> parts = make_parts(graph, group, false, remote.streamed());
  Sharded strategy(draft, remote);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const int update_on = parts[p].group - placement.processors;
    if (update_on >= 0) {
      strategy.add_update(parts[p], update_on, fmt::format("update{}", p));
    } else {
      strategy.add(parts[p], parts.size() == 1 ? "all" : fmt::format("part{}", p));
    }
  }
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
