#include "executor/numeric/prepared_block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "executor/kernels/fused.h"
#include "executor/kernels/thread_limit.h"
#include "executor/numeric/memory_plan.h"
#include "executor/numeric/optimize.h"
#include "ir/passes/bodies.h"
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

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Arena = std::unique_ptr<std::byte, FreeMemory>;

// Where it is large enough in huge pages: fewer faults, and fewer misses of the translation cache.
Arena make_arena(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t unit = bytes >= kHugePage ? kHugePage : 64;
  const std::size_t rounded = std::max((bytes + unit - 1) / unit * unit, unit);
  Arena arena(static_cast<std::byte*>(std::aligned_alloc(unit, rounded)));
  if (!arena) throw Error("out of memory: {} bytes for the activations of one block", bytes);
  if (unit == kHugePage) madvise(arena.get(), rounded, MADV_HUGEPAGE);  // advice: nothing depends on it
  return arena;
}

// An op with what it needs at run time.
struct Task {
  const Op* op = nullptr;
  const KernelSpec* kernel = nullptr;
  PreparedKernel run = {};
  bool is_static = false;
  std::vector<const Datum*> inputs = {};
  std::vector<Datum*> outputs = {};
  std::vector<Type> prepared_for = {};  // of a dynamic task: the input types of the last preparation
  std::vector<Type> output_types = {};
};

bool all_static(const Graph& graph, const std::vector<ValueId>& ids) {
  return std::all_of(ids.begin(), ids.end(), [&](ValueId id) {
    return !id.valid() || (graph[id].type.is_static() && graph[id].type.element != ir::DataType::String);
  });
}

// Refuses what the machine cannot hold before a kernel prepares itself for so large a result.
void check_fits_machine(const Graph& graph, const Op& op) {
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const double most = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  for (ValueId id : op.outputs) {
    if (!id.valid() || !graph[id].type.is_static()) continue;
    const Type& type = graph[id].type;
    const double bytes = static_cast<double>(type.element_count()) * static_cast<double>(storage_bytes(type.element));
    if (bytes <= most) continue;
    throw Error("out of memory: output '{}' is {}, {:.0f} bytes, the machine has {:.0f}", graph[id].name,
                to_string(type), bytes, most);
  }
}

// Never the number that the run has, for sums come in an order that depends on it. A small op is prepared for one,
// however many there are: waking others takes longer than it does.
int threads_to_prepare_for(const ir::TypedOp& typed) {
  constexpr double kManyOperations = 1e6;
  constexpr double kManyBytes = 2e5;
  const ir::Work work = ir::work_of(typed);
  const bool is_small = work.bytes > 0 && work.bytes < kManyBytes && work.flop < kManyOperations;
  return is_small ? 1 : kernels::machine_threads();
}

// Runs a step of an op; its errors name the op.
template <class Step>
void at_op(const Graph& graph, const Op& op, Step step) {
  const auto rethrow = [&](const Error& error) {
    const std::string where = graph.describe(op);
    throw std::string_view(error.what()).starts_with(where) ? error : error.at(where);
  };
  try {
    step();
  } catch (const Error& error) {
    rethrow(error);
  } catch (const std::bad_alloc&) {
    rethrow(Error("out of memory"));
  }
}

Graph optimized(Graph graph) {
  optimize(graph);
  return graph;
}

}  // namespace

struct PreparedBlock::State {
  Graph graph;
  PrepareOptions options;
  std::vector<Datum> data;               // per value
  std::vector<Task> tasks;
  std::vector<const Datum*> outputs;
  Arena arena;
  std::size_t arena_bytes = 0;
  Arena scratch;
  std::size_t scratch_bytes = 0;
  std::vector<std::vector<std::size_t>> dies_after;  // per task: dynamic values to free

  explicit State(Graph of) : graph(std::move(of)), data(graph.values.size()) {}

  Datum& datum(ValueId id) { return data[static_cast<std::size_t>(id.index)]; }

