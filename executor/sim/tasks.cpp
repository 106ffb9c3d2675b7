// Each step becomes a task with numbers only: its time in picoseconds, the lanes of processors that it keeps
// busy (compute or IO, by the memory of its buffers), links and how long it holds them, slots numbered
// through all buffers, and the barriers that it holds, one bit for each half of the processors and each kind
// of lane (semantics, section 3). Lists of all tasks lie in one arena.
//
// Where collectives are early, a slot that a reduction reads is ready as soon as the kernel that makes it has
// ended, and reductions come in the order in which what they read is made, whatever of the Program stands
// between them. Weights that are gathered behind an update are gathered at the beginning: the next run's.
//
// On a machine that is not synchronous collectives are on the IO lane, beside computes. What one processor
// sends another goes beside both, and waits for its links alone: a receiver has posted the buffer, so neither
// waits for what the other does. How far a gather of weights may run ahead is said by two more slots of each
// processor, of which gathers fill one after the other: computes behind a gather read its slot, so the gather
// after the next one waits for them.
#include "executor/sim/tasks.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

#include "executor/sim/loop_parts.h"
#include "executor/sim/touched.h"
#include "executor/slots.h"
#include "executor/uses.h"
#include "ir/disjoint_sets.h"

namespace podium::sim {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::Memory;
using executor::Program;
using executor::Slot;
using executor::Step;

// Each lane once, with all its bytes.
void merge(std::vector<LaneUse>& uses) {
  std::sort(uses.begin(), uses.end(),
            [](const LaneUse& a, const LaneUse& b) { return a.number() < b.number(); });
  std::size_t count = 0;
  for (const LaneUse& use : uses) {
    if (count > 0 && uses[count - 1].number() == use.number()) {
      uses[count - 1].bytes += use.bytes;
    } else {
      uses[count++] = use;
    }
  }
  uses.resize(count);
}

class TaskMaker {
 public:
  TaskMaker(const Program& program, const Costs& costs, SyncPattern sync)
      : program_(program),
        costs_(costs),
        sync_(sync),
        is_early_(costs.early_collectives && !costs.synchronous),
        groups_(program.processors) {
    for (const Buffer& buffer : program.buffers) {
      first_slot_.push_back(made.slots);
      made.slots += buffer.slots;
      slot_bytes_.push_back(slot_bytes(buffer));
    }
    made.processors = program.processors;
    if (!costs.synchronous) {
      first_gather_slot_ = made.slots;
      made.slots += kGathersAhead * program.processors;
      gathers_.resize(program.processors);
    }
    made.tasks.reserve(program.steps.size());
    early_.resize(program.buffers.size());
    is_reduced_.resize(program.buffers.size());
    writer_.resize(program.buffers.size());
    if (is_early_) mark_reduced(program.steps);
    if (!costs.synchronous) join_groups(program.steps);
    for (const executor::HostTensor& output : program.outputs) {
      const std::int64_t group = output.group * output.slices;
      first_move_.push_back(static_cast<int>(made.outputs.size()));
      made.outputs.resize(made.outputs.size() + count_moves(output),
                          {(output.every - 1) * group, output.every * group});
    }
  }

  // Where collectives are early, weights that are gathered at the end are gathered while the next run begins:
  // of runs that follow each other it does not matter which of them has that time.
  std::vector<Item> add_all() {
    std::vector<Item> items;
    if (is_early_) find_last_gathers();
    is_of_run_before_ = true;
    for (const Step& step : program_.steps) {
      if (gathers_first_.contains(&step)) items.push_back(item_of(step));
    }
    is_of_run_before_ = false;
    std::ranges::copy(add(program_.steps), std::back_inserter(items));
    return items;
  }

