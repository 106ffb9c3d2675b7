// A block is prepared in five steps: rewrite the graph for speed (optimize); make a task of each op and
// prepare its kernel where all types are static; note where inputs are read and which outputs are inputs;
// plan memory; find where values of dynamic size die.
// Memory: find_storages says which values share storage (views, in-place ops). Storages with outputs have
// memory of their own that is renewed for each run; all others lie in one arena by their live ranges
// (plan_memory). A dynamic task infers its types from the actual inputs in each run and is prepared again
// only when they change.
#include "executor/numeric/prepared_block.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_map>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/tools/gives_nothing.h"
#include "executor/kernels/tools/moment.h"
#include "executor/kernels/tools/packed_store.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/numeric/arena_plan.h"
#include "executor/numeric/hand_on.h"
#include "executor/numeric/optimize_block.h"
#include "executor/numeric/output_memory.h"
#include "executor/numeric/patient_threads.h"
#include "executor/numeric/thread_trial.h"
#include "ir/bodies.h"
#include "ir/interruption.h"
#include "ir/machine_memory.h"
#include "ir/work.h"

namespace podium::numeric {

using ir::Datum;
using ir::Graph;
using ir::Op;
using ir::OpId;
using ir::Type;
using ir::ValueId;
using kernels::KernelSpec;
using kernels::PreparedKernel;

namespace {

// An op with what it needs at run time.
struct Task {
  const Op* op = nullptr;
  const KernelSpec* kernel = nullptr;
  PreparedKernel run = {};
  bool is_static = false;
  bool may_pay_alone = false;
  std::vector<const Datum*> inputs = {};
  std::vector<Datum*> outputs = {};
  std::vector<Type> prepared_for = {};  // a dynamic task's input types at its last preparation
  std::vector<Type> output_types = {};
};

bool all_static(const Graph& graph, const std::vector<ValueId>& ids) {
  return std::ranges::all_of(ir::PresentValues(ids), [&](ValueId id) {
    return graph[id].type.is_static() && graph[id].type.element != ir::DataType::String;
  });
}

// Refuses an output that the machine cannot hold, before a kernel prepares itself for it.
void check_fits_machine(const Graph& graph, const Op& op) {
  const auto most = static_cast<double>(ir::machine_memory());
  for (ValueId id : outputs_of(op)) {
    const Type& type = graph[id].type;
    if (!type.is_static()) continue;
    const double bytes =
        static_cast<double>(type.element_count()) * static_cast<double>(storage_bytes(type.element));
    if (bytes <= most) continue;
    throw Error("out of memory: output '{}' is {}, {:.0f} bytes, the machine has {:.0f}", graph[id].name,
                to_string(type), bytes, most);
  }
}

// Never the number that the run has, for sums come in an order that depends on it. A small op is prepared for
// one, however many there are: waking others takes longer than it does.
int threads_to_prepare_for(const ir::Work& work) {
  constexpr double kManyOperations = 1e6;
  constexpr double kManyBytes = 2e5;
  const bool is_small = work.bytes > 0 && work.bytes < kManyBytes && work.flop < kManyOperations;
  return is_small ? 1 : kernels::machine_threads();
}

// One that threads may share, and that is over before it has paid for waking them, or not. Less is one
// thread's in any case, and more pays for all.
bool may_pay_alone(const ir::Work& work) {
  constexpr double kLeast = 3e4;  // operations and bytes
  constexpr double kManyOperations = 2e7;
  constexpr double kManyBytes = 4e6;
  return work.flop + work.bytes > kLeast && work.flop < kManyOperations && work.bytes < kManyBytes;
}

// A value and where it lies in the arena.
struct InArena {
  ValueId value;
  std::size_t offset = 0;
};

// Runs a step of an op; its errors name the op.
template <class Step>
void at_op(const Graph& graph, const Op& op, Step step) {
  const auto rethrow = [&](const Error& error) {
    const std::string where = graph.describe(op);
    throw error.is_at(where) ? error : error.at(where);
  };
  try {
    step();
  } catch (const Error& error) {
    rethrow(error);
  } catch (const std::bad_alloc&) {
    rethrow(Error("out of memory"));
  }
}

// A body whose captured constants are constants of its own, which no run gives other numbers: the inputs that
// they were are read by nothing. So weights of a body are packed like those outside.
Graph with_own_constants(const Op& op, Graph body) {
  for (std::size_t i = body.inputs.size() - op.captures; i < body.inputs.size(); ++i) {
    ValueId& input = body.inputs[i];
    if (!body.is_constant(input)) continue;
    const Type type = body[input].type;
    input = body.add_value(body.fresh_name(body[input].name), type);
  }
  return body;
}

Graph optimized(Graph graph, bool fuse, const Layouts& layouts) {
  if (fuse) optimize_block(graph, layouts);
  hand_on_inputs(graph);
  hand_on_zeros(graph);
  return graph;
}

}  // namespace

struct PreparedBlock::State {
  Graph graph;
  PrepareOptions options;
  ir::IdMap<ValueId, Datum> data;
  std::vector<Task> tasks;
  std::vector<const Datum*> outputs;
  std::vector<std::vector<const Datum**>> readers_of_input;  // per input: where tasks find it
  std::vector<std::size_t> handed_on;                        // inputs that are outputs
  std::vector<OutputMemory> output_memories;
  MemoryPool pool;
  std::shared_ptr<WorkingMemory> working;
  ArenaBytes arena_bytes = {};
  std::vector<InArena> in_arena;
  const std::byte* placed_in = nullptr;            // the arena that the values in it point into now
  std::vector<std::vector<ValueId>> dies_after;    // per task: dynamic values to free
  std::optional<ThreadTrial> trial;                // where an op may pay by one thread
  kernels::PackedBefore* packed_before = nullptr;  // while tasks are made

