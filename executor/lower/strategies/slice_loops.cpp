// A value that a later phase reads waits in a row of streaming memory on the processor that reads it: an
// entry for each slice. Rows of one type on one processor share a buffer; a row is given again to a value
// that is made in a later phase than the last read of the one before it (a linear scan over the uses by
// phase).
//
// The plan says per part what moves before and after its block, the steps follow from it and from the IO
// mode. The loop of a phase is a cycle of draft/cycle.h. Overlapped, slice s is loaded in cycle s, computed
// in cycle s + 1 and stored in cycle s + 2:
//
//   IO lane        load s + 1, store s - 1   ┐ side by side
//   compute lane   parts of slice s          ┘
#include "executor/lower/strategies/slice_loops.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "executor/lower/draft/rounds.h"

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

// Where a value is made, or loaded from the host, and where it goes from there.
struct SliceWay {
  int maker = -1;            ///< a part, -1 while none is known
  int home = 0;              ///< the processor that has it first
  std::vector<int> copies;   ///< other processors that read it in the same phase
  std::vector<int> readers;  ///< processors that read it in later phases
};

// The phases over which a value takes a row on a processor.
struct RowUse {
  ValueId value;
  int processor = 0;
  int made = 0;
  int last_read = 0;
};

struct SliceWays {
  ir::IdMap<ValueId, SliceWay> of;
  std::vector<RowUse> uses;  ///< by ascending phase in which they begin
};

SliceWays find_journeys(const Draft& draft, const Remote& remote, const std::vector<Part>& parts) {
  SliceWays journeys{.of = ir::IdMap<ValueId, SliceWay>(std::ssize(draft.graph.values)), .uses = {}};
  std::map<std::pair<ValueId, int>, std::size_t> use_index;
  for (int p = 0; p < std::ssize(parts); ++p) {
    const Turn& here = parts[p].turn;
    for (std::size_t i = 0; i < parts[p].reads.size(); ++i) {
      const ValueId id = parts[p].reads[i];
      const int reader = reader_of(parts[p], i);
      const bool stays = draft.variables.is_variable(id) || draft.variables.is_hyper_parameter(id);
      if (remote.weight(id) || stays) continue;
      SliceWay& journey = journeys.of[id];
      if (journey.maker < 0) {
        journey.maker = p;
        journey.home = reader;
      }
      const Turn& home = parts[journey.maker].turn;
      // An update reads what the last slice has left on its processor.
      const bool is_left = here.work == Work::Update && home.work != Work::Update;
      if (is_left || home.phase == here.phase) {
        if (journey.home != reader) add_once(journey.copies, reader);
        continue;
      }
      add_once(journey.readers, reader);
      const auto [index, is_new] = use_index.try_emplace({id, reader}, journeys.uses.size());
      if (is_new) journeys.uses.push_back({id, reader, home.phase});
      journeys.uses[index->second].last_read = here.phase;
    }
    for (std::size_t i = 0; i < parts[p].writes.size(); ++i) {
      journeys.of[parts[p].writes[i]].maker = p;
      journeys.of[parts[p].writes[i]].home = maker_of(parts[p], i);
    }
  }
  std::stable_sort(journeys.uses.begin(), journeys.uses.end(),
                   [](const RowUse& a, const RowUse& b) { return a.made < b.made; });
  return journeys;
}

// Gives values their rows: in one buffer a processor and type, each row to one value after the other.
void give_rows(const Draft& draft, const std::vector<RowUse>& uses, SlicePlan& plan) {
  struct Shared {
    int buffer = 0;
    std::set<std::pair<int, int>> taken = {};  ///< the last phase that reads a row, and its first slot
  };
  std::map<std::pair<int, std::string>, Shared> shared;
  for (const RowUse& use : uses) {
    const ir::Type& type = draft.graph[use.value].type;
    const auto [entry, is_new] = shared.try_emplace({use.processor, ir::to_string(type)});
    auto& [buffer, taken] = entry->second;
    if (is_new) {
      buffer = static_cast<int>(std::ssize(plan.buffers));
      plan.buffers.push_back({.type = type, .processor = use.processor});
    }
    int first = plan.buffers[buffer].slots;
    if (!taken.empty() && taken.begin()->first < use.made) {
      first = taken.begin()->second;
      taken.erase(taken.begin());
    } else {
      plan.buffers[buffer].slots += draft.facts.slices_in_phase;
    }
    taken.insert({use.last_read, first});
    plan.rows.push_back({use.value, buffer, first});
  }
}