  std::vector<Item> add(const std::vector<Step>& steps) {
    std::vector<Item> items;
    items.reserve(steps.size());
    std::vector<std::vector<const Step*>> reductions = reductions_by_place(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      in_order_of_writers(reductions[i]);
      for (const Step* step : reductions[i]) items.push_back(item_of(*step));
      const Step& step = steps[i];
      if (reduced_by(step) != nullptr || gathers_first_.contains(&step)) continue;
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        const std::vector<int> turns = turns_of(*repeat);
        Loop loop{.step = &step,
                  .count = repeat->count,
                  .stretches = {turns.begin(), turns.end()},
                  .items = add(repeat->body),
                  .parts = {}};
        loop.stretches.push_back(loop.count);
        loop.parts = parts_of(made, loop.items, loop.count);
        items.push_back({.loop = static_cast<int>(made.loops.size())});
        made.loops.push_back(std::move(loop));
      } else {
        items.push_back(item_of(step));
      }
    }
    return items;
  }

  /// An exchange with the transfers that act in an iteration.
  std::optional<Task> acting(const Task& whole, std::int64_t iteration) {
    const auto found = exchanges_.try_emplace(whole.step, whole, *this).first;
    InParts& exchange = found->second;
    const std::span<const int> places = exchange.acting.in(iteration);
    if (places.empty()) return std::nullopt;
    Task part = whole;
    part.has_parts = false;
    part.barriers = 0;
    part.sent = part.received = 0;
    transfers_.clear();
    reads_.clear();
    writes_.clear();
    for (int place : places) {
      const executor::Transfer& one = whole.transfers[place];
      transfers_.push_back(one);
      reads_.push_back(whole.reads[place]);
      writes_.push_back(whole.writes[place]);
      count_bytes(part, one);
      exchange.use(place, bytes(one.from), bytes(one.to));
    }
    part.transfers = transfers_;
    part.reads = reads_;
    part.writes = writes_;
    exchange.take_lanes(whole, lanes_);
    send_beside(transfers_);
    hold_all(part);
    part.lanes = lanes_;
    const std::size_t links = link_numbers_.size();
    hold_links(part, costs_.part_of_exchange(*whole.step, places));
    IR_CHECK(link_numbers_.size() == links, "a part of an exchange uses links that the whole does not");
    part.links = links_;
    return part;
  }

  Tasks made;

 private:
  Item item_of(const Step& step) {
    const auto number = static_cast<std::int32_t>(made.tasks.size());
    made.tasks.push_back(task(step));
    made.tasks.back().number = number;
    return {.task = number};
  }

