// Phased execution: one phase after the other, each on the processors of its parity (semantics, section 8.1).
// The plan says which tensors move in a phase; the schedule says in which order its steps come:
//
//   Interleaving       loads, preloads (gathered one by one), parts, and for the update of each weight: loads
//                      of its state, the part, stores of its state; then the stores
//   Batch              loads, parts, loads of the update, its parts, preloads, copies to other processors,
//                      gathers, stores
//   BatchClusteredIO   the same with the preloads before the parts
//
// What is preloaded over the IO tiles goes to the compute tiles at the end of the phase: until then both
// lanes work side by side. With slices the parts of a micro-batch are a loop (slice_loops.h).
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "executor/lower/draft/cut_update.h"
#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/remote.h"
#include "executor/lower/draft/rounds.h"
#include "executor/lower/program/stream_variables.h"
#include "executor/lower/strategies/phase_plan.h"
#include "executor/lower/strategies/slice_loops.h"
#include "executor/lower/strategies/strategies.h"

namespace podium::lower {

using executor::CopyBetweenProcessors;
using executor::Step;
using ir::ValueId;

namespace {

// What brings and stores tensors in a phase, by kind.
struct Traffic {
  std::vector<Step> loads;
  std::vector<Step> gathers;
  std::vector<Step> tiles;
  std::vector<Step> stores;

  void add(std::vector<Step> steps) {
    for (Step& step : steps) {
      std::vector<Step>& kind = std::holds_alternative<executor::LoadRemote>(step.action)    ? loads
                                : std::holds_alternative<executor::Collective>(step.action)  ? gathers
                                : std::holds_alternative<executor::StoreRemote>(step.action) ? stores
                                                                                             : tiles;
      kind.push_back(std::move(step));
    }
  }
};

// Of a step and of all that it repeats.
void set_phase(int phase, Step& step) {
  step.origin.phase = phase;
  auto* repeat = std::get_if<executor::Repeat>(&step.action);
  if (repeat == nullptr) return;
  for (Step& inner : repeat->body) set_phase(phase, inner);
}

class PhaseWriter {
 public:
  PhaseWriter(Draft& draft, Remote& remote, std::vector<Part> parts)
      : draft_(draft),
        remote_(remote),
        io_(draft),
        in_slices_(draft.facts.slices_in_phase > 1),
        offset_(in_slices_ ? 0 : io_.first_cycle()),
        parts_(std::move(parts)),
        plan_(plan_phases(draft, remote, parts_)),
        slices_(in_slices_ ? plan_slices(draft, remote, parts_) : SlicePlan{}) {
    add_buffers(draft, slices_);
    for (const PlacedVariable& variable : draft.variables.all()) {
      if (variable.location.storage != ir::Storage::OffChip) continue;
      for (int processor : draft.variables.processors(variable.value)) {
        const executor::BufferId here = draft.buffer(variable.value, processor);
        ways_.emplace(std::pair(variable.value, processor),
                      send_home(draft.program, here, variable.location));
      }
    }
  }

  void write() {
    std::size_t next = 0;
    for (int phase = -1; phase < draft_.placement.phases; ++phase) {
      const std::size_t first = next;
      while (next < parts_.size() && parts_[next].turn.phase == phase) ++next;
      const std::size_t before = beat_.steps.size();
      write_phase(phase, first, next);
      for (std::size_t i = before; i < beat_.steps.size(); ++i) set_phase(phase, beat_.steps[i].step);
    }
    IR_CHECK(next == parts_.size(), "the phases of the parts do not ascend");
    draft_.program.steps = io_.run({std::move(beat_)});
  }

 private:
  void add(Step step) { beat_.steps.push_back({offset_, std::move(step)}); }
  void add(std::vector<Step> steps) {
    for (Step& step : steps) add(std::move(step));
  }
  bool schedule_is(PhaseSchedule schedule) const { return draft_.strategy.phases.schedule == schedule; }

