// A schedule lists, for each processor, the passes of its chunks; here each pass of a chunk becomes a block
// with the steps around it. Its turnout is: loads of inputs that no pass before it has loaded, the block,
// stores of outputs, and, at the end of the superstep, copies of what it has made to every processor that
// reads it. Supersteps follow from the orders (schedule/clock.h), buffers and the loop from the supersteps
// (draft/supersteps.h). A whole backward pass of a chunk whose backward pass is cut is its two halves, one
// after the other.
//
// The update comes when all orders have ended, on one processor after the other.
//
// Two copies of the model take the micro-batches of the host in turns: even ones are the first copy's. That
// follows from orders that are each other's mirror images, which is checked: a stage has both copies' passes
// in the same superstep, and the first copy's are written in front.
#include <algorithm>
#include <set>
#include <span>

#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/passes.h"
#include "executor/lower/draft/remote.h"
#include "executor/lower/draft/rounds.h"
#include "executor/lower/draft/supersteps.h"
#include "executor/lower/draft/update.h"
#include "executor/lower/strategies/strategies.h"
#include "executor/schedule/clock.h"
#include "executor/schedule/validate.h"

namespace podium::lower {

using executor::Step;
using ir::ValueId;
using schedule::Action;
using schedule::Layout;
using schedule::Pass;
using schedule::Schedule;

namespace {

std::string text_of_places(const Layout& layout) {
  std::string text;
  for (int processor : layout.processor_of) text += fmt::format("{}{}", text.empty() ? "" : ", ", processor);
  return text;
}

Schedule named_schedule(const Strategy& strategy, const Layout& layout, const Facts& facts) {
  const schedule::Family& family = schedule::family_of(strategy.pipeline_order);
  const std::optional<int> chunks = layout.chunks_each();
  if (!chunks) {
    throw Error("pipeline schedule {}: {} chunks on {} processors found, as many on each are needed",
                family.name, layout.chunks(), layout.processors);
  }
  Schedule schedule = make_schedule(family, {.processors = layout.processors,
                                             .micro_batches = facts.cycles,
                                             .chunks = *chunks / layout.copies,
                                             .deferred = strategy.pipeline_deferred});
  if (schedule.layout != layout) {
    throw Error("pipeline schedule {}: chunks on ipus {} found, {} needed", family.name,
                text_of_places(layout), text_of_places(schedule.layout));
  }
  return schedule;
}

Schedule schedule_for(const Strategy& strategy, const Layout& layout, const Facts& facts) {
  if (strategy.pipeline_list.empty() && strategy.pipeline_order != PipelineOrder::Listed) {
    Schedule schedule = named_schedule(strategy, layout, facts);
    return facts.trains ? schedule : forward_only(std::move(schedule));
  }
  if (std::ssize(strategy.pipeline_list) != layout.processors) {
    throw Error("pipeline schedule: {} lists found, {} needed: one for each processor",
                strategy.pipeline_list.size(), layout.processors);
  }
  Schedule schedule{.layout = layout,
                    .micro_batches = facts.cycles,
                    .orders = strategy.pipeline_list,
                    .trains = facts.trains};
  try {
    validate(schedule);
  } catch (const Error& error) {
    throw error.at("pipeline schedule");
  }
  return schedule;
}

// The places of a chunk's passes among all turnouts.
constexpr int kPasses = 3;
int turnout_of(const ChunkPass& of) {
  return of.chunk * kPasses + static_cast<int>(schedule::leg_of(of.pass));
}

class Scheduled {
 public:
  Scheduled(Draft& draft, Remote& remote, Schedule schedule)
      : draft_(draft),
        remote_(remote),
        schedule_(std::move(schedule)),
        io_(draft),
        holders_(std::ssize(draft.graph.values)),
        update_(draft, io_, [this](ValueId id) -> std::vector<int>& { return holders_[id].processors; }),
        turnouts_(static_cast<std::size_t>(schedule_.layout.chunks()) * kPasses),
        beside_(turnouts_.size()) {
    for (std::size_t turnout = 0; turnout < turnouts_.size(); ++turnout) {
      turnouts_[turnout].first = static_cast<int>(turnout) / (kPasses * schedule_.layout.stages());
      turnouts_[turnout].stride = schedule_.layout.copies;
    }
    for (const PlacedVariable& variable : draft.variables.all()) {
      holders_[variable.value].processors = draft.variables.processors(variable.value);
    }
  }

