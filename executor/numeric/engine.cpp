// The engine prepares once and runs often. Preparing: cut the steps into sections and waves (make_schedule),
// choose layouts at the edges of blocks, find which inputs a block overwrites wherever it runs, prepare each
// block (one thread for a block that runs beside others). A run goes over the sections: movements of a wave
// in program order, its blocks side by side or one after the other, then a Repeat's body as often as it says,
// for all replicas together or, where they do not meet, replica by replica.
// A block runs once for each micro-batch, in their order, so how often it has run says which one it computes,
// by which random ops draw. Each run of the engine goes on where the longest count of the one before ended.
// One step is done for all its replicas in turn (RunStep); a block whose inputs are the very memory that the
// replica before had gives the same results and is not run again.
#include "executor/numeric/engine.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "executor/kernels/tools/moment.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/numeric/collectives.h"
#include "executor/numeric/host_streams.h"
#include "executor/numeric/layouts.h"
#include "executor/numeric/peak_memory.h"
#include "executor/numeric/replica_memory.h"
#include "executor/numeric/schedule.h"
#include "executor/slots.h"
#include "ir/bodies.h"

namespace podium::numeric {

using executor::Slot;
using executor::Transfer;
using ir::Datum;

namespace {

// A datum that is no tensor does not count.
std::int64_t device_bytes_of(const Datum& datum) {
  return datum.is_tensor() ? ir::packed_bytes(datum.tensor.type(), datum.tensor.size()) : 0;
}

using SlotKey = std::tuple<executor::BufferId, int, int>;
SlotKey key_of(const Slot& slot) { return {slot.buffer, slot.index, slot.stride}; }

// Finds for each block the pairs of input and output that are the same slot wherever the block runs.
using OfBlocks = ir::IdMap<executor::BlockId, std::optional<std::vector<Rewritten>>>;
void find_rewritten(const std::vector<executor::Step>& steps, OfBlocks& blocks) {
  for (const executor::Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      find_rewritten(repeat->body, blocks);
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    if (compute == nullptr) continue;
    std::map<SlotKey, std::size_t> written;
    for (std::size_t i = 0; i < compute->writes.size(); ++i) written.emplace(key_of(compute->writes[i]), i);
    std::map<SlotKey, int> reads;
    for (const Slot& slot : compute->reads) ++reads[key_of(slot)];
    std::set<Rewritten> here;
    for (std::size_t i = 0; i < compute->reads.size(); ++i) {
      const SlotKey key = key_of(compute->reads[i]);
      const auto output = written.find(key);
      if (output != written.end() && reads.at(key) == 1) here.insert({i, output->second});
    }
    auto& found = blocks[compute->block];
    if (!found) found.emplace(here.begin(), here.end());
    std::erase_if(*found, [&](const Rewritten& pair) { return !here.contains(pair); });
  }
}

// Constants of blocks have buffers so that memory is counted. Where no step touches such a buffer, its tensor
// would only keep in memory what a kernel has packed for itself.
void forget_constants_of_blocks(executor::Program& program) {
  ir::IdMap<executor::BufferId, bool> is_touched(std::ssize(program.buffers), false);
  const auto note = [&](const auto& self, const std::vector<executor::Step>& steps) -> void {
    for (const executor::Step& step : steps) {
      executor::for_each_slot(step,
                              [&](const Slot& slot, bool /*is_write*/) { is_touched[slot.buffer] = true; });
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) self(self, repeat->body);
    }
  };
  note(note, program.steps);
  for (const executor::Block& block : program.blocks) {
    for (executor::BufferId id : block.weights) {
      if (!is_touched[id]) program[id].initial.clear();
    }
  }
}

void find_side_by_side(const std::vector<Section>& schedule,
                       ir::IdMap<executor::BlockId, bool>& is_beside_others) {
  for (const Section& section : schedule) {
    for (const Wave& wave : section.waves) {
      if (wave.lanes.empty()) continue;
      for (std::size_t node : wave.computes) is_beside_others[block_of(section.nodes[node])] = true;
    }
    find_side_by_side(section.body, is_beside_others);
  }
}

}  // namespace

struct Engine::State {
  using Counts = std::vector<std::uint64_t>;  // by replica

