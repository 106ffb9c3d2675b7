// A value that a later phase reads waits in a row of streaming memory on the processor that reads it: an
// entry for each slice. Rows of one type on one processor share a buffer; a row is given again to a value
// that is made in a later phase than the last read of the one before it (a linear scan over the uses by
// phase).
//
// The loop of a phase is a cycle of draft/cycle.h. Overlapped, slice s is loaded in cycle s, computed in
// cycle s + 1 and stored in cycle s + 2:
//
//   IO lane        load s + 1, store s - 1   ┐ side by side
//   compute lane   parts of slice s          ┘
#include "executor/lower/strategies/slice_loops.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace podium::lower {

using executor::Buffer;
using executor::BufferId;
using executor::CopyBetweenProcessors;
using executor::CopyBetweenTiles;
using executor::LoadFromHost;
using executor::LoadRemote;
using executor::Memory;
using executor::Role;
using executor::Slot;
using executor::Step;
using executor::StoreRemote;
using executor::StoreToHost;
using ir::ValueId;

namespace {

void add_once(std::vector<int>& to, int processor) {
  if (std::find(to.begin(), to.end(), processor) == to.end()) to.push_back(processor);
}

// The phases over which a value takes a row on a processor.
struct RowUse {
  ValueId value;
  int processor = 0;
  int made = 0;
  int last_read = 0;
};

// Gives values their rows: in one buffer a processor and type, each row to one value after the other.
class Rows {
 public:
  explicit Rows(Draft& draft) : draft_(draft) {}

  /// Uses come by ascending phase in which they begin.
  Slot give(const RowUse& use) {
    const ir::Type& type = draft_.graph[use.value].type;
    const int slices = draft_.facts.slices_in_phase;
    Shared& shared = shared_[{use.processor, to_string(type)}];
    if (!shared.buffer.valid()) shared.buffer = add_buffer(type, use.processor);
    int& slots = draft_.program[shared.buffer].slots;
    int row = slots;
    if (!shared.taken.empty() && shared.taken.begin()->first < use.made) {
      row = shared.taken.begin()->second;
      shared.taken.erase(shared.taken.begin());
    } else {
      slots += slices;
    }
    shared.taken.insert({use.last_read, row});
    return {shared.buffer, row, 1};
  }

 private:
  struct Shared {
    BufferId buffer;
    std::set<std::pair<int, int>> taken;  ///< the last phase that reads a row, and its first entry
  };

  BufferId add_buffer(const ir::Type& type, int processor) {
    Buffer buffer{.name = fmt::format("slices{}", shared_.size() - 1), .type = type, .processor = processor};
    buffer.memory = Memory::Streaming;
    buffer.slots = 0;
    return draft_.add_buffer(std::move(buffer));
  }

  Draft& draft_;
  std::map<std::pair<int, std::string>, Shared> shared_;
};

// The loop of one phase. A slice is loaded in cycle 0, computed in cycle 1 and stored in cycle 2 when these
// overlap, else everything is in cycle 0.
class SliceLoop {
 public:
  SliceLoop(Draft& draft, HostIo& io, const SlicePlan& plan)
      : draft_(draft),
        io_(io),
        plan_(plan),
        over_io_tiles_(draft.strategy.batch_serialization.io_mode != IoMode::Compute &&
                       draft.strategy.io_tiles > 0),
        overlaps_(draft.strategy.batch_serialization.io_mode == IoMode::IoOverlapped),
        now_(overlaps_ ? 1 : 0) {}

  void add(int index, Part& part, std::string name) {
    const int processor = part.turn.processor;
    std::vector<ValueId> made;
    for (ValueId id : part.reads) {
      const SliceJourney& journey = plan_.journeys[id];
      if (journey.maker < 0 || !here_.insert({id, processor}).second) continue;
      if (journey.maker == index) made.push_back(id);
      load(id, processor, journey.maker == index);
    }
    work_.push_back({now_, draft_.compute(draft_.add_block(part, std::move(name)), part)});
    for (ValueId id : part.writes) here_.insert({id, processor});
    made.insert(made.end(), part.writes.begin(), part.writes.end());
    copy_within_phase(made, processor);
    for (ValueId id : made) store(id, processor);
  }

  std::vector<Step> run() {
    if (!copies_out_.transfers.empty()) out_.push_back({now_, {.action = std::move(copies_out_)}});
    // What leaves the IO tiles leaves before the lanes work side by side, what enters them enters after.
    std::vector<std::vector<TimedStep>*> order{&loads_, &tiles_in_, &work_, &out_, &stores_};
    if (overlaps_) order = {&tiles_in_, &stores_, &loads_, &work_, &out_};
    Beat beat;
    for (std::vector<TimedStep>* part : order) {
      std::move(part->begin(), part->end(), std::back_inserter(beat.steps));
    }
    return unroll(draft_.program, {std::move(beat)}, draft_.facts.slices_in_phase);
  }

 private:
  BufferId on(ValueId id, int processor, Memory memory) {
    return draft_.another_buffer(id, {.name = draft_.graph[id].name,
                                      .type = draft_.graph[id].type,
                                      .processor = processor,
                                      .memory = memory,
                                      .role = memory == Memory::IO ? Role::Stream : Role::Activation});
  }

