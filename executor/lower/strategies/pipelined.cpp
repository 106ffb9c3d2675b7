// A schedule says when a stage computes; in lockstep stage s computes micro-batch m in cycle m + s
// (semantics, section 4.2). A part becomes the steps of a beat of such a cycle: loads first, then the
// blocks of all its stages side by side, then stores and the copies to the next stage; draft/cycle.h makes
// fill, loop and flush of them. A value that a later stage reads hops from processor to processor, or waits
// where it is:
//
//   cycle     0    1    2    3    4
//   stage 0   m0   m1   m2
//   stage 1        m0   m1   m2
//   stage 2             m0   m1   m2     what stage 0 made of m0 waits 2 cycles: a stash of 3 slots
//
// Updates are turns of their stage, behind its micro-batch; where gradients accumulate they come when the
// pipeline has run empty, on one processor after the other.
#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "executor/lower/draft/cut_update.h"
#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/passes.h"
#include "executor/lower/draft/remote.h"
#include "executor/lower/draft/rounds.h"
#include "executor/lower/draft/update.h"
#include "executor/lower/strategies/schedule.h"
#include "executor/lower/strategies/strategies.h"

namespace podium::lower {

using executor::CopyBetweenProcessors;
using executor::Transfer;
using ir::ValueId;

namespace {

// A value on its way through the stages.
struct Journey {
  int stage = -1;               ///< the last one whose group is known to have it
  std::vector<int> processors;  ///< that have it, the one that had it first in front
};

// What happens in a beat of a cycle, in this order.
struct StepsOfBeat {
  std::vector<TimedStep> loads = {};
  std::vector<TimedStep> computes = {};
  std::vector<TimedStep> stores = {};
  std::vector<TimedTransfer> copies = {};
};

class Pipelined {
 public:
  Pipelined(Draft& draft, Remote& remote)
      : draft_(draft),
        remote_(remote),
        schedule_(lockstep()),
        io_(draft),
        journeys_(std::ssize(draft.graph.values)),
        update_(draft, io_, [this](ValueId id) -> std::vector<int>& { return journey(id).processors; }),
        beats_(schedule_.beats) {
    for (const PlacedVariable& variable : draft.variables.all()) {
      journey(variable.value).processors = draft.variables.processors(variable.value);
    }
    for (ValueId id : draft.variables.reduced()) is_reduced_.insert(id);
  }

  /// Parts of a round. Stages come in ascending order.
  void add(std::span<Part> round) {
    const int stage = round.front().turn.stage;
    IR_CHECK(stage >= last_stage_, "stage {} comes behind stage {}", stage, last_stage_);
    last_stage_ = stage;
    CopyBetweenProcessors inside;
    for (const Part& part : round) {
      for (std::size_t i = 0; i < part.reads.size(); ++i) {
        if (!remote_.weight(part.reads[i])) bring(part.reads[i], stage, reader_of(part, i), inside);
      }
    }
    if (!inside.transfers.empty())
      beat_of(stage).computes.push_back({offset(stage), {.action = std::move(inside)}});
    for (Part& part : round) compute(part);
  }
  /// What a stage updates as soon as it has the gradients.
  void add_update_of_stage(Part& part) {
    for (std::size_t i = 0; i < part.reads.size(); ++i) {
      const ValueId id = part.reads[i];
      if (draft_.strategy.replicas == 1 || is_reduced_.erase(id) == 0) continue;
      beat_of(part.turn.stage)
          .computes.push_back({offset(part.turn.stage), reduction(draft_, id, reader_of(part, i))});
    }
    add({&part, 1});
    // In the exchange of its beat, so that a copy meets the versions that the owner would in the same stage.
    for (ValueId id : part.writes) {
      for (const Transfer& one : draft_.transfers_to_copies(id))
        beat_of(part.turn.stage).copies.push_back({offset(part.turn.stage), one});
    }
  }
  /// What is updated when the pipeline has run empty.
  void add_update(Part& part) { update_.add(part, name_of(part.turn)); }

  // The order of a beat is that of a cycle with one (semantics, section 4.2).
  void finish() {
    Cycle cycle;
    for (StepsOfBeat& beat : beats_) {
      std::vector<TimedStep> steps = std::move(beat.loads);
      for (std::vector<TimedStep>* part : {&beat.computes, &beat.stores}) {
        std::move(part->begin(), part->end(), std::back_inserter(steps));
      }
      cycle.push_back({std::move(steps), std::move(beat.copies)});
    }
    std::vector<executor::Step> update;
    if (!draft_.facts.updates_in_stages) update = update_.take();
    draft_.program.steps = io_.run(std::move(cycle), std::move(update));
  }

 private:
  Journey& journey(ValueId id) { return journeys_[id]; }
  const Stages& stages() const { return draft_.facts.stages; }
  bool is_on(int processor, int stage) const {
    return stages().groups.of[processor] == stages().group[stage];
  }
  Moment moment(int stage) const { return schedule_.at(stage, stages().count()); }
  int offset(int stage) const { return io_.first_cycle() + moment(stage).cycle; }
  StepsOfBeat& beat_of(int stage) { return beats_[moment(stage).beat]; }

  std::string name_of(const Turn& turn) const {
    std::string number = turn.section > 0 ? fmt::format(".{}", turn.section) : "";
    if (turn.work == Work::Update && !draft_.facts.updates_in_stages)
      return fmt::format("update{}", turn.section * draft_.placement.processors + turn.processor);
    if (stages().groups.processors[stages().groups.of[turn.processor]].size() > 1)
      number = fmt::format(".{}.ipu{}", turn.section, turn.processor);
    return fmt::format("{}stage{}{}", turn.work == Work::Update ? "update of " : "", turn.stage, number);
  }