  executor::Program program;
  int threads = 1;
  ir::IdMap<executor::BlockId, PreparedBlock> blocks;
  ir::IdMap<executor::BlockId, bool> repeatable;  // the same inputs give the same outputs
  ir::IdMap<executor::BlockId, Counts> runs;      // of each block, so far
  std::vector<Section> schedule;
  std::vector<ReplicaMemory> memories;  // per replica
  HostInputs inputs;
  HostOutputs outputs;
  PeakMemory peak;
  std::function<void()> between_waves;

  State(executor::Program of, const PrepareOptions& options);
  void start_counts();
  void run(std::vector<Section>& sections, int iteration, Replicas replicas);
  void repeat(Section& section, Replicas replicas);
  void run_computes(Section& section, const Wave& wave, int iteration, Replicas replicas);
  void run(Node& node, int iteration, Replicas replicas);
  void free(const std::vector<Slot>& slots, int iteration, Replicas replicas);
};

namespace {

// Runs one step in some replicas; a collective, in all of them.
struct RunStep {
  const executor::Program& program;
  ir::IdMap<executor::BlockId, PreparedBlock>& blocks;
  const ir::IdMap<executor::BlockId, bool>& repeatable;
  ir::IdMap<executor::BlockId, std::vector<std::uint64_t>>& runs;
  std::vector<ReplicaMemory>& memories;
  HostInputs& inputs;
  HostOutputs& outputs;
  Node& node;
  int iteration;
  Replicas replicas;

  const Datum& read(int replica, const Slot& slot) const {
    return memories[replica].read(*node.step, slot, iteration);
  }
  void fill(int replica, std::size_t write, const Datum& value) const {
    memories[replica].fill(node.writes[write], iteration, value);
    node.bytes[replica * node.writes.size() + write] = device_bytes_of(value);
  }
  void move(std::size_t write, const Transfer& transfer) const {
    for (int replica = replicas.first; replica < replicas.end; ++replica)
      fill(replica, write, read(replica, transfer.from));
  }

  void move_all(const std::vector<Transfer>& transfers) const {
    for (std::size_t i = 0; i < transfers.size(); ++i) move(i, transfers[i]);
  }

  // The replicas go one after the other, since a block cannot run twice at a time. A replica whose inputs are
  // the very memory of the replica before shares its outputs, as where all replicas update a variable with
  // the same reduced gradient.
  void operator()(const executor::Compute& step) const {
    std::span<const Datum* const> results;
    for (int replica = replicas.first; replica < replicas.end; ++replica) {
      node.inputs.clear();
      for (const Slot& slot : step.reads)
        node.inputs.push_back(slot.buffer.valid() ? &read(replica, slot) : nullptr);
      const bool is_known = replica > replicas.first && repeatable[step.block] && has_same_inputs();
      if (!is_known) results = run_block(step.block, replica);
      for (std::size_t i = 0; i < step.writes.size(); ++i) fill(replica, i, *results[i]);
    }
  }
  std::span<const Datum* const> run_block(executor::BlockId block, int replica) const {
    node.memory_of_inputs.clear();
    for (const Datum* input : node.inputs) node.memory_of_inputs.push_back(memory_of(input));
    const kernels::Moment moment{.run = runs[block][replica]++,
                                 .replica = static_cast<std::uint64_t>(replica),
                                 .replicas = static_cast<std::uint64_t>(program.replicas)};
    const kernels::MomentScope scope(moment);
    return blocks[block].run(node.inputs);
  }
  // What replicas share is of one shape.
  bool has_same_inputs() const {
    return std::equal(node.inputs.begin(), node.inputs.end(), node.memory_of_inputs.begin(),
                      [](const Datum* input, const void* memory) {
                        return input == nullptr || (memory != nullptr && memory_of(input) == memory);
                      });
  }
  static const void* memory_of(const Datum* input) {
    return input != nullptr && input->is_tensor() ? input->tensor.raw() : nullptr;
  }
  void operator()(const executor::LoadFromHost& step) const {
    for (int replica = replicas.first; replica < replicas.end; ++replica)
      fill(replica, 0, inputs.next(step.input, step.part, replica));
  }
  void operator()(const executor::StoreToHost& step) const {
    for (int replica = replicas.first; replica < replicas.end; ++replica) {
      outputs.offer(step.output, step.part, replica, read(replica, step.from));
    }
  }
  void operator()(const executor::CopyBetweenProcessors& step) const {
    for (std::size_t i = 0; i < step.transfers.size(); ++i) {
      if (step.transfers[i].acts.contains(iteration)) move(i, step.transfers[i]);
    }
  }
  void operator()(const executor::CopyBetweenTiles& step) const { move(0, step.transfer); }
  void operator()(const executor::LoadRemote& step) const { move_all(step.transfers); }
  void operator()(const executor::StoreRemote& step) const { move_all(step.transfers); }
  void operator()(const executor::Collective& step) const {
    run_collective(program, *node.step, step, memories, iteration);
    for (int replica = 0; replica < program.replicas; ++replica) {
      node.bytes[replica] = slot_bytes(program[step.transfer.to.buffer]);
    }
  }
  void operator()(const executor::GroupCollective& step) const {
    for (int replica = replicas.first; replica < replicas.end; ++replica) {
      run_group_collective(program, *node.step, step, memories[replica], iteration);
      for (std::size_t i = 0; i < step.transfers.size(); ++i)
        node.bytes[replica * node.writes.size() + i] = slot_bytes(program[step.transfers[i].to.buffer]);
    }
  }
  void operator()(const executor::Repeat& /*step*/) const {
    IR_CHECK(false, "a Repeat is no step of a straight list");
  }
};

}  // namespace