  void load(ValueId id, int processor, bool from_host) {
    if (from_host && draft_.strategy.synthetic_data != SyntheticData::Off)
      return io_.load(id, processor, now_, work_);
    const BufferId chip = on(id, processor, Memory::Compute);
    const BufferId target = over_io_tiles_ ? on(id, processor, Memory::IO) : chip;
    Step step{.action = LoadFromHost{draft_.input_index(id), {target}}};
    if (!from_host) step.action = LoadRemote{{plan_.rows.at({id, processor}), {target}}};
    loads_.push_back({0, std::move(step)});
    if (over_io_tiles_) tiles_in_.push_back({now_, {.action = CopyBetweenTiles{{{target}, {chip}}}}});
  }

  void copy_within_phase(const std::vector<ValueId>& made, int processor) {
    CopyBetweenProcessors copy;
    for (ValueId id : made) {
      for (int to : plan_.journeys[id].copies) {
        here_.insert({id, to});
        copy.transfers.push_back({{draft_.buffer(id, processor)}, {on(id, to, Memory::Compute)}});
      }
    }
    if (!copy.transfers.empty()) work_.push_back({now_, {.action = std::move(copy)}});
  }

  void store(ValueId id, int processor) {
    const int later = now_ + (overlaps_ ? 1 : 0);
    for (int to : plan_.journeys[id].rows) {
      const BufferId from = leaving(id, processor, to);
      stores_.push_back({later, {.action = StoreRemote{{{from}, plan_.rows.at({id, to})}}}});
    }
    if (draft_.output_indices(id).empty()) return;
    if (draft_.anchor(id).returns == AnchorReturn::Sum) return io_.store(id, processor, now_, work_);
    const BufferId from = leaving(id, processor, processor);
    for (int output : draft_.output_indices(id))
      stores_.push_back({later, {.action = StoreToHost{{from}, output}}});
  }

  // The buffer on processor `to` from which a value is stored, with the steps that bring it there.
  BufferId leaving(ValueId id, int home, int to) {
    const bool is_there = here_.count({id, to}) > 0;
    if (is_there && !over_io_tiles_) return draft_.buffer(id, to);
    const auto [entry, is_new] = leaving_.try_emplace({id, to});
    if (!is_new) return entry->second;
    const BufferId from = draft_.buffer(id, is_there ? to : home);
    entry->second = on(id, to, over_io_tiles_ ? Memory::IO : Memory::Compute);
    if (is_there) {
      out_.push_back({now_, {.action = CopyBetweenTiles{{{from}, {entry->second}}}}});
    } else {
      copies_out_.transfers.push_back({{from}, {entry->second}});
    }
    return entry->second;
  }

  Draft& draft_;
  HostIo& io_;
  const SlicePlan& plan_;
  bool over_io_tiles_;
  bool overlaps_;
  int now_;                                 ///< the cycle in which a slice is computed
  std::set<std::pair<ValueId, int>> here_;  ///< values on compute tiles of a processor, in this phase
  std::map<std::pair<ValueId, int>, BufferId> leaving_;
  std::vector<TimedStep> loads_;
  std::vector<TimedStep> tiles_in_;
  std::vector<TimedStep> work_;
  std::vector<TimedStep> out_;
  CopyBetweenProcessors copies_out_;
  std::vector<TimedStep> stores_;
};

}  // namespace

SlicePlan plan_slices(Draft& draft, const Remote& remote, const std::vector<Part>& parts) {
  SlicePlan plan{.journeys = ir::IdMap<ValueId, SliceJourney>(std::ssize(draft.graph.values)), .rows = {}};
  std::map<std::pair<ValueId, int>, std::size_t> use_index;
  std::vector<RowUse> uses;
  for (int p = 0; p < std::ssize(parts); ++p) {
    const Turn& here = parts[p].turn;
    for (ValueId id : parts[p].reads) {
      const bool stays = draft.variables.is_variable(id) || draft.variables.is_hyper_parameter(id);
      if (remote.weight(id) || stays) continue;
      SliceJourney& journey = plan.journeys[id];
      if (journey.maker < 0) journey.maker = p;
      const Turn& home = parts[journey.maker].turn;
      // An update reads what the last slice has left on its processor.
      const bool is_left = here.work == Work::Update && home.work != Work::Update;
      if (is_left || home.phase == here.phase) {
        if (home.processor != here.processor) add_once(journey.copies, here.processor);
        continue;
      }
      add_once(journey.rows, here.processor);
      const auto [index, is_new] = use_index.try_emplace({id, here.processor}, uses.size());
      if (is_new) uses.push_back({id, here.processor, home.phase});
      uses[index->second].last_read = here.phase;
    }
    for (ValueId id : parts[p].writes) plan.journeys[id].maker = p;
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const RowUse& a, const RowUse& b) { return a.made < b.made; });
  Rows rows(draft);
  for (const RowUse& use : uses) plan.rows[{use.value, use.processor}] = rows.give(use);
  return plan;
}

std::vector<Step> run_slices(Draft& draft, HostIo& io, const SlicePlan& plan, std::vector<Part>& parts,
                             std::size_t first, std::size_t last, const std::vector<std::string>& names) {
  SliceLoop loop(draft, io, plan);
  for (std::size_t p = first; p < last; ++p) loop.add(static_cast<int>(p), parts[p], names[p - first]);
  return loop.run();
}

}  // namespace podium::lower
