#include "executor/numeric/peak_memory.h"

#include <algorithm>

#include "executor/numeric/memory.h"

namespace podium::numeric {

using executor::Buffer;
using executor::Slot;

PeakMemory::PeakMemory(const executor::Program& program)
    : program_(&program), replicas_(static_cast<std::size_t>(program.replicas)) {}

void PeakMemory::start() {
  for (Replica& replica : replicas_) {
    replica.now.assign(static_cast<std::size_t>(program_->processors), 0);
    replica.taken.resize(program_->buffers.size());
    for (std::size_t b = 0; b < program_->buffers.size(); ++b) {
      const Buffer& buffer = program_->buffers[b];
      replica.taken[b].assign(static_cast<std::size_t>(buffer.slots), 0);
      if (!buffer.always_live || buffer.memory == executor::Memory::Streaming) continue;
      replica.now[buffer.processor] += slot_bytes(buffer) * buffer.slots;
    }
    replica.most = replica.now;
  }
}

bool PeakMemory::is_counted(const Slot& slot) const {
  const Buffer& buffer = (*program_)[slot.buffer];
  return !buffer.always_live && buffer.memory != executor::Memory::Streaming;
}

void PeakMemory::take(Replica& replica, const Slot& slot, int iteration, std::int64_t bytes) {
  if (!is_counted(slot)) return;
  const Buffer& buffer = (*program_)[slot.buffer];
  const auto processor = static_cast<std::size_t>(buffer.processor);
  std::int64_t& taken = replica.taken[slot.buffer.index][slot_index(slot, buffer.slots, iteration)];
  replica.now[processor] += bytes - taken;
  taken = bytes;
  replica.most[processor] = std::max(replica.most[processor], replica.now[processor]);
}

void PeakMemory::account(const Node& node, int iteration, int index) {
  Replica& replica = replicas_[index];
  for (std::size_t w = 0; w < node.writes.size(); ++w) {
    take(replica, node.writes[w], iteration,
         node.bytes[static_cast<std::size_t>(index) * node.writes.size() + w]);
  }
  if (const executor::BlockId id = block_of(node); id.valid()) {
    const executor::Block& block = (*program_)[id];
    const auto processor = static_cast<std::size_t>(block.processor);
    replica.most[processor] =
        std::max(replica.most[processor], replica.now[processor] + block.temporary_bytes);
  }
  for (const Slot& slot : node.step->frees) take(replica, slot, iteration, 0);
}

void PeakMemory::account(const std::vector<Node>& nodes, int iteration, Replicas replicas) {
  for (const Node& node : nodes) {
    for (int replica = replicas.first; replica < replicas.end; ++replica) account(node, iteration, replica);
  }
}

void PeakMemory::account(const std::vector<Slot>& frees, int iteration, Replicas replicas) {
  for (int replica = replicas.first; replica < replicas.end; ++replica) {
    for (const Slot& slot : frees) take(replicas_[replica], slot, iteration, 0);
  }
}

std::int64_t PeakMemory::bytes(int processor) const {
  std::int64_t most = 0;
  for (const Replica& replica : replicas_) {
    if (!replica.most.empty()) most = std::max(most, replica.most[processor]);
  }
  return most;
}

}  // namespace podium::numeric