  State(Graph of, std::shared_ptr<WorkingMemory> memory)
      : graph(std::move(of)), data(std::ssize(graph.values)), working(std::move(memory)) {}

  Datum& datum(ValueId id) { return data[id]; }

  kernels::BodyRunner body_runner(const Op& op, const Graph& body) const {
    auto block = std::make_shared<PreparedBlock>(with_own_constants(op, body), options);
    // Every run of the body for one run of this block draws other numbers.
    return
        [block, last = kernels::Moment{}, repeat = std::uint64_t{0}](std::span<const Datum> inputs) mutable {
          kernels::Moment here = kernels::MomentScope::current();
          repeat = last == here ? repeat + 1 : 1;
          last = here;
          here.repeat = here.repeat * 0x9E3779B97F4A7C15U + repeat;  // of a body in a body, by both
          const kernels::MomentScope scope(here);
          std::vector<const Datum*> pointers(inputs.size());
          for (std::size_t i = 0; i < inputs.size(); ++i) pointers[i] = &inputs[i];
          const auto given = block->run(pointers);
          std::vector<Datum> results(given.size());
          for (std::size_t i = 0; i < given.size(); ++i) results[i] = *given[i];
          return results;
        };
  }

  void prepare(Task& task, ir::TypedOp typed) {
    const ir::Work work = ir::work_of(typed);
    task.may_pay_alone = task.is_static && may_pay_alone(work);
    const kernels::ThreadLimit limit(threads_to_prepare_for(work));
    kernels::PrepareContext context(*task.op);
    context.input_types = std::move(typed.input_types);
    context.constants = std::move(typed.constants);
    context.output_types = std::move(typed.output_types);
    // A kernel may prepare a body when it runs: the task has moved by then, its op has not.
    context.body_preparer = [this, op = task.op](const Graph& body) { return body_runner(*op, body); };
    context.seed = options.seed;
    context.packed_store = options.packed.get();
    context.packed_before = packed_before;
    if (kernels::gives_nothing(*task.op, context.output_types)) {
      task.run = [](const kernels::RunContext&) {};
      return;
    }
    task.run = task.kernel->prepare(context);
    working->need_scratch(context.scratch_bytes);
  }

  void make_tasks();
  void release_copied(const Op& op, ir::IdMap<ValueId, int>& readers);
  void find_inputs_and_outputs();
  void plan(const std::vector<Rewritten>& rewritten);
  void place_in_arena();
  void find_deaths();
  void run_dynamic(Task& task);

  void run(Task& task, ThreadTrial::Way way) {
    const bool is_alone = task.may_pay_alone && way == ThreadTrial::Way::Alone;
    const kernels::ThreadLimit limit(is_alone ? 1 : 0);
    if (task.is_static) {
      task.run({task.inputs, task.outputs, working->scratch()});
    } else {
      run_dynamic(task);
    }
  }
  void run_tasks(ThreadTrial::Way way);

  // Runs and tells who wants to know how long it took.
  template <class Run>
  void timed(const Task& task, const Run& run) {
    if (!options.after_op) return run();
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    options.after_op(graph, *task.op, seconds.count());
  }
};

// Weights that every reader has packed for itself would only take memory a second time.
void PreparedBlock::State::release_copied(const Op& op, ir::IdMap<ValueId, int>& readers) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId id = op.inputs[i];
    if (!id.valid() || !graph.is_constant(id) || !kernels::has_own_copy(op, i)) continue;
    if (--readers[id] > 0) continue;
    if (const ir::NumberSource* source = graph[id].constant->source()) source->leave_memory();
    graph[id].constant.reset();
    datum(id) = Datum();
  }
}

