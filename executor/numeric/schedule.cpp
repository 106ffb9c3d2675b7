#include "executor/numeric/schedule.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "executor/numeric/memory.h"
#include "ir/work.h"

namespace podium::numeric {

using executor::BlockId;
using executor::Buffer;
using executor::BufferId;
using executor::Compute;
using executor::Program;
using executor::Slot;
using executor::Step;
using executor::Transfer;

namespace {

// How often each block runs in a run of the program.
void count_runs(const std::vector<Step>& steps, std::int64_t times, std::vector<std::int64_t>& runs) {
  for (const Step& step : steps) {
    if (const auto* compute = std::get_if<Compute>(&step.action)) {
      runs[static_cast<std::size_t>(compute->block.index)] += times;
    }
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      count_runs(repeat->body, times * repeat->count, runs);
    }
  }
}

std::vector<Transfer> transfers_of(const Step& step) {
  if (const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&step.action)) return copy->transfers;
  if (const auto* tiles = std::get_if<executor::CopyBetweenTiles>(&step.action)) return {tiles->transfer};
  if (const auto* load = std::get_if<executor::LoadRemote>(&step.action)) return {load->transfer};
  if (const auto* store = std::get_if<executor::StoreRemote>(&step.action)) return {store->transfer};
  return {};
}

// The place in a list of steps where something happens next.
using Positions = std::vector<std::size_t>;
std::optional<std::size_t> next_of(const std::map<std::int32_t, Positions>& all, std::int32_t key,
                                   std::size_t from) {
  const auto found = all.find(key);
  if (found == all.end()) return {};
  const auto next = std::lower_bound(found->second.begin(), found->second.end(), from);
  return next == found->second.end() ? std::nullopt : std::optional(*next);
}

// Decides for one straight list what may stay in the arena of the block that made it, which the block's next
// run overwrites. A block that runs once has no next run. Else a value may stay when its slot is freed in the
// same list before the block runs again.
class Arenas {
 public:
  Arenas(const Program& program, const std::vector<std::int64_t>& runs, std::vector<Node>& nodes)
      : program_(program), runs_(runs) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const Slot& slot : nodes[i].step->frees) frees_[slot.buffer.index].push_back(i);
      if (const BlockId block = block_of(nodes[i]); block.valid()) computes_[block.index].push_back(i);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      read_.push_back(arenas_read(nodes[i]));
      decide(nodes[i], i);
    }
  }
  /// Per node: the blocks in whose arenas it reads.
  const std::vector<std::vector<BlockId>>& read() const { return read_; }

 private:
  BlockId arena_of(const Slot& slot) const {
    const auto found = arena_.find(slot.buffer.index);
    return found == arena_.end() ? BlockId{} : found->second;
  }
  std::vector<BlockId> arenas_read(const Node& node) const {
    std::vector<BlockId> blocks;
    for (const Slot& slot : reads_of(*node.step)) {
      if (arena_of(slot).valid()) blocks.push_back(arena_of(slot));
    }
    return blocks;
  }
  bool dies_first(const Slot& slot, BlockId block, std::size_t position) const {
    if (program_.replicas > 1 || program_[slot.buffer].slots > 1) return false;
    const auto dies = next_of(frees_, slot.buffer.index, position);
    const auto runs = next_of(computes_, block.index, position + 1);
    return dies && (!runs || *dies < *runs);
  }
  // Notes where the value of a slot now is: in the arena of `block`, or with none where nothing can go wrong.
  bool put(const Slot& slot, BlockId block, std::size_t position) {
    const bool stays = !block.valid() || dies_first(slot, block, position);
    arena_[slot.buffer.index] = stays ? block : BlockId{};
    return stays;
  }
  bool outlives_run(const Slot& slot) const { return keeps_contents(program_[slot.buffer]); }
  void decide(Node& node, std::size_t position) {
    const BlockId block = block_of(node);
    if (block.valid()) {
      const bool once = runs_[static_cast<std::size_t>(block.index)] == 1;
      for (const Slot& slot : node.writes)
        node.stays.push_back(!outlives_run(slot) && put(slot, once ? BlockId{} : block, position));
    } else if (const auto* store = std::get_if<executor::StoreToHost>(&node.step->action)) {
      node.stays.push_back(!arena_of(store->from).valid());
    } else if (const auto transfers = transfers_of(*node.step); !transfers.empty()) {
      for (const Transfer& one : transfers) {
        node.stays.push_back(!outlives_run(one.to) && put(one.to, arena_of(one.from), position));
      }
    } else {
      for (const Slot& slot : node.writes) node.stays.push_back(put(slot, {}, position));
    }
  }

  const Program& program_;
  const std::vector<std::int64_t>& runs_;
  std::map<std::int32_t, Positions> frees_;     // by buffer
  std::map<std::int32_t, Positions> computes_;  // by block
  std::map<std::int32_t, BlockId> arena_;  // by buffer of one slot: the block in whose arena its value is
  std::vector<std::vector<BlockId>> read_;
};

// Puts each node into the earliest wave in which all that it must follow is done. What nodes meet at are
// slots, the blocks with their arenas, and the streams of the host.
class Waves {
 public:
  Waves(const Program& program, Section& section, const std::vector<std::vector<BlockId>>& arenas)
      : program_(program) {
    for (const Node& node : section.nodes) {
      for (const Slot& slot : reads_of(*node.step)) note_stride(slot);
      for (const Slot& slot : node.writes) note_stride(slot);
      for (const Slot& slot : node.step->frees) note_stride(slot);
    }
    for (std::size_t i = 0; i < section.nodes.size(); ++i) {
      const bool computes = block_of(section.nodes[i]).valid();
      const std::size_t wave = place(section.nodes[i], arenas[i], computes);
      if (wave >= section.waves.size()) section.waves.resize(wave + 1);
      (computes ? section.waves[wave].computes : section.waves[wave].moves).push_back(i);
    }
  }

