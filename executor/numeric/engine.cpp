#include "executor/numeric/engine.h"

namespace podium::numeric {

using executor::Compute;
using executor::LoadFromHost;
using executor::Slot;
using executor::StoreToHost;
using executor::Transfer;
using ir::Datum;

struct Engine::State {
  executor::Program program;
  std::vector<PreparedBlock> blocks;
  std::vector<std::vector<Datum>> memory;  // per buffer and slot
  std::vector<std::vector<bool>> filled;
  std::vector<const Datum*> reads;  // kept between runs so that a run allocates nothing
  std::vector<Datum> outputs;
  std::span<const Datum> inputs;

  Datum& at(const Slot& slot) {
    return memory[static_cast<std::size_t>(slot.buffer.index)][static_cast<std::size_t>(slot.index)];
  }
  void mark(const Slot& slot) {
    filled[static_cast<std::size_t>(slot.buffer.index)][static_cast<std::size_t>(slot.index)] = true;
  }
  const Datum& read(const Slot& slot) {
    const auto buffer = static_cast<std::size_t>(slot.buffer.index);
    IR_CHECK(filled[buffer][static_cast<std::size_t>(slot.index)], "buffer {} slot {} on ipu {} is read before any step fills it",
             program.buffers[buffer].name, slot.index, program.buffers[buffer].processor);
    return at(slot);
  }

  void operator()(const LoadFromHost& step) {
    at(step.to) = inputs[static_cast<std::size_t>(step.input)];
    mark(step.to);
  }
  void operator()(const Compute& step) {
    reads.clear();
    for (const Slot& slot : step.reads) reads.push_back(slot.buffer.valid() ? &read(slot) : nullptr);
    const auto results = blocks[static_cast<std::size_t>(step.block.index)].run(reads);
    for (std::size_t i = 0; i < step.writes.size(); ++i) {
      at(step.writes[i]) = *results[i];
      mark(step.writes[i]);
    }
  }
  void operator()(const StoreToHost& step) { outputs[static_cast<std::size_t>(step.output)] = read(step.from); }
  void move(const Transfer& transfer) {
    at(transfer.to) = read(transfer.from);
    mark(transfer.to);
  }
  void operator()(const executor::CopyBetweenProcessors& step) {
    for (const Transfer& transfer : step.transfers) move(transfer);
  }
  void operator()(const executor::CopyBetweenTiles& step) { move(step.transfer); }
  void operator()(const executor::LoadRemote& step) { move(step.transfer); }
  void operator()(const executor::StoreRemote& step) { move(step.transfer); }
  void operator()(const executor::Collective& /*step*/) { IR_CHECK(false, "collectives need several replicas"); }
  void operator()(const executor::Repeat& step) {
    IR_CHECK(step.count == 1);
    for (const executor::Step& inner : step.body) std::visit(*this, inner.action);
  }
};

Engine::Engine(executor::Program program, const PrepareOptions& options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.program = std::move(program);
  state.blocks.reserve(state.program.blocks.size());
  for (executor::Block& block : state.program.blocks) state.blocks.emplace_back(std::move(block.graph), options);
  for (const executor::Buffer& buffer : state.program.buffers) {
    state.memory.emplace_back(static_cast<std::size_t>(buffer.slots));
    state.filled.emplace_back(static_cast<std::size_t>(buffer.slots), false);
  }
  state.outputs.resize(state.program.outputs.size());
}

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

std::span<const Datum> Engine::run(std::span<const Datum> inputs) {
  State& state = *state_;
  IR_CHECK(inputs.size() == state.program.inputs.size());
  state.inputs = inputs;
  for (auto& slots : state.filled) slots.assign(slots.size(), false);
  for (const executor::Step& step : state.program.steps) std::visit(state, step.action);
  return state.outputs;
}

const executor::Program& Engine::program() const { return state_->program; }

std::size_t Engine::arena_bytes() const {
  std::size_t total = 0;
  for (const PreparedBlock& block : state_->blocks) total += block.arena_bytes();
  return total;
}

}  // namespace podium::numeric