void PreparedBlock::State::make_tasks() {
  tasks.reserve(graph.ops.size());
  kernels::PackedBefore packed;
  packed_before = &packed;
  auto readers = ir::use_counts(graph);
  for (const Op& op : graph.ops) {
    Task task{.op = &op, .kernel = kernels::find_kernel(op.spec->domain, op.spec->name)};
    if (task.kernel == nullptr) throw Error("there is no kernel for it").at(graph.describe(op));
    const bool runs_bodies = ir::has_body(op) && !kernels::stands_for_body(op);
    task.is_static = !runs_bodies && all_static(graph, op.inputs) && all_static(graph, op.outputs);
    for (ValueId id : op.inputs) task.inputs.push_back(id.valid() ? &datum(id) : nullptr);
    for (ValueId id : op.outputs) task.outputs.push_back(id.valid() ? &datum(id) : nullptr);
    if (task.is_static || runs_bodies) {
      at_op(graph, op, [&] {
        if (!op.spec->view) check_fits_machine(graph, op);
        prepare(task, ir::TypedOp(graph, op));
        release_copied(op, readers);
      });
    }
    tasks.push_back(std::move(task));
  }
  packed_before = nullptr;
}

void PreparedBlock::State::find_inputs_and_outputs() {
  readers_of_input.resize(graph.inputs.size());
  std::unordered_map<const Datum*, std::size_t> place;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) place[&datum(graph.inputs[i])] = i;
  const auto note = [&](const Datum*& pointer) {
    const auto found = place.find(pointer);
    if (found != place.end()) readers_of_input[found->second].push_back(&pointer);
  };
  for (Task& task : tasks) std::for_each(task.inputs.begin(), task.inputs.end(), note);
  for (ValueId id : graph.outputs) {
    outputs.push_back(&datum(id));
    const auto input = place.find(&datum(id));
    if (input != place.end()) handed_on.push_back(input->second);
  }
}

// Storages with outputs have memory of their own, the others share the arena.
void PreparedBlock::State::plan(const std::vector<Rewritten>& rewritten) {
  constexpr std::size_t kNone = ~std::size_t{0};
  ir::IdMap<OpId, bool> is_static;
  for (const Task& task : tasks) is_static.push_back(task.is_static);
  const Storages storages = find_storages(graph, is_static, rewritten);
  ir::IdMap<ValueId, std::size_t> own(std::ssize(graph.values), kNone);  // of storages: in output_memories
  for (ValueId id : graph.outputs) {
    if (!storages.planned[storages[id]] || own[storages[id]] != kNone) continue;
    own[storages[id]] = output_memories.size();
    const auto taken = storages.taken_from.find(storages[id]);
    output_memories.push_back({.bytes = storages.lives[storages[id]].bytes});
    if (taken != storages.taken_from.end()) output_memories.back().input = taken->second;
  }
  std::vector<Lifetime> wanted;
  ir::IdMap<ValueId, std::size_t> index(std::ssize(graph.values), kNone);
  for (ValueId id : graph.value_ids()) {
    if (!storages.planned[id] || own[id] != kNone) continue;
    index[id] = wanted.size();
    wanted.push_back(storages.lives[id]);
  }
  const ArenaPlan memory = plan_arena(wanted);
  arena_bytes = memory.bytes;
  working->need_arena(arena_bytes.planned);
  ir::IdMap<ValueId, bool> is_output(std::ssize(graph.values), false);
  for (ValueId id : graph.outputs) is_output[id] = true;
  for (ValueId id : graph.value_ids()) {
    const Type& type = graph[id].type;
    const ValueId storage = storages[id];
    if (!storages.planned[storage] || graph.is_constant(id) || !type.is_static()) continue;
    data[id] = ir::Tensor::view(type.element, type.dims, nullptr);
    if (own[storage] == kNone) {
      in_arena.push_back({id, memory.offsets[index[storage]]});
      continue;
    }
    OutputMemory& output = output_memories[own[storage]];
    (is_output[id] ? output.outputs : output.others).push_back(&data[id].tensor);
  }
}

// Blocks that share an arena with this one may have needed a larger one since.
void PreparedBlock::State::place_in_arena() {
  std::byte* arena = working->arena();
  if (arena == placed_in) return;
  for (const InArena& one : in_arena) {
    ir::Tensor& value = data[one.value].tensor;
    value = ir::Tensor::view(value.type(), value.dims(), arena + one.offset);
  }
  placed_in = arena;
}