  // What nothing may write to again is handed on; what is in the body's arena is copied, as the next iteration
  // writes there.
  kernels::BodyRunner body_runner(const Graph& body) const {
    auto block = std::make_shared<PreparedBlock>(body, options);
    std::vector<std::size_t> handed_on;  // per output: the input that it is, if any
    for (ValueId output : body.outputs) {
      const auto found = std::find(body.inputs.begin(), body.inputs.end(), output);
      handed_on.push_back(static_cast<std::size_t>(found - body.inputs.begin()));
    }
    return [block, handed_on](std::span<const Datum> inputs) {
      std::vector<const Datum*> pointers(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) pointers[i] = &inputs[i];
      const auto given = block->run(pointers);
      std::vector<Datum> results(given.size());
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (handed_on[i] < inputs.size()) {
          results[i] = inputs[handed_on[i]];
        } else {
          const bool shares = !given[i]->is_tensor() || given[i]->tensor.keeps_memory();
          results[i] = shares ? *given[i] : Datum(given[i]->tensor.clone());
        }
      }
      return results;
    };
  }

  void prepare(Task& task, ir::TypedOp typed) {
    const kernels::ThreadLimit limit(threads_to_prepare_for(typed));
    kernels::PrepareContext context(*task.op);
    context.input_types = std::move(typed.input_types);
    context.constants = std::move(typed.constants);
    context.output_types = std::move(typed.output_types);
    context.body_preparer = [this](const Graph& body) { return body_runner(body); };
    context.seed = options.seed;
    task.run = task.kernel->prepare(context);
    if (context.scratch_bytes > scratch_bytes) {
      scratch_bytes = context.scratch_bytes;
      scratch = make_arena(scratch_bytes);
    }
  }

  void make_tasks();
  void release_copied(const Op& op, std::vector<int>& readers);
  void plan();
  void find_deaths();
  void run_dynamic(Task& task);
};

// Weights that every reader has packed for itself would only take memory a second time.
void PreparedBlock::State::release_copied(const Op& op, std::vector<int>& readers) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId id = op.inputs[i];
    if (!id.valid() || !graph.is_constant(id) || !kernels::has_own_copy(op, i)) continue;
    if (--readers[static_cast<std::size_t>(id.index)] > 0) continue;
    graph[id].constant.reset();
    datum(id) = Datum();
  }
}

void PreparedBlock::State::make_tasks() {
  tasks.reserve(graph.ops.size());
  std::vector<int> readers = ir::use_counts(graph);
  for (const Op& op : graph.ops) {
    Task task{.op = &op, .kernel = kernels::find_kernel(op.spec->domain, op.spec->name)};
    if (task.kernel == nullptr) throw Error("{}: there is no kernel for it", graph.describe(op));
    task.is_static = !ir::has_body(op) && all_static(graph, op.inputs) && all_static(graph, op.outputs);
    for (ValueId id : op.inputs) task.inputs.push_back(id.valid() ? &datum(id) : nullptr);
    for (ValueId id : op.outputs) task.outputs.push_back(id.valid() ? &datum(id) : nullptr);
    if (task.is_static || ir::has_body(op)) {
      at_op(graph, op, [&] {
        if (!op.spec->view) check_fits_machine(graph, op);
        prepare(task, ir::TypedOp(graph, op));
        release_copied(op, readers);
      });
    }
    tasks.push_back(std::move(task));
  }
}

// Views and in-place outputs share the storage of the input they stand for; every storage gets one lifetime.
void PreparedBlock::State::plan() {
  const std::size_t count = graph.values.size();
  std::vector<std::size_t> storage_of(count);
  for (std::size_t i = 0; i < count; ++i) storage_of[i] = i;
  std::vector<bool> planned(count, false);  // storage lives in the arena
  std::vector<Lifetime> lives(count);
  const std::vector<int> uses = ir::use_counts(graph);
  std::vector<int> uses_left(count, 0);  // per storage
  const int end = static_cast<int>(tasks.size());

  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Op& op = *tasks[t].op;
    const int now = static_cast<int>(t);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid() || !tasks[t].is_static) continue;
      const auto out = static_cast<std::size_t>(op.outputs[i].index);
      const Type& type = graph[op.outputs[i]].type;
      const std::size_t bytes = static_cast<std::size_t>(type.element_count()) * storage_bytes(type.element);
      std::size_t storage = out;
      for (std::size_t k = 0; i == 0 && k < op.inputs.size(); ++k) {
        if (!op.inputs[k].valid()) continue;
        const std::size_t candidate = storage_of[static_cast<std::size_t>(op.inputs[k].index)];
        const bool view = op.spec->view && k == 0;
        const bool in_place = (tasks[t].kernel->in_place >> k & 1U) != 0 && uses_left[candidate] == 1 &&
                              lives[candidate].bytes == bytes &&
                              graph[op.inputs[k]].type.element_count() == type.element_count();
        if (planned[candidate] && (view || in_place)) {
          storage = candidate;
          break;
        }
      }
      storage_of[out] = storage;
      if (storage == out) {
        planned[out] = true;
        lives[out] = {.bytes = bytes, .first = now, .last = now};
      }
      uses_left[storage] += uses[out];
      lives[storage].last = std::max(lives[storage].last, now);
    }
    for (ValueId id : op.inputs) {
      if (!id.valid()) continue;
      const std::size_t storage = storage_of[static_cast<std::size_t>(id.index)];
      --uses_left[storage];
      lives[storage].last = std::max(lives[storage].last, now);
    }
  }
  for (ValueId id : graph.outputs) lives[storage_of[static_cast<std::size_t>(id.index)]].last = end;

  std::vector<Lifetime> wanted;
  std::vector<std::size_t> index(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (!planned[i]) continue;
    index[i] = wanted.size();
    wanted.push_back(lives[i]);
  }
  const MemoryPlan memory = plan_memory(wanted);
  arena_bytes = memory.bytes;
  arena = make_arena(arena_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const Type& type = graph.values[i].type;
    if (planned[storage_of[i]] && !graph.values[i].constant && type.is_static()) {
      std::byte* memory_of_value = arena.get() + memory.offsets[index[storage_of[i]]];
      data[i] = ir::Tensor::view(type.element, type.dims, memory_of_value);
    }
  }
}

