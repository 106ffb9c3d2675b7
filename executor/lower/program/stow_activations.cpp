// The buffer of an activation becomes its home: streaming memory or the IO tiles, with the slots that it had.
// Steps get at it through buffers of one slot on the compute tiles, which live for a step only:
//
//   compute forward on ipu 0: (x) -> (a)         a stands for what is made
//   store a -> a.streaming[0+1i]
//   ...
//   load a.streaming[0+1i] -> a__l0              a__l0 for what is loaded
//   compute backward on ipu 0: (a__l0, dy) -> (dx)
//
// An exchange may read several slots of one home, those of different micro-batches: each gets a buffer of its
// own.
#include "executor/lower/program/stow_activations.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "executor/lower/program/append.h"
#include "executor/slots.h"

namespace podium::lower {

using executor::Buffer;
using executor::BufferId;
using executor::CopyBetweenTiles;
using executor::Memory;
using executor::Program;
using executor::Slot;
using executor::Step;
using executor::Transfer;

namespace {

// An activation that waits in the buffer that it had, and the buffers through which steps get at it.
struct Stowed {
  Buffer like;  ///< one slot on the compute tiles
  ir::TensorLocation location;
  std::optional<BufferId> made = {};
  std::vector<BufferId> loaded = {};  ///< as many as one step reads slots
  std::optional<BufferId> on_io_tiles = {};
};

// A slot of a home, also of those that move on in a Repeat.
using Home = std::pair<int, int>;  ///< Slot::index and stride

class Stower {
 public:
  Stower(Program& program, std::map<BufferId, Stowed> stowed)
      : program_(program), stowed_(std::move(stowed)) {}

  std::vector<Step> rewrite(std::vector<Step> steps) {
    std::vector<Step> result;
    for (Step& step : steps) {
      if (auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        repeat->body = rewrite(std::move(repeat->body));
        result.push_back(std::move(step));
        continue;
      }
      std::vector<Step> stores;
      rooms_.clear();
      written_.clear();
      executor::for_each_use(step, [&](Slot& slot, bool is_write, const executor::Iterations& acts) {
        const auto found = stowed_.find(slot.buffer);
        if (found == stowed_.end()) return;
        std::vector<Step>& moves = is_write ? stores : result;
        const std::size_t before = moves.size();
        if (is_write) {
          store(found->second, slot, stores);
        } else {
          load(found->second, slot, result);
        }
        for (std::size_t i = before; i < moves.size(); ++i) moves[i].acts = acts;
      });
      const auto belong = [&](Step& moved) {
        moved.micro_batch = step.micro_batch;
        moved.micro_batch_stride = step.micro_batch_stride;
        moved.origin = step.origin;
      };
      for (Step& moved : stores) belong(moved);
      for (auto moved = result.end() - std::exchange(loads_, 0); moved != result.end(); ++moved)
        belong(*moved);
      result.push_back(std::move(step));
      for (Step& moved : stores) result.push_back(std::move(moved));
    }
    return result;
  }

 private:
  BufferId append_room(const Stowed& stowed, Memory memory, const std::string& suffix) {
    Buffer made = stowed.like;
    made.memory = memory;
    made.name += suffix;
    return append(program_, std::move(made));
  }
  Slot room(std::optional<BufferId>& buffer, const Stowed& stowed, Memory memory, const char* suffix) {
    if (!buffer) buffer = append_room(stowed, memory, suffix);
    return {*buffer};
  }
  // For what the step at hand reads: each slot of a home has its own.
  Slot room_to_read(Stowed& stowed, const Slot& home) {
    std::map<Home, BufferId>& rooms = rooms_[home.buffer];
    const auto [entry, is_new] = rooms.try_emplace(Home(home.index, home.stride));
    if (is_new) {
      const std::size_t place = rooms.size() - 1;
      if (place == stowed.loaded.size())
        stowed.loaded.push_back(append_room(stowed, Memory::Compute, fmt::format("__l{}", place)));
      entry->second = stowed.loaded[place];
    }
    return {entry->second};
  }

