// A walk over the steps, list by list, that knows which variables are on their processors. A variable is
// loaded in front of the step that reads it. It goes home, stored where a step has written it, when its
// processor computes something without it, in front of a Repeat and at the end of a list: no loop begins or
// ends with a variable loaded. Loads and stores are of the micro-batch of the step that asked for them.
#include "executor/lower/program/stream_variables.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "executor/lower/placed/locations.h"
#include "executor/lower/program/append.h"

namespace podium::lower {

using executor::Buffer;
using executor::BufferId;
using executor::Memory;
using executor::Program;
using executor::Slot;
using executor::Step;

std::vector<Step> Way::load() const {
  if (storage == ir::Storage::OnChip) return {{.action = executor::CopyBetweenTiles{{{home}, {here}}}}};
  if (!on_io_tiles) return {{.action = executor::LoadRemote{{{{home}, {here}}}}}};
  return {{.action = executor::LoadRemote{{{{home}, {*on_io_tiles}}}}},
          {.action = executor::CopyBetweenTiles{{{*on_io_tiles}, {here}}}}};
}

std::vector<Step> Way::store() const {
  if (storage == ir::Storage::OnChip) return {{.action = executor::CopyBetweenTiles{{{here}, {home}}}}};
  if (!on_io_tiles) return {{.action = executor::StoreRemote{{{{here}, {home}}}}}};
  return {{.action = executor::CopyBetweenTiles{{{here}, {*on_io_tiles}}}},
          {.action = executor::StoreRemote{{{{*on_io_tiles}, {home}}}}}};
}

Way send_home(Program& program, BufferId here, const ir::TensorLocation& location) {
  Buffer home = program[here];
  const bool is_off_chip = location.storage == ir::Storage::OffChip;
  home.memory = is_off_chip ? Memory::Streaming : Memory::IO;
  Buffer loaded = home;
  loaded.name += "__l0";
  loaded.memory = Memory::Compute;
  loaded.initial.clear();
  loaded.persistent = false;
  program[here] = loaded;
  Way way{
      .storage = location.storage, .home = append(program, std::move(home)), .on_io_tiles = {}, .here = here};
  if (is_off_chip && location.load_tiles == ir::TileSet::IO) {
    loaded.memory = Memory::IO;
    way.on_io_tiles = append(program, std::move(loaded));
  }
  return way;
}

namespace {

class Streamer {
 public:
  Streamer(const Program& program, const std::map<BufferId, Way>& ways) : program_(program), ways_(ways) {}

  std::vector<Step> rewrite(std::vector<Step> steps) {
    std::vector<Step> result;
    for (Step& step : steps) {
      if (auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        drop_all(result);
        repeat->body = rewrite(std::move(repeat->body));
      } else {
        prepare(step, result);
      }
      result.push_back(std::move(step));
    }
    drop_all(result);
    return result;
  }

 private:
  // The micro-batches, the iterations and the origin of a step.
  struct When {
    int micro_batch = 0;
    int micro_batch_stride = 0;
    executor::Iterations acts = {};
    executor::Origin origin = {};
  };
  static When when(const Step& step) {
    return {step.micro_batch, step.micro_batch_stride, step.acts, step.origin};
  }
  struct Loaded {
    bool modified = false;
    When when = {};  ///< of the step that used it last
  };

  void prepare(const Step& step, std::vector<Step>& result) {
    const std::vector<Slot> reads = reads_of(step);
    const std::vector<Slot> writes = writes_of(step);
    if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
      make_room(program_[compute->block].processor, {&reads, &writes}, result);
    }
    // What meets over the replicas is loaded for that, in the place of what was needed before.
    const auto* collective = std::get_if<executor::Collective>(&step.action);
    if (collective != nullptr && ways_.contains(collective->transfer.from.buffer)) {
      make_room(program_[collective->transfer.from.buffer].processor, {&reads, &writes}, result);
    }
    for (const Slot& slot : reads) {
      const auto way = ways_.find(slot.buffer);
      if (way == ways_.end()) continue;
      // What is loaded in other iterations is not always there.
      const auto here = loaded_.find(slot.buffer);
      if (here != loaded_.end() && here->second.when.acts != step.acts) drop(here, result);
      if (!loaded_.contains(slot.buffer)) add(way->second.load(), when(step), result);
      note(slot.buffer, step);
    }
    for (const Slot& slot : writes) {
      if (!ways_.contains(slot.buffer)) continue;
      note(slot.buffer, step);
      loaded_[slot.buffer].modified = true;
    }
  }
  void note(BufferId buffer, const Step& step) { loaded_[buffer].when = when(step); }
  static void add(std::vector<Step> steps, const When& when, std::vector<Step>& result) {
    for (Step& step : steps) {
      step.micro_batch = when.micro_batch;
      step.micro_batch_stride = when.micro_batch_stride;
      step.acts = when.acts;
      step.origin = when.origin;
      result.push_back(std::move(step));
    }
  }

  // What a processor holds and the step that it computes does not use goes home.
  void make_room(int processor, const std::vector<const std::vector<Slot>*>& used,
                 std::vector<Step>& result) {
    const auto is_used = [&](BufferId buffer) {
      return std::any_of(used.begin(), used.end(), [&](const std::vector<Slot>* slots) {
        return std::any_of(slots->begin(), slots->end(),
                           [&](const Slot& slot) { return slot.buffer == buffer; });
      });
    };
    for (auto next = loaded_.begin(); next != loaded_.end();) {
      const auto here = next++;
      if (program_[here->first].processor == processor && !is_used(here->first)) drop(here, result);
    }
  }
  void drop_all(std::vector<Step>& result) {
    while (!loaded_.empty()) drop(loaded_.begin(), result);
  }
  void drop(std::map<BufferId, Loaded>::iterator here, std::vector<Step>& result) {
    const Loaded& loaded = here->second;
    if (loaded.modified) {
      add(ways_.at(here->first).store(), loaded.when, result);
    }
    loaded_.erase(here);
  }

  const Program& program_;
  const std::map<BufferId, Way>& ways_;
  std::map<BufferId, Loaded> loaded_;
};

}  // namespace

void stream_variables(Program& program, const std::map<std::string, ir::TensorLocation>& locations) {
  std::map<BufferId, Way> ways;
  for (BufferId id : ir::IdRange<BufferId>(std::ssize(program.buffers))) {
    const auto location = locations.find(program[id].name);
    const bool on_chip = program[id].memory == Memory::Compute;
    const bool is_elsewhere =
        program[id].persistent && on_chip && location != locations.end() &&
        (location->second.storage == ir::Storage::OffChip || waits_on_io_tiles(location->second));
    if (is_elsewhere) ways.emplace(id, send_home(program, id, location->second));
  }
  if (!ways.empty()) program.steps = Streamer(program, ways).rewrite(std::move(program.steps));
}

}  // namespace podium::lower