void PreparedBlock::State::find_deaths() {
  constexpr std::size_t kNever = ~std::size_t{0};
  std::vector<std::size_t> last_use(graph.values.size(), kNever);
  std::vector<bool> dynamic(graph.values.size(), false);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (ValueId id : tasks[t].op->inputs) {
      if (id.valid()) last_use[static_cast<std::size_t>(id.index)] = t;
    }
    for (ValueId id : tasks[t].op->outputs) {
      if (!id.valid() || tasks[t].is_static) continue;
      dynamic[static_cast<std::size_t>(id.index)] = true;
      last_use[static_cast<std::size_t>(id.index)] = t;
    }
  }
  for (ValueId id : graph.outputs) last_use[static_cast<std::size_t>(id.index)] = kNever;
  dies_after.resize(tasks.size());
  for (std::size_t i = 0; i < last_use.size(); ++i) {
    if (dynamic[i] && last_use[i] != kNever) dies_after[last_use[i]].push_back(i);
  }
}

void PreparedBlock::State::run_dynamic(Task& task) {
  if (ir::has_body(*task.op)) {
    for (Datum* output : task.outputs) {
      if (output != nullptr) *output = Datum();
    }
    task.run({task.inputs, task.outputs, scratch.get()});
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
  const bool prepared = task.run && typed.input_types == task.prepared_for && typed.output_types == task.output_types;
  if (!prepared) {
    task.prepared_for = typed.input_types;
    task.output_types = typed.output_types;
    // Numbers that are known only now may differ in the next run: the kernel must read them then.
    for (std::size_t i = 0; i < typed.constants.size(); ++i) {
      if (!graph.is_constant(task.op->inputs[i])) typed.constants[i] = nullptr;
    }
    prepare(task, std::move(typed));
  }
  task.run({task.inputs, task.outputs, scratch.get()});
}

PreparedBlock::PreparedBlock(Graph graph, const PrepareOptions& options)
    : state_(std::make_unique<State>(options.fuse ? optimized(std::move(graph)) : std::move(graph))) {
  State& state = *state_;
  state.options = options;
  for (std::size_t i = 0; i < state.graph.values.size(); ++i) {
    if (state.graph.values[i].constant) state.data[i] = *state.graph.values[i].constant;
  }
  state.make_tasks();
  state.plan();
  state.find_deaths();
  for (ValueId id : state.graph.outputs) state.outputs.push_back(&state.datum(id));
}

PreparedBlock::~PreparedBlock() = default;
PreparedBlock::PreparedBlock(PreparedBlock&&) noexcept = default;
PreparedBlock& PreparedBlock::operator=(PreparedBlock&&) noexcept = default;

std::size_t PreparedBlock::arena_bytes() const { return state_->arena_bytes; }

std::span<const Datum* const> PreparedBlock::run(std::span<const Datum* const> inputs) {
  State& state = *state_;
  IR_CHECK(inputs.size() == state.graph.inputs.size());
  const kernels::ThreadLimit limit(state.options.threads);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) state.datum(state.graph.inputs[i]) = *inputs[i];
  }
  for (std::size_t t = 0; t < state.tasks.size(); ++t) {
    Task& task = state.tasks[t];
    at_op(state.graph, *task.op, [&] {
      if (task.is_static) {
        task.run({task.inputs, task.outputs, state.scratch.get()});
      } else {
        state.run_dynamic(task);
      }
    });
    for (std::size_t dead : state.dies_after[t]) state.data[dead] = Datum();
  }
  return state.outputs;
}

}  // namespace podium::numeric
