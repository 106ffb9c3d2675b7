// A stay is a value on a processor, with the phases that use it there. A use within two phases of the last
// one, or of the phase that made the value, finds it on the processor; over a longer gap the value is away:
//
//   phase          0     1     2     3     4     5     6
//   activation   made                used                     loaded in 3, or for it in 2; stored in 0
//   variable           read  changed             read         loaded in 1 and 5, stored in 2
//   its copy     read        sent                             loaded in 0, stored in 2
//
// Parts come in the order in which they run, so uses come by ascending phase.
#include "executor/lower/strategies/phase_plan.h"

#include <algorithm>
#include <map>

#include "executor/lower/placed/locations.h"

namespace podium::lower {

using ir::ValueId;

namespace {

constexpr int kNoPart = -1;
constexpr int kNever = -10;
/// A tensor that was used in one of so many last phases is still on the processor.
constexpr int kPhasesLive = 2;

// A value on a processor, and the phases that use it there.
struct Stay {
  ValueId value;
  int processor = 0;
  int made = kNever;  ///< the phase in which it is made here or copied to here
  std::vector<int> uses = {};
  std::vector<int> modified = {};  ///< of a variable: the phases that write it
  std::vector<int> reads = {};     ///< of `uses`, those by a part that reads it
  std::vector<int> early = {};     ///< of `reads`, those not only by an update
};

// Who makes a value, or loads it from the host.
struct Maker {
  int part = kNoPart;
  int processor = 0;
};

class Planner {
 public:
  Planner(const Draft& draft, const Remote& remote, const std::vector<Part>& parts)
      : draft_(draft), remote_(remote), parts_(parts), made_by_(std::ssize(draft.graph.values)) {
    plan_.phases.resize(draft.placement.phases + 1);
    plan_.copies.resize(parts.size());
    plan_.host_loads.resize(parts.size());
  }

  PhasePlan plan() {
    for (int p = 0; p < std::ssize(parts_); ++p) {
      const Part& part = parts_[p];
      for (std::size_t i = 0; i < part.reads.size(); ++i) use(part.reads[i], p, reader_of(part, i));
      for (std::size_t i = 0; i < part.writes.size(); ++i) make(part.writes[i], p, maker_of(part, i));
    }
    const ir::IdMap<ValueId, ir::TensorLocation> activations = activation_locations();
    for (const Stay& stay : stays_) {
      if (remote_.weight(stay.value)) {
        move(stay, *remote_.weight(stay.value), draft_.strategy.phases.weights);
      } else if (draft_.variables.is_variable(stay.value)) {
        move_variable(stay, draft_.variables.variable(stay.value));
      } else if (draft_.facts.slices_in_phase == 1 && is_remote(activations[stay.value])) {
        move(stay, activations[stay.value], draft_.strategy.phases.activations);
      }
    }
    return std::move(plan_);
  }

 private:
  const Turn& turn_of(int part) const { return parts_[part].turn; }
  PhaseMovements& phase(int index) { return plan_.phases[index + 1]; }

  Stay& stay(ValueId value, int processor) {
    const auto [entry, is_new] = stay_index_.try_emplace({value, processor}, stays_.size());
    if (is_new) stays_.push_back({.value = value, .processor = processor});
    return stays_[entry->second];
  }

  void make(ValueId value, int part, int processor) {
    const Turn& turn = turn_of(part);
    if (const auto variable = draft_.variables.updated(value)) {
      Stay& updated = stay(*variable, processor);
      add_use(updated, turn.phase);
      updated.modified.push_back(turn.phase);
      for (int copy : draft_.variables.variable(*variable).copies) {
        plan_.copies[part].push_back({value, processor, copy, turn.phase});
        Stay& there = stay(*variable, copy);
        add_use(there, turn.phase);
        there.modified.push_back(turn.phase);
      }
    }
    made_by_[value] = {part, processor};
    stay(value, processor).made = turn.phase;
  }

  static void add_use(Stay& here, int phase) {
    if (here.uses.empty() || here.uses.back() != phase) here.uses.push_back(phase);
  }

