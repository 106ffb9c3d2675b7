#include "executor/lower/plan_memory.h"

#include <algorithm>

#include "executor/slots.h"
#include "ir/at.h"
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

std::int64_t inner_bytes(const Graph& graph, bool outputs_count);

// What the bodies of a control-flow op need while they run: the largest of them.
std::int64_t body_bytes(const ir::Op& op) {
  std::int64_t most = 0;
  ir::for_each_body(
      op, [&](std::string_view, const Graph& body) { most = std::max(most, inner_bytes(body, true)); });
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

// A list of steps: the program's own, or the body of a Repeat. Numbered in program order.
struct Scope {
  int parent = -1;
  int end = 0;             ///< one past the last scope inside it
  Step* repeat = nullptr;  ///< whose body it is
};

// A step that uses a buffer.
struct Use {
  Step* step = nullptr;
  int scope = 0;
  bool reads = false;
};

// Where every buffer is used, in program order.
class Uses {
 public:
  explicit Uses(Program& program) : of_buffer(program.buffers.size()) { visit(program.steps, -1, nullptr); }

  std::vector<std::vector<Use>> of_buffer;

  /// The step after which nobody reads what a buffer holds at its use number `k`; nullptr when somebody does.
  Step* end_of_life(const std::vector<Use>& uses, std::size_t k) const {
    const Use* next = k + 1 < uses.size() ? &uses[k + 1] : nullptr;
    if (next != nullptr && next->reads) return nullptr;
    Step* end = uses[k].step;
    std::size_t first = k;
    for (int scope = uses[k].scope; scope != 0; scope = at(scope).parent) {
      if (next != nullptr && is_inside(next->scope, scope)) break;
      // The iteration ends here; the next one begins with the first use in the loop.
      while (first > 0 && is_inside(uses[first - 1].scope, scope)) --first;
      if (uses[first].reads) end = at(scope).repeat;
    }
    return end;
  }

 private:
  void visit(std::vector<Step>& steps, int parent, Step* repeat) {
    const int scope = static_cast<int>(scopes_.size());
    scopes_.push_back({.parent = parent, .repeat = repeat});
    for (Step& step : steps) {
      step.frees.clear();
      note(step, scope, false);  // a step reads before it writes
      note(step, scope, true);
      if (auto* inner = std::get_if<Repeat>(&step.action)) visit(inner->body, scope, &step);
    }
    scopes_[static_cast<std::size_t>(scope)].end = static_cast<int>(scopes_.size());
  }
  void note(Step& step, int scope, bool writes) {
    for_each_slot(step, [&](const Slot& slot, bool is_write) {
      if (is_write != writes) return;
      std::vector<Use>& uses = of_buffer[static_cast<std::size_t>(slot.buffer.index)];
      if (uses.empty() || uses.back().step != &step) uses.push_back({&step, scope, !writes});
    });
  }
  const Scope& at(int scope) const { return scopes_[static_cast<std::size_t>(scope)]; }
  bool is_inside(int scope, int outer) const { return outer <= scope && scope < at(outer).end; }

  std::vector<Scope> scopes_;
};

}  // namespace

void plan_memory(Program& program) {
  for (executor::Block& block : program.blocks) block.temporary_bytes = inner_bytes(block.graph, false);
  const Uses all(program);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    Buffer& buffer = program.buffers[b];
    const std::vector<Use>& uses = all.of_buffer[b];
    const bool transient = buffer.slots == 1 && buffer.memory != executor::Memory::Streaming &&
                           buffer.initial.empty() && !uses.empty() && !uses.front().reads;
    buffer.always_live = !transient;
    if (!transient) continue;
    const executor::BufferId id{static_cast<std::int32_t>(b)};
    for (std::size_t k = 0; k < uses.size(); ++k) {
      if (Step* end = all.end_of_life(uses, k)) end->frees.push_back({id});
    }
  }
}

}  // namespace podium::lower
