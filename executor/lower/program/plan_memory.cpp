// A buffer is transient when it has one slot and is written before it is read. Which of its uses is the last
// one before a write follows from the order of all uses, which Repeats make a tree: a use is followed by the
// next one of its list of steps, at the end of an iteration by the first one of the next iteration, at the
// end of the last by what follows the Repeat. Uses that act in some iterations alone follow each other
// otherwise in each stretch of iterations between which one begins or ends to act.
#include "executor/lower/program/plan_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

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
  Step* repeat = nullptr;  ///< whose body it is
};

// A step that uses a buffer.
struct Use {
  Step* step = nullptr;
  int scope = 0;
  bool reads = false;
  executor::Iterations acts = {};  ///< of the innermost Repeat
};

// Of buffers that may be taken and given back: where they are used, in program order.
class Uses {
 public:
  explicit Uses(Program& program) : of_buffer(std::ssize(program.buffers)), program_(program) {
    visit(program.steps, -1, nullptr);
  }

  ir::IdMap<BufferId, std::vector<Use>> of_buffer;

  const Scope& at(int scope) const { return scopes_[scope]; }
  static bool may_be_transient(const Buffer& buffer) {
    return buffer.slots == 1 && buffer.memory != executor::Memory::Streaming && buffer.initial.empty();
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
  }
  void note(Step& step, int scope, bool writes) {
    for_each_use(step, [&](const Slot& slot, bool is_write, const executor::Iterations& acts) {
      if (is_write != writes || !may_be_transient(program_[slot.buffer])) return;
      std::vector<Use>& uses = of_buffer[slot.buffer];
      if (uses.empty() || uses.back().step != &step) {
        uses.push_back({&step, scope, !writes, acts});
      } else {
        executor::Iterations& all = uses.back().acts;
        all = {std::min(all.first, acts.first), std::max(all.end, acts.end)};
      }
    });
  }

  const Program& program_;
  std::vector<Scope> scopes_;
};

// Frees a buffer where no later step reads what it holds: behind a use that is followed by a write, or by
// none, in every iteration; and behind a Repeat whose last iteration leaves what the next one would read.
// What follows a use is found for each stretch of iterations in which the same uses act: two iterations of it
// show all. An exchange frees whenever it takes place, so it must not where a use of its own does not act and
// the buffer is full.
class Freeing {
 public:
  Freeing(const Uses& all, BufferId buffer) : all_(all), buffer_(buffer) {}

  /// Whether the first use of a list of steps reads.
  bool first_reads(int scope, std::span<const Use> uses) const {
    const std::vector<Member> members = members_of(scope, uses);
    return std::ranges::min_element(members, {}, [](const Member& one) { return one.acts.first; })->reads;
  }

  /// `is_read_behind`: whether what comes behind the list of steps reads the buffer first.
  void visit(int scope, std::span<const Use> uses, bool is_read_behind) const {
    std::vector<Member> members = members_of(scope, uses);
    Member* last = nullptr;
    std::vector<Member*> passed;  // exchanges of other transfers since then
    const auto follow = [&](bool reads) {
      if (reads && last != nullptr) last->is_read_after = true;
      for (Member* member : passed) member->is_read_after |= reads;
      passed.clear();
    };
    const int count = scope == 0 ? 1 : std::get<Repeat>(all_.at(scope).repeat->action).count;
    const std::vector<int> turns = turns_of(members, count);
    for (std::size_t t = 0; t + 1 < turns.size(); ++t) {
      for (int rounds = std::min(2, turns[t + 1] - turns[t]); rounds > 0; --rounds) {
        for (Member& member : members) {
          if (member.acts.contains(turns[t])) {
            follow(member.reads);
            last = &member;
          } else if (member.step->acts.contains(turns[t])) {
            passed.push_back(&member);
          }
        }
      }
    }
    if (last == nullptr) return;
    const bool is_read_again = last->is_read_after;
    follow(is_read_behind);
    if (is_read_again && !is_read_behind && scope != 0) {
      all_.at(scope).repeat->frees.push_back({buffer_});
    }
    for (const Member& member : members) {
      if (!member.inside.empty()) {
        visit(member.scope, member.inside, member.is_read_after);
      } else if (!member.is_read_after) {
        member.step->frees.push_back({buffer_});
      }
    }
  }

 private:
  // A use in a list of steps, or a Repeat with those inside of it.
  struct Member {
    Step* step = nullptr;
    bool reads = false;  ///< at first
    executor::Iterations acts = {};
    int scope = 0;                     ///< of the Repeat
    std::span<const Use> inside = {};  ///< of the Repeat
    bool is_read_after = false;
  };

  // The scope right inside of `outer` that a use is in; `outer` where it is in that itself.
  int within(int outer, int scope) const {
    int inner = scope;
    while (scope != outer) {
      inner = scope;
      scope = all_.at(scope).parent;
    }
    return inner;
  }
  std::vector<Member> members_of(int scope, std::span<const Use> uses) const {
    std::vector<Member> members;
    for (std::size_t i = 0; i < uses.size();) {
      const int inner = within(scope, uses[i].scope);
      if (inner == scope) {
        members.push_back({.step = uses[i].step, .reads = uses[i].reads, .acts = uses[i].acts});
        ++i;
        continue;
      }
      const std::size_t begin = i;
      while (i < uses.size() && within(scope, uses[i].scope) == inner) ++i;
      const std::span<const Use> inside = uses.subspan(begin, i - begin);
      members.push_back({.step = all_.at(inner).repeat,
                         .reads = first_reads(inner, inside),
                         .acts = all_.at(inner).repeat->acts,
                         .scope = inner,
                         .inside = inside});
    }
    return members;
  }
  // The iterations with which members begin or end to act, from the first to the count.
  static std::vector<int> turns_of(const std::vector<Member>& members, int count) {
    std::vector<int> turns = {0, count};
    for (const Member& member : members) {
      for (int turn : {member.acts.first, member.acts.end}) {
        if (turn > 0 && turn < count) turns.push_back(turn);
      }
    }
    std::ranges::sort(turns);
    turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
    return turns;
  }

  const Uses& all_;
  BufferId buffer_;
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
    const Freeing freeing(all, id);
    buffer.always_live = uses.empty() || freeing.first_reads(0, uses);
    if (!buffer.always_live) freeing.visit(0, uses, false);
  }
}

}  // namespace podium::lower
