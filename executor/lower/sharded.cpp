#include <algorithm>

#include "executor/lower/host_io.h"
#include "executor/lower/remote.h"
#include "executor/lower/strategies.h"

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
      : draft_(draft), remote_(remote), io_(draft), is_on_(draft.graph.values.size()) {}

  void add(Part& part, const std::string& name) {
    remote_.bring_weights(part, part.group, io_.first_cycle(), cycle_.steps);
    bring_reads(part);
    cycle_.steps.push_back(
        {io_.first_cycle(), draft_.compute(draft_.add_block(part, part.group, name), part)});
    for (ValueId id : part.writes) {
      is_on_[static_cast<std::size_t>(id.index)].push_back(part.group);
      io_.store(id, part.group, io_.first_cycle(), cycle_.steps);
    }
  }
  void finish() { draft_.program.steps = io_.run(std::move(cycle_)); }

 private:
  // Brings what a part reads: from the host what comes from there, the rest from the processor that made it.
  // What one op is the first to read comes in one copy.
  void bring_reads(const Part& part) {
    const std::vector<std::size_t> first = first_readers(part);
    CopyBetweenProcessors copy;
    for (std::size_t i = 0; i < part.reads.size(); ++i) {
      const ValueId id = part.reads[i];
      std::vector<int>& places = is_on_[static_cast<std::size_t>(id.index)];
      if (!remote_.weight(id) && std::find(places.begin(), places.end(), part.group) == places.end()) {
        if (places.empty()) {
          io_.load(id, part.group, io_.first_cycle(), cycle_.steps);
        } else {
          copy.transfers.push_back({{draft_.buffer(id, places.front())}, {draft_.buffer(id, part.group)}});
        }
        places.push_back(part.group);
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
};

}  // namespace

executor::Program sharded(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                          Warnings& warnings) {
  Draft draft(graph, placement, options);
  Remote remote(draft, warnings);
  std::vector<int> processor_of(graph.ops.size());
  std::transform(placement.ops.begin(), placement.ops.end(), processor_of.begin(),
                 [](const ir::OpPlacement& op) { return op.processor; });
  std::vector<Part> parts = make_parts(graph, processor_of, false, remote.streamed());
  Sharded strategy(draft, remote);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    strategy.add(parts[p], parts.size() == 1 ? "all" : fmt::format("part{}", p));
  }
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
