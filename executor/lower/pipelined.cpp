#include <algorithm>
#include <iterator>

#include "executor/lower/host_io.h"
#include "executor/lower/remote.h"
#include "executor/lower/strategies.h"

namespace podium::lower {

using executor::Transfer;
using ir::ValueId;

namespace {

struct Stages {
  std::vector<int> of_op;
  std::vector<int> processor;  ///< of each stage
};

// Adjacent stages on one processor become one, and stages are counted anew (semantics, section 4.1).
Stages merge_stages(const ir::Placement& placement) {
  constexpr int kEmpty = -1;
  std::vector<int> processor(static_cast<std::size_t>(placement.stages), kEmpty);
  for (const ir::OpPlacement& op : placement.ops) {
    int& found = processor.at(static_cast<std::size_t>(op.stage));
    IR_CHECK(found == kEmpty || found == op.processor, "stage {} is on ipu {} and {}", op.stage, found,
             op.processor);
    found = op.processor;
  }
  Stages stages;
  std::vector<int> renumbered(processor.size(), 0);
  for (std::size_t s = 0; s < processor.size(); ++s) {
    const bool is_new =
        processor[s] != kEmpty && (stages.processor.empty() || stages.processor.back() != processor[s]);
    if (is_new) stages.processor.push_back(processor[s]);
    renumbered[s] = static_cast<int>(stages.processor.size()) - 1;
  }
  for (const ir::OpPlacement& op : placement.ops) {
    stages.of_op.push_back(renumbered[static_cast<std::size_t>(op.stage)]);
  }
  return stages;
}

// A value on its way through the stages.
struct Journey {
  int stage = -1;               ///< the last one whose processor is known to have it
  std::vector<int> processors;  ///< that have it
};

class Pipelined {
 public:
  Pipelined(Draft& draft, Remote& remote, const Stages& stages)
      : draft_(draft), remote_(remote), stages_(stages), io_(draft), journeys_(draft.graph.values.size()) {}

  /// Stages come in ascending order.
  void add(Part& part, const std::string& name) {
    const int processor = processor_of(part.group);
    for (ValueId id : part.reads) {
      if (!remote_.weight(id)) bring(id, part.group);
    }
    remote_.bring_weights(part, processor, offset(part.group), computes_);
    computes_.push_back({offset(part.group), draft_.compute(draft_.add_block(part, processor, name), part)});
    for (ValueId id : part.writes) {
      journey(id) = {part.group, {processor}};
      io_.store(id, processor, offset(part.group), stores_);
    }
  }

  // The order of a cycle (semantics, section 4.2).
  void finish() {
    Cycle cycle{.steps = std::move(loads_), .exchange = std::move(copies_)};
    for (std::vector<TimedStep>* part : {&computes_, &stores_}) {
      std::move(part->begin(), part->end(), std::back_inserter(cycle.steps));
    }
    draft_.program.steps = io_.run(std::move(cycle));
  }

 private:
  Journey& journey(ValueId id) { return journeys_[static_cast<std::size_t>(id.index)]; }
  int processor_of(int stage) const { return stages_.processor[static_cast<std::size_t>(stage)]; }
  int offset(int stage) const { return io_.first_cycle() + stage; }

  // A value that is not yet on the stage's processor comes from the host, or hops from stage to stage. One
  // that is there waits in its buffer, which becomes as deep as the stages are apart (see unroll).
  void bring(ValueId id, int stage) {
    Journey& way = journey(id);
    if (way.processors.empty()) {
      io_.load(id, processor_of(stage), offset(stage), loads_);
      way.processors.push_back(processor_of(stage));
    } else if (!has(way, processor_of(stage))) {
      for (int from = way.stage; from < stage; ++from) hop(id, from);
    }
    way.stage = stage;
  }
  void hop(ValueId id, int from) {
    const int next = processor_of(from + 1);
    if (has(journey(id), next)) return;
    copies_.push_back({offset(from), {{draft_.buffer(id, processor_of(from))}, {draft_.buffer(id, next)}}});
    journey(id).processors.push_back(next);
  }
  static bool has(const Journey& way, int processor) {
    return std::find(way.processors.begin(), way.processors.end(), processor) != way.processors.end();
  }

  Draft& draft_;
  Remote& remote_;
  const Stages& stages_;
  HostIo io_;
  std::vector<Journey> journeys_;
  std::vector<TimedStep> loads_;
  std::vector<TimedStep> computes_;
  std::vector<TimedStep> stores_;
  std::vector<TimedTransfer> copies_;
};

}  // namespace

int count_stages(const ir::Placement& placement) {
  return static_cast<int>(merge_stages(placement).processor.size());
}

executor::Program pipelined(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                            Warnings& warnings) {
  const Stages stages = merge_stages(placement);
  IR_CHECK(static_cast<std::size_t>(options.batches_per_step) >= stages.processor.size());
  Draft draft(graph, placement, options);
  Remote remote(draft, warnings);
  std::vector<Part> parts = make_parts(graph, stages.of_op, true, remote.streamed());
  Pipelined strategy(draft, remote, stages);
  for (Part& part : parts) strategy.add(part, fmt::format("stage{}", part.group));
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
