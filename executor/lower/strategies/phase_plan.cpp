#include "executor/lower/strategies/phase_plan.h"

#include <algorithm>
#include <map>

#include "executor/lower/draft/locations.h"
#include "executor/lower/strategies/batch_serialise.h"
#include "ir/at.h"

namespace podium::lower {

using ir::ValueId;

namespace {

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
  std::vector<int> early = {};     ///< of `uses`, those not only by an update
};

class Planner {
 public:
  Planner(const Draft& draft, const Remote& remote, const std::vector<Part>& parts,
          const std::vector<bool>& is_update)
      : draft_(draft),
        remote_(remote),
        parts_(parts),
        is_update_(is_update),
        made_by_(draft.graph.values.size(), -1) {
    plan_.phases.resize(static_cast<std::size_t>(draft.placement.phases) + 1);
    plan_.copies.resize(parts.size());
    plan_.host_loads.resize(parts.size());
  }

  PhasePlan plan() {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      for (ValueId id : parts_[p].reads) use(id, static_cast<int>(p));
      for (ValueId id : parts_[p].writes) make(id, static_cast<int>(p));
    }
    const std::vector<ir::TensorLocation> activations = activation_locations();
    for (const Stay& stay : stays_) {
      if (remote_.weight(stay.value)) {
        move(stay, *remote_.weight(stay.value), draft_.options.phases.weights);
      } else if (draft_.variables.is_variable(stay.value)) {
        move_variable(stay, draft_.variables.variable(stay.value));
      } else if (!is_serialised(draft_.options) && is_remote(activations[at(stay.value)])) {
        move(stay, activations[at(stay.value)], draft_.options.phases.activations);
      }
    }
    return std::move(plan_);
  }

 private:
  int phase_of(int part) const { return parts_[part].group / draft_.placement.processors; }
  int processor_of(int part) const { return parts_[part].group % draft_.placement.processors; }
  PhaseMovements& phase(int index) { return plan_.phases[index + 1]; }

  Stay& stay(ValueId value, int processor) {
    const auto [entry, is_new] = stay_index_.try_emplace({value, processor}, stays_.size());
    if (is_new) stays_.push_back({.value = value, .processor = processor});
    return stays_[entry->second];
  }

  void make(ValueId value, int part) {
    if (const auto variable = draft_.variables.updated(value)) {
      Stay& updated = stay(*variable, processor_of(part));
      add_use(updated, phase_of(part));
      updated.modified.push_back(phase_of(part));
    }
    made_by_[at(value)] = part;
    stay(value, processor_of(part)).made = phase_of(part);
  }

  static void add_use(Stay& here, int phase) {
    if (here.uses.empty() || here.uses.back() != phase) here.uses.push_back(phase);
  }

  void use(ValueId value, int part) {
    if (draft_.variables.is_hyper_parameter(value)) return;
    const bool is_variable = draft_.variables.is_variable(value);
    if (is_variable && draft_.variables.home(value) != processor_of(part)) {
      throw Error(
          "variable '{}' is on ipu {} and read in phase {} on ipu {}: all phases that use a variable must be "
          "on "
          "one processor",
          draft_.graph[value].name, draft_.variables.home(value), phase_of(part), processor_of(part));
    }
    int& maker = made_by_[at(value)];
    if (maker < 0 && !remote_.weight(value) && !is_variable) {
      plan_.host_loads[part].push_back(value);
      make(value, part);
    }
    const int processor = processor_of(part);
    const int phase = phase_of(part);
    Stay& here = stay(value, processor);
    if (maker >= 0 && here.made == kNever) {
      here.made = phase_of(maker);
      plan_.copies[maker].push_back({value, processor, phase});
    }
    add_use(here, phase);
    if (!is_update_[part]) here.early.push_back(phase);
  }

  // What ops make may be off chip; what comes from the host is not.
  std::vector<ir::TensorLocation> activation_locations() {
    std::vector<ir::TensorLocation> locations(draft_.graph.values.size());
    Warnings warnings;
    for (std::size_t i = 0; i < draft_.graph.ops.size(); ++i) {
      for (ValueId id : draft_.graph.ops[i].outputs) {
        if (!id.valid() || !draft_.graph[id].type.is_static()) continue;
        locations[at(id)] = determine_location({.name = draft_.graph[id].name,
                                                .kind = TensorClass::Activation,
                                                .elements = draft_.graph[id].type.element_count(),
                                                .annotated = draft_.placement.ops[i].output_location},
                                               draft_.options, warnings);
        locations[at(id)].sharded = false;  // an override is not checked, but each replica has its own
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
    const PhaseSettings& phases = draft_.options.phases;
    if (variable.accumulates) return phases.accumulators;
    return variable.role == executor::Role::OptimizerState ? phases.optimizer_state : phases.weights;
  }
  void move_variable(const Stay& stay, const PlacedVariable& variable) {
    if (variable.location.storage != ir::Storage::OffChip) return;
    const Movement movement{stay.value, stay.processor, variable.location};
    const bool preload = when_to_load(variable) == PhaseIo::Preload;
    int last_live = kNever;
    auto modified = stay.modified.begin();
    for (std::size_t i = 0; i < stay.uses.size(); ++i) {
      const int use = stay.uses[i];
      if (use - last_live > kPhasesLive) {
        PhaseMovements& at_use = phase(use);
        // An anchor reads it in every micro-batch.
        const bool is_early = std::find(stay.early.begin(), stay.early.end(), use) != stay.early.end();
        const bool waits =
            variable.role == executor::Role::OptimizerState && !variable.accumulates && !is_early;
        (preload ? phase(use - 1).preloads : waits ? at_use.update_loads : at_use.loads).push_back(movement);
      }
      last_live = use;
      const bool ends = i + 1 == stay.uses.size() || stay.uses[i + 1] - use > kPhasesLive;
      int stored_in = kNever;
      for (; ends && modified != stay.modified.end() && *modified <= use; ++modified) stored_in = *modified;
      if (stored_in != kNever) phase(stored_in).stores.push_back(movement);
    }
  }

  const Draft& draft_;
  const Remote& remote_;
  const std::vector<Part>& parts_;
  const std::vector<bool>& is_update_;  ///< per part
  PhasePlan plan_;
  std::vector<int> made_by_;  ///< per value: the part, -1 for none
  std::vector<Stay> stays_;
  std::map<std::pair<ValueId, int>, std::size_t> stay_index_;
};

}  // namespace

PhasePlan plan_phases(const Draft& draft, const Remote& remote, const std::vector<Part>& parts,
                      const std::vector<bool>& is_update) {
  return Planner(draft, remote, parts, is_update).plan();
}

}  // namespace podium::lower
