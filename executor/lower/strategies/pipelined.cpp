#include <algorithm>
#include <iterator>
#include <set>

#include "executor/lower/draft/cut_update.h"
#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/remote.h"
#include "executor/lower/draft/stages.h"
#include "executor/lower/draft/update.h"
#include "executor/lower/strategies/strategies.h"

namespace podium::lower {

using executor::Transfer;
using ir::ValueId;

namespace {

// A value on its way through the stages.
struct Journey {
  int stage = -1;               ///< the last one whose processor is known to have it
  std::vector<int> processors;  ///< that have it
};

class Pipelined {
 public:
  Pipelined(Draft& draft, Remote& remote, const Stages& stages)
      : draft_(draft),
        remote_(remote),
        stages_(stages),
        io_(draft),
        journeys_(draft.graph.values.size()),
        update_(draft, io_, [this](ValueId id) -> std::vector<int>& { return journey(id).processors; }) {
    for (const PlacedVariable& variable : draft.variables.all()) {
      journey(variable.value).processors.push_back(variable.processor);
    }
    for (ValueId id : draft.variables.reduced()) is_reduced_.insert(id);
  }

  /// Stages come in ascending order.
  void add(Part& part, int stage, const std::string& name) {
    const int processor = processor_of(stage);
    for (ValueId id : part.reads) {
      if (!remote_.weight(id)) bring(id, stage);
    }
    remote_.bring_weights(part, processor, offset(stage), computes_);
    computes_.push_back({offset(stage), draft_.compute(draft_.add_block(part, processor, name), part)});
    for (ValueId id : part.writes) {
      journey(id) = {stage, {processor}};
      io_.store(id, processor, offset(stage), stores_);
    }
  }
  /// What a stage updates as soon as it has the gradients.
  void add_update_of_stage(Part& part, int stage, const std::string& name) {
    for (ValueId id : part.reads) {
      if (draft_.options.replicas == 1 || is_reduced_.erase(id) == 0) continue;
      computes_.push_back({offset(stage), reduction(draft_, id, processor_of(stage))});
    }
    add(part, stage, name);
  }
  /// What is updated when the pipeline has run empty.
  void add_update(Part& part, int processor, const std::string& name) { update_.add(part, processor, name); }

  // The order of a cycle (semantics, section 4.2).
  void finish() {
    Cycle cycle{.steps = std::move(loads_), .exchange = std::move(copies_)};
    for (std::vector<TimedStep>* part : {&computes_, &stores_}) {
      std::move(part->begin(), part->end(), std::back_inserter(cycle.steps));
    }
    const bool in_stages = draft_.options.accumulation_factor == 1;
    draft_.program.steps =
        io_.run(std::move(cycle), in_stages ? std::vector<executor::Step>{} : update_.take());
  }

 private:
  Journey& journey(ValueId id) { return journeys_[id.index]; }
  int processor_of(int stage) const { return stages_.processor[stage]; }
  int offset(int stage) const { return io_.first_cycle() + stage; }

  // A value that is not yet on the stage's processor comes from the host, or hops from stage to stage. One
  // that is there waits in its buffer, which becomes as deep as the stages are apart (see unroll).
  void bring(ValueId id, int stage) {
    Journey& way = journey(id);
    if (draft_.variables.is_hyper_parameter(id)) {
      if (has(way, processor_of(stage))) return;
      io_.load_once(id, processor_of(stage));
      way.processors.push_back(processor_of(stage));
    } else if (draft_.variables.is_variable(id)) {
      check_is_there(id, stage);
    } else if (way.processors.empty()) {
      io_.load(id, processor_of(stage), offset(stage), loads_);
      way.processors.push_back(processor_of(stage));
    } else if (!has(way, processor_of(stage))) {
      for (int from = way.stage; from < stage; ++from) hop(id, from);
    }
    way.stage = stage;
  }
  void check_is_there(ValueId id, int stage) {
    if (has(journey(id), processor_of(stage))) return;
    throw Error(
        "variable '{}' is on ipu {} and read by stage {} on ipu {}: in a pipeline all stages that use a "
        "variable must be on one processor",
        draft_.graph[id].name, journey(id).processors.front(), stage, processor_of(stage));
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
  UpdateSteps update_;
  std::set<ValueId> is_reduced_;  ///< and not yet
  std::vector<TimedStep> loads_;
  std::vector<TimedStep> computes_;
  std::vector<TimedStep> stores_;
  std::vector<TimedTransfer> copies_;
};

// A group for the ops of each stage; outer ops have some behind those of their stage, or, where updates wait
// for the pipeline to run empty, some for each processor behind those of all stages.
struct Groups {
  std::vector<int> of_op;
  int per_turn = 1;  ///< a stage has two turns: its ops, and the sections of its update
  int stages = 0;    ///< from this group on, updates wait
};

Groups cut_into_groups(const Stages& stages, const ir::Placement& placement, const Draft& draft, bool waits) {
  const UpdateSections update = cut_update(draft.graph, draft.variables);
  Groups groups{.of_op = {}, .per_turn = waits ? 1 : update.count};
  groups.stages = 2 * static_cast<int>(stages.processor.size()) * groups.per_turn;
  for (std::size_t i = 0; i < stages.of_op.size(); ++i) {
    if (!draft.variables.is_outer(i)) {
      groups.of_op.push_back(2 * stages.of_op[i] * groups.per_turn);
    } else if (waits) {
      groups.of_op.push_back(groups.stages + update.of_op[i] * placement.processors +
                             placement.ops[i].processor);
    } else {
      groups.of_op.push_back((2 * stages.of_op[i] + 1) * groups.per_turn + update.of_op[i]);
    }
  }
  return groups;
}

}  // namespace

int count_stages(const ir::Placement& placement) {
  return static_cast<int>(merge_stages(placement).processor.size());
}

executor::Program pipelined(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                            Warnings& warnings, const Variables& variables) {
  const Stages stages = merge_stages(placement);
  const bool waits = options.accumulation_factor > 1;
  Draft draft(graph, placement, options, variables);
  IR_CHECK(draft.cycles >= static_cast<int>(stages.processor.size()), "{} micro-batches for {} stages",
           draft.cycles, stages.processor.size());
  Remote remote(draft, warnings);
  const Groups groups = cut_into_groups(stages, placement, draft, waits);
  std::vector<Part> parts = make_parts(graph, groups.of_op, !waits, remote.streamed());
  Pipelined strategy(draft, remote, stages);
  for (Part& part : parts) {
    const int turn = part.group / groups.per_turn;
    const int section = part.group % groups.per_turn;
    if (part.group >= groups.stages) {
      const int update = part.group - groups.stages;
      strategy.add_update(part, update % placement.processors, fmt::format("update{}", update));
    } else if (turn % 2 == 1) {
      const std::string number = section > 0 ? fmt::format(".{}", section) : "";
      strategy.add_update_of_stage(part, turn / 2, fmt::format("update of stage{}{}", turn / 2, number));
    } else {
      strategy.add(part, turn / 2, fmt::format("stage{}", turn / 2));
    }
  }
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