  // Interleaving brings and stores what an update alone needs weight by weight, the others all of it at once.
  // The tile copies of what is loaded for the next phase come last: until then the IO tiles load beside the
  // computation.
  void write_phase(int phase, std::size_t first, std::size_t last) {
    const PhaseMovements& movements = plan_.phases[phase + 1];
    bring_now(movements.loads);
    Traffic traffic;
    if (!schedule_is(PhaseSchedule::Batch)) start_preloads(movements.preloads, traffic);
    CopyBetweenProcessors at_end;
    const std::vector<std::string> names = block_names(phase, first, last);
    for (std::size_t part = first; part < last; ++part) load_hyper_parameters(parts_[part]);
    std::size_t update = first;
    while (update < last && parts_[update].turn.work != Work::Update) ++update;
    if (in_slices_ && first < update) {
      add(run_slices(draft_, io_, slices_, parts_, {first, update, names}));
    } else {
      for (std::size_t part = first; part < update;) {
        const std::size_t count = length_of_round(std::span(parts_).subspan(part, update - part));
        run_round(phase, part, count, std::span(names).subspan(part - first, count), at_end);
        part += count;
      }
    }
    std::vector<Movement> stores = movements.stores;
    std::vector<Movement> update_loads = movements.update_loads;
    if (!schedule_is(PhaseSchedule::Interleaving)) bring_now(std::exchange(update_loads, {}));
    const std::map<ValueId, std::size_t> last_user = last_users(update, last);
    for (std::size_t part = update; part < last; ++part) {
      bring_now(take(update_loads, variables_of(parts_[part])));
      run_round(phase, part, 1, std::span(names).subspan(part - first, 1), at_end);
      if (schedule_is(PhaseSchedule::Interleaving)) store_now(stores, part, last_user);
    }
    if (schedule_is(PhaseSchedule::Batch)) start_preloads(movements.preloads, traffic);
    if (!at_end.transfers.empty()) add({.action = std::move(at_end)});
    add(std::move(traffic.gathers));
    for (const Movement& one : stores) traffic.add(store(one));
    add(std::move(traffic.tiles));
    add(std::move(traffic.stores));
  }

  // The variables that a part reads or changes.
  std::set<ValueId> variables_of(const Part& part) const {
    std::set<ValueId> used;
    for (ValueId id : part.reads) {
      if (draft_.variables.is_variable(id)) used.insert(id);
    }
    for (ValueId id : part.writes) {
      if (const auto variable = draft_.variables.updated(id)) used.insert(*variable);
    }
    return used;
  }
  // Of each variable the last of the parts `first` to `last` - 1 that uses it.
  std::map<ValueId, std::size_t> last_users(std::size_t first, std::size_t last) const {
    std::map<ValueId, std::size_t> users;
    for (std::size_t part = first; part < last; ++part) {
      for (ValueId id : variables_of(parts_[part])) users[id] = part;
    }
    return users;
  }
  static std::vector<Movement> take(std::vector<Movement>& from, const std::set<ValueId>& wanted) {
    const auto taken = std::stable_partition(
        from.begin(), from.end(), [&](const Movement& one) { return !wanted.contains(one.value); });
    std::vector<Movement> result(taken, from.end());
    from.erase(taken, from.end());
    return result;
  }
  // The variables of a part that none behind it in its phase uses.
  void store_now(std::vector<Movement>& stores, std::size_t part,
                 const std::map<ValueId, std::size_t>& last_user) {
    std::set<ValueId> done = variables_of(parts_[part]);
    std::erase_if(done, [&](ValueId id) { return last_user.at(id) != part; });
    for (const Movement& one : take(stores, done)) add(store(one));
  }

  std::vector<Step> bring(const Movement& one) {
    const auto way = ways_.find({one.value, one.processor});
    return way != ways_.end() ? way->second.load() : remote_.bring(one.value, one.processor, one.location);
  }
  std::vector<Step> store(const Movement& one) {
    const auto way = ways_.find({one.value, one.processor});
    return way != ways_.end() ? way->second.store() : remote_.store(one.value, one.processor, one.location);
  }
  void load_hyper_parameters(const Part& part) {
    for (std::size_t i = 0; i < part.reads.size(); ++i) {
      const ValueId id = part.reads[i];
      const int processor = reader_of(part, i);
      if (draft_.variables.is_hyper_parameter(id) && loaded_once_.insert({id, processor}).second) {
        io_.load_once(id, processor);
      }
    }
  }

  void bring_now(const std::vector<Movement>& loads) {
    Traffic traffic;
    for (const Movement& one : loads) {
      std::vector<Step> steps = bring(one);
      if (schedule_is(PhaseSchedule::Interleaving)) {
        add(std::move(steps));
      } else {
        traffic.add(std::move(steps));
      }
    }
    add(std::move(traffic.loads));
    add(std::move(traffic.gathers));
    add(std::move(traffic.tiles));
  }