  /// Rounds of parts of a pass come in an order in which they can run.
  void add(std::span<Part> round, const ChunkPass& of, const std::string& name) {
    const int turnout = turnout_of(of);
    std::vector<TimedStep> loads;
    executor::CopyBetweenProcessors inside;
    for (const Part& part : round) {
      for (std::size_t i = 0; i < part.reads.size(); ++i) {
        if (!remote_.weight(part.reads[i])) bring(part.reads[i], reader_of(part, i), turnout, loads, inside);
      }
    }
    append(loads, turnouts_[turnout].loads);
    if (!inside.transfers.empty()) turnouts_[turnout].steps.push_back({.action = std::move(inside)});
    const int loss = schedule_.layout.chunks() - 1;
    const int stage = of.pass == Pass::Forward ? of.chunk : 2 * loss - of.chunk;
    for (Part& part : round) compute(part, turnout, stage, name);
    note_beside(io_.take_beside(), turnout);
  }
  /// What is updated when all orders have ended.
  void add_update(Part& part, const std::string& name) { update_.add(part, name); }

  void finish() {
    std::vector<Step> steps = write_out(draft_.program, turnouts_, supersteps(), draft_.strategy.exchanges);
    draft_.program.steps = io_.run(std::move(steps), update_.take());
  }

 private:
  static constexpr int kNowhere = -1;

  void compute(Part& part, int turnout, int stage, const std::string& name) {
    const std::vector<int> makers = makers_of(part);
    std::vector<TimedStep> stores;
    std::vector<TimedStep> weights;
    remote_.bring_weights(part, 0, weights);
    append(weights, turnouts_[turnout].steps);
    for (Step& step : draft_.run(part, name)) {
      step.origin.stage = stage;
      turnouts_[turnout].steps.push_back(std::move(step));
    }
    for (std::size_t i = 0; i < part.writes.size(); ++i) {
      holders_[part.writes[i]] = {turnout, {makers[i]}};
      io_.store(part.writes[i], makers[i], 0, stores);
    }
    append(stores, turnouts_[turnout].stores);
  }

  // The turnouts of what crosses beside a pass.
  struct BesidePass {
    int tiles_in = kNowhere;
    int ahead = kNowhere;
    int behind = kNowhere;
  };
  // Who has a value: the processor of its turnout in front, then those that it is copied to.
  struct Holders {
    int turnout = kNowhere;
    std::vector<int> processors = {};
  };

  static void append(std::vector<TimedStep>& from, std::vector<Step>& steps) {
    for (TimedStep& one : from) steps.push_back(std::move(one.step));
  }

  // Loads come while the pass computes the micro-batch before, stores while it computes the one behind.
  void note_beside(Beside beside, int turnout) {
    BesidePass& of = beside_[turnout];
    const auto into = [&](int& place, std::vector<TimedStep>& steps, int offset) {
      for (TimedStep& one : steps) {
        if (one.offset != offset) continue;
        if (place == kNowhere) {
          place = static_cast<int>(turnouts_.size());
          turnouts_.push_back({.first = turnouts_[turnout].first, .stride = turnouts_[turnout].stride});
        }
        turnouts_[place].steps.push_back(std::move(one.step));
      }
    };
    into(of.tiles_in, beside.tiles_in, 0);
    into(of.ahead, beside.steps, -1);
    into(of.behind, beside.steps, 1);
    into(turnout, beside.tiles_out, 0);
  }

  // What another processor of the group has comes inside of the pass, from other groups behind the pass that
  // makes it.
  void bring(ValueId id, int processor, int turnout, std::vector<TimedStep>& loads,
             executor::CopyBetweenProcessors& inside) {
    Holders& holders = holders_[id];
    if (std::ranges::find(holders.processors, processor) != holders.processors.end()) return;
    if (draft_.variables.is_hyper_parameter(id)) {
      io_.load_once(id, processor);
    } else if (draft_.variables.is_variable(id)) {
      throw Error(
          "variable '{}' is on ipu {} and read on ipu {}: only weights have copies, in a pipeline all stages that use "
          "another variable must be on one processor",
          draft_.graph[id].name, holders.processors.front(), processor);
    } else if (holders.processors.empty()) {
      io_.load(id, processor, 0, loads);
      holders.turnout = turnout;
    } else {
      const std::vector<int>& group_of = draft_.facts.stages.groups.of;
      const auto near = std::ranges::find_if(holders.processors,
                                             [&](int one) { return group_of[one] == group_of[processor]; });
      const bool is_near = near != holders.processors.end();
      const int from = is_near ? *near : holders.processors.front();
      (is_near ? inside.transfers : turnouts_[holders.turnout].exchange)
          .push_back({{draft_.buffer(id, from)}, {draft_.buffer(id, processor)}});
    }
    holders.processors.push_back(processor);
  }

