#include "executor/numeric/peak_memory.h"

#include <algorithm>

#include "executor/numeric/replica_memory.h"

namespace podium::numeric {

using executor::Buffer;
using executor::Slot;

PeakMemory::PeakMemory(const executor::Program& program) : program_(&program), replicas_(program.replicas) {}

void PeakMemory::start() {
  for (Replica& replica : replicas_) {
    replica.now.assign(program_->processors, 0);
    replica.taken.resize(std::ssize(program_->buffers));
    for (executor::BufferId id : program_->buffer_ids()) {
      const Buffer& buffer = (*program_)[id];
      replica.taken[id].assign(buffer.slots, 0);
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
  std::int64_t& taken = replica.taken[slot.buffer][slot_index(slot, buffer.slots, iteration)];
  std::int64_t& now = replica.now[buffer.processor];
  now += bytes - taken;
  taken = bytes;
  replica.most[buffer.processor] = std::max(replica.most[buffer.processor], now);
}

void PeakMemory::account(const Node& node, int iteration, int index) {
  Replica& replica = replicas_[index];
  if (!node.step->acts.contains(iteration)) return;
  const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&node.step->action);
  for (std::size_t w = 0; w < node.writes.size(); ++w) {
    if (copy != nullptr && !copy->transfers[w].acts.contains(iteration)) continue;
    take(replica, node.writes[w], iteration, node.bytes[index * node.writes.size() + w]);
  }
  if (const executor::BlockId id = block_of(node); id.valid()) {
    const executor::Block& block = (*program_)[id];
    std::int64_t& most = replica.most[block.processor];
    most = std::max(most, replica.now[block.processor] + block.temporary_bytes);
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
