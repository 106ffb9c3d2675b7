#include "executor/lower/program/plan_memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "executor/lower/placed/block_memory.h"
#include "executor/slots.h"

namespace podium::lower {
namespace {

using executor::BlockId;
using executor::Buffer;
using executor::BufferId;
using executor::Program;
using executor::Repeat;
using executor::Slot;
using executor::Step;

// Of each block, the outputs that some run of it writes where it reads an input.
class Overwrites {
 public:
  explicit Overwrites(const Program& program) : of_block(std::ssize(program.blocks)), program_(program) {
    note(program.steps);
  }

  ir::IdMap<BlockId, std::set<Overwrite>> of_block;

 private:
  void note(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<Repeat>(&step.action)) note(repeat->body);
      const auto* compute = std::get_if<executor::Compute>(&step.action);
      if (compute != nullptr && !program_[compute->block].graph.ops.empty()) note(*compute);
    }
  }
  void note(const executor::Compute& compute) {
    std::multimap<BufferId, int> reads;
    for (int r = 0; r < std::ssize(compute.reads); ++r) reads.emplace(compute.reads[r].buffer, r);
    for (int w = 0; w < std::ssize(compute.writes); ++w) {
      const auto [first, last] = reads.equal_range(compute.writes[w].buffer);
      for (auto read = first; read != last; ++read) of_block[compute.block].insert({w, read->second});
    }
  }

  const Program& program_;
};

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
  int first = 0;  ///< iteration of the innermost Repeat
};

// Where every buffer is used, in program order; in a Repeat in the order in which they begin, which is that
// of a micro-batch.
class Uses {
 public:
  explicit Uses(Program& program) : of_buffer(std::ssize(program.buffers)) {
    visit(program.steps, -1, nullptr);
    for (std::vector<Use>& uses : of_buffer) order(uses);
  }

  ir::IdMap<BufferId, std::vector<Use>> of_buffer;

  /// The step after which nobody reads what a buffer holds at its use number `k`; nullptr when somebody does.
  Step* end_of_life(const std::vector<Use>& uses, std::int64_t k) const {
    const Use* next = k + 1 < std::ssize(uses) ? &uses[k + 1] : nullptr;
    if (next != nullptr && next->reads) return nullptr;
    Step* end = uses[k].step;
    std::int64_t first = k;
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
    const int scope = scopes_.size();
    scopes_.push_back({.parent = parent, .repeat = repeat});
    for (Step& step : steps) {
      step.frees.clear();
      note(step, scope, false);  // a step reads before it writes
      note(step, scope, true);
      if (auto* inner = std::get_if<Repeat>(&step.action)) visit(inner->body, scope, &step);
    }
    scopes_[scope].end = scopes_.size();
  }
  void note(Step& step, int scope, bool writes) {
    for_each_use(step, [&](const Slot& slot, bool is_write, const executor::Iterations& acts) {
      if (is_write != writes) return;
      std::vector<Use>& uses = of_buffer[slot.buffer];
      if (uses.empty() || uses.back().step != &step) uses.push_back({&step, scope, !writes, acts.first});
    });
  }
  static void order(std::vector<Use>& uses) {
    for (auto first = uses.begin(); first != uses.end();) {
      const auto is_elsewhere = [&](const Use& use) { return use.scope != first->scope; };
      const auto end = std::find_if(first, uses.end(), is_elsewhere);
      std::stable_sort(first, end, [](const Use& a, const Use& b) { return a.first < b.first; });
      first = end;
    }
  }
  const Scope& at(int scope) const { return scopes_[scope]; }
  bool is_inside(int scope, int outer) const { return outer <= scope && scope < at(outer).end; }

  std::vector<Scope> scopes_;
};

}  // namespace

void plan_memory(Program& program) {
  const Overwrites overwrites(program);
  for (BlockId id : overwrites.of_block.ids()) {
    const std::set<Overwrite>& found = overwrites.of_block[id];
    const std::vector<Overwrite> of_block(found.begin(), found.end());
    program[id].temporary_bytes = temporary_bytes(program[id].graph, of_block);
  }
  const Uses all(program);
  for (BufferId id : all.of_buffer.ids()) {
    Buffer& buffer = program[id];
    const std::vector<Use>& uses = all.of_buffer[id];
    const bool transient = buffer.slots == 1 && buffer.memory != executor::Memory::Streaming &&
                           buffer.initial.empty() && !uses.empty() && !uses.front().reads;
    buffer.always_live = !transient;
    if (!transient) continue;
    for (std::int64_t k = 0; k < std::ssize(uses); ++k) {
      if (Step* end = all.end_of_life(uses, k)) end->frees.push_back({id});
    }
  }
}

}  // namespace podium::lower
