#include "executor/lower/draft/block_memory.h"

#include <algorithm>
#include <vector>

#include "executor/program.h"
#include "ir/at.h"
#include "ir/bodies.h"

namespace podium::lower {
namespace {

using ir::Graph;
using ir::Op;
using ir::ValueId;

constexpr std::size_t kNever = ~std::size_t{0};

class BlockMemory {
 public:
  /// Outputs of a body have memory inside it, those of a block are buffers.
  BlockMemory(const Graph& graph, std::span<const Overwrite> overwrites, bool outputs_count)
      : graph_(graph),
        outputs_count_(outputs_count),
        uses_left_(graph.values.size(), 0),
        storage_(graph.values.size()),
        lives_(graph.values.size()),
        last_read_(graph.values.size(), kNever),
        overwritten_(graph.values.size()),
        is_output_(graph.values.size(), false) {
    for (std::size_t v = 0; v < storage_.size(); ++v) storage_[v] = v;
    for (ValueId id : graph.outputs) is_output_[at(id)] = true;
    for (const Overwrite& one : overwrites) {
      overwritten_[at(graph.outputs[one.output])].push_back(at(graph.inputs[one.input]));
    }
    note_last_reads();
  }

  std::int64_t most() {
    const auto uses = ir::use_counts(graph_);
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        if (op.outputs[k].valid()) place(i, k, uses[at(op.outputs[k])]);
      }
      for (ValueId id : op.inputs) {
        if (!id.valid()) continue;
        --uses_left_[storage_[at(id)]];
        extend(storage_[at(id)], i);
      }
    }
    return largest_sum();
  }

 private:
  struct Life {
    std::size_t first = kNever;  ///< never: memory that is not inside
    std::size_t last = 0;
    bool is_inside() const { return first != kNever; }
  };

  std::int64_t bytes(std::size_t value) const { return executor::device_bytes(graph_.values[value].type); }

  void extend(std::size_t storage, std::size_t op) {
    lives_[storage].last = std::max(lives_[storage].last, op);
  }

  // Of each value, views of it included, the op that reads it last.
  void note_last_reads() {
    std::vector<std::size_t> shown = storage_;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      for (ValueId id : op.inputs) {
        if (id.valid()) last_read_[shown[at(id)]] = i;
      }
      if (op.spec->view && op.inputs[0].valid() && op.outputs[0].valid())
        shown[at(op.outputs[0])] = shown[at(op.inputs[0])];
    }
    for (ValueId id : graph_.outputs) last_read_[shown[at(id)]] = graph_.ops.size();
  }

  void place(std::size_t i, std::size_t k, int uses) {
    const Op& op = graph_.ops[i];
    const std::size_t out = at(op.outputs[k]);
    if (k == 0 && op.spec->view && op.inputs[0].valid()) {
      storage_[out] = storage_[at(op.inputs[0])];
    } else if (const std::size_t taken = k == 0 ? taken_by(i) : kNever; taken != kNever) {
      storage_[out] = taken;
      if (becomes_buffer(out)) lives_[taken].first = kNever;
    } else if (!becomes_buffer(out)) {
      lives_[out].first = i;
    }
    uses_left_[storage_[out]] += uses;
    extend(storage_[out], is_output_[out] && outputs_count_ ? graph_.ops.size() : i);
  }

  bool becomes_buffer(std::size_t value) const { return is_output_[value] && !outputs_count_; }

  // Memory that the op's first output takes over; kNever: none.
  std::size_t taken_by(std::size_t i) const {
    const Op& op = graph_.ops[i];
    const std::size_t out = at(op.outputs[0]);
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!can_take(op, k)) continue;
      const std::size_t storage = storage_[at(op.inputs[k])];
      if (!lives_[storage].is_inside() || uses_left_[storage] != 1) continue;
      if (!becomes_buffer(out) || is_free(out, lives_[storage].first)) return storage;
    }
    return kNever;
  }

  bool can_take(const Op& op, std::size_t input) const {
    if ((op.spec->in_place >> input & 1U) == 0) return false;
    if (!op.inputs[input].valid() || !op.outputs[0].valid()) return false;
    const ir::Type& from = graph_[op.inputs[input]].type;
    const ir::Type& to = graph_[op.outputs[0]].type;
    return from.is_static() && to.is_static() && from.element_count() == to.element_count() &&
           storage_bytes(from.element) == storage_bytes(to.element);
  }

  // Whether nobody reads what the output overwrites from this op on, or the op itself for the last time, in
  // place.
  bool is_free(std::size_t output, std::size_t op) const {
    return std::all_of(overwritten_[output].begin(), overwritten_[output].end(), [&](std::size_t old) {
      if (last_read_[old] == kNever || last_read_[old] < op) return true;
      return last_read_[old] == op && takes(graph_.ops[op], old);
    });
  }
  bool takes(const Op& op, std::size_t value) const {
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k].valid() && storage_[at(op.inputs[k])] == value && !can_take(op, k)) return false;
    }
    return true;
  }

  // What the bodies of a control-flow op need while they run: the largest of them.
  static std::int64_t body_bytes(const Op& op) {
    std::int64_t most = 0;
    ir::for_each_body(op, [&](std::string_view, const Graph& body) {
      most = std::max(most, BlockMemory(body, {}, true).most());
    });
    return most;
  }

  std::int64_t largest_sum() const {
    std::vector<std::int64_t> changes(graph_.ops.size() + 2, 0);
    for (std::size_t v = 0; v < lives_.size(); ++v) {
      if (!lives_[v].is_inside()) continue;
      changes[lives_[v].first] += bytes(v);
      changes[lives_[v].last + 1] -= bytes(v);
    }
    std::int64_t live = 0;
    std::int64_t most = 0;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      live += changes[i];
      most = std::max(most, live + (ir::has_body(graph_.ops[i]) ? body_bytes(graph_.ops[i]) : 0));
    }
    return most;
  }

  const Graph& graph_;
  bool outputs_count_;
  std::vector<int> uses_left_;        // per storage, as are lives
  std::vector<std::size_t> storage_;  // per value: the one whose memory it is in
  std::vector<Life> lives_;
  std::vector<std::size_t> last_read_;                 // of inputs
  std::vector<std::vector<std::size_t>> overwritten_;  // per output: the inputs where it goes
  std::vector<bool> is_output_;
};

}  // namespace

std::int64_t temporary_bytes(const Graph& graph, std::span<const Overwrite> overwrites) {
  return BlockMemory(graph, overwrites, false).most();
}

}  // namespace podium::lower