// Where the values of a slice are in one phase, and what has to move so that each is where it is read.
struct PhaseOfSlice {
  const Draft& draft;
  const SliceWays& journeys;
  std::map<std::pair<ValueId, int>, int> rows = {};  ///< of the plan, by value and processor
  int phase = -1;
  std::set<std::pair<ValueId, int>> here = {};  ///< values on processors in this phase
};

SliceMoves moves_of(PhaseOfSlice& slice, int index, const Part& part) {
  SliceMoves moves;
  if (part.turn.work == Work::Update) return moves;
  if (part.turn.phase != slice.phase) slice.here.clear();
  slice.phase = part.turn.phase;
  std::vector<ValueId> made;
  for (std::size_t i = 0; i < part.reads.size(); ++i) {
    const ValueId id = part.reads[i];
    const int reader = reader_of(part, i);
    const int maker = slice.journeys.of[id].maker;
    if (maker < 0 || !slice.here.insert({id, reader}).second) continue;
    if (maker == index) made.push_back(id);
    moves.loads.push_back({.value = id, .to = reader});
    if (maker != index) moves.loads.back().row = slice.rows.at({id, reader});
  }
  made.insert(made.end(), part.writes.begin(), part.writes.end());
  for (ValueId id : part.writes) slice.here.insert({id, slice.journeys.of[id].home});
  for (ValueId id : made) {
    for (int to : slice.journeys.of[id].copies) {
      slice.here.insert({id, to});
      moves.copies.push_back({id, slice.journeys.of[id].home, to});
    }
  }
  for (ValueId id : made) {
    const int home = slice.journeys.of[id].home;
    for (int to : slice.journeys.of[id].readers) {
      const int from = slice.here.contains({id, to}) ? to : home;
      moves.stores.push_back({id, from, to, slice.rows.at({id, to})});
    }
    if (!slice.draft.output_indices(id).empty())
      moves.stores.push_back({.value = id, .from = home, .to = home});
  }
  return moves;
}

// The steps of a slice by what they are, each in its cycle: the loop of a phase puts them in order.
struct SliceSteps {
  std::vector<TimedStep> loads = {};
  std::vector<TimedStep> tiles_in = {};
  std::vector<TimedStep> work = {};
  std::vector<TimedStep> out = {};
  CopyBetweenProcessors copies_out = {};
  std::vector<TimedStep> stores = {};
};

// A slice is loaded in cycle 0, computed in cycle 1 and stored in cycle 2 when these overlap, else everything
// is in cycle 0.
struct SliceLanes {
  bool over_io_tiles = false;
  bool overlap = false;
  int computed = 0;  ///< the cycle
  int stored = 0;    ///< the cycle
};

SliceLanes lanes_of(const Strategy& strategy) {
  const IoMode mode = strategy.batch_serialization.io_mode;
  SliceLanes lanes{.over_io_tiles = mode != IoMode::Compute && strategy.io_tiles > 0,
                   .overlap = mode == IoMode::IoOverlapped};
  if (lanes.overlap) lanes = {lanes.over_io_tiles, lanes.overlap, 1, 2};
  return lanes;
}

BufferId buffer_on(Draft& draft, ValueId id, int processor, Memory memory) {
  return draft.another_buffer(id, {.name = draft.graph[id].name,
                                   .type = draft.graph[id].type,
                                   .processor = processor,
                                   .memory = memory,
                                   .role = memory == Memory::IO ? Role::Stream : Role::Activation});
}

Slot slot_of(const SlicePlan& plan, int row) {
  return {plan.ids[plan.rows[row].buffer], plan.rows[row].first, 1};
}

