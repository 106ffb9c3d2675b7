// A walk over the block's ops that keeps, for each value, whose memory it is in (its storage), and how many
// readers each storage has left. A view is in the storage of what it shows. The first output of an op that
// works in place takes the storage of an input whose last reader the op is. Storages that become an output
// are that output's buffer, so they do not count; but only as long as nobody reads what that buffer held
// before, the input that the output overwrites. In the end each storage that is inside adds its bytes from
// the op that makes it to the op that reads it last, and the largest sum is the answer.
#include "executor/lower/placed/block_memory.h"

#include <algorithm>
#include <vector>

#include "executor/program.h"
#include "ir/bodies.h"

namespace podium::lower {
namespace {

using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::ValueId;

constexpr std::int64_t kNoOp = -1;

class BlockMemory {
 public:
  /// Outputs of a body have memory inside it, those of a block are buffers.
  enum class Outputs { AreBuffers, AreInside };

  BlockMemory(const Graph& graph, std::span<const Overwrite> overwrites, Outputs outputs)
      : graph_(graph),
        outputs_(outputs),
        end_(std::ssize(graph.ops)),
        uses_left_(std::ssize(graph.values), 0),
        storage_(std::ssize(graph.values)),
        lives_(std::ssize(graph.values)),
        last_read_(std::ssize(graph.values), kNoOp),
        overwritten_(std::ssize(graph.values)),
        is_output_(std::ssize(graph.values), false) {
    for (ValueId id : graph.value_ids()) storage_[id] = id;
    for (ValueId id : graph.outputs) is_output_[id] = true;
    for (const Overwrite& one : overwrites) {
      overwritten_[graph.outputs[one.output]].push_back(graph.inputs[one.input]);
    }
    note_last_reads();
  }

  std::int64_t most() {
    const auto uses = ir::use_counts(graph_);
    for (std::int64_t i = 0; i < end_; ++i) {
      const Op& op = graph_.ops[i];
      for (ValueId id : outputs_of(op)) place(i, id, uses[id]);
      for (ValueId id : inputs_of(op)) {
        --uses_left_[storage_[id]];
        extend(storage_[id], i);
      }
    }
    return largest_sum();
  }

 private:
  // From one op to another, by their places in the block.
  struct Life {
    std::int64_t first = kNoOp;  ///< never: memory that is not inside
    std::int64_t last = 0;
    bool is_inside() const { return first != kNoOp; }
  };

  void extend(ValueId storage, std::int64_t op) { lives_[storage].last = std::max(lives_[storage].last, op); }

  // Of each value, views of it included, the op that reads it last.
  void note_last_reads() {
    IdMap<ValueId, ValueId> shown = storage_;
    for (std::int64_t i = 0; i < end_; ++i) {
      const Op& op = graph_.ops[i];
      for (ValueId id : inputs_of(op)) last_read_[shown[id]] = i;
      if (op.spec->view && op.inputs[0].valid() && op.outputs[0].valid())
        shown[op.outputs[0]] = shown[op.inputs[0]];
    }
    for (ValueId id : graph_.outputs) last_read_[shown[id]] = end_;
  }

  void place(std::int64_t i, ValueId out, int uses) {
    const Op& op = graph_.ops[i];
    const bool is_first = out == op.outputs[0];
    if (is_first && op.spec->view && op.inputs[0].valid()) {
      storage_[out] = storage_[op.inputs[0]];
    } else if (const ValueId taken = is_first ? taken_by(i) : ir::kNoValue; taken.valid()) {
      storage_[out] = taken;
      if (becomes_buffer(out)) lives_[taken].first = kNoOp;
    } else if (!becomes_buffer(out)) {
      lives_[out].first = i;
    }
    uses_left_[storage_[out]] += uses;
    extend(storage_[out], is_output_[out] && outputs_ == Outputs::AreInside ? end_ : i);
  }

  bool becomes_buffer(ValueId value) const { return is_output_[value] && outputs_ == Outputs::AreBuffers; }

  // Memory that the op's first output takes over, if any.
  ValueId taken_by(std::int64_t i) const {
    const Op& op = graph_.ops[i];
    const ValueId out = op.outputs[0];
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!can_take(op, k)) continue;
      const ValueId storage = storage_[op.inputs[k]];
      if (!lives_[storage].is_inside() || uses_left_[storage] != 1) continue;
      if (!becomes_buffer(out) || is_free(out, lives_[storage].first)) return storage;
    }
    return ir::kNoValue;
  }

  bool can_take(const Op& op, std::size_t input) const {
    if (!ir::has_input(op.spec->in_place, input)) return false;
    if (!op.inputs[input].valid() || !op.outputs[0].valid()) return false;
    const ir::Type& from = graph_[op.inputs[input]].type;
    const ir::Type& to = graph_[op.outputs[0]].type;
    return from.is_static() && to.is_static() && from.element_count() == to.element_count() &&
           storage_bytes(from.element) == storage_bytes(to.element);
  }

  // Whether nobody reads what the output overwrites from this op on, or the op itself for the last time, in
  // place.
  bool is_free(ValueId output, std::int64_t op) const {
    return std::all_of(overwritten_[output].begin(), overwritten_[output].end(), [&](ValueId old) {
      if (last_read_[old] == kNoOp || last_read_[old] < op) return true;
      return last_read_[old] == op && takes(graph_.ops[op], old);
    });
  }
  bool takes(const Op& op, ValueId value) const {
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k].valid() && storage_[op.inputs[k]] == value && !can_take(op, k)) return false;
    }
    return true;
  }

  // What the bodies of a control-flow op need while they run: the largest of them.
  static std::int64_t body_bytes(const Op& op) {
    std::int64_t most = 0;
    ir::for_each_body(op, [&](std::string_view, const Graph& body) {
      most = std::max(most, BlockMemory(body, {}, Outputs::AreInside).most());
    });
    return most;
  }

  std::int64_t largest_sum() const {
    std::vector<std::int64_t> changes(end_ + 2, 0);
    for (ValueId id : lives_.ids()) {
      if (!lives_[id].is_inside()) continue;
      const std::int64_t bytes = ir::packed_bytes(graph_[id].type);
      changes[lives_[id].first] += bytes;
      changes[lives_[id].last + 1] -= bytes;
    }
    std::int64_t live = 0;
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < end_; ++i) {
      live += changes[i];
      most = std::max(most, live + (ir::has_body(graph_.ops[i]) ? body_bytes(graph_.ops[i]) : 0));
    }
    return most;
  }

  const Graph& graph_;
  Outputs outputs_;
  std::int64_t end_;                 // one past the last op
  IdMap<ValueId, int> uses_left_;    // per storage, as are lives
  IdMap<ValueId, ValueId> storage_;  // the value whose memory a value is in
  IdMap<ValueId, Life> lives_;
  IdMap<ValueId, std::int64_t> last_read_;            // of inputs
  IdMap<ValueId, std::vector<ValueId>> overwritten_;  // of outputs: the inputs where they go
  IdMap<ValueId, bool> is_output_;
};

}  // namespace

std::int64_t temporary_bytes(const Graph& graph, std::span<const Overwrite> overwrites) {
  return BlockMemory(graph, overwrites, BlockMemory::Outputs::AreBuffers).most();
}

}  // namespace podium::lower
