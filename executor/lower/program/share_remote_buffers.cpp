// A remote tensor that alone is brought to some places of blocks is like another of its type that alone is
// brought to the same places: blocks of layers that are one block (see share_blocks) read the weights of all
// of them at one input. What a tensor is brought to is followed through loads, gathers and copies between
// tiles. Tensors that are alike become rows of the first one's buffer, in the order of the buffers.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "executor/lower/program/append.h"
#include "executor/lower/program/share.h"
#include "executor/slots.h"

namespace podium::lower {

using executor::Buffer;
using executor::BufferId;
using executor::Memory;
using executor::Program;
using executor::Slot;
using executor::Step;
using executor::Transfer;
using ir::IdMap;

namespace {

// Where blocks use what a buffer holds: the block, the place among its reads or writes, and whether it is
// written.
using RowPlaces = std::set<std::tuple<executor::BlockId, int, bool>>;

struct Flows {
  IdMap<BufferId, RowPlaces> places;
  IdMap<BufferId, std::vector<BufferId>> brought_from;  ///< to where steps bring what a buffer holds

  explicit Flows(const Program& program)
      : places(std::ssize(program.buffers)), brought_from(std::ssize(program.buffers)) {
    visit(program.steps);
  }

  /// Of everything that a buffer is brought to.
  RowPlaces all_places(BufferId home) const {
    RowPlaces found;
    std::set<BufferId> seen{home};
    std::vector<BufferId> open{home};
    while (!open.empty()) {
      const BufferId next = open.back();
      open.pop_back();
      found.insert(places[next].begin(), places[next].end());
      for (BufferId to : brought_from[next]) {
        if (seen.insert(to).second) open.push_back(to);
      }
    }
    return found;
  }

 private:
  void visit(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        visit(repeat->body);
      } else if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
        note(*compute, compute->reads, false);
        note(*compute, compute->writes, true);
      } else if (const auto* load = std::get_if<executor::LoadRemote>(&step.action)) {
        for (const Transfer& one : load->transfers) bring(one);
      } else if (const auto* copy = std::get_if<executor::CopyBetweenTiles>(&step.action)) {
        bring(copy->transfer);
      } else if (const auto* collective = std::get_if<executor::Collective>(&step.action)) {
        if (collective->kind == executor::CollectiveKind::AllGather) bring(collective->transfer);
      }
    }
  }
  void note(const executor::Compute& compute, const std::vector<Slot>& slots, bool writes) {
    for (int i = 0; i < std::ssize(slots); ++i) {
      if (slots[i].buffer.valid()) places[slots[i].buffer].insert({compute.block, i, writes});
    }
  }
  void bring(const Transfer& one) { brought_from[one.from.buffer].push_back(one.to.buffer); }
};

// A remote tensor of its own: a weight or a variable.
bool is_home(const Buffer& buffer) {
  return buffer.memory == Memory::Streaming && buffer.slots == 1 && buffer.initial.size() == 1;
}

// What two of them have alike that can be rows of one buffer.
using SharedTraits =
    std::tuple<int, std::string, double, executor::Role, int, ir::ReplicaGroup, bool, RowPlaces>;

SharedTraits likeness(const Program& program, const Flows& flows, BufferId id) {
  const Buffer& buffer = program[id];
  return {buffer.processor, to_string(buffer.type), buffer.stored_share, buffer.role,
          buffer.shards,    buffer.group,           buffer.persistent,   flows.all_places(id)};
}

// What becomes of a buffer.
struct NewPlace {
  BufferId buffer;
  int row = -1;  ///< -1 of one that stays as it is
};

IdMap<BufferId, NewPlace> find_rows(Program& program) {
  const Flows flows(program);
  std::map<SharedTraits, std::vector<BufferId>> alike;
  IdMap<BufferId, NewPlace> places(std::ssize(program.buffers));
  for (BufferId id : places.ids()) {
    places[id].buffer = id;
    if (is_home(program[id])) alike[likeness(program, flows, id)].push_back(id);
  }
  for (const auto& [like, ids] : alike) {
    if (ids.size() < 2 || std::get<RowPlaces>(like).empty()) continue;
    Buffer& first = program[ids[0]];
    for (int row = 0; row < std::ssize(ids); ++row) {
      places[ids[row]] = {ids[0], row};
      first.rows.push_back(program[ids[row]].name);
      if (row > 0) first.initial.push_back(std::move(program[ids[row]].initial[0]));
    }
    first.slots = ids.size();
  }
  return places;
}

void rename(std::vector<Step>& steps, const IdMap<BufferId, NewPlace>& places) {
  for (Step& step : steps) {
    if (auto* repeat = std::get_if<executor::Repeat>(&step.action)) rename(repeat->body, places);
    executor::for_each_slot(step, [&](Slot& slot, bool) {
      const NewPlace& place = places[slot.buffer];
      slot.buffer = place.buffer;
      if (place.row >= 0) slot = {.buffer = place.buffer, .index = place.row};
    });
  }
}

}  // namespace

void share_remote_buffers(Program& program) {
  IdMap<BufferId, NewPlace> places = find_rows(program);
  if (std::all_of(places.begin(), places.end(), [](const NewPlace& place) { return place.row < 0; })) return;
  Program kept;
  for (BufferId id : places.ids()) {
    NewPlace& place = places[id];
    place.buffer = place.row > 0 ? places[place.buffer].buffer : append(kept, std::move(program[id]));
  }
  program.buffers = std::move(kept.buffers);
  rename(program.steps, places);
  for (executor::Block& block : program.blocks) {
    for (BufferId& id : block.weights) id = places[id].buffer;
  }
}

}  // namespace podium::lower
