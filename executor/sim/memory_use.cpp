// One walk over the steps keeps, per processor, what is there by kind, and finds the peak of data; what
// kernels copy on chip may lift another moment above it. Another walk, which knows the peaks, notes the
// tensors that are there then. A Repeat is walked until an iteration leaves the buffers as it found them: the
// iterations that follow are alike. Code is estimated on top: bytes per op of a processor's blocks and per
// step that moves data.
#include "executor/sim/memory_use.h"

#include <algorithm>

#include "executor/slots.h"

namespace podium::sim {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::Memory;
using executor::Program;
using executor::Role;
using executor::Step;

constexpr std::size_t kLargestTensors = 10;

bool on_chip(const Buffer& buffer) { return buffer.memory != Memory::Streaming; }

std::int64_t whole_bytes(const Buffer& buffer) { return slot_bytes(buffer) * buffer.slots; }

const executor::Block* block_of(const Program& program, const Step& step) {
  const auto* compute = std::get_if<executor::Compute>(&step.action);
  return compute == nullptr ? nullptr : &program[compute->block];
}

std::int64_t& part_of(MemoryUse& use, Holding holding) {
  switch (holding) {
    case Holding::Weights:
      return use.weights;
    case Holding::Activations:
      return use.activations;
    case Holding::Stashes:
      return use.stashes;
    case Holding::Streams:
      return use.streams;
    case Holding::OptimizerState:
      return use.optimizer_state;
    case Holding::Accumulators:
      return use.accumulators;
  }
  throw InternalError("memory held for nothing");
}

// Calls on_start(step, taken) when a step has started, and on_end(given) when it has ended, for a step and
// those of its body in program order. When an iteration ends with the buffers live that it started with, the
// following ones would be like it, up to the one in which other steps act, and are left out.
template <class OnStart, class OnEnd>
void walk(const Step& step, std::int64_t iteration, LiveBuffers& live, const OnStart& on_start,
          const OnEnd& on_end) {
  const auto* repeat = std::get_if<executor::Repeat>(&step.action);
  if (repeat == nullptr) {
    on_start(step, live.start(step, iteration));
    on_end(live.end(step));
    return;
  }
  executor::Acting acting(repeat->body);
  const auto walk_through = [&](int i) {
    for (int place : acting.in(i)) walk(repeat->body[place], i, live, on_start, on_end);
  };
  std::vector<int> ends = turns_of(*repeat);
  ends.push_back(repeat->count);
  int first = 0;
  for (int end : ends) {
    for (int i = first; i + 1 < end; ++i) {
      const auto before = live.all();
      walk_through(i);
      if (live.all() == before) {
        first = end;
        break;
      }
      first = i + 1;
    }
    if (first < end) walk_through(first);
    first = end;
  }
  on_end(live.end(step));
}

template <class OnStart, class OnEnd>
void walk(const Program& program, LiveBuffers& live, const OnStart& on_start, const OnEnd& on_end) {
  for (const Step& step : program.steps) walk(step, 0, live, on_start, on_end);
}

void add(MemoryUse& use, const MemoryChange& change) {
  part_of(use, holding_of(change.memory, change.role)) += change.bytes;
  use.peak_data += change.bytes;
}

// The first peak of a processor's data.
struct Peak {
  MemoryUse use = {};
  const executor::Block* block = nullptr;  ///< that runs
  std::int64_t start = -1;  ///< the start of a step after which it is there, counted; -1: always
};

std::vector<MemoryUse> always_there(const Program& program) {
  std::vector<MemoryUse> uses(program.processors);
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.always_live || !on_chip(buffer)) continue;
    MemoryUse& use = uses[buffer.processor];
    add(use, {{}, buffer.processor, buffer.memory, buffer.role, whole_bytes(buffer)});
    use.always_live += whole_bytes(buffer);
  }
  return uses;
}

std::vector<Peak> find_peaks(const Program& program, const Costs& costs) {
  std::vector<MemoryUse> now = always_there(program);
  std::vector<Peak> peaks;
  for (const MemoryUse& use : now) peaks.push_back({.use = use});
  std::vector<std::int64_t> most_with_copies(program.processors, 0);
  LiveBuffers live(program);
  std::int64_t starts = 0;
  const auto on_start = [&](const Step& step, std::span<const MemoryChange> taken) {
    for (const MemoryChange& change : taken) add(now[change.processor], change);
    if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
      const int processor = program[compute->block].processor;
      const std::int64_t copies = costs.blocks[compute->block].temporary_bytes;
      most_with_copies[processor] = std::max(most_with_copies[processor], now[processor].peak_data + copies);
    }
    for (const MemoryChange& change : taken) {
      const MemoryUse& use = now[change.processor];
      Peak& peak = peaks[change.processor];
      if (use.peak_data > peak.use.peak_data) peak = {use, block_of(program, step), starts};
    }
    ++starts;
  };
  const auto on_end = [&](std::span<const MemoryChange> given) {
    for (const MemoryChange& change : given) add(now[change.processor], change);
  };
  walk(program, live, on_start, on_end);
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    MemoryUse& use = peaks[i].use;
    use.copies = std::max<std::int64_t>(0, most_with_copies[i] - use.peak_data);
  }
  return peaks;
}