void add_loads(Draft& draft, HostIo& io, const SlicePlan& plan, const SliceLanes& lanes,
               const std::vector<SliceLoad>& loads, SliceSteps& steps) {
  for (const SliceLoad& one : loads) {
    if (!one.row && draft.strategy.synthetic_data != SyntheticData::Off) {
      io.load(one.value, one.to, lanes.computed, steps.work);
      continue;
    }
    const BufferId chip = buffer_on(draft, one.value, one.to, Memory::Compute);
    const BufferId target = lanes.over_io_tiles ? buffer_on(draft, one.value, one.to, Memory::IO) : chip;
    Step step{.action = LoadFromHost{draft.input_index(one.value), {target}, draft.host_part(one.value)}};
    if (one.row) step.action = LoadRemote{{{slot_of(plan, *one.row), {target}}}};
    steps.loads.push_back({0, std::move(step)});
    if (lanes.over_io_tiles)
      steps.tiles_in.push_back({lanes.computed, {.action = CopyBetweenTiles{{{target}, {chip}}}}});
  }
}

// Inputs go to all that read them before parts run side by side, what these make behind them.
enum class CopyOf : std::uint8_t { Inputs, Made };

void add_copies(Draft& draft, const SliceLanes& lanes, std::span<const SliceMoves> round, CopyOf what,
                SliceSteps& steps) {
  CopyBetweenProcessors copy;
  for (const SliceMoves& moves : round) {
    for (const SliceCopy& one : moves.copies) {
      if ((draft.input_index(one.value) >= 0) != (what == CopyOf::Inputs)) continue;
      copy.transfers.push_back(
          {{draft.buffer(one.value, one.from)}, {buffer_on(draft, one.value, one.to, Memory::Compute)}});
    }
  }
  if (!copy.transfers.empty()) steps.work.push_back({lanes.computed, {.action = std::move(copy)}});
}

// The buffer that a value is stored from, with the steps that bring it there. `leaving` holds those of its
// processors that it was brought to before.
BufferId leave(Draft& draft, const SliceLanes& lanes, const SliceStore& store,
               std::map<int, BufferId>& leaving, SliceSteps& steps) {
  const bool is_there = store.from == store.to;
  if (is_there && !lanes.over_io_tiles) return draft.buffer(store.value, store.to);
  const auto [entry, is_new] = leaving.try_emplace(store.to);
  if (!is_new) return entry->second;
  const BufferId from = draft.buffer(store.value, store.from);
  entry->second = buffer_on(draft, store.value, store.to, lanes.over_io_tiles ? Memory::IO : Memory::Compute);
  if (is_there) {
    steps.out.push_back({lanes.computed, {.action = CopyBetweenTiles{{{from}, {entry->second}}}}});
  } else {
    steps.copies_out.transfers.push_back({{from}, {entry->second}});
  }
  return entry->second;
}

void add_stores(Draft& draft, HostIo& io, const SlicePlan& plan, const SliceLanes& lanes,
                const std::vector<SliceStore>& stores, SliceSteps& steps) {
  std::map<ValueId, std::map<int, BufferId>> leaving;
  for (const SliceStore& one : stores) {
    if (!one.row && draft.anchor(one.value).returns == AnchorReturn::Sum) {
      io.store(one.value, one.from, lanes.computed, steps.work);
      continue;
    }
    const BufferId from = leave(draft, lanes, one, leaving[one.value], steps);
    if (one.row) {
      steps.stores.push_back({lanes.stored, {.action = StoreRemote{{{{from}, slot_of(plan, *one.row)}}}}});
      continue;
    }
    for (int output : draft.output_indices(one.value))
      steps.stores.push_back(
          {lanes.stored, {.action = StoreToHost{{from}, output, draft.host_part(one.value)}}});
  }
}

std::vector<Step> loop_over_slices(Draft& draft, const SliceLanes& lanes, SliceSteps steps) {
  if (!steps.copies_out.transfers.empty())
    steps.out.push_back({lanes.computed, {.action = std::move(steps.copies_out)}});
  // What leaves the IO tiles leaves before the lanes work side by side, what enters them enters after.
  std::vector<std::vector<TimedStep>*> order{&steps.loads, &steps.tiles_in, &steps.work, &steps.out,
                                             &steps.stores};
  if (lanes.overlap) order = {&steps.tiles_in, &steps.stores, &steps.loads, &steps.work, &steps.out};
  Beat beat;
  for (std::vector<TimedStep>* part : order)
    std::move(part->begin(), part->end(), std::back_inserter(beat.steps));
  return unroll(draft.program, {std::move(beat)}, {.micro_batches = draft.facts.slices_in_phase});
}

}  // namespace