  void appear(int turnout, int micro_batch, Superstep& superstep) const {
    if (turnout == kNowhere || turnouts_[turnout].steps.empty()) return;
    if (micro_batch < 0 || micro_batch >= schedule_.micro_batches) return;
    superstep.push_back({turnout, micro_batch});
  }
  void appear_with_beside(int turnout, int micro_batch, Superstep& superstep) const {
    const BesidePass& beside = beside_[turnout];
    appear(beside.tiles_in, micro_batch, superstep);
    appear(beside.ahead, micro_batch + 1, superstep);
    appear(beside.behind, micro_batch - 1, superstep);
    appear(turnout, micro_batch, superstep);
  }

  // Of an action of one copy there is another one in the same place on the opposite processor.
  void check_mirrored(const schedule::Barriered& timed) const {
    const Layout& layout = schedule_.layout;
    if (layout.copies == 1) return;
    IR_CHECK(timed.superstep_of == std::vector(timed.superstep_of.rbegin(), timed.superstep_of.rend()));
    for (std::size_t r = 0; r < schedule_.orders.size(); ++r) {
      std::vector<Action> opposite = schedule_.orders[schedule_.orders.size() - 1 - r];
      for (Action& action : opposite) action.chunk = (action.chunk + layout.stages()) % layout.chunks();
      IR_CHECK(schedule_.orders[r] == opposite);
    }
  }

  void add_copy(int copy, const schedule::Barriered& timed, std::vector<Superstep>& all) const {
    for (std::size_t r = 0; r < schedule_.orders.size(); ++r) {
      for (std::size_t i = 0; i < schedule_.orders[r].size(); ++i) {
        const Action& action = schedule_.orders[r][i];
        if (action.chunk / schedule_.layout.stages() != copy) continue;
        Superstep& superstep = all[timed.superstep_of[r][i] + 1];
        appear_with_beside(turnout_of({action.pass, action.chunk}), action.micro_batch, superstep);
        if (action.pass != Pass::Backward) continue;
        appear_with_beside(turnout_of({Pass::WeightGradient, action.chunk}), action.micro_batch, superstep);
      }
    }
  }

  std::vector<Superstep> supersteps() const {
    const schedule::Barriered timed =
        clock_barriered(schedule_, even_times(schedule_.layout), schedule_.superstep);
    check_mirrored(timed);
    std::vector<Superstep> all(timed.supersteps + 2);
    for (int copy = 0; copy < schedule_.layout.copies; ++copy) add_copy(copy, timed, all);
    for (const BesidePass& beside : beside_) {
      appear(beside.ahead, 0, all.front());
      appear(beside.behind, schedule_.micro_batches - 1, all.back());
    }
    std::erase_if(all, [](const Superstep& one) { return one.empty(); });
    return all;
  }

  Draft& draft_;
  Remote& remote_;
  const Schedule schedule_;
  HostIo io_;
  ir::IdMap<ValueId, Holders> holders_;
  UpdateSteps update_;
  std::vector<Turnout> turnouts_;   ///< those of passes in front
  std::vector<BesidePass> beside_;  ///< of each pass
};

std::string name_of_pass(const ChunkPass& of, schedule::Backward backward) {
  switch (of.pass) {
    case Pass::Forward:
      return fmt::format("forward{}", of.chunk);
    case Pass::WeightGradient:
      return fmt::format("weight gradient{}", of.chunk);
    default:
      return fmt::format("{}{}", backward == schedule::Backward::Split ? "input gradient" : "backward",
                         of.chunk);
  }
}

}  // namespace

executor::Program scheduled(const Lowering& lowering) {
  Draft draft(lowering);
  Remote remote(draft);
  Chunks chunks = chunks_in(draft.placed, draft.strategy, schedule::Backward::Split);
  Schedule schedule = schedule_for(draft.strategy, chunks.layout, draft.facts);
  const auto backward = is_split(schedule) ? schedule::Backward::Split : schedule::Backward::Whole;
  if (backward == schedule::Backward::Whole) make_whole(chunks);
  std::vector<Part> parts = make_parts(draft.graph, turns_of_passes(draft.placed, draft.variables, chunks),
                                       {.streamed = remote.streamed(), .priority = draft.priorities()});
  const auto pass_of_turn = [&](const Turn& turn) { return pass_of(turn, chunks.layout.chunks()); };
  if (lowering.use_passes)
    lowering.use_passes(blocks_of_passes(lowering, chunks, backward, parts, pass_of_turn));
  Scheduled strategy(draft, remote, std::move(schedule));
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Part& part = parts[p];
    if (part.turn.work == Work::Update) {
      strategy.add_update(part, fmt::format("update{}", part.turn.section * draft.placement.processors +
                                                            part.turn.processor));
      continue;
    }
    const ChunkPass of = pass_of_turn(part.turn);
    const std::size_t count = length_of_round(std::span(parts).subspan(p));
    strategy.add(std::span(parts).subspan(p, count), of, name_of_pass(of, backward));
    p += count - 1;
  }
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
