#include "executor/lower/plan_memory.h"

#include <algorithm>

#include "ir/passes/bodies.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::Program;
using executor::Repeat;
using executor::Slot;
using executor::Step;
using ir::Graph;
using ir::ValueId;

std::size_t at(ValueId id) { return static_cast<std::size_t>(id.index); }

std::int64_t inner_bytes(const Graph& graph, bool outputs_count);

// What the bodies of a control-flow op need while they run: the largest of them.
std::int64_t body_bytes(const ir::Op& op) {
  std::int64_t most = 0;
  ir::for_each_body(op, [&](std::string_view, const Graph& body) { most = std::max(most, inner_bytes(body, true)); });
  return most;
}

// The largest sum of values that are alive at once inside a graph.
std::int64_t inner_bytes(const Graph& graph, bool outputs_count) {
  constexpr std::int32_t kOutside = -1;
  const std::size_t count = graph.values.size();
  std::vector<std::int32_t> storage(count, kOutside);  // the value whose memory it is
  std::vector<std::size_t> last_use(count, 0);
  std::vector<bool> is_output(count, false);
  for (ValueId id : graph.outputs) is_output[at(id)] = true;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    for (ValueId id : op.inputs) {
      if (id.valid() && storage[at(id)] != kOutside) last_use[static_cast<std::size_t>(storage[at(id)])] = i;
    }
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      const ValueId id = op.outputs[k];
      if (!id.valid()) continue;
      const bool shares = op.spec->view && k == 0 && op.inputs[0].valid();
      if (shares) {
        storage[at(id)] = storage[at(op.inputs[0])];
      } else if (!is_output[at(id)] || outputs_count) {
        storage[at(id)] = id.index;
        last_use[at(id)] = outputs_count && is_output[at(id)] ? graph.ops.size() : i;
      }
    }
  }
  std::vector<std::vector<std::int64_t>> dies(graph.ops.size() + 1);
  for (std::size_t v = 0; v < count; ++v) {
    if (storage[v] == static_cast<std::int32_t>(v)) {
      dies[last_use[v]].push_back(executor::device_bytes(graph.values[v].type));
    }
  }
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    for (ValueId id : op.outputs) {
      if (id.valid() && storage[at(id)] == id.index) live += executor::device_bytes(graph[id].type);
    }
    most = std::max(most, live + (ir::has_body(op) ? body_bytes(op) : 0));
    for (std::int64_t bytes : dies[i]) live -= bytes;
  }
  return most;
}

// A list of steps: the program's own, or the body of a Repeat.
struct Scope {
  int parent = -1;
  int position = 0;  ///< of its Repeat in the parent
  int depth = 0;
  std::vector<Step>* steps = nullptr;
};

struct Access {
  int scope = 0;
  int position = 0;
  bool reads = false;
};

// Where every buffer is used, in program order.
class Accesses {
 public:
  explicit Accesses(Program& program) : of_buffer(program.buffers.size()) { visit(program.steps, -1, 0, 0); }

  std::vector<Scope> scopes;
  std::vector<std::vector<Access>> of_buffer;

 private:
  void visit(std::vector<Step>& steps, int parent, int position, int depth) {
    const int scope = static_cast<int>(scopes.size());
    scopes.push_back({parent, position, depth, &steps});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const int here = static_cast<int>(i);
      for (const Slot& slot : reads_of(steps[i])) note(slot, {scope, here, true});
      for (const Slot& slot : writes_of(steps[i])) note(slot, {scope, here, false});
      if (auto* repeat = std::get_if<Repeat>(&steps[i].action)) visit(repeat->body, scope, here, depth + 1);
    }
  }
  void note(const Slot& slot, Access access) {
    of_buffer[static_cast<std::size_t>(slot.buffer.index)].push_back(access);
  }
};

// The innermost list of steps that holds all accesses.
int common_scope(const std::vector<Scope>& scopes, const std::vector<Access>& accesses) {
  int common = accesses.front().scope;
  for (const Access& access : accesses) {
    int other = access.scope;
    while (common != other) {
      int& deeper = scopes[static_cast<std::size_t>(common)].depth >= scopes[static_cast<std::size_t>(other)].depth
                        ? common
                        : other;
      deeper = scopes[static_cast<std::size_t>(deeper)].parent;
    }
  }
  return common;
}

int position_in(const std::vector<Scope>& scopes, int scope, Access access) {
  while (access.scope != scope) {
    const Scope& inner = scopes[static_cast<std::size_t>(access.scope)];
    access = {inner.parent, inner.position, access.reads};
  }
  return access.position;
}

}  // namespace

void plan_memory(Program& program) {
  for (executor::Block& block : program.blocks) block.temporary_bytes = inner_bytes(block.graph, false);
  Accesses accesses(program);
  for (const Scope& scope : accesses.scopes) {
    for (Step& step : *scope.steps) step.frees.clear();
  }
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    Buffer& buffer = program.buffers[b];
    const std::vector<Access>& uses = accesses.of_buffer[b];
    const bool transient = buffer.slots == 1 && buffer.memory != executor::Memory::Streaming &&
                           buffer.initial.empty() && !uses.empty() && !uses.front().reads;
    buffer.always_live = !transient;
    if (!transient) continue;
    const int scope = common_scope(accesses.scopes, uses);
    const int last = position_in(accesses.scopes, scope, uses.back());
    const executor::BufferId id{static_cast<std::int32_t>(b)};
    (*accesses.scopes[static_cast<std::size_t>(scope)].steps)[static_cast<std::size_t>(last)].frees.push_back({id});
  }
}

}  // namespace podium::lower
