// One processor after the other: its changes are put in the order of time, added up to a curve, and its
// tensors followed from the change that brings them to the one that frees them. What is too long to be drawn
// is thinned before the next processor's turn, so that a thousand of them take little memory at once.
#include "executor/sim/memory_curve.h"

#include <algorithm>
#include <map>
#include <set>

namespace podium::sim {
namespace {

using executor::Program;

constexpr int kLargestAtOnce = 8;
constexpr std::size_t kMostPoints = 2'000'000;  // all processors together
constexpr std::size_t kFewestPoints = 1'000;

// The tensors of one processor that are there now, and all that have been among the largest.
class Lives {
 public:
  void begin(std::int32_t key, TensorLife life) {
    const auto place = static_cast<std::int32_t>(all_.size());
    now_[key] = place;
    by_size_.emplace(-life.bytes, place);
    all_.push_back({std::move(life)});
  }
  void end(std::int32_t key, double time) {
    const auto entry = now_.find(key);
    if (entry == now_.end()) return;
    all_[entry->second].life.end = time;
    by_size_.erase({-all_[entry->second].life.bytes, entry->second});
    now_.erase(entry);
  }
  // To be called when all changes of a moment are known.
  void mark_largest() {
    int count = 0;
    for (auto one = by_size_.begin(); one != by_size_.end() && count < kLargestAtOnce; ++one, ++count)
      all_[one->second].is_large = true;
  }
  std::vector<TensorLife> take() {
    std::vector<TensorLife> large;
    for (Entry& entry : all_) {
      if (entry.is_large) large.push_back(std::move(entry.life));
    }
    return large;
  }

 private:
  struct Entry {
    TensorLife life;
    bool is_large = false;
  };
  std::vector<Entry> all_;
  std::map<std::int32_t, std::int32_t> now_;  ///< from the key to the place in all_
  std::set<std::pair<std::int64_t, std::int32_t>> by_size_;
};

// Buffers have their own numbers as keys, the insides of blocks negative ones.
std::int32_t key_of(const TimedChange& change) {
  return change.change.buffer.valid() ? change.change.buffer.index : -1 - change.block.index;
}

void begin_always_live(const Program& program, double end, std::vector<Lives>& lives, Timeline& timeline) {
  for (ProcessorReport& report : timeline.processors) report.memory_curve = {{0, report.memory.always_live}};
  for (executor::BufferId id : program.buffer_ids()) {
    const executor::Buffer& buffer = program[id];
    if (!buffer.always_live || buffer.memory == executor::Memory::Streaming) continue;
    const std::int64_t bytes = slot_bytes(buffer) * buffer.slots;
    const Holding holding = holding_of(buffer.memory, buffer.role);
    timeline.processors[buffer.processor].memory_curve[0].held[static_cast<std::size_t>(holding)] += bytes;
    lives[buffer.processor].begin(id.index, {buffer.name, holding, bytes, 0, end});
  }
}

void add_to_curve(const TimedChange& one, std::vector<MemoryPoint>& curve) {
  const double time = to_seconds(one.time);
  if (curve.back().time != time) {
    curve.push_back(curve.back());
    curve.back().time = time;
  }
  curve.back().bytes += one.change.bytes;
  const Holding holding = holding_of(one.change.memory, one.change.role);
  curve.back().held[static_cast<std::size_t>(holding)] += one.change.bytes;
}

// One processor's, whose changes are in the order of time.
void draw_processor(const Program& program, const std::vector<TimedChange>& changes, double end, Lives& lives,
                    std::vector<MemoryPoint>& curve) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const TimedChange& one = changes[i];
    add_to_curve(one, curve);
    if (one.change.bytes < 0) {
      lives.end(key_of(one), to_seconds(one.time));
    } else {
      const std::string name =
          one.change.buffer.valid() ? program[one.change.buffer].name : "inside " + program[one.block].name;
      lives.begin(key_of(one), {name, holding_of(one.change.memory, one.change.role), one.change.bytes,
                                to_seconds(one.time), end});
    }
    const bool is_last = i + 1 == changes.size() || changes[i + 1].time != one.time;
    if (is_last) lives.mark_largest();
  }
}

void leave_out_between(const std::vector<MemoryPoint>& curve, std::vector<TensorLife>& lives) {
  std::erase_if(lives, [&](const TensorLife& life) {
    const auto inside = std::ranges::lower_bound(curve, life.start, {}, &MemoryPoint::time);
    return inside == curve.end() || inside->time >= life.end;
  });
  lives.shrink_to_fit();
}

}  // namespace

std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& curve, double makespan, std::size_t most) {
  std::vector<MemoryPoint> kept;
  const double stretch = curve.size() <= most ? 0 : 2 * makespan / static_cast<double>(most);
  for (std::size_t i = 0; i < curve.size();) {
    const double end = curve[i].time + stretch;
    std::size_t highest = i;
    for (; i + 1 < curve.size() && curve[i + 1].time < end; ++i) {
      if (curve[i + 1].bytes > curve[highest].bytes) highest = i + 1;
    }
    if (highest != i) kept.push_back(curve[highest]);
    kept.push_back(curve[i++]);
  }
  return kept;
}

void draw_memory(const Program& program, ChangesOfProcessors changes, Timeline& timeline) {
  std::vector<Lives> lives(timeline.processors.size());
  begin_always_live(program, timeline.makespan, lives, timeline);
  std::size_t all = 0;
  for (const auto& of_processor : changes) all += of_processor.size();
  const std::size_t most = std::max(kFewestPoints, kMostPoints / std::max<std::size_t>(1, lives.size()));
  for (std::size_t i = 0; i < lives.size(); ++i) {
    ProcessorReport& report = timeline.processors[i];
    Lives of_processor = std::move(lives[i]);
    of_processor.mark_largest();
    if (i < changes.size()) {
      // One processor's are gone before the next one's are drawn.
      std::vector<TimedChange> own = std::move(changes[i]);
      std::ranges::stable_sort(own, {}, &TimedChange::time);
      draw_processor(program, own, timeline.makespan, of_processor, report.memory_curve);
    }
    report.lives = of_processor.take();
    if (all <= kMostPoints) continue;
    report.memory_curve = thinned(report.memory_curve, timeline.makespan, most);
    leave_out_between(report.memory_curve, report.lives);
  }
}

}  // namespace podium::sim