void PreparedBlock::State::find_deaths() {
  constexpr std::size_t kNever = ~std::size_t{0};
  ir::IdMap<ValueId, std::size_t> last_use(std::ssize(graph.values), kNever);
  ir::IdMap<ValueId, bool> dynamic(std::ssize(graph.values), false);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (ValueId id : inputs_of(*tasks[t].op)) last_use[id] = t;
    if (tasks[t].is_static) continue;
    for (ValueId id : outputs_of(*tasks[t].op)) {
      dynamic[id] = true;
      last_use[id] = t;
    }
  }
  for (ValueId id : graph.outputs) last_use[id] = kNever;
  dies_after.resize(tasks.size());
  for (ValueId id : graph.value_ids()) {
    if (dynamic[id] && last_use[id] != kNever) dies_after[last_use[id]].push_back(id);
  }
}

void PreparedBlock::State::run_dynamic(Task& task) {
  if (ir::has_body(*task.op)) {
    for (Datum* output : task.outputs) {
      if (output != nullptr) *output = Datum();
    }
    task.run({task.inputs, task.outputs, working->scratch()});
    return;
  }
  ir::TypedOp typed(*task.op);
  for (const Datum* input : task.inputs) {
    typed.input_types.push_back(input == nullptr ? Type{} : ir::type_of(*input));
    typed.constants.push_back(input != nullptr && input->is_tensor() ? &input->tensor : nullptr);
  }
  typed.output_types = ir::infer_outputs(*task.op, task.inputs);
  for (std::size_t i = 0; i < task.outputs.size(); ++i) {
    if (task.outputs[i] == nullptr) continue;
    const Type& type = typed.output_types[i];
    *task.outputs[i] = type.is_static() ? Datum(ir::Tensor(type.element, type.dims)) : Datum();
  }
  const bool prepared =
      task.run && typed.input_types == task.prepared_for && typed.output_types == task.output_types;
  if (!prepared) {
    task.prepared_for = typed.input_types;
    task.output_types = typed.output_types;
    // Numbers that are known only now may differ in the next run: the kernel must read them then.
    for (std::size_t i = 0; i < typed.constants.size(); ++i) {
      if (!graph.is_constant(task.op->inputs[i])) typed.constants[i] = nullptr;
    }
    prepare(task, std::move(typed));
  }
  task.run({task.inputs, task.outputs, working->scratch()});
}

PreparedBlock::PreparedBlock(Graph graph, const PrepareOptions& options, const Layouts& layouts,
                             const std::vector<Rewritten>& rewritten, std::shared_ptr<WorkingMemory> working)
    : state_(std::make_unique<State>(optimized(std::move(graph), options.fuse, layouts),
                                     working ? std::move(working) : std::make_shared<WorkingMemory>())) {
  State& state = *state_;
  state.options = options;
  for (ValueId id : state.graph.value_ids()) {
    if (state.graph.is_constant(id)) state.data[id] = *state.graph[id].constant;
  }
  state.make_tasks();
  if (std::ranges::any_of(state.tasks, &Task::may_pay_alone)) state.trial.emplace();
  state.find_inputs_and_outputs();
  state.plan(rewritten);
  state.find_deaths();
}

PreparedBlock::~PreparedBlock() = default;
PreparedBlock::PreparedBlock(PreparedBlock&&) noexcept = default;
PreparedBlock& PreparedBlock::operator=(PreparedBlock&&) noexcept = default;

ArenaBytes PreparedBlock::arena() const { return state_->arena_bytes; }

void PreparedBlock::State::run_tasks(ThreadTrial::Way way) {
  constexpr std::size_t kWatchEvery = 16;  // tasks: the least of them take less than a reading of the clock
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    Task& task = tasks[t];
    ir::look_for_interruption();
    if (t % kWatchEvery == 0 && kernels::may_use_threads()) watch_for_others();
    at_op(graph, *task.op, [&] { timed(task, [&] { run(task, way); }); });
    for (ValueId dead : dies_after[t]) data[dead] = Datum();
  }
}

std::span<const Datum* const> PreparedBlock::run(std::span<const Datum* const> inputs) {
  State& state = *state_;
  IR_CHECK(inputs.size() == state.graph.inputs.size());
  const kernels::ThreadLimit limit(state.options.threads);
  state.place_in_arena();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Datum* input = inputs[i] != nullptr ? inputs[i] : &state.datum(state.graph.inputs[i]);
    for (const Datum** reader : state.readers_of_input[i]) *reader = input;
  }
  for (std::size_t i : state.handed_on) {
    if (inputs[i] != nullptr) state.datum(state.graph.inputs[i]) = *inputs[i];
  }
  for (OutputMemory& memory : state.output_memories)
    memory.renew(state.pool, memory.input ? inputs[*memory.input] : nullptr);
  if (!state.trial || !kernels::may_use_threads()) {
    state.run_tasks(ThreadTrial::Way::All);
    return state.outputs;
  }
  const auto start = std::chrono::steady_clock::now();
  state.run_tasks(state.trial->next());
  state.trial->note(std::chrono::steady_clock::now() - start);
  return state.outputs;
}

}  // namespace podium::numeric