// Blocks that run side by side have a thread each. Their kernels are prepared for it: some split their work
// when they are made.
Engine::State::State(executor::Program of, const PrepareOptions& options)
    : program(std::move(of)),
      threads(options.threads > 0 ? options.threads : omp_get_max_threads()),
      schedule(make_schedule(program, threads)),
      inputs(program),
      outputs(program),
      peak(program),
      between_waves(options.between_waves) {
  runs.assign(std::ssize(program.blocks), Counts(program.replicas, 0));
  forget_constants_of_blocks(program);
  for (int replica = 0; replica < program.replicas; ++replica) memories.emplace_back(program, replica);
  for (executor::Buffer& buffer : program.buffers) buffer.initial.clear();
  ir::IdMap<executor::BlockId, bool> is_beside_others(std::ssize(program.blocks), false);
  find_side_by_side(schedule, is_beside_others);
  std::vector<std::shared_ptr<WorkingMemory>> working(program.processors);
  for (auto& one : working) one = std::make_shared<WorkingMemory>();
  const auto layouts = choose_layouts(program);
  OfBlocks rewritten(std::ssize(program.blocks));
  find_rewritten(program.steps, rewritten);
  blocks.reserve(std::ssize(program.blocks));
  for (executor::BlockId id : program.block_ids()) {
    PrepareOptions of_block = options;
    if (is_beside_others[id]) of_block.threads = 1;
    const int processor = program[id].processor;
    const std::vector<ir::Op>& ops = program[id].graph.ops;
    repeatable.push_back(std::none_of(ops.begin(), ops.end(), [](const ir::Op& op) {
      return op.spec->random || ir::has_body(op);  // a body may draw
    }));
    blocks.push_back(PreparedBlock(std::move(program[id].graph), of_block, layouts[id],
                                   rewritten[id].value_or(std::vector<Rewritten>{}), working[processor]));
  }
}

// A run that was broken off has left some blocks behind others. Only what may draw counts: blocks that do not
// may stand for several parts of a step.
void Engine::State::start_counts() {
  std::uint64_t most = 0;
  for (executor::BlockId id : runs.ids()) {
    if (!repeatable[id]) most = std::max(most, *std::ranges::max_element(runs[id]));
  }
  for (Counts& counts : runs) std::ranges::fill(counts, most);
}

void Engine::State::run(Node& node, int iteration, Replicas replicas) {
  if (!node.step->acts.contains(iteration)) return;
  std::visit(RunStep{program, blocks, repeatable, runs, memories, inputs, outputs, node, iteration, replicas},
             node.step->action);
  free(node.step->frees, iteration, replicas);
}

void Engine::State::free(const std::vector<Slot>& slots, int iteration, Replicas replicas) {
  for (const Slot& slot : slots) {
    for (int replica = replicas.first; replica < replicas.end; ++replica)
      memories[replica].free(slot, iteration);
  }
}

