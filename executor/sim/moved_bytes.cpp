// Each result of a block is made of some of its inputs by ops that move numbers alone, or is rounded, or is
// neither. Which buffers hold nothing but rounded numbers is found in rounds over the steps that write: the
// first has none, later ones follow what has been moved, until no more are found.
#include "executor/sim/moved_bytes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <variant>
#include <vector>

#include "executor/sim/op_cost.h"
#include "ir/element.h"
#include "ir/ops/block_rounding.h"

namespace podium::sim {
namespace {

using executor::Block;
using executor::BlockId;
using executor::BufferId;
using executor::Program;
using executor::Slot;
using executor::Step;
using ir::Op;
using ir::ValueId;

bool only_moves(const Op& op) {
  return changes_form(op) || op.is("Slice") || op.is("Split") || op.is("Concat");
}

// The values whose numbers a moving op passes on: parts that are joined, else its first input.
std::vector<ValueId> moved_by(const Op& op) {
  if (op.is("Concat")) return op.inputs;
  return {op.inputs[0]};
}

// Nothing: the value is as wide as its type. Else the places of the block's inputs that have to hold rounded
// numbers for it to do so.
using Sources = std::optional<std::vector<std::size_t>>;

std::vector<Sources> sources_of_results(const Block& block) {
  const ir::Graph& graph = block.graph;
  std::map<ValueId, std::vector<std::size_t>> narrow;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) narrow[graph.inputs[i]] = {i};
  for (const Op& op : graph.ops) {
    std::vector<std::size_t> from;
    if (!rounds_to_blocks(op)) {
      if (!only_moves(op)) continue;
      const std::vector<ValueId> moved = moved_by(op);
      if (!std::ranges::all_of(moved, [&](ValueId id) { return narrow.contains(id); })) continue;
      for (ValueId id : moved) from.insert(from.end(), narrow[id].begin(), narrow[id].end());
    }
    for (ValueId id : outputs_of(op)) narrow[id] = from;
  }
  std::vector<Sources> results;
  for (ValueId id : graph.outputs) {
    const auto found = narrow.find(id);
    results.push_back(found == narrow.end() ? Sources() : found->second);
  }
  return results;
}

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program), narrow_(std::ssize(program.buffers), false) {
    for (const Block& block : program.blocks) sources_.push_back(sources_of_results(block));
  }

  ir::IdMap<BufferId, bool> find() {
    for (bool finds_more = true; finds_more;) {
      written_narrow_ = ir::IdMap<BufferId, bool>(std::ssize(program_.buffers), false);
      written_wide_ = written_narrow_;
      walk(program_.steps);
      finds_more = false;
      for (BufferId id : program_.buffer_ids()) {
        const bool is_narrow = written_narrow_[id] && !written_wide_[id] && program_[id].initial.empty();
        finds_more = finds_more || (is_narrow && !narrow_[id]);
        narrow_[id] = is_narrow;
      }
    }
    return std::move(narrow_);
  }

 private:
  void walk(const std::vector<Step>& steps) {
    for (const Step& step : steps) std::visit([this](const auto& action) { write(action); }, step.action);
  }
  void write(const executor::Repeat& repeat) { walk(repeat.body); }
  void write(const executor::Compute& compute) {
    const std::vector<Sources>& results = sources_[compute.block];
    for (std::size_t i = 0; i < compute.writes.size(); ++i) {
      const auto holds_rounded = [&](std::size_t input) {
        const Slot& read = compute.reads[input];
        return read.buffer.valid() && narrow_[read.buffer];
      };
      note(compute.writes[i], results[i] && std::ranges::all_of(*results[i], holds_rounded));
    }
  }
  void write(const executor::Collective& step) {
    note(step.transfer.to, passes_on(step.kind) && narrow_[step.transfer.from.buffer]);
  }
  void write(const executor::GroupCollective& step) {
    for (const executor::Transfer& one : step.transfers)
      note(one.to, passes_on(step.kind) && narrow_[one.from.buffer]);
  }
  template <class Action>
  void write(const Action& action) {
    if constexpr (requires { action.transfers; }) {
      for (const executor::Transfer& one : action.transfers) note(one.to, narrow_[one.from.buffer]);
    } else if constexpr (requires { action.transfer; }) {
      note(action.transfer.to, narrow_[action.transfer.from.buffer]);
    } else if constexpr (requires { action.to; }) {
      note(action.to, false);
    }
  }
  static bool passes_on(executor::CollectiveKind kind) {
    return kind == executor::CollectiveKind::AllGather || kind == executor::CollectiveKind::AllToAll;
  }
  void note(const Slot& slot, bool is_narrow) {
    (is_narrow ? written_narrow_ : written_wide_)[slot.buffer] = true;
  }

  const Program& program_;
  ir::IdMap<BlockId, std::vector<Sources>> sources_;
  ir::IdMap<BufferId, bool> narrow_;
  ir::IdMap<BufferId, bool> written_narrow_, written_wide_;  ///< in this round
};

bool has_rounding(const Program& program) {
  return std::ranges::any_of(program.blocks, [](const Block& block) {
    return std::ranges::any_of(block.graph.ops, ir::rounds_to_blocks);
  });
}

}  // namespace

ir::IdMap<BufferId, double> moved_bytes(const Program& program, const device::Device& device) {
  ir::IdMap<BufferId, double> bytes;
  for (const executor::Buffer& buffer : program.buffers)
    bytes.push_back(static_cast<double>(slot_bytes(buffer)));
  if (!is_faster_at_8_bits(device) || !has_rounding(program)) return bytes;
  constexpr double kBits = 8;
  const ir::IdMap<BufferId, bool> narrow = Finder(program).find();
  for (BufferId id : program.buffer_ids()) {
    if (narrow[id]) bytes[id] *= kBits / bit_width(program[id].type.element);
  }
  return bytes;
}

}  // namespace podium::sim
