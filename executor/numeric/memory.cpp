#include "executor/numeric/memory.h"

#include <algorithm>

#include "executor/numeric/collectives.h"
#include "ir/at.h"

namespace podium::numeric {

using executor::Buffer;
using executor::Slot;
using ir::Datum;

namespace {

// The place of a replica in its group.
int rank_in_group(const ir::ReplicaGroup& group, int replicas, int replica) {
  for (const std::vector<int>& members : executor::replica_groups(group, replicas)) {
    const auto found = std::find(members.begin(), members.end(), replica);
    if (found != members.end()) return static_cast<int>(found - members.begin());
  }
  IR_CHECK(false, "replica {} of {} is in no group", replica, replicas);
}

}  // namespace

bool keeps_contents(const Buffer& buffer) {
  return buffer.persistent || buffer.memory == executor::Memory::Streaming;
}

std::size_t slot_index(const Slot& slot, int slots, int iteration) {
  if (slots == 1) return 0;
  const int index = (slot.index + slot.stride * iteration) % slots;
  return static_cast<std::size_t>(index < 0 ? index + slots : index);
}

Memory::Memory(const executor::Program& program, int replica)
    : program_(&program),
      replica_(replica),
      initial_(program.buffers.size()),
      pools_(static_cast<std::size_t>(program.processors)) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    cells_.emplace_back(static_cast<std::size_t>(buffer.slots));
    for (const ir::Tensor& tensor : buffer.initial) {
      Cell& cell = initial_[b].emplace_back();
      if (!tensor.defined()) continue;
      cell = {part_of(buffer, tensor), true};
    }
    IR_CHECK(initial_[b].empty() || initial_[b].size() == cells_[b].size(),
             "buffer {} has {} slots and {} initial tensors", buffer.name, cells_[b].size(),
             initial_[b].size());
    if (keeps_contents(buffer) && !initial_[b].empty()) cells_[b] = std::move(initial_[b]);
  }
}

ir::Tensor Memory::part_of(const Buffer& buffer, const ir::Tensor& whole) const {
  if (buffer.shards == 1) return whole;
  const ir::Type type = slot_type(buffer);
  ir::Tensor part(type.element, type.dims);
  cut_part(whole, rank_in_group(buffer.group, program_->replicas, replica_), part);
  return part;
}

const ir::Tensor& Memory::contents(const Slot& slot) const {
  const Cell& found = cells_[at(slot.buffer)][slot.index];
  IR_CHECK(found.filled, "{} holds nothing", name_of(*program_, slot));
  return found.value.tensor;
}

void Memory::set_contents(const Slot& slot, const ir::Tensor& whole) {
  cells_[at(slot.buffer)][slot.index] = {part_of((*program_)[slot.buffer], whole), true};
}

void Memory::start() {
  for (std::size_t b = 0; b < cells_.size(); ++b) {
    if (keeps_contents(program_->buffers[b])) continue;
    if (initial_[b].empty()) {
      for (Cell& cell : cells_[b]) empty(cell);
    } else {
      cells_[b] = initial_[b];
    }
  }
}

// A value that only shows other memory has nothing to give back; its dimensions stay for the next one to
// come.
void Memory::empty(Cell& cell) {
  cell.filled = false;
  if (!cell.value.is_tensor() || cell.value.tensor.keeps_memory()) cell.value = {};
}

Memory::Cell& Memory::cell(const Slot& slot, int iteration) {
  return cells_[at(slot.buffer)][slot_index(slot, (*program_)[slot.buffer].slots, iteration)];
}

const Datum& Memory::read(const executor::Step& step, const Slot& slot, int iteration) {
  const Cell& found = cell(slot, iteration);
  if (found.filled) return found.value;
  const Buffer& buffer = (*program_)[slot.buffer];
  throw InternalError(
      fmt::format("'{}' reads buffer {} slot {} on ipu {} of replica {}, which no step has filled",
                  print(*program_, step), buffer.name, slot_index(slot, buffer.slots, iteration),
                  buffer.processor, replica_));
}

void Memory::fill(const Slot& slot, int iteration, const Datum& value) {
  Cell& target = cell(slot, iteration);
  const bool outlives_run = keeps_contents((*program_)[slot.buffer]);
  if (outlives_run && value.is_tensor() && !value.tensor.keeps_memory()) {
    target.value = pool(slot).copy(value.tensor);
  } else {
    target.value = value;
  }
  target.filled = true;
}

void Memory::free(const Slot& slot, int iteration) { empty(cell(slot, iteration)); }

Pool& Memory::pool(const Slot& slot) { return pools_[(*program_)[slot.buffer].processor]; }

}  // namespace podium::numeric