// When several computes fail, the first in program order is reported, whatever the threads do.
void Engine::State::run_computes(Section& section, const Wave& wave, int iteration, Replicas replicas) {
  if (wave.lanes.empty()) {
    for (std::size_t node : wave.computes) run(section.nodes[node], iteration, replicas);
    return;
  }
  struct Failure {
    std::size_t node = 0;
    std::exception_ptr thrown = {};
  };
  std::vector<Failure> failures(wave.lanes.size());
  kernels::for_each_on(threads, std::ssize(wave.lanes), [&](std::int64_t i) {
    Failure& failure = failures[i];
    try {
      for (std::size_t node : wave.lanes[i]) {
        failure.node = node;
        run(section.nodes[node], iteration, replicas);
      }
    } catch (...) {
      failure.thrown = std::current_exception();
    }
  });
  std::erase_if(failures, [](const Failure& one) { return !one.thrown; });
  if (!failures.empty())
    std::rethrow_exception(std::ranges::min_element(failures, {}, &Failure::node)->thrown);
}

void Engine::State::run(std::vector<Section>& sections, int iteration, Replicas replicas) {
  for (Section& section : sections) {
    for (const Wave& wave : section.waves) {
      if (between_waves) between_waves();
      for (std::size_t node : wave.moves) run(section.nodes[node], iteration, replicas);
      if (!wave.computes.empty()) run_computes(section, wave, iteration, replicas);
    }
    peak.account(section.nodes, iteration, replicas);
    repeat(section, replicas);
    free(section.frees, iteration, replicas);
    peak.account(section.frees, iteration, replicas);
  }
}

void Engine::State::repeat(Section& section, Replicas replicas) {
  const int together = section.replicas_apart ? 1 : replicas.end - replicas.first;
  for (int first = replicas.first; first < replicas.end; first += together) {
    for (int i = 0; i < section.count; ++i) run(section.body, i, {first, first + together});
  }
}

Engine::Engine(executor::Program program, const PrepareOptions& options)
    : state_(std::make_unique<State>(std::move(program), options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

std::span<const Datum> Engine::run(std::span<const Datum> inputs) {
  State& state = *state_;
  const kernels::ThreadLimit limit(state.threads);  // collectives use threads too
  state.inputs.start(inputs);
  state.outputs.start();
  state.peak.start();
  for (ReplicaMemory& memory : state.memories) memory.start();
  state.start_counts();
  state.run(state.schedule, 0, {0, state.program.replicas});
  return state.outputs.results();
}

ir::Tensor Engine::contents(const Slot& slot, int replica) const {
  const State& state = *state_;
  const executor::Buffer& properties = state.program[slot.buffer];
  if (properties.shards == 1) return state.memories[replica].contents(slot);
  for (const std::vector<int>& members : executor::replica_groups(properties.group, state.program.replicas)) {
    if (std::find(members.begin(), members.end(), replica) == members.end()) continue;
    std::vector<ir::Tensor> parts;
    for (int member : members) parts.push_back(state.memories[member].contents(slot));
    return join_parts(parts, properties.type);
  }
  IR_CHECK(false, "replica {} is in no group", replica);
}

void Engine::set_contents(const Slot& slot, const ir::Tensor& value) {
  for (int replica = 0; replica < state_->program.replicas; ++replica) set_contents(slot, value, replica);
}

void Engine::set_contents(const Slot& slot, const ir::Tensor& value, int replica) {
  IR_CHECK(value.type_and_dims() == state_->program[slot.buffer].type);
  state_->memories[replica].set_contents(slot, value);
}

const executor::Program& Engine::program() const { return state_->program; }

std::int64_t Engine::peak_bytes(int processor) const { return state_->peak.bytes(processor); }

ArenaBytes Engine::arena() const {
  std::vector<ArenaBytes> largest(state_->program.processors);
  for (executor::BlockId id : state_->program.block_ids()) {
    ArenaBytes& of_processor = largest[state_->program[id].processor];
    const ArenaBytes of_block = state_->blocks[id].arena();
    of_processor.planned = std::max(of_processor.planned, of_block.planned);
    of_processor.live = std::max(of_processor.live, of_block.live);
  }
  ArenaBytes total;
  for (const ArenaBytes& of_processor : largest) {
    total.planned += of_processor.planned;
    total.live += of_processor.live;
  }
  return total;
}

}  // namespace podium::numeric
