// A straight list of steps becomes waves by list scheduling: for each slot, block and host stream we remember
// the first wave that may follow its last write and its last reads; a step goes to the earliest wave that is
// allowed by all it reads and writes. In a wave movements come first, then blocks. Blocks run side by side
// where that is estimated to be faster than each of them with all threads. Slots of a buffer that move on
// unlike in a Repeat count as one.
#include "executor/numeric/schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "ir/work.h"

namespace podium::numeric {

using executor::BlockId;
using executor::Compute;
using executor::Program;
using executor::Slot;
using executor::Step;

namespace {

// Puts each node into the earliest wave in which all that it must follow is done. What nodes meet at are
// slots, blocks, and the streams of the host.
class Waves {
 public:
  Waves(const Program& program, Section& section) : program_(program) {
    for (const Node& node : section.nodes) {
      for (const Slot& slot : reads_of(*node.step)) note_stride(slot);
      for (const Slot& slot : node.writes) note_stride(slot);
      for (const Slot& slot : node.step->frees) note_stride(slot);
    }
    for (std::size_t i = 0; i < section.nodes.size(); ++i) {
      const bool computes = block_of(section.nodes[i]).valid();
      const std::size_t wave = place(section.nodes[i], computes);
      if (wave >= section.waves.size()) section.waves.resize(wave + 1);
      (computes ? section.waves[wave].computes : section.waves[wave].moves).push_back(i);
    }
  }

 private:
  enum class Kind : std::uint8_t { Slot, Block, Input, Output };
  using Key = std::tuple<Kind, int, int>;
  // The first wave whose movements may follow the reads and writes so far.
  struct After {
    std::size_t reads = 0;
    std::size_t writes = 0;
  };

  void note_stride(const Slot& slot) {
    const auto [found, is_new] = strides_.emplace(slot.buffer, slot.stride);
    if (!is_new && found->second != slot.stride) mixed_.insert(slot.buffer);
  }
  // Slots that move on alike in a Repeat are the same when they start as the same; of others nothing is
  // known.
  Key key(const Slot& slot) const {
    const bool mixed = mixed_.contains(slot.buffer);
    return {Kind::Slot, slot.buffer.number(), mixed ? 0 : slot.index % program_[slot.buffer].slots};
  }
  static Key key(Kind kind, int index) { return {kind, index, 0}; }

  std::size_t place(const Node& node, bool computes) {
    std::vector<Key> reads;
    std::vector<Key> writes;
    for (const Slot& slot : reads_of(*node.step)) reads.push_back(key(slot));
    for (const Slot& slot : node.writes) writes.push_back(key(slot));
    for (const Slot& slot : node.step->frees) writes.push_back(key(slot));
    if (computes) writes.push_back(key(Kind::Block, block_of(node).number()));
    if (const auto* load = std::get_if<executor::LoadFromHost>(&node.step->action)) {
      writes.push_back({Kind::Input, load->input, load->part});
    }
    if (const auto* store = std::get_if<executor::StoreToHost>(&node.step->action)) {
      writes.push_back({Kind::Output, store->output, store->part});
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
  std::map<executor::BufferId, int> strides_;
  std::set<executor::BufferId> mixed_;  // of several strides
  std::map<Key, After> after_;
};

// The time of a run of a block in operations; a moved byte counts as several, and work that only data decide
// counts as nothing.
struct Effort {
  double one_thread = 0;
  double all_threads = 0;
};
using Efforts = ir::IdMap<BlockId, Effort>;

// What threads that wait for each other lose by it: some two microseconds.
constexpr double kMeeting = 2e5;

// A large enough op is cut into parts for all threads, which then wait for each other.
Effort effort_of(const executor::Block& block, int threads) {
  constexpr double kOperationsPerByte = 8;
  constexpr double kCall = 5e4;  // what an op costs beside its arithmetic
  Effort total;
  for (const ir::Op& op : block.graph.ops) {
    const ir::Work work = ir::work_of(ir::TypedOp(block.graph, op));
    const double alone = kCall + std::max(0.0, work.flop + kOperationsPerByte * work.bytes);
    total.one_thread += alone;
    total.all_threads += std::min(alone, alone / threads + kMeeting);
  }
  return total;
}

// The computes of a wave on a processor.
struct Lane {
  std::vector<std::size_t> nodes;
  double effort = 0;  ///< of one thread
};

// When the last of so many threads is done, each of which takes the next lane when it is done with one.
double makespan(const std::vector<Lane>& lanes, int threads) {
  std::vector<double> done(threads, 0.0);
  for (const Lane& lane : lanes) *std::ranges::min_element(done) += lane.effort;
  return std::ranges::max(done);
}

// The computes of a wave by processor, the longest first, where a thread for each is faster. What blocks side
// by side lose by sharing caches and the memory's speed, each op that all threads share loses as well: it
// brings the same memory to each of them.
std::vector<std::vector<std::size_t>> lanes_of(const Program& program, const Efforts& efforts,
                                               const Section& section, const Wave& wave, int threads) {
  if (threads == 1) return {};
  std::map<int, Lane> of_processors;
  double one_after_the_other = 0;
  for (std::size_t node : wave.computes) {
    const BlockId block = block_of(section.nodes[node]);
    Lane& lane = of_processors[program[block].processor];
    lane.nodes.push_back(node);
    lane.effort += efforts[block].one_thread;
    one_after_the_other += efforts[block].all_threads;
  }
  std::vector<Lane> lanes;
  for (auto& [processor, lane] : of_processors) lanes.push_back(std::move(lane));
  std::ranges::stable_sort(lanes, std::greater<>{}, &Lane::effort);
  if (lanes.size() < 2 || makespan(lanes, threads) + kMeeting >= one_after_the_other) return {};
  std::vector<std::vector<std::size_t>> nodes;
  for (Lane& lane : lanes) nodes.push_back(std::move(lane.nodes));
  return nodes;
}

bool replicas_meet(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    const auto* repeat = std::get_if<executor::Repeat>(&step.action);
    return std::holds_alternative<executor::Collective>(step.action) ||
           (repeat != nullptr && replicas_meet(repeat->body));
  });
}

std::vector<Section> schedule_of(const Program& program, const std::vector<Step>& steps,
                                 const Efforts& efforts, int threads) {
  std::vector<Section> sections(1);
  for (const Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      sections.back().count = repeat->count;
      sections.back().body = schedule_of(program, repeat->body, efforts, threads);
      sections.back().replicas_apart = !replicas_meet(repeat->body);
      sections.back().frees = step.frees;
      sections.emplace_back();
      continue;
    }
    Node& node = sections.back().nodes.emplace_back();
    node.step = &step;
    node.writes = writes_of(step);
    node.bytes.resize(node.writes.size() * program.replicas);
  }
  for (Section& section : sections) {
    Waves(program, section);
    for (Wave& wave : section.waves) wave.lanes = lanes_of(program, efforts, section, wave, threads);
  }
  return sections;
}

}  // namespace

BlockId block_of(const Node& node) {
  const auto* compute = std::get_if<Compute>(&node.step->action);
  return compute == nullptr ? BlockId{} : compute->block;
}

std::vector<Section> make_schedule(const Program& program, int threads) {
  Efforts efforts;
  for (const executor::Block& block : program.blocks) efforts.push_back(effort_of(block, threads));
  return schedule_of(program, program.steps, efforts, threads);
}

}  // namespace podium::numeric