  // Interleaving gathers each tensor as soon as it is loaded, the others gather together at the end.
  void start_preloads(const std::vector<Movement>& preloads, Traffic& traffic) {
    for (const Movement& one : preloads) {
      traffic.add(bring(one));
      add(std::exchange(traffic.loads, {}));
      if (schedule_is(PhaseSchedule::Interleaving)) add(std::exchange(traffic.gathers, {}));
    }
  }

  std::vector<std::string> block_names(int phase, std::size_t first, std::size_t last) const {
    std::vector<std::string> names;
    for (std::size_t part = first; part < last; ++part) {
      names.push_back(fmt::format("phase{}", phase));
      if (last - first > 1) names.back() += fmt::format(".ipu{}.{}", parts_[part].turn.processor, part);
    }
    return names;
  }

  // Parts that run side by side. Inputs go to all that read them before the round runs, what it makes goes to
  // its readers of the same phase in one exchange behind it.
  void run_round(int phase, std::size_t first, std::size_t count, std::span<const std::string> names,
                 CopyBetweenProcessors& at_end) {
    CopyBetweenProcessors inputs;
    CopyBetweenProcessors at_once;
    for (std::size_t part = first; part < first + count; ++part) {
      for (const PhaseInput& one : plan_.host_loads[part])
        io_.load(one.value, one.processor, offset_, beat_.steps);
      for (const PhaseCopy& one : plan_.copies[part]) {
        const bool is_for_later = one.first_use > phase && !schedule_is(PhaseSchedule::Interleaving);
        const bool is_input = one.first_use == phase && draft_.input_index(one.value) >= 0;
        CopyBetweenProcessors& copy = is_for_later ? at_end : is_input ? inputs : at_once;
        copy.transfers.push_back({{draft_.buffer(one.value, one.from)}, {draft_.buffer(one.value, one.to)}});
      }
    }
    if (!inputs.transfers.empty()) add({.action = std::move(inputs)});
    for (std::size_t part = first; part < first + count; ++part) run_part(parts_[part], names[part - first]);
    if (!at_once.transfers.empty()) add({.action = std::move(at_once)});
  }

  void run_part(Part& part, const std::string& name) {
    const std::vector<int> makers = makers_of(part);
    add(draft_.run(part, name));
    for (std::size_t i = 0; i < part.writes.size(); ++i)
      io_.store(part.writes[i], makers[i], offset_, beat_.steps);
  }

  Draft& draft_;
  Remote& remote_;
  HostIo io_;
  bool in_slices_;  ///< each phase loops over them
  int offset_;      ///< the cycle of a micro-batch's computation; slices overlap inside the phases instead
  std::vector<Part> parts_;
  PhasePlan plan_;
  SlicePlan slices_;                             ///< empty without batch serialisation
  std::map<std::pair<ValueId, int>, Way> ways_;  ///< of variables off chip, by processor
  std::set<std::pair<ValueId, int>> loaded_once_;
  Beat beat_;
};

// In each phase come micro-batches, what changes for the next one, and what updates its variables.
ir::IdMap<ir::OpId, Turn> turns_of_phases(const Draft& draft) {
  const UpdateSections update = cut_update(draft.placed, draft.variables);
  ir::IdMap<ir::OpId, Turn> turns;
  for (ir::OpId op : draft.graph.op_ids()) {
    const ir::OpPlacement& place = draft.placed[op];
    Turn turn{.phase = place.phase, .processor = place.processor};
    if (draft.variables.is_late(op) && draft.placement.processors > 1) turn.work = Work::Late;
    if (draft.placed.is_outer(op)) {
      turn.work = Work::Update;
      turn.section = update.of_op[op];
    }
    turns.push_back(turn);
  }
  cut_into_rounds(draft.placed, turns);
  return turns;
}

}  // namespace

executor::Program phased(const Lowering& lowering) {
  Draft draft(lowering);
  Remote remote(draft);
  PhaseWriter writer(draft, remote,
                     make_parts(draft.graph, turns_of_phases(draft),
                                {.streamed = remote.streamed(), .priority = draft.priorities()}));
  writer.write();
  return std::move(draft.program);
}

}  // namespace podium::lower