  // Those of weights that no step behind them uses.
  void find_last_gathers() {
    ir::IdMap<BufferId, bool> is_used(std::ssize(program_.buffers), false);
    const std::function<void(const Step&)> note = [&](const Step& step) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
        std::ranges::for_each(repeat->body, note);
      executor::for_each_slot(step,
                              [&](const Slot& slot, bool /*is_write*/) { is_used[slot.buffer] = true; });
    };
    for (const Step& step : program_.steps | std::views::reverse) {
      const auto* gather = std::get_if<executor::Collective>(&step.action);
      if (gather != nullptr && gather->kind == executor::CollectiveKind::AllGather) {
        const BufferId whole = gather->transfer.to.buffer;
        if (program_[whole].role == executor::Role::Weight && !is_used[whole]) gathers_first_.insert(&step);
      }
      note(step);
    }
  }
  // The transfer of a collective that adds up, else nullptr.
  static const executor::Transfer* reduced_by(const Step& step) {
    const auto* collective = std::get_if<executor::Collective>(&step.action);
    return collective != nullptr && collective->kind != executor::CollectiveKind::AllGather
               ? &collective->transfer
               : nullptr;
  }
  void mark_reduced(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) mark_reduced(repeat->body);
      if (const executor::Transfer* transfer = reduced_by(step)) is_reduced_[transfer->from.buffer] = true;
    }
  }
  // Before which step each reduction comes: its own place, and where collectives are early that behind the
  // last step that uses what it writes or makes what it reads, in whatever way that stands between them.
  std::vector<std::vector<const Step*>> reductions_by_place(const std::vector<Step>& steps) const {
    std::vector<std::vector<const Step*>> found(steps.size());
    const bool move =
        is_early_ && std::ranges::any_of(steps, [](const Step& step) { return reduced_by(step) != nullptr; });
    executor::Uses uses;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (const executor::Transfer* transfer = reduced_by(steps[i]))
        found[move ? uses.earliest(*transfer) : i].push_back(&steps[i]);
      if (move) uses.note(steps[i], i + 1);
    }
    return found;
  }
  // In the order in which what they read is made.
  void in_order_of_writers(std::vector<const Step*>& reductions) const {
    std::ranges::stable_sort(reductions, {}, [&](const Step* step) {
      const BufferId from = reduced_by(*step)->from.buffer;
      return std::pair(writer_[from], -early_[from]);
    });
  }

  Task task(const Step& step) {
    Task task{.step = &step};
    const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&step.action);
    task.has_parts =
        copy != nullptr && std::ranges::any_of(copy->transfers, [](const executor::Transfer& one) {
          return one.acts != executor::Iterations{};
        });
    lanes_.clear();
    std::visit([&](const auto& action) { fill(task, action); }, step.action);
    IR_CHECK(!lanes_.empty(), "{} keeps nobody busy", print(program_, step));
    task.lanes = kept(lanes_);
    task.reads = uses(step, false);
    task.writes = uses(step, true);
    if (task.activity != Activity::Compute) add_cost(task);
    return task;
  }
  void add_cost(Task& task) {
    hold_links(task, costs_.movement(*task.step));
    task.links = kept(links_);
  }
  void hold_links(Task& task, const StepCost& cost) {
    task.ticks = to_ticks(cost.seconds);
    links_.clear();
    for (const LinkLoad& load : cost.links) {
      const auto [number, is_new] = link_numbers_.emplace(load.link, made.links.size());
      if (is_new) made.links.push_back(load.link);
      // The host fills and empties its buffers on when the processor has gone on.
      const bool goes_on = task.activity == Activity::HostLoad || task.activity == Activity::HostStore;
      const Ticks whole = to_ticks(load.seconds);
      const Ticks held = goes_on ? whole : std::min(task.ticks, whole);
      const bool has_room =
          !costs_.synchronous && task.activity == Activity::Collective && 2 * held < task.ticks;
      links_.push_back(
          {number->second, held, std::llround(load.bytes), to_ticks(load.backlog_seconds), has_room});
    }
  }

  template <class T>
  std::span<const T> kept(const std::vector<T>& list) {
    if (list.empty()) return {};
    T* const copy = static_cast<T*>(made.lists->allocate(list.size() * sizeof(T), alignof(T)));
    std::uninitialized_copy(list.begin(), list.end(), copy);
    return {copy, list.size()};
  }
  std::span<const SlotUse> uses(const Step& step, bool written) {
    slots_.clear();
    const bool computes = std::holds_alternative<executor::Compute>(step.action);
    executor::for_each_slot(step, [&](const Slot& slot, bool is_write) {
      if (is_write != written || (is_of_run_before_ && !is_write)) return;
      slots_.push_back(use(slot));
      if (written && computes) slots_.back().early = early_[slot.buffer];
    });
    if (!costs_.synchronous && !is_of_run_before_) add_gather_slot(step, written);
    return kept(slots_);
  }
  // Reads come first. Gathers with no compute between them are one.
  void add_gather_slot(const Step& step, bool written) {
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    const auto* collective = std::get_if<executor::Collective>(&step.action);
    if (compute != nullptr && !written) {
      const int processor = program_[compute->block].processor;
      Gathers& gathers = gathers_[processor];
      if (gathers.count == 0) return;
      gathers.is_open = false;
      slots_.push_back(gather_slot(processor));
    } else if (collective != nullptr && collective->kind == executor::CollectiveKind::AllGather && written) {
      const int processor = program_[collective->transfer.to.buffer].processor;
      Gathers& gathers = gathers_[processor];
      if (!std::exchange(gathers.is_open, true)) ++gathers.count;
      slots_.push_back(gather_slot(processor));
    }
  }
  SlotUse gather_slot(int processor) const {
    const BufferId behind_all{static_cast<std::int32_t>(std::ssize(program_.buffers) + processor)};
    return {behind_all, first_gather_slot_ + kGathersAhead * processor, kGathersAhead,
            gathers_[processor].count % kGathersAhead};
  }
  SlotUse use(const Slot& slot) const {
    return {slot.buffer, first_slot_[slot.buffer], program_[slot.buffer].slots, slot.index, slot.stride};
  }
  std::int64_t bytes(const Slot& slot) const { return slot_bytes_[slot.buffer]; }

  // The lane on which a processor takes part by this slot.
  LaneUse lane(const Slot& slot) const {
    const Buffer& buffer = program_[slot.buffer];
    return {buffer.processor, buffer.memory == Memory::IO ? Lane::Io : Lane::Compute, bytes(slot)};
  }

  BarrierSet barrier(int half, Lane lane) const {
    return static_cast<BarrierSet>(1U << static_cast<unsigned>(2 * half + static_cast<int>(lane)));
  }
  // Between processors of a replica: everybody waits, on the lanes that the exchange uses. Replicas do the
  // same at the same time, so their collectives hold up no other processor of theirs.
  void hold_all(Task& task) const {
    if (!costs_.synchronous) return;
    for (const LaneUse& use : lanes_) task.barriers |= barrier(0, use.lane) | barrier(1, use.lane);
  }
  // With the host or streaming memory: as the pattern says (semantics, section 3).
  void hold_pattern(Task& task) const {
    if (sync_ == SyncPattern::Full) return hold_all(task);
    if (!costs_.synchronous || sync_ == SyncPattern::SinglePipeline) return;
    for (const LaneUse& use : lanes_) task.barriers |= barrier(use.processor % 2, use.lane);
  }

  void fill(Task& task, const executor::Compute& step) {
    const executor::Block& block = program_[step.block];
    task.ticks = to_ticks(costs_.blocks[step.block].seconds);
    const std::vector<double>& early = costs_.blocks[step.block].early_seconds;
    for (std::size_t i = 0; i < std::min(early.size(), step.writes.size()); ++i) {
      const BufferId written = step.writes[i].buffer;
      if (!is_reduced_[written]) continue;
      early_[written] = std::min(task.ticks, to_ticks(early[i]));
      writer_[written] = std::ssize(made.tasks);
    }
    lanes_ = {{block.processor, block.memory == Memory::IO ? Lane::Io : Lane::Compute, 0}};
  }
  void fill(Task& task, const executor::LoadFromHost& step) {
    task.activity = Activity::HostLoad;
    lanes_ = {lane(step.to)};
    task.sent = ir::packed_bytes(moved_type(program_.inputs[step.input], step.part));
    task.received = bytes(step.to);
    hold_pattern(task);
  }
  void fill(Task& task, const executor::StoreToHost& step) {
    task.activity = Activity::HostStore;
    lanes_ = {lane(step.from)};
    task.output = first_move_[step.output] + step.part;
    task.sent = bytes(step.from);
    task.received = ir::packed_bytes(moved_type(program_.outputs[step.output], step.part));
    hold_pattern(task);
  }
  void fill(Task& task, const executor::CopyBetweenProcessors& step) {
    task.activity = Activity::Exchange;
    task.transfers = step.transfers;
    for (const executor::Transfer& one : step.transfers) {
      count_bytes(task, one);
      lanes_.push_back(lane(one.from));
      lanes_.push_back(lane(one.to));
    }
    merge(lanes_);
    send_beside(step.transfers);
    hold_all(task);
  }
  // Processors that meet in collectives of their own.
  void join_groups(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) join_groups(repeat->body);
      const auto* meeting = std::get_if<executor::GroupCollective>(&step.action);
      if (meeting == nullptr) continue;
      const int first = program_[meeting->transfers.front().from.buffer].processor;
      for (const executor::Transfer& one : meeting->transfers)
        groups_.join(first, program_[one.from.buffer].processor);
    }
  }
  // What one processor sends another, unless they are of a group: devices of a cut tensor meet where they
  // compute.
  void send_beside(const std::vector<executor::Transfer>& transfers) {
    if (costs_.synchronous || !is_from_one_to_one(transfers)) return;
    const auto group_of = [&](const Slot& slot) { return groups_.find(program_[slot.buffer].processor); };
    if (group_of(transfers.front().from) == group_of(transfers.front().to)) return;
    for (LaneUse& use : lanes_) {
      use.lane = Lane::Io;
      use.is_held = false;
    }
  }
  bool is_from_one_to_one(const std::vector<executor::Transfer>& transfers) const {
    const auto ends_of = [&](const executor::Transfer& one) {
      return std::pair(program_[one.from.buffer].processor, program_[one.to.buffer].processor);
    };
    return std::ranges::all_of(
        transfers, [&](const executor::Transfer& one) { return ends_of(one) == ends_of(transfers.front()); });
  }
  void fill(Task& task, const executor::CopyBetweenTiles& step) {
    task.activity = Activity::TileCopy;
    const int processor = program_[step.transfer.from.buffer].processor;
    const std::int64_t moved = bytes(step.transfer.from);
    lanes_ = {{processor, Lane::Compute, moved}, {processor, Lane::Io, moved}};
    count_bytes(task, step.transfer);
  }
  void fill(Task& task, const executor::LoadRemote& step) {
    task.activity = Activity::RemoteLoad;
    for (const executor::Transfer& one : step.transfers) add(task, one, one.to);
    merge(lanes_);
    hold_pattern(task);
  }
  void fill(Task& task, const executor::StoreRemote& step) {
    task.activity = Activity::RemoteStore;
    for (const executor::Transfer& one : step.transfers) add(task, one, one.from);
    merge(lanes_);
    hold_pattern(task);
  }
  void fill(Task& task, const executor::Collective& step) {
    task.activity = Activity::Collective;
    lanes_ = {lane(step.transfer.from)};
    LaneUse target = lane(step.transfer.to);
    if (!costs_.synchronous) lanes_[0].lane = target.lane = Lane::Io;
    if (target.lane != lanes_[0].lane) lanes_.push_back(target);
    if (step.reduction == executor::CollectiveReduction::Local) return;
    // All replicas do the same, so each sends as much as it receives: the larger side, the whole tensor.
    const std::int64_t moved = std::max(bytes(step.transfer.from), bytes(step.transfer.to));
    for (LaneUse& use : lanes_) use.bytes = moved;
    task.sent = task.received = moved;
  }
  // The members wait for each other, and nobody else for them.
  void fill(Task& task, const executor::GroupCollective& step) {
    task.activity = Activity::GroupCollective;
    for (const executor::Transfer& one : step.transfers) {
      LaneUse use = lane(one.from);
      use.bytes = std::max(bytes(one.from), bytes(one.to));
      lanes_.push_back(use);
      LaneUse target = lane(one.to);
      if (target.lane != use.lane) lanes_.push_back(target);
      task.sent += use.bytes;
    }
    merge(lanes_);
    task.received = task.sent;
  }
  void fill(Task& /*task*/, const executor::Repeat& /*step*/) { IR_CHECK(false, "a repeat is no task"); }

  // A transfer between streaming memory and this slot of a processor.
  void add(Task& task, const executor::Transfer& one, const Slot& here) {
    lanes_.push_back(lane(here));
    count_bytes(task, one);
  }
  void count_bytes(Task& task, const executor::Transfer& one) const {
    task.sent += bytes(one.from);
    task.received += bytes(one.to);
  }

  // An exchange of which some transfers act in some iterations only. Which of the whole's lanes a transfer
  // uses is looked for once.
  struct InParts {
    InParts(const Task& whole, const TaskMaker& maker)
        : acting(std::get<executor::CopyBetweenProcessors>(whole.step->action)),
          bytes_of_lanes(whole.lanes.size(), 0),
          used(whole.lanes.size()) {
      for (const executor::Transfer& one : whole.transfers)
        lanes.push_back({place_of(whole, maker.lane(one.from)), place_of(whole, maker.lane(one.to))});
    }
    static int place_of(const Task& whole, const LaneUse& lane) {
      return static_cast<int>(std::ranges::lower_bound(whole.lanes, lane.number(), {}, &LaneUse::number) -
                              whole.lanes.begin());
    }

    void use(int transfer, std::int64_t sent, std::int64_t received) {
      add(lanes[transfer].from, sent);
      add(lanes[transfer].to, received);
    }
    void add(int lane, std::int64_t bytes) {
      used.touch(lane);
      bytes_of_lanes[lane] += bytes;
    }
    /// Those in use, which are free afterwards.
    void take_lanes(const Task& whole, std::vector<LaneUse>& uses) {
      uses.clear();
      used.take([&](int lane) {
        const LaneUse& of = whole.lanes[lane];
        uses.push_back({of.processor, of.lane, std::exchange(bytes_of_lanes[lane], 0)});
      });
    }

    struct Ends {
      int from = 0;  ///< places in the whole's lanes
      int to = 0;
    };
    executor::Acting acting;
    std::vector<Ends> lanes;  ///< of each transfer
    std::vector<std::int64_t> bytes_of_lanes;
    Touched used;  ///< places in the whole's lanes
  };

  const Program& program_;
  const Costs& costs_;
  SyncPattern sync_;
  const bool is_early_;                    ///< collectives are
  bool is_of_run_before_ = false;          ///< the task that is being made, and so what it reads
  static constexpr int kGathersAhead = 2;  ///< the one that computes read, and the next
  struct Gathers {
    int count = 0;
    bool is_open = false;  ///< no compute came behind the last one
  };
  ir::IdMap<BufferId, Ticks> early_;            ///< before the end of its last writer, of what is reduced
  ir::IdMap<BufferId, std::ptrdiff_t> writer_;  ///< the task that it is, of the same
  ir::IdMap<BufferId, bool> is_reduced_;
  std::vector<Gathers> gathers_;  ///< by processor
  std::set<const Step*> gathers_first_;
  ir::DisjointSets groups_;  ///< of processors
  int first_gather_slot_ = 0;
  std::vector<int> first_move_;  ///< of an output, among Tasks::outputs
  ir::IdMap<BufferId, int> first_slot_;
  ir::IdMap<executor::BufferId, std::int64_t> slot_bytes_;
  std::unordered_map<LinkId, int, HashLink> link_numbers_;
  std::unordered_map<const Step*, InParts> exchanges_;
  // The lists of the part of an exchange that was made last, and of the task that is being made.
  std::vector<executor::Transfer> transfers_;
  std::vector<SlotUse> reads_;
  std::vector<SlotUse> writes_;
  std::vector<LaneUse> lanes_;
  std::vector<SlotUse> slots_;
  std::vector<LinkHold> links_;
};

}  // namespace

executor::Acting acting_of(const Tasks& tasks, const std::vector<Item>& items) {
  std::vector<executor::Iterations> all;
  all.reserve(items.size());
  for (const Item& item : items) {
    all.push_back(item.task >= 0 ? tasks.tasks[item.task].step->acts : tasks.loops[item.loop].step->acts);
  }
  return executor::Acting(std::move(all));
}

Tasks make_tasks(const Program& program, const Costs& costs, SyncPattern sync) {
  const auto maker = std::make_shared<TaskMaker>(program, costs, sync);
  maker->made.items = maker->add_all();
  Tasks made = std::move(maker->made);
  if (std::ranges::any_of(made.tasks, &Task::has_parts)) {
    made.acting = [maker](const Task& whole, std::int64_t iteration) {
      return maker->acting(whole, iteration);
    };
  }
  return made;
}

}  // namespace podium::sim
