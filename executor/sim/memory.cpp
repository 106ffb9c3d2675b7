#include "executor/sim/memory.h"

#include <algorithm>

namespace podium::sim {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::Memory;
using executor::Program;
using executor::Role;
using executor::Step;

constexpr std::size_t kLargestTensors = 10;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

bool on_chip(const Buffer& buffer) { return buffer.memory != Memory::Streaming; }

std::int64_t whole_bytes(const Buffer& buffer) { return slot_bytes(buffer) * buffer.slots; }

const executor::Block* block_of(const Program& program, const Step& step) {
  const auto* compute = std::get_if<executor::Compute>(&step.action);
  return compute == nullptr ? nullptr : &program[compute->block];
}

std::int64_t& part_of(MemoryUse& use, Memory memory, Role role) {
  if (memory == Memory::IO) return use.streams;
  switch (role) {
    case Role::Weight:
      return use.weights;
    case Role::Activation:
      return use.activations;
    case Role::Stash:
      return use.stashes;
    case Role::Stream:
      return use.streams;
    case Role::OptimizerState:
      return use.optimizer_state;
    case Role::Accumulator:
      return use.accumulators;
  }
  throw InternalError("a role that is none");
}

void add(MemoryUse& use, const MemoryChange& change) {
  part_of(use, change.memory, change.role) += change.bytes;
  use.peak_data += change.bytes;
}

// Calls on_step(step, live, taken) when a step has started, and on_end(given) when it has ended, for every step in
// program order. An iteration that leaves what it found is followed by others like it, which are left out.
template <class OnStart, class OnEnd>
void walk(const std::vector<Step>& steps, LiveBuffers& live, const OnStart& on_start, const OnEnd& on_end) {
  for (const Step& step : steps) {
    const auto* repeat = std::get_if<executor::Repeat>(&step.action);
    if (repeat == nullptr) {
      on_start(step, live.start(step));
      on_end(live.end(step));
      continue;
    }
    for (int i = 0; i < repeat->count; ++i) {
      const LiveBuffers before = live;
      walk(repeat->body, live, on_start, on_end);
      if (live == before) break;
    }
  }
}

// The use at the peak, and the step at whose start it is: -1 when it is what is always there.
struct Peak {
  MemoryUse use = {};
  std::int64_t step = -1;
};

std::vector<Peak> find_peaks(const Program& program) {
  std::vector<MemoryUse> now(at(program.processors));
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.always_live || !on_chip(buffer)) continue;
    MemoryUse& use = now[at(buffer.processor)];
    add(use, {buffer.processor, buffer.memory, buffer.role, whole_bytes(buffer)});
    use.always_live += whole_bytes(buffer);
  }
  std::vector<Peak> peaks;
  for (const MemoryUse& use : now) peaks.push_back({use});

  LiveBuffers live(program);
  std::int64_t step_number = 0;
  const auto on_start = [&](const Step& /*step*/, const std::vector<MemoryChange>& taken) {
    for (const MemoryChange& change : taken) add(now[at(change.processor)], change);
    for (const MemoryChange& change : taken) {
      Peak& peak = peaks[at(change.processor)];
      const MemoryUse& use = now[at(change.processor)];
      if (use.peak_data > peak.use.peak_data) peak = {use, step_number};
    }
    ++step_number;
  };
  const auto on_end = [&](const std::vector<MemoryChange>& given) {
    for (const MemoryChange& change : given) add(now[at(change.processor)], change);
  };
  walk(program.steps, live, on_start, on_end);
  return peaks;
}

void keep_largest(std::vector<LargeTensor>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const LargeTensor& a, const LargeTensor& b) { return a.bytes > b.bytes; });
  if (tensors.size() > kLargestTensors) tensors.resize(kLargestTensors);
}

// What is on each processor at its peak: the walk once more, with a look around at those steps.
std::vector<std::vector<LargeTensor>> largest_at(const Program& program, const std::vector<Peak>& peaks) {
  std::vector<std::vector<const Buffer*>> buffers(at(program.processors));
  for (const Buffer& buffer : program.buffers) {
    if (on_chip(buffer)) buffers[at(buffer.processor)].push_back(&buffer);
  }
  std::vector<std::vector<LargeTensor>> largest(at(program.processors));
  LiveBuffers live(program);
  const auto look = [&](int processor, const executor::Block* block) {
    std::vector<LargeTensor>& found = largest[at(processor)];
    for (const Buffer* buffer : buffers[at(processor)]) {
      if (!live.has({static_cast<std::int32_t>(buffer - program.buffers.data())})) continue;
      const std::string slots = buffer->slots == 1 ? "" : fmt::format(" ({} slots)", buffer->slots);
      found.push_back({buffer->name + slots, whole_bytes(*buffer)});
    }
    if (block != nullptr && block->processor == processor && block->temporary_bytes > 0) {
      found.push_back({"inside " + block->name, block->temporary_bytes});
    }
    keep_largest(found);
  };
  for (int processor = 0; processor < program.processors; ++processor) {
    if (peaks[at(processor)].step < 0) look(processor, nullptr);
  }
  std::int64_t step_number = 0;
  const auto on_start = [&](const Step& step, const std::vector<MemoryChange>& taken) {
    for (const MemoryChange& change : taken) {
      const bool is_first_look = largest[at(change.processor)].empty();
      if (is_first_look && peaks[at(change.processor)].step == step_number) {
        look(change.processor, block_of(program, step));
      }
    }
    ++step_number;
  };
  walk(program.steps, live, on_start, [](const std::vector<MemoryChange>& /*given*/) {});
  return largest;
}

