#include "executor/numeric/storages.h"

#include <algorithm>
#include <optional>

#include "executor/kernels/fused/fused.h"

namespace podium::numeric {
namespace {

using ir::Graph;
using ir::Op;
using ir::Type;
using ir::ValueId;

std::size_t bytes_of(const Type& type) { return type.element_count() * storage_bytes(type.element); }

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<Rewritten>& rewritten)
      : graph_(graph), uses_(ir::use_counts(graph)), uses_left_(std::ssize(graph.values), 0) {
    storages_.planned.resize(std::ssize(graph.values), false);
    storages_.lives.resize(std::ssize(graph.values));
    for (ValueId id : graph.value_ids()) storages_.of.push_back(id);
    for (ValueId id : graph.inputs) uses_left_[id] = uses_[id];
    for (const Rewritten& pair : rewritten) becomes_.emplace(graph.outputs[pair.output], pair.input);
  }

  void visit(const Op& op, int now, bool is_static) {
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid() && is_static) place(op, i, now);
    }
    for (ValueId id : inputs_of(op)) {
      --uses_left_[storages_[id]];
      live(storages_[id], now);
    }
  }
  Storages result() { return std::move(storages_); }

 private:
  void live(ValueId storage, int now) {
    storages_.lives[storage].last = std::max(storages_.lives[storage].last, now);
  }

  void place(const Op& op, std::size_t i, int now) {
    const ValueId out = op.outputs[i];
    ValueId storage = out;
    if (const auto input = rewritten_input(op, i)) {
      storages_.taken_from.emplace(out, *input);
    } else if (const auto shared = shared_storage(op, i)) {
      storage = *shared;
    }
    storages_.of[out] = storage;
    if (storage == out) {
      storages_.planned[out] = true;
      storages_.lives[out] = {.bytes = bytes_of(graph_[out].type), .first = now, .last = now};
    }
    uses_left_[storage] += uses_[out];
    live(storage, now);
  }

  // The storage of an input made here that the output stands for, or that nothing else reads.
  std::optional<ValueId> shared_storage(const Op& op, std::size_t i) const {
    const Type& type = graph_[op.outputs[i]].type;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!op.inputs[k].valid()) continue;
      const ValueId candidate = storages_[op.inputs[k]];
      if (!storages_.planned[candidate]) continue;
      if (op.spec->view && i == 0 && k == 0) return candidate;
      const bool fits = storages_.lives[candidate].bytes == bytes_of(type) &&
                        graph_[op.inputs[k]].type.element_count() == type.element_count();
      if (fits && uses_left_[candidate] == 1 && kernels::may_take_memory(op, i, k)) return candidate;
    }
    return std::nullopt;
  }

  // The input of the graph that an output of it replaces, where nobody reads the input after this op, which
  // may read it in place itself.
  std::optional<std::size_t> rewritten_input(const Op& op, std::size_t i) const {
    const auto found = becomes_.find(op.outputs[i]);
    if (found == becomes_.end()) return std::nullopt;
    const ValueId input = graph_.inputs[found->second];
    const Type& type = graph_[input].type;
    if (!type.is_static() || type.dims != graph_[op.outputs[i]].type.dims) return std::nullopt;
    if (type.element != graph_[op.outputs[i]].type.element) return std::nullopt;
    int reads = 0;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] != input) continue;
      if (!kernels::may_take_memory(op, i, k)) return std::nullopt;
      ++reads;
    }
    return uses_left_[input] == reads ? std::optional(found->second) : std::nullopt;
  }

  const Graph& graph_;
  const ir::IdMap<ValueId, int> uses_;
  ir::IdMap<ValueId, int> uses_left_;       // of storages, and of inputs of the graph
  std::map<ValueId, std::size_t> becomes_;  // outputs of the graph that replace an input: its place
  Storages storages_;
};

}  // namespace

Storages find_storages(const Graph& graph, const ir::IdMap<ir::OpId, bool>& is_static,
                       const std::vector<Rewritten>& rewritten) {
  Finder finder(graph, rewritten);
  for (ir::OpId id : graph.op_ids()) finder.visit(graph[id], id.number(), is_static[id]);
  return finder.result();
}

}  // namespace podium::numeric