 private:
  enum class Kind : std::uint8_t { Slot, Block, Input, Output };
  using Key = std::array<int, 3>;
  // The first wave whose movements may follow what has been read and written so far.
  struct After {
    std::size_t reads = 0;
    std::size_t writes = 0;
  };

  void note_stride(const Slot& slot) {
    const auto [found, is_new] = strides_.emplace(slot.buffer.index, slot.stride);
    if (!is_new && found->second != slot.stride) mixed_[slot.buffer.index] = true;
  }
  // Slots that move on alike in a Repeat are the same when they start as the same; of others nothing is
  // known.
  Key key(const Slot& slot) const {
    const bool mixed = mixed_.contains(slot.buffer.index);
    return {static_cast<int>(Kind::Slot), slot.buffer.index,
            mixed ? 0 : slot.index % program_[slot.buffer].slots};
  }
  static Key key(Kind kind, int index) { return {static_cast<int>(kind), index, 0}; }

  std::size_t place(const Node& node, const std::vector<BlockId>& arenas, bool computes) {
    std::vector<Key> reads;
    std::vector<Key> writes;
    for (const Slot& slot : reads_of(*node.step)) reads.push_back(key(slot));
    for (BlockId block : arenas) reads.push_back(key(Kind::Block, block.index));
    for (const Slot& slot : node.writes) writes.push_back(key(slot));
    for (const Slot& slot : node.step->frees) writes.push_back(key(slot));
    if (computes) writes.push_back(key(Kind::Block, block_of(node).index));
    if (const auto* load = std::get_if<executor::LoadFromHost>(&node.step->action)) {
      writes.push_back(key(Kind::Input, load->input));
    }
    if (const auto* store = std::get_if<executor::StoreToHost>(&node.step->action)) {
      writes.push_back(key(Kind::Output, store->output));
    }
    std::size_t wave = 0;
    for (const Key& one : reads) wave = std::max(wave, after_[one].writes);
    for (const Key& one : writes) wave = std::max({wave, after_[one].writes, after_[one].reads});
    // Movements come before the computes of their wave, in program order.
    const std::size_t done = computes ? wave + 1 : wave;
    for (const Key& one : reads) after_[one].reads = std::max(after_[one].reads, done);
    for (const Key& one : writes) after_[one].writes = std::max(after_[one].writes, done);
    return wave;
  }

  const Program& program_;
  std::map<int, int> strides_;  // by buffer
  std::map<int, bool> mixed_;
  std::map<Key, After> after_;
};

// Operations, a moved byte counted as several; what only data decide is taken for nothing.
double work_of_block(const executor::Block& block) {
  constexpr double kOperationsPerByte = 8;
  double total = 0;
  for (const ir::Op& op : block.graph.ops) {
    const ir::Work work = ir::work_of(ir::TypedOp(block.graph, op));
    total += std::max(0.0, work.flop + kOperationsPerByte * work.bytes);
  }
  return total;
}

// What all blocks have in common: how often they run in a run of the program, and how long in what unit ever.
struct Blocks {
  std::vector<std::int64_t> runs;
  std::vector<double> work;
};

// Threads inside a kernel do not share its work perfectly, so some imbalance between blocks is still better.
bool pays_side_by_side(const Blocks& blocks, const Section& section, const Wave& wave, int threads) {
  constexpr double kLossInsideKernels = 1.3;
  double sum = 0;
  double most = 0;
  for (std::size_t node : wave.computes) {
    const double work = blocks.work[static_cast<std::size_t>(block_of(section.nodes[node]).index)];
    sum += work;
    most = std::max(most, work);
  }
  return threads > 1 && wave.computes.size() > 1 && most <= sum / threads * kLossInsideKernels;
}

std::vector<Section> schedule_of(const Program& program, const std::vector<Step>& steps, const Blocks& blocks,
                                 int threads) {
  std::vector<Section> sections(1);
  for (const Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      sections.back().count = repeat->count;
      sections.back().body = schedule_of(program, repeat->body, blocks, threads);
      sections.back().frees = step.frees;
      sections.emplace_back();
      continue;
    }
    Node& node = sections.back().nodes.emplace_back();
    node.step = &step;
    node.writes = writes_of(step);
    node.bytes.resize(node.writes.size() * static_cast<std::size_t>(program.replicas));
  }
  for (Section& section : sections) {
    const Arenas arenas(program, blocks.runs, section.nodes);
    Waves(program, section, arenas.read());
    for (Wave& wave : section.waves) wave.side_by_side = pays_side_by_side(blocks, section, wave, threads);
  }
  return sections;
}

}  // namespace

BlockId block_of(const Node& node) {
  const auto* compute = std::get_if<Compute>(&node.step->action);
  return compute == nullptr ? BlockId{} : compute->block;
}

std::vector<Section> make_schedule(const Program& program, int threads) {
  Blocks blocks{.runs = std::vector<std::int64_t>(program.blocks.size(), 0), .work = {}};
  count_runs(program.steps, program.replicas, blocks.runs);
  for (const executor::Block& block : program.blocks) blocks.work.push_back(work_of_block(block));
  return schedule_of(program, program.steps, blocks, threads);
}

}  // namespace podium::numeric