// Steps that move data between processors, replicas, the host and streaming memory, by processor.
void count_exchanges(const Program& program, const std::vector<Step>& steps, std::vector<std::int64_t>& counts) {
  for (const Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      count_exchanges(program, repeat->body, counts);
    }
    if (block_of(program, step) != nullptr) continue;
    std::vector<int> processors;
    for (const auto& slots : {reads_of(step), writes_of(step)}) {
      for (const executor::Slot& slot : slots) processors.push_back(program[slot.buffer].processor);
    }
    std::sort(processors.begin(), processors.end());
    processors.erase(std::unique(processors.begin(), processors.end()), processors.end());
    for (int processor : processors) ++counts[at(processor)];
  }
}

void add_code(const Program& program, const device::Device& device, const Costs& costs,
              std::vector<ProcessorMemory>& memory) {
  std::vector<std::int64_t> exchanges(memory.size(), 0);
  count_exchanges(program, program.steps, exchanges);
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    memory[at(program.blocks[b].processor)].use.code += costs.blocks[b].code_bytes;
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].use.exchange_code =
        std::llround(static_cast<double>(exchanges[i]) * device.exchange_code_bytes_per_step);
  }
}

}  // namespace

LiveBuffers::LiveBuffers(const Program& program) : program_(&program) {
  for (const Buffer& buffer : program.buffers) {
    const bool stays = buffer.always_live || !on_chip(buffer);
    IR_CHECK(stays || buffer.slots == 1, "buffer {} has {} slots and comes and goes", buffer.name, buffer.slots);
    live_.push_back(stays);
  }
}

std::vector<MemoryChange> LiveBuffers::start(const Step& step) {
  std::vector<MemoryChange> taken;
  for (const executor::Slot& slot : writes_of(step)) {
    if (has(slot.buffer)) continue;
    live_[at(slot.buffer.index)] = true;
    taken.push_back(change(slot.buffer, 1));
  }
  if (const executor::Block* block = block_of(*program_, step)) {
    taken.push_back({block->processor, Memory::Compute, Role::Activation, block->temporary_bytes});
  }
  return taken;
}

std::vector<MemoryChange> LiveBuffers::end(const Step& step) {
  std::vector<MemoryChange> given;
  if (const executor::Block* block = block_of(*program_, step)) {
    given.push_back({block->processor, Memory::Compute, Role::Activation, -block->temporary_bytes});
  }
  for (const executor::Slot& slot : step.frees) {
    if (!has(slot.buffer) || (*program_)[slot.buffer].always_live) continue;
    live_[at(slot.buffer.index)] = false;
    given.push_back(change(slot.buffer, -1));
  }
  return given;
}

MemoryChange LiveBuffers::change(BufferId id, int sign) const {
  const Buffer& buffer = (*program_)[id];
  return {buffer.processor, buffer.memory, buffer.role, sign * slot_bytes(buffer)};
}

std::vector<ProcessorMemory> memory_of(const Program& program, const device::Device& device, const Costs& costs) {
  const std::vector<Peak> peaks = find_peaks(program);
  std::vector<std::vector<LargeTensor>> largest = largest_at(program, peaks);
  std::vector<ProcessorMemory> memory;
  for (std::size_t i = 0; i < peaks.size(); ++i) memory.push_back({peaks[i].use, std::move(largest[i])});
  add_code(program, device, costs, memory);
  for (const Buffer& buffer : program.buffers) {
    if (!on_chip(buffer)) memory[at(buffer.processor)].use.streaming += whole_bytes(buffer);
  }
  for (ProcessorMemory& one : memory) {
    MemoryUse& use = one.use;
    use.not_always_live = use.peak_data - use.always_live;
    use.always_live += use.code + use.exchange_code;
    use.peak = use.peak_data + use.code + use.exchange_code;
    use.capacity = device.memory_bytes();
    use.streaming_capacity = device.streaming_memory_bytes;
  }
  return memory;
}

}  // namespace podium::sim
