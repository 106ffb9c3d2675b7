// Buffers and the values inside blocks fall into sets that must lie alike: a copy joins its ends, a block's
// input joins its buffer, an elementwise op joins its operands and results (disjoint sets). Ops vote for the
// set of each operand: a convolution for channels-last, an op that needs the model's layout against. A set
// lies channels-last when its votes are above 0 and no step forbids it, as the host and collectives do.
#include "executor/numeric/layouts.h"

#include <algorithm>

#include "executor/numeric/layout_rules.h"
#include "ir/disjoint_sets.h"

namespace podium::numeric {

using executor::BlockId;
using executor::Buffer;
using executor::BufferId;
using executor::Program;
using executor::Role;
using executor::Slot;
using executor::Step;
using ir::ValueId;

namespace {

// Buffers and the values of blocks, in sets of one layout each, with the votes of each set.
class Sets {
 public:
  explicit Sets(const Program& program)
      : program_(program),
        first_value_(first_values(program)),
        sets_(count_members(program)),
        votes_(count_members(program), 0),
        may_(count_members(program), true) {
    for (BufferId id : program.buffer_ids()) may_[member(id)] = may_lie_last(program[id]);
    join(program.steps);
    for (BlockId id : program.block_ids()) count_votes(id);
  }
  bool is_last(const Slot& slot) {
    if (!slot.buffer.valid()) return false;
    const std::size_t set = sets_.find(member(slot.buffer));
    return may_[set] && votes_[set] > 0;
  }

 private:
  static bool may_lie_last(const Buffer& buffer) {
    constexpr ir::TypeSet kElements{ir::DataType::Float, ir::DataType::Float16, ir::DataType::Bfloat16,
                                    ir::DataType::Int8, ir::DataType::Uint8};
    const ir::Type& type = buffer.type;
    return (buffer.role == Role::Activation || buffer.role == Role::Stash) && !buffer.persistent &&
           buffer.shards == 1 && buffer.initial.empty() && type.is_static() &&
           kElements.contains(type.element) && type.rank() >= 3 && type.rank() <= 5;
  }
  // Buffers and then the values of all blocks are numbered through.
  static ir::IdMap<BlockId, std::size_t> first_values(const Program& program) {
    ir::IdMap<BlockId, std::size_t> first;
    std::size_t next = program.buffers.size();
    for (const executor::Block& block : program.blocks) {
      first.push_back(next);
      next += block.graph.values.size();
    }
    return first;
  }
  static std::size_t count_members(const Program& program) {
    std::size_t count = program.buffers.size();
    for (const executor::Block& block : program.blocks) count += block.graph.values.size();
    return count;
  }
  static std::size_t member(BufferId id) { return id.number(); }
  std::size_t member(BlockId block, ValueId id) const { return first_value_[block] + id.number(); }
  void join(std::size_t a, std::size_t b) {
    a = sets_.find(a);
    b = sets_.find(b);
    if (a == b) return;
    sets_.join(a, b);
    const std::size_t both = sets_.find(a);
    votes_[both] = votes_[a] + votes_[b];
    may_[both] = may_[a] && may_[b];
  }
  void join(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        join(repeat->body);
      } else if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
        join(*compute);
      } else if (std::holds_alternative<executor::LoadFromHost>(step.action) ||
                 std::holds_alternative<executor::StoreToHost>(step.action) ||
                 std::holds_alternative<executor::Collective>(step.action) ||
                 std::holds_alternative<executor::GroupCollective>(step.action)) {
        for (const Slot& slot : executor::reads_of(step)) forbid(slot);
        for (const Slot& slot : executor::writes_of(step)) forbid(slot);
      } else {
        const std::vector<Slot> from = executor::reads_of(step);
        const std::vector<Slot> to = executor::writes_of(step);
        for (std::size_t i = 0; i < from.size(); ++i) join(member(from[i].buffer), member(to[i].buffer));
      }
    }
  }
  void forbid(const Slot& slot) { may_[sets_.find(member(slot.buffer))] = false; }
  void join(const executor::Compute& compute) {
    const ir::Graph& graph = program_[compute.block].graph;
    for (std::size_t i = 0; i < compute.reads.size(); ++i) {
      if (!compute.reads[i].buffer.valid()) continue;
      join(member(compute.reads[i].buffer), member(compute.block, graph.inputs[i]));
    }
    for (std::size_t i = 0; i < compute.writes.size(); ++i)
      join(member(compute.writes[i].buffer), member(compute.block, graph.outputs[i]));
  }

  // A convolution's input and output count two votes for channels-last, an operand of an op that needs the
  // model's layout one vote against: pools have often made the tensor smaller where such ops begin.
  void count_votes(BlockId block) {
    const ir::Graph& graph = program_[block].graph;
    for (const ir::Op& op : graph.ops) {
      if (is_convolution(graph, op)) {
        vote(block, op.inputs[0], 2);
        vote(block, op.outputs[0], 2);
      } else if (keeps_layout(graph, op) || op.is("BatchNormalization")) {  // which convolutions take in
        for (ValueId id : inputs_of(op)) {
          if (!graph.is_constant(id)) join(member(block, id), member(block, op.outputs[0]));
        }
      } else {
        for (ValueId id : inputs_of(op)) vote(block, id, -1);
        for (ValueId id : outputs_of(op)) vote(block, id, -1);
      }
    }
  }
  void vote(BlockId block, ValueId id, int weight) { votes_[sets_.find(member(block, id))] += weight; }

  const Program& program_;
  ir::IdMap<BlockId, std::size_t> first_value_;
  ir::DisjointSets sets_;
  std::vector<int> votes_;  // the votes of a set, at the set's name
  std::vector<bool> may_;
};

void note(const Program& program, const std::vector<Step>& steps, Sets& sets,
          ir::IdMap<BlockId, Layouts>& layouts) {
  for (const Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      note(program, repeat->body, sets, layouts);
    }
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    if (compute == nullptr) continue;
    Layouts& of_block = layouts[compute->block];
    of_block = {};
    for (const Slot& slot : compute->reads) of_block.inputs.push_back(sets.is_last(slot));
    for (const Slot& slot : compute->writes) of_block.outputs.push_back(sets.is_last(slot));
  }
}

}  // namespace

ir::IdMap<BlockId, Layouts> choose_layouts(const Program& program) {
  Sets sets(program);
  ir::IdMap<BlockId, Layouts> layouts(std::ssize(program.blocks));
  note(program, program.steps, sets, layouts);
  return layouts;
}

}  // namespace podium::numeric
