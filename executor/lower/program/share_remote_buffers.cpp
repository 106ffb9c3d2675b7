#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "executor/lower/program/share.h"
#include "executor/slots.h"
#include "ir/at.h"

namespace podium::lower {

using executor::Buffer;
using executor::BufferId;
using executor::Memory;
using executor::Program;
using executor::Slot;
using executor::Step;
using executor::Transfer;

namespace {

// Where blocks use what a buffer holds: the block, the place among its reads or writes, and whether it is
// written.
using RowPlaces = std::set<std::tuple<std::int32_t, std::size_t, bool>>;

struct Flows {
  std::vector<RowPlaces> places;                    ///< per buffer
  std::vector<std::vector<BufferId>> brought_from;  ///< per buffer: to where steps bring it

  explicit Flows(const Program& program)
      : places(program.buffers.size()), brought_from(program.buffers.size()) {
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
      found.insert(places[ir::at(next)].begin(), places[ir::at(next)].end());
      for (BufferId to : brought_from[ir::at(next)]) {
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
        for (std::size_t i = 0; i < compute->reads.size(); ++i) note(*compute, compute->reads[i], i, false);
        for (std::size_t i = 0; i < compute->writes.size(); ++i) note(*compute, compute->writes[i], i, true);
      } else if (const auto* load = std::get_if<executor::LoadRemote>(&step.action)) {
        bring(load->transfer);
      } else if (const auto* copy = std::get_if<executor::CopyBetweenTiles>(&step.action)) {
        bring(copy->transfer);
      } else if (const auto* collective = std::get_if<executor::Collective>(&step.action)) {
        if (collective->kind == executor::CollectiveKind::AllGather) bring(collective->transfer);
      }
    }
  }
  void note(const executor::Compute& compute, const Slot& slot, std::size_t place, bool writes) {
    if (slot.buffer.valid()) places[ir::at(slot.buffer)].insert({compute.block.index, place, writes});
  }
  void bring(const Transfer& one) { brought_from[ir::at(one.from.buffer)].push_back(one.to.buffer); }
};

// A remote tensor of its own: a weight or a variable.
bool is_home(const Buffer& buffer) {
  return buffer.memory == Memory::Streaming && buffer.slots == 1 && buffer.initial.size() == 1;
}

using Likeness = std::tuple<int, std::string, int, int, int, int, bool, RowPlaces>;

Likeness likeness(const Program& program, const Flows& flows, BufferId id) {
  const Buffer& buffer = program[id];
  return {buffer.processor,
          to_string(buffer.type),
          static_cast<int>(buffer.role),
          buffer.shards,
          static_cast<int>(buffer.group.type),
          buffer.group.size,
          buffer.persistent,
          flows.all_places(id)};
}

// Per buffer: the buffer and row that it becomes; a row of -1 for one that stays as it is.
struct NewPlaces {
  std::vector<BufferId> buffer;
  std::vector<int> row;
};

NewPlaces find_rows(Program& program) {
  const Flows flows(program);
  std::map<Likeness, std::vector<BufferId>> alike;
  NewPlaces places;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const BufferId id{static_cast<std::int32_t>(b)};
    places.buffer.push_back(id);
    places.row.push_back(-1);
    if (is_home(program[id])) alike[likeness(program, flows, id)].push_back(id);
  }
  for (const auto& [like, ids] : alike) {
    if (ids.size() < 2 || std::get<RowPlaces>(like).empty()) continue;
    Buffer& first = program[ids[0]];
    for (std::size_t row = 0; row < ids.size(); ++row) {
      places.buffer[ir::at(ids[row])] = ids[0];
      places.row[ir::at(ids[row])] = static_cast<int>(row);
      first.rows.push_back(program[ids[row]].name);
      if (row > 0) first.initial.push_back(std::move(program[ids[row]].initial[0]));
    }
    first.slots = static_cast<int>(ids.size());
  }
  return places;
}

void rename(std::vector<Step>& steps, const NewPlaces& places) {
  for (Step& step : steps) {
    if (auto* repeat = std::get_if<executor::Repeat>(&step.action)) rename(repeat->body, places);
    executor::for_each_slot(step, [&](Slot& slot, bool) {
      const int row = places.row[ir::at(slot.buffer)];
      slot.buffer = places.buffer[ir::at(slot.buffer)];
      if (row >= 0) slot = {.buffer = slot.buffer, .index = row};
    });
  }
}

}  // namespace

void share_remote_buffers(Program& program) {
  NewPlaces places = find_rows(program);
  if (std::all_of(places.row.begin(), places.row.end(), [](int row) { return row < 0; })) return;
  std::vector<Buffer> kept;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (places.row[b] > 0) {
      places.buffer[b] = places.buffer[ir::at(places.buffer[b])];
    } else {
      places.buffer[b] = {static_cast<std::int32_t>(kept.size())};
      kept.push_back(std::move(program.buffers[b]));
    }
  }
  program.buffers = std::move(kept);
  rename(program.steps, places);
  for (executor::Block& block : program.blocks) {
    for (BufferId& id : block.weights) id = places.buffer[ir::at(id)];
  }
}

}  // namespace podium::lower
