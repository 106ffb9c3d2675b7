#include "executor/numeric/replica_memory.h"

#include <algorithm>

#include "executor/numeric/collectives.h"

namespace podium::numeric {

using executor::Buffer;
using executor::Slot;
using ir::Datum;

namespace {

// The place of a replica in its group.
int rank_in_group(const ir::ReplicaGroup& group, int replicas, int replica) {
  for (const std::vector<int>& members : executor::replica_groups(group, replicas)) {
    const auto found = std::find(members.begin(), members.end(), replica);
    if (found != members.end()) return found - members.begin();
  }
  IR_CHECK(false, "replica {} of {} is in no group", replica, replicas);
}

}  // namespace

bool keeps_contents(const Buffer& buffer) {
  return buffer.persistent || buffer.memory == executor::Memory::Streaming;
}

int slot_index(const Slot& slot, int slots, int iteration) {
  if (slots == 1) return 0;
  const int index = (slot.index + slot.stride * iteration) % slots;
  return index < 0 ? index + slots : index;
}

ReplicaMemory::ReplicaMemory(const executor::Program& program, int replica)
    : program_(&program),
      replica_(replica),
      cells_(std::ssize(program.buffers)),
      initial_(std::ssize(program.buffers)),
      pools_(program.processors) {
  for (executor::BufferId id : program.buffer_ids()) {
    const Buffer& buffer = program[id];
    std::vector<Cell>& cells = cells_[id];
    std::vector<Cell>& initial = initial_[id];
    cells.resize(buffer.slots);
    for (const ir::Tensor& tensor : buffer.initial) {
      Cell& cell = initial.emplace_back();
      if (!tensor.defined()) continue;
      cell = {part_of(buffer, tensor), true};
    }
    IR_CHECK(initial.empty() || initial.size() == cells.size(),
             "buffer {} has {} slots and {} initial tensors", buffer.name, cells.size(), initial.size());
    if (keeps_contents(buffer) && !initial.empty()) cells = std::move(initial);
  }
}

ir::Tensor ReplicaMemory::part_of(const Buffer& buffer, const ir::Tensor& whole) const {
  if (buffer.shards == 1) return whole;
  const ir::Type type = slot_type(buffer);
  ir::Tensor part(type.element, type.dims);
  cut_part(whole, rank_in_group(buffer.group, program_->replicas, replica_), part);
  return part;
}

const ir::Tensor& ReplicaMemory::contents(const Slot& slot) const {
  const Cell& found = cells_[slot.buffer][slot.index];
  IR_CHECK(found.filled, "{} holds nothing", name_of(*program_, slot));
  return found.value.tensor;
}

void ReplicaMemory::set_contents(const Slot& slot, const ir::Tensor& whole) {
  cells_[slot.buffer][slot.index] = {part_of((*program_)[slot.buffer], whole), true};
}

void ReplicaMemory::start() {
  for (executor::BufferId id : program_->buffer_ids()) {
    if (keeps_contents((*program_)[id])) continue;
    if (initial_[id].empty()) {
      for (Cell& cell : cells_[id]) empty(cell);
    } else {
      cells_[id] = initial_[id];
    }
  }
}

// A value that only shows other memory has nothing to give back; its dimensions stay for the next one to
// come.
void ReplicaMemory::empty(Cell& cell) {
  cell.filled = false;
  if (!cell.value.is_tensor() || cell.value.tensor.keeps_memory()) cell.value = {};
}

ReplicaMemory::Cell& ReplicaMemory::cell(const Slot& slot, int iteration) {
  return cells_[slot.buffer][slot_index(slot, (*program_)[slot.buffer].slots, iteration)];
}

const Datum& ReplicaMemory::read(const executor::Step& step, const Slot& slot, int iteration) {
  const Cell& found = cell(slot, iteration);
  if (found.filled) return found.value;
  const Buffer& buffer = (*program_)[slot.buffer];
  throw InternalError(
      fmt::format("'{}' reads buffer {} slot {} on ipu {} of replica {}, which no step has filled",
                  print(*program_, step), buffer.name, slot_index(slot, buffer.slots, iteration),
                  buffer.processor, replica_));
}

void ReplicaMemory::fill(const Slot& slot, int iteration, const Datum& value) {
  Cell& target = cell(slot, iteration);
  const bool outlives_run = keeps_contents((*program_)[slot.buffer]);
  if (outlives_run && value.is_tensor() && !value.tensor.keeps_memory()) {
    target.value = pool(slot).copy(value.tensor);
  } else {
    target.value = value;
  }
  target.filled = true;
}

void ReplicaMemory::free(const Slot& slot, int iteration) { empty(cell(slot, iteration)); }

MemoryPool& ReplicaMemory::pool(const Slot& slot) {
  return pools_[ir::checked_index((*program_)[slot.buffer].processor, pools_.size())];
}

}  // namespace podium::numeric