  void load(Stowed& stowed, Slot& slot, std::vector<Step>& steps) {
    const Slot home = std::exchange(slot, room_to_read(stowed, slot));
    const auto add = [&](auto action) {
      steps.push_back({.action = std::move(action)});
      ++loads_;
    };
    if (stowed.location.storage == ir::Storage::OnChip) return add(CopyBetweenTiles{{home, slot}});
    if (stowed.location.load_tiles == ir::TileSet::Compute) return add(executor::LoadRemote{{{home, slot}}});
    const Slot on_io_tiles = room(stowed.on_io_tiles, stowed, Memory::IO, "__l0");
    add(executor::LoadRemote{{{home, on_io_tiles}}});
    add(CopyBetweenTiles{{on_io_tiles, slot}});
  }

  void store(Stowed& stowed, Slot& slot, std::vector<Step>& steps) {
    const Home written(slot.index, slot.stride);
    IR_CHECK(written_.try_emplace(slot.buffer, written).first->second == written,
             "a step writes two slots of {}, which waits elsewhere", stowed.like.name);
    const Slot home = std::exchange(slot, room(stowed.made, stowed, Memory::Compute, ""));
    const auto add = [&](auto action) { steps.push_back({.action = std::move(action)}); };
    if (stowed.location.storage == ir::Storage::OnChip) return add(CopyBetweenTiles{{slot, home}});
    if (stowed.location.load_tiles == ir::TileSet::Compute) return add(executor::StoreRemote{{{slot, home}}});
    const Slot on_io_tiles = room(stowed.on_io_tiles, stowed, Memory::IO, "__l0");
    add(CopyBetweenTiles{{slot, on_io_tiles}});
    add(executor::StoreRemote{{{on_io_tiles, home}}});
  }

  Program& program_;
  std::map<BufferId, Stowed> stowed_;
  // Of the step at hand.
  std::ptrdiff_t loads_ = 0;  ///< in front of it
  std::map<BufferId, std::map<Home, BufferId>> rooms_;
  std::map<BufferId, Home> written_;
};

// Finds the buffers that wait: a block reads them when another one has computed since they were made, or they
// have a slot for each of several micro-batches.
class Waiting {
 public:
  explicit Waiting(const Program& program) : program_(program) { walk(program.steps); }

  std::set<BufferId> buffers;

 private:
  void walk(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) walk(repeat->body);
      const bool computes = std::holds_alternative<executor::Compute>(step.action);
      executor::for_each_slot(step, [&](const Slot& slot, bool is_write) {
        const auto made = made_at_.find(slot.buffer);
        const bool is_read = !is_write && computes && made != made_at_.end();
        if (is_read && (made->second < computed_ || program_[slot.buffer].slots > 1))
          buffers.insert(slot.buffer);
      });
      if (computes) ++computed_;
      executor::for_each_slot(step, [&](const Slot& slot, bool is_write) {
        if (is_write) made_at_[slot.buffer] = computed_;
      });
    }
  }

  const Program& program_;
  std::int64_t computed_ = 0;  ///< blocks so far
  std::map<BufferId, std::int64_t> made_at_;
};

}  // namespace

int stow_activations(Program& program, const std::map<std::string, ir::TensorLocation>& locations) {
  if (locations.empty()) return 0;
  const Waiting waiting(program);
  std::map<BufferId, Stowed> stowed;
  for (BufferId id : program.buffer_ids()) {
    Buffer& buffer = program[id];
    const auto location = locations.find(buffer.name);
    const bool can_go = buffer.memory == Memory::Compute && !buffer.persistent && buffer.initial.empty() &&
                        buffer.shards == 1 && waiting.buffers.contains(id);
    if (location == locations.end() || !can_go) continue;
    Stowed one{.like = buffer, .location = location->second};
    one.like.slots = 1;
    stowed.emplace(id, std::move(one));
    buffer.memory = location->second.storage == ir::Storage::OffChip ? Memory::Streaming : Memory::IO;
  }
  const int count = static_cast<int>(stowed.size());
  if (count > 0) program.steps = Stower(program, std::move(stowed)).rewrite(std::move(program.steps));
  return count;
}

}  // namespace podium::lower