  void compute(Part& part) {
    const int stage = part.turn.stage;
    remote_.bring_weights(part, offset(stage), beat_of(stage).computes);
    const std::vector<int> makers = makers_of(part);
    for (executor::Step& run : draft_.run(part, name_of(part.turn))) {
      if (part.turn.work != Work::Update || draft_.facts.updates_in_stages) run.origin.stage = stage;
      beat_of(stage).computes.push_back({offset(stage), std::move(run)});
    }
    for (std::size_t i = 0; i < part.writes.size(); ++i) {
      journey(part.writes[i]) = {stage, {makers[i]}};
      io_.store(part.writes[i], makers[i], offset(stage), beat_of(stage).stores);
    }
  }

  // A value that is not yet on a processor of the stage comes from the host, from another processor of the
  // stage's group, or hops from stage to stage. One that is there waits in its buffer, which becomes as deep
  // as the stages are apart (see unroll).
  void bring(ValueId id, int stage, int processor, CopyBetweenProcessors& inside) {
    Journey& way = journey(id);
    if (draft_.variables.is_hyper_parameter(id)) {
      if (has(way, processor)) return;
      io_.load_once(id, processor);
      way.processors.push_back(processor);
    } else if (draft_.variables.is_variable(id)) {
      check_is_there(id, stage, processor);
    } else if (way.processors.empty()) {
      io_.load(id, processor, offset(stage), beat_of(stage).loads);
      way.processors.push_back(processor);
    } else if (!has(way, processor)) {
      const auto near = std::ranges::find_if(way.processors, [&](int one) { return is_on(one, stage); });
      if (near != way.processors.end()) {
        inside.transfers.push_back({{draft_.buffer(id, *near)}, {draft_.buffer(id, processor)}});
        way.processors.push_back(processor);
      } else {
        for (int from = way.stage; from < stage; ++from) hop(id, from, processor);
      }
    }
    way.stage = stage;
  }
  void check_is_there(ValueId id, int stage, int processor) {
    if (has(journey(id), processor)) return;
    throw Error(
        "variable '{}' is on ipu {} and read by stage {} on ipu {}: only weights have copies, in a pipeline "
        "all stages that use another variable must be on one processor",
        draft_.graph[id].name, journey(id).processors.front(), stage, processor);
  }
  // To the next stage's processor that does what the reader does in its own group.
  void hop(ValueId id, int from, int reader) {
    const Groups& groups = stages().groups;
    Journey& way = journey(id);
    const int next = groups.like(reader, stages().group[from + 1]);
    if (has(way, next)) return;
    int here = groups.like(reader, stages().group[from]);
    if (!has(way, here))
      here = *std::ranges::find_if(way.processors, [&](int one) { return is_on(one, from); });
    beat_of(from).copies.push_back({offset(from), {{draft_.buffer(id, here)}, {draft_.buffer(id, next)}}});
    way.processors.push_back(next);
  }
  static bool has(const Journey& way, int processor) {
    return std::find(way.processors.begin(), way.processors.end(), processor) != way.processors.end();
  }

  Draft& draft_;
  Remote& remote_;
  const PipelineSchedule schedule_;
  HostIo io_;
  ir::IdMap<ValueId, Journey> journeys_;
  UpdateSteps update_;
  std::set<ValueId> is_reduced_;  ///< and not yet
  std::vector<StepsOfBeat> beats_;
  int last_stage_ = 0;
};

// Turns of a stage are its micro-batch, in sections where weights are gathered, and, where stages update, the
// sections of its update. Updates that wait are behind the turns of all stages.
ir::IdMap<ir::OpId, Turn> turns_of_stages(const Draft& draft, const Remote& remote) {
  const Facts& facts = draft.facts;
  const ir::IdMap<ir::OpId, int> sections = remote.sections();
  const UpdateSections update = cut_update(draft.placed, draft.variables);
  ir::IdMap<ir::OpId, Turn> turns;
  for (ir::OpId op : draft.graph.op_ids()) {
    const ir::OpPlacement& place = draft.placed[op];
    Turn turn{.stage = facts.stages.of(place), .section = sections[op], .processor = place.processor};
    if (draft.placed.is_outer(op)) {
      if (!facts.updates_in_stages) turn.stage = facts.stages.count();
      turn.work = Work::Update;
      turn.section = update.of_op[op];
    }
    turns.push_back(turn);
  }
  cut_into_rounds(draft.placed, turns);
  return turns;
}

bool has_groups(const Stages& stages) {
  return std::ranges::any_of(stages.groups.processors, [](const auto& group) { return group.size() > 1; });
}

}  // namespace

executor::Program pipelined(const Lowering& lowering) {
  Draft draft(lowering);
  const Facts& facts = draft.facts;
  Remote remote(draft);
  std::vector<Part> parts = make_parts(draft.graph, turns_of_stages(draft, remote),
                                       {.whole_turns = facts.updates_in_stages && !has_groups(facts.stages),
                                        .streamed = remote.streamed(),
                                        .priority = draft.priorities()});
  if (lowering.use_passes) show_passes_of_stages(lowering, parts);
  Pipelined strategy(draft, remote);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Part& part = parts[p];
    if (part.turn.work != Work::Update) {
      const std::size_t count = length_of_round(std::span(parts).subspan(p));
      strategy.add(std::span(parts).subspan(p, count));
      p += count - 1;
    } else if (facts.updates_in_stages) {
      strategy.add_update_of_stage(part);
    } else {
      strategy.add_update(part);
    }
  }
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