// The buffers of a processor that come and go and are there now.
class Transients {
 public:
  explicit Transients(const Program& program)
      : of_(program.processors), entries_(std::ssize(program.buffers)) {}

  void add(const MemoryChange& change) {
    if (!change.buffer.valid() || change.bytes == 0) return;
    std::vector<BufferId>& here = of_[change.processor];
    Entry& entry = entries_[change.buffer];
    if (change.bytes > 0) {
      entry = {here.size(), ++arrivals_};
      here.push_back(change.buffer);
      return;
    }
    entries_[here.back()].place = entry.place;
    here[entry.place] = here.back();
    here.pop_back();
  }

  // In the order in which they came.
  std::vector<BufferId> of(int processor) const {
    std::vector<BufferId> all = of_[processor];
    std::sort(all.begin(), all.end(),
              [&](BufferId a, BufferId b) { return entries_[a].arrival < entries_[b].arrival; });
    return all;
  }

 private:
  struct Entry {
    std::size_t place = 0;
    std::int64_t arrival = 0;
  };
  std::vector<std::vector<BufferId>> of_;  // by processor
  ir::IdMap<BufferId, Entry> entries_;
  std::int64_t arrivals_ = 0;
};

// What comes and goes and is there at the peaks, by processor. The peaks are known, so that it is written
// down once a processor and not at each step on the way up.
std::vector<std::vector<BufferId>> transients_at(const std::vector<Peak>& peaks, const Program& program) {
  std::vector<std::vector<BufferId>> found(peaks.size());
  Transients now(program);
  LiveBuffers live(program);
  std::int64_t starts = 0;
  const auto on_start = [&](const Step& /*step*/, std::span<const MemoryChange> taken) {
    for (const MemoryChange& change : taken) now.add(change);
    for (const MemoryChange& change : taken) {
      const int processor = change.processor;
      if (peaks[processor].start == starts && found[processor].empty()) found[processor] = now.of(processor);
    }
    ++starts;
  };
  const auto on_end = [&](std::span<const MemoryChange> given) {
    for (const MemoryChange& change : given) now.add(change);
  };
  walk(program, live, on_start, on_end);
  return found;
}

std::vector<std::vector<LargeTensor>> largest_of(const Program& program, const std::vector<Peak>& peaks) {
  const std::vector<std::vector<BufferId>> transients = transients_at(peaks, program);
  std::vector<std::vector<LargeTensor>> largest(peaks.size());
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.always_live || !on_chip(buffer)) continue;
    const std::string slots = buffer.slots == 1 ? "" : fmt::format(" ({} slots)", buffer.slots);
    largest[buffer.processor].push_back({buffer.name + slots, whole_bytes(buffer)});
  }
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    std::vector<LargeTensor>& found = largest[i];
    for (BufferId id : transients[i]) found.push_back({program[id].name, whole_bytes(program[id])});
    const executor::Block* block = peaks[i].block;
    if (block != nullptr && block->temporary_bytes > 0) {
      found.push_back({"inside " + block->name, block->temporary_bytes});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const LargeTensor& a, const LargeTensor& b) { return a.bytes > b.bytes; });
    if (found.size() > kLargestTensors) found.resize(kLargestTensors);
  }
  return largest;
}

// Counts, for each processor, the steps that move data to or from it.
class ExchangeCount {
 public:
  explicit ExchangeCount(const Program& program)
      : counts(program.processors, 0), program_(program), last_(program.processors, nullptr) {
    add(program.steps);
  }

  std::vector<std::int64_t> counts;

 private:
  void add(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) add(repeat->body);
      if (block_of(program_, step) != nullptr) continue;
      executor::for_each_slot(step, [&](const executor::Slot& slot, bool) { add(step, slot); });
    }
  }
  void add(const Step& step, const executor::Slot& slot) {
    const std::size_t processor = program_[slot.buffer].processor;
    if (last_[processor] != &step) ++counts[processor];
    last_[processor] = &step;
  }

  const Program& program_;
  std::vector<const Step*> last_;  ///< by processor: the step that was counted last
};