SlicePlan plan_slices(const Draft& draft, const Remote& remote, const std::vector<Part>& parts) {
  const SliceWays journeys = find_journeys(draft, remote, parts);
  SlicePlan plan;
  give_rows(draft, journeys.uses, plan);
  PhaseOfSlice slice{.draft = draft, .journeys = journeys};
  for (int row = 0; row < std::ssize(plan.rows); ++row) {
    const Row& given = plan.rows[row];
    slice.rows.emplace(std::pair(given.value, plan.buffers[given.buffer].processor), row);
  }
  for (int p = 0; p < std::ssize(parts); ++p) plan.parts.push_back(moves_of(slice, p, parts[p]));
  return plan;
}

std::string to_string(const SlicePlan& plan, const ir::Graph& graph) {
  std::string lines;
  for (int i = 0; i < std::ssize(plan.buffers); ++i) {
    const RowBuffer& buffer = plan.buffers[i];
    lines += fmt::format("buffer {}: {} slots of {} on ipu {}\n", i, buffer.slots, ir::to_string(buffer.type),
                         buffer.processor);
  }
  for (int i = 0; i < std::ssize(plan.rows); ++i) {
    const Row& row = plan.rows[i];
    lines += fmt::format("row {}: {} in buffer {} from slot {}\n", i, graph[row.value].name, row.buffer,
                         row.first);
  }
  for (int i = 0; i < std::ssize(plan.parts); ++i) {
    const auto tell = [&](std::string_view what, ValueId value, const std::string& where) {
      lines += fmt::format("part {}: {} {} {}\n", i, what, graph[value].name, where);
    };
    const SliceMoves& moves = plan.parts[i];
    for (const SliceLoad& one : moves.loads)
      tell("load", one.value, one.row ? fmt::format("from row {}", *one.row) : "from host");
    for (const SliceCopy& one : moves.copies) tell("copy", one.value, fmt::format("to ipu {}", one.to));
    for (const SliceStore& one : moves.stores) {
      const std::string over = one.from == one.to ? "" : fmt::format(" over ipu {}", one.to);
      tell("store", one.value, (one.row ? fmt::format("to row {}", *one.row) : "to host") + over);
    }
  }
  return lines;
}

void add_buffers(Draft& draft, SlicePlan& plan) {
  for (const RowBuffer& one : plan.buffers) {
    Buffer buffer{
        .name = fmt::format("slices{}", plan.ids.size()), .type = one.type, .processor = one.processor};
    buffer.memory = Memory::Streaming;
    buffer.slots = one.slots;
    plan.ids.push_back(draft.add_buffer(std::move(buffer)));
  }
}

std::vector<Step> run_slices(Draft& draft, HostIo& io, const SlicePlan& plan, std::vector<Part>& parts,
                             const PartsOfPhase& phase) {
  const SliceLanes lanes = lanes_of(draft.strategy);
  SliceSteps steps;
  for (std::size_t p = phase.first; p < phase.end;) {
    const std::size_t end = p + length_of_round(std::span(parts).subspan(p, phase.end - p));
    const std::span round = std::span(plan.parts).subspan(p, end - p);
    for (const SliceMoves& moves : round) add_loads(draft, io, plan, lanes, moves.loads, steps);
    add_copies(draft, lanes, round, CopyOf::Inputs, steps);
    for (std::size_t i = p; i < end; ++i) {
      for (Step& step : draft.run(parts[i], phase.names[i - phase.first]))
        steps.work.push_back({lanes.computed, std::move(step)});
    }
    add_copies(draft, lanes, round, CopyOf::Made, steps);
    for (const SliceMoves& moves : round) add_stores(draft, io, plan, lanes, moves.stores, steps);
    p = end;
  }
  return loop_over_slices(draft, lanes, std::move(steps));
}

}  // namespace podium::lower
