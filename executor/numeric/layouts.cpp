#include "executor/numeric/layouts.h"

#include <algorithm>

#include "ir/disjoint_sets.h"

namespace podium::numeric {

using executor::Buffer;
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
        sets_(first_value_.back()),
        votes_(first_value_.back(), 0),
        may_(first_value_.back(), true) {
    for (std::size_t b = 0; b < program.buffers.size(); ++b) may_[b] = may_lie_last(program.buffers[b]);
    join(program.steps);
    for (std::size_t b = 0; b < program.blocks.size(); ++b) count_votes(b);
  }
  bool is_last(const Slot& slot) {
    if (!slot.buffer.valid()) return false;
    const std::size_t set = sets_.find(slot.buffer.index);
    return may_[set] && votes_[set] > 0;
  }

 private:
  static bool may_lie_last(const Buffer& buffer) {
    const ir::Type& type = buffer.type;
    return (buffer.role == Role::Activation || buffer.role == Role::Stash) && !buffer.persistent &&
           buffer.shards == 1 && buffer.initial.empty() && type.is_static() &&
           type.element == ir::DataType::Float && type.rank() >= 3 && type.rank() <= 5;
  }
  static std::vector<std::size_t> first_values(const Program& program) {
    std::vector<std::size_t> first{program.buffers.size()};
    for (const executor::Block& block : program.blocks)
      first.push_back(first.back() + block.graph.values.size());
    return first;
  }
  void join(std::size_t a, std::size_t b) {
    a = sets_.find(a);
    b = sets_.find(b);
    if (a == b) return;
    sets_.join(a, b);
    const std::size_t both = sets_.find(a);
    votes_[both] = votes_[a] + votes_[b];
    may_[both] = may_[a] && may_[b];
  }
  std::size_t value(std::size_t block, ValueId id) const { return first_value_[block] + id.index; }

  void join(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        join(repeat->body);
      } else if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
        join(*compute);
      } else if (std::holds_alternative<executor::LoadFromHost>(step.action) ||
                 std::holds_alternative<executor::StoreToHost>(step.action) ||
                 std::holds_alternative<executor::Collective>(step.action)) {
        for (const Slot& slot : executor::reads_of(step)) may_[sets_.find(slot.buffer.index)] = false;
        for (const Slot& slot : executor::writes_of(step)) may_[sets_.find(slot.buffer.index)] = false;
      } else {
        const std::vector<Slot> from = executor::reads_of(step);
        const std::vector<Slot> to = executor::writes_of(step);
        for (std::size_t i = 0; i < from.size(); ++i) join(from[i].buffer.index, to[i].buffer.index);
      }
    }
  }
  void join(const executor::Compute& compute) {
    const ir::Graph& graph = program_[compute.block].graph;
    const std::size_t block = compute.block.index;
    for (std::size_t i = 0; i < compute.reads.size(); ++i) {
      if (!compute.reads[i].buffer.valid()) continue;
      join(compute.reads[i].buffer.index, value(block, graph.inputs[i]));
    }
    for (std::size_t i = 0; i < compute.writes.size(); ++i)
      join(compute.writes[i].buffer.index, value(block, graph.outputs[i]));
  }

  // A convolution's input and output count two votes for channels-last, an operand of an op that needs the
  // model's layout one vote against: pools have often made the tensor smaller where such ops begin.
  void count_votes(std::size_t block) {
    const ir::Graph& graph = program_.blocks[block].graph;
    for (const ir::Op& op : graph.ops) {
      if (is_convolution(graph, op)) {
        votes_[sets_.find(value(block, op.inputs[0]))] += 2;
        votes_[sets_.find(value(block, op.outputs[0]))] += 2;
      } else if (keeps_layout(graph, op) || op.is("BatchNormalization")) {  // which convolutions take in
        for (ValueId id : op.inputs) {
          if (id.valid() && !graph.is_constant(id)) join(value(block, id), value(block, op.outputs[0]));
        }
      } else {
        for (ValueId id : op.inputs) vote_against(block, id);
        for (ValueId id : op.outputs) vote_against(block, id);
      }
    }
  }
  void vote_against(std::size_t block, ValueId id) {
    if (id.valid()) votes_[sets_.find(value(block, id))] -= 1;
  }

  const Program& program_;
  std::vector<std::size_t>
      first_value_;  // per block: the place of its first value; behind the last one: the count
  ir::DisjointSets sets_;
  std::vector<int> votes_;  // the votes of a set, at the set's name
  std::vector<bool> may_;
};

void note(const Program& program, const std::vector<Step>& steps, Sets& sets, std::vector<Layouts>& layouts) {
  for (const Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      note(program, repeat->body, sets, layouts);
    }
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    if (compute == nullptr) continue;
    Layouts& of_block = layouts[compute->block.index];
    of_block = {};
    for (const Slot& slot : compute->reads) of_block.inputs.push_back(sets.is_last(slot));
    for (const Slot& slot : compute->writes) of_block.outputs.push_back(sets.is_last(slot));
  }
}

}  // namespace

std::vector<Layouts> choose_layouts(const Program& program) {
  Sets sets(program);
  std::vector<Layouts> layouts(program.blocks.size());
  note(program, program.steps, sets, layouts);
  return layouts;
}

}  // namespace podium::numeric