  void use(ValueId value, int part, int processor) {
    if (draft_.variables.is_hyper_parameter(value)) return;
    const Turn& turn = turn_of(part);
    const bool is_variable = draft_.variables.is_variable(value);
    if (is_variable && std::ranges::count(draft_.variables.processors(value), processor) == 0) {
      throw Error(
          "variable '{}' is on ipu {} and read in phase {} on ipu {}: only weights have copies, all phases "
          "that use another variable must be on one processor",
          draft_.graph[value].name, draft_.variables.variable(value).processor, turn.phase, processor);
    }
    const Maker& maker = made_by_[value];
    if (maker.part == kNoPart && !remote_.weight(value) && !is_variable) {
      plan_.host_loads[part].push_back({value, processor});
      make(value, part, processor);
    }
    Stay& here = stay(value, processor);
    if (maker.part != kNoPart && here.made == kNever) {
      here.made = turn_of(maker.part).phase;
      plan_.copies[maker.part].push_back({value, maker.processor, processor, turn.phase});
    }
    add_use(here, turn.phase);
    here.reads.push_back(turn.phase);
    if (turn.work != Work::Update) here.early.push_back(turn.phase);
  }

  // What ops make may be off chip; what comes from the host is not.
  ir::IdMap<ValueId, ir::TensorLocation> activation_locations() {
    ir::IdMap<ValueId, ir::TensorLocation> locations(std::ssize(draft_.graph.values));
    Warnings unheard;
    for (ir::OpId op : draft_.graph.op_ids()) {
      for (ValueId id : outputs_of(draft_.graph[op])) {
        if (!draft_.graph[id].type.is_static()) continue;
        locations[id] =
            determine_location({.name = draft_.graph[id].name,
                                .kind = TensorClass::Activation,
                                .elements = draft_.graph[id].type.element_count(),
                                .annotated = draft_.placed[op].output_location,
                                .recomputed = draft_.placed[op].recompute == ir::Recompute::Recompute},
                               draft_.strategy, unheard);
        locations[id].sharded = false;  // an override is not checked, but each replica has its own
        if (waits_on_io_tiles(locations[id])) locations[id] = {};  // stow_activations moves it
      }
    }
    return locations;
  }

  void move(const Stay& stay, const ir::TensorLocation& location, PhaseIo when) {
    const Movement movement{stay.value, stay.processor, location};
    int last_live = stay.made;
    bool stored = stay.made == kNever;  // a weight is where it is loaded from
    for (int use : stay.uses) {
      if (use - last_live > kPhasesLive) {
        if (!stored) phase(last_live).stores.push_back(movement);
        stored = true;
        (when == PhaseIo::Preload ? phase(use - 1).preloads : phase(use).loads).push_back(movement);
      }
      last_live = use;
    }
  }

  PhaseIo when_to_load(const PlacedVariable& variable) const {
    const PhaseSettings& phases = draft_.strategy.phases;
    if (variable.accumulates) return phases.accumulators;
    return variable.role == executor::Role::OptimizerState ? phases.optimizer_state : phases.weights;
  }
  void move_variable(const Stay& stay, const PlacedVariable& variable) {
    if (variable.location.storage != ir::Storage::OffChip) return;
    const Movement movement{stay.value, stay.processor, variable.location};
    const bool preload = when_to_load(variable) == PhaseIo::Preload;
    int last_live = kNever;
    auto modified = stay.modified.begin();
    for (int i = 0; i < std::ssize(stay.uses); ++i) {
      const int use = stay.uses[i];
      if (use - last_live > kPhasesLive) {
        PhaseMovements& at_use = phase(use);
        // An anchor reads it in every micro-batch.
        const bool is_early = std::ranges::count(stay.early, use) > 0;
        const bool is_read = std::ranges::count(stay.reads, use) > 0;
        const bool waits =
            variable.role == executor::Role::OptimizerState && !variable.accumulates && !is_early;
        const bool is_sent = stay.processor != variable.processor && !is_read;  // by the owner, whole
        if (!is_sent)
          (preload ? phase(use - 1).preloads
           : waits ? at_use.update_loads
                   : at_use.loads)
              .push_back(movement);
      }
      last_live = use;
      const bool ends = i + 1 == std::ssize(stay.uses) || stay.uses[i + 1] - use > kPhasesLive;
      int stored_in = kNever;
      for (; ends && modified != stay.modified.end() && *modified <= use; ++modified) stored_in = *modified;
      if (stored_in != kNever) phase(stored_in).stores.push_back(movement);
    }
  }

  const Draft& draft_;
  const Remote& remote_;
  const std::vector<Part>& parts_;
  PhasePlan plan_;
  ir::IdMap<ValueId, Maker> made_by_;
  std::vector<Stay> stays_;
  std::map<std::pair<ValueId, int>, std::size_t> stay_index_;
};

}  // namespace

PhasePlan plan_phases(const Draft& draft, const Remote& remote, const std::vector<Part>& parts) {
  return Planner(draft, remote, parts).plan();
}

}  // namespace podium::lower
