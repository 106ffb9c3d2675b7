// Programs of a few steps made by hand, every cost given: what exact tests of the clock are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "executor/lower/program/plan_memory.h"
#include "executor/program.h"
#include "executor/sim/simulate.h"
#include "executor/sim/tasks.h"

namespace podium::testing {

using executor::Memory;
using executor::Role;
using executor::Slot;
using executor::Step;
using Steps = std::vector<Step>;

inline constexpr double kMicro = 1e-6;

/// Microseconds of a step of each kind, whatever it moves.
struct MoveTimes {
  double host = 0;
  double copy = 0;
  double tiles = 0;
  double remote_load = 0;
  double remote_store = 0;
  double collective = 0;
};

struct Sketch {
  explicit Sketch(int processors, MoveTimes times = {}) : moves(times) { program.processors = processors; }

  executor::Program program;
  sim::Costs costs;
  device::Device device;
  MoveTimes moves;
  bool shared_host_link = false;  ///< all processors load and store over one link

  /// A thousand bytes a slot.
  Slot buffer(const std::string& name, int processor, Memory memory = Memory::Compute, int slots = 1,
              Role role = Role::Activation, std::int64_t bytes = 1000) {
    executor::Buffer made{.name = name, .type = ir::Type::tensor(ir::DataType::Uint8, {bytes})};
    made.processor = processor;
    made.memory = memory;
    made.role = role;
    made.slots = slots;
    program.buffers.push_back(made);
    return {{static_cast<std::int32_t>(program.buffers.size() - 1)}};
  }
  /// One that holds something before the run.
  Slot filled(const std::string& name, int processor, Memory memory = Memory::Compute, int slots = 1) {
    const Slot slot = buffer(name, processor, memory, slots, Role::Weight);
    program[slot.buffer].initial.resize(slots);
    return slot;
  }
  Step compute(const std::string& name, int processor, double micros, std::vector<Slot> reads,
               std::vector<Slot> writes) {
    program.blocks.push_back({.name = name, .processor = processor, .graph = {}});
    const executor::BlockId block = costs.blocks.push_back(
        {.seconds = micros * kMicro, .flop = 1000 * micros, .ideal_seconds = micros * kMicro / 2});
    return {executor::Compute{block, std::move(reads), std::move(writes)}};
  }
  Step from_host(Slot to) {
    program.inputs.push_back({.name = "x", .type = program[to.buffer].type});
    return {executor::LoadFromHost{static_cast<int>(program.inputs.size() - 1), to}};
  }
  Step to_host(Slot from, int every = 1, int slices = 1) {
    program.outputs.push_back({.name = "y", .type = program[from.buffer].type});
    program.outputs.back().every = every;
    program.outputs.back().slices = slices;
    return {executor::StoreToHost{from, static_cast<int>(program.outputs.size() - 1)}};
  }

  sim::Timeline run(SyncPattern sync = SyncPattern::Full, bool events = false) {
    lower::plan_memory(program);
    return clock(sync, events);
  }
  /// With the memory as it has been planned.
  sim::Timeline clock(SyncPattern sync = SyncPattern::Full, bool events = false) {
    price_moves();
    return sim::simulate(program, device, costs, {.sync = sync, .events = events});
  }
  /// What the clock walks. The sketch outlives it.
  sim::Tasks tasks(SyncPattern sync = SyncPattern::Full) {
    price_moves();
    return sim::make_tasks(program, costs, sync);
  }

 private:
  void price_moves() {
    costs.movement = [this](const Step& step) { return cost(step); };
    costs.part_of_exchange = [this](const Step& step, std::span<const int>) { return cost(step); };
  }
  sim::StepCost cost(const Step& step) const {
    const double micros = std::visit([&](const auto& action) { return time(action); }, step.action);
    sim::StepCost cost{.seconds = micros * kMicro};
    const bool is_host = std::holds_alternative<executor::LoadFromHost>(step.action) ||
                         std::holds_alternative<executor::StoreToHost>(step.action);
    if (is_host && shared_host_link) cost.links.push_back({{sim::LinkKind::FromHost}, 1000, cost.seconds});
    return cost;
  }
  double time(const executor::LoadFromHost& /*step*/) const { return moves.host; }
  double time(const executor::StoreToHost& /*step*/) const { return moves.host; }
  double time(const executor::CopyBetweenProcessors& /*step*/) const { return moves.copy; }
  double time(const executor::CopyBetweenTiles& /*step*/) const { return moves.tiles; }
  double time(const executor::LoadRemote& /*step*/) const { return moves.remote_load; }
  double time(const executor::StoreRemote& /*step*/) const { return moves.remote_store; }
  double time(const executor::Collective& /*step*/) const { return moves.collective; }
  double time(const executor::GroupCollective& /*step*/) const { return moves.collective; }
  double time(const executor::Compute& /*step*/) const { return 0; }
  double time(const executor::Repeat& /*step*/) const { return 0; }
};

inline Step copy(std::vector<executor::Transfer> transfers) {
  return {executor::CopyBetweenProcessors{std::move(transfers)}};
}
inline Step between_tiles(Slot from, Slot to) { return {executor::CopyBetweenTiles{{from, to}}}; }
inline Step load(Slot from, Slot to) { return {executor::LoadRemote{{{from, to}}}}; }
inline Step store(Slot from, Slot to) { return {executor::StoreRemote{{{from, to}}}}; }
inline Step repeat(int count, Steps body) { return {executor::Repeat{count, std::move(body)}}; }

/// The slot `index` + `stride` x iteration of the same buffer.
inline Slot entry(Slot slot, int index, int stride = 0) { return {slot.buffer, index, stride}; }

inline double busy(const sim::ProcessorReport& processor, sim::Activity activity) {
  return processor.busy[static_cast<std::size_t>(activity)] / kMicro;
}
inline double idle(const sim::ProcessorReport& processor, sim::Idle reason) {
  return processor.idle[static_cast<std::size_t>(reason)] / kMicro;
}

}  // namespace podium::testing