void add_code(const Program& program, const device::Device& device, const Costs& costs,
              std::vector<ProcessorMemory>& memory) {
  const std::vector<std::int64_t> exchanges = ExchangeCount(program).counts;
  for (executor::BlockId id : program.block_ids()) {
    memory[program[id].processor].use.code += costs.blocks[id].code_bytes;
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].use.exchange_code =
        std::llround(static_cast<double>(exchanges[i]) * device.exchange_code_bytes_per_step);
  }
}

}  // namespace

Holding holding_of(Memory memory, Role role) {
  if (memory == Memory::IO) return Holding::Streams;
  switch (role) {
    case Role::Weight:
      return Holding::Weights;
    case Role::Activation:
      return Holding::Activations;
    case Role::Stash:
      return Holding::Stashes;
    case Role::Stream:
      return Holding::Streams;
    case Role::OptimizerState:
      return Holding::OptimizerState;
    case Role::Accumulator:
      return Holding::Accumulators;
  }
  throw InternalError("a role that is none");
}

LiveBuffers::LiveBuffers(const Program& program) : program_(&program), pending_(program) {
  for (const Buffer& buffer : program.buffers) {
    const bool stays = buffer.always_live || !on_chip(buffer);
    IR_CHECK(stays || buffer.slots == 1, "buffer {} has {} slots and comes and goes", buffer.name,
             buffer.slots);
    live_.push_back(stays);
    slot_bytes_.push_back(slot_bytes(buffer));
  }
}

std::span<const MemoryChange> LiveBuffers::start(const Step& step, std::int64_t iteration) {
  constexpr std::size_t kFew = 8;  // looking at all is as fast as keeping a list of those that act
  changes_.clear();
  const auto take = [&](const executor::Slot& slot) {
    if (has(slot.buffer)) return;
    live_[slot.buffer] = true;
    pending_.fill(slot.buffer);
    changes_.push_back(change(slot.buffer, 1));
  };
  const auto* exchange = std::get_if<executor::CopyBetweenProcessors>(&step.action);
  if (exchange != nullptr && exchange->transfers.size() > kFew) {
    for (int place : transfers_.of(step, iteration)) take(exchange->transfers[place].to);
  } else {
    executor::for_each_use(step,
                           [&](const executor::Slot& slot, bool is_write, const executor::Iterations& acts) {
                             if (is_write && acts.contains(iteration)) take(slot);
                           });
  }
  if (const executor::Block* block = block_of(*program_, step)) {
    changes_.push_back({{}, block->processor, block->memory, Role::Activation, block->temporary_bytes});
  }
  return changes_;
}

std::span<const MemoryChange> LiveBuffers::end(const Step& step) {
  changes_.clear();
  if (const executor::Block* block = block_of(*program_, step)) {
    changes_.push_back({{}, block->processor, block->memory, Role::Activation, -block->temporary_bytes});
  }
  pending_.each(step, [&](const executor::Slot& slot) {
    if (!has(slot.buffer) || (*program_)[slot.buffer].always_live) return;
    live_[slot.buffer] = false;
    changes_.push_back(change(slot.buffer, -1));
  });
  return changes_;
}

MemoryChange LiveBuffers::change(BufferId id, int sign) const {
  const Buffer& buffer = (*program_)[id];
  return {id, buffer.processor, buffer.memory, buffer.role, sign * slot_bytes_[id]};
}

std::vector<ProcessorMemory> memory_of(const Program& program, const device::Device& device,
                                       const Costs& costs) {
  const std::vector<Peak> peaks = find_peaks(program, costs);
  std::vector<std::vector<LargeTensor>> largest = largest_of(program, peaks);
  std::vector<ProcessorMemory> memory;
  for (std::size_t i = 0; i < peaks.size(); ++i) memory.push_back({peaks[i].use, std::move(largest[i])});
  add_code(program, device, costs, memory);
  for (const Buffer& buffer : program.buffers) {
    if (!on_chip(buffer)) memory[buffer.processor].use.streaming += whole_bytes(buffer);
  }
  for (ProcessorMemory& one : memory) {
    MemoryUse& use = one.use;
    use.not_always_live = use.peak_data + use.copies - use.always_live;
    use.always_live += use.code + use.exchange_code;
    use.peak = use.peak_data + use.copies + use.code + use.exchange_code;
    use.capacity = device.memory_bytes();
    use.streaming_capacity = device.streaming_memory_bytes;
  }
  return memory;
}

}  // namespace podium::sim
