#include "ir/passes/merge_equal.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>

#include "ir/bodies.h"
#include "ir/same.h"

namespace podium::ir {
namespace {

using ir::mix;

void mix(std::size_t& hash, const Tensor& tensor) {
  mix(hash, static_cast<std::size_t>(tensor.type()));
  for (std::int64_t dim : tensor.dims()) mix(hash, dim);
  if (tensor.bytes() > kLargestCompared) return;
  if (tensor.type() != DataType::String) {
    mix(hash, std::hash<std::string_view>()({static_cast<const char*>(tensor.raw()), tensor.bytes()}));
    return;
  }
  for (const std::string& text : tensor.values<std::string>()) mix(hash, std::hash<std::string>()(text));
}

struct HashOf {
  std::size_t operator()(std::int64_t value) const { return value; }
  std::size_t operator()(float value) const { return std::bit_cast<std::uint32_t>(value); }
  std::size_t operator()(const std::string& value) const { return std::hash<std::string>()(value); }
  std::size_t operator()(const Tensor& value) const {
    std::size_t hash = 0;
    mix(hash, value);
    return hash;
  }
  std::size_t operator()(const Type& /*value*/) const { return 0; }
  std::size_t operator()(const Body& /*value*/) const { return 0; }
  template <class T>
  std::size_t operator()(const std::vector<T>& values) const {
    std::size_t hash = values.size();
    for (const T& value : values) mix(hash, (*this)(value));
    return hash;
  }
};

bool same_op(const Op& a, const Op& b) {
  if (a.spec != b.spec || a.inputs != b.inputs || a.outputs.size() != b.outputs.size()) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].valid() != b.outputs[i].valid()) return false;
  }
  return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    same_attribute);
}

std::size_t hash_of(const Op& op) {
  std::size_t hash = std::hash<const OpSpec*>()(op.spec);
  for (ValueId id : op.inputs) mix(hash, id.number() + 1);
  for (const Attribute& attribute : op.attributes) {
    mix(hash, std::hash<std::string>()(attribute.name));
    mix(hash, std::visit(HashOf(), attribute.value));
  }
  return hash;
}

class Merger {
 public:
  explicit Merger(Graph& graph)
      : graph_(graph), stands_for_(std::ssize(graph.values)), fixed_(std::ssize(graph.values), false) {
    for (ValueId id : graph.value_ids()) stands_for_[id] = id;
    for (ValueId id : graph.inputs) fixed_[id] = true;
    for (ValueId id : graph.outputs) fixed_[id] = true;
  }

  bool run() {
    merge_constants();
    std::vector<Op> kept;
    kept.reserve(graph_.ops.size());
    seen_.reserve(graph_.ops.size());
    for (Op& op : graph_.ops) {
      for (ValueId& id : op.inputs) {
        if (!id.valid() || stands_for_[id] == id) continue;
        id = stands_for_[id];
        changed_ = true;
      }
      if (has_body(op)) {
        changed_ |= edit_bodies(op, merge_equal);
      } else if (!op.spec->random && merge(op, kept)) {
        continue;
      }
      kept.push_back(std::move(op));
    }
    graph_.ops = std::move(kept);
    return changed_;
  }

 private:
  void merge_constants() {
    std::unordered_multimap<std::size_t, ValueId> seen;
    for (ValueId id : graph_.value_ids()) {
      const auto& constant = graph_[id].constant;
      if (!constant || constant->bytes() > kLargestCompared) continue;
      const std::size_t hash = HashOf()(*constant);
      const auto [begin, end] = seen.equal_range(hash);
      const auto equal = std::find_if(begin, end, [&](const auto& entry) {
        return identical(*graph_[entry.second].constant, *constant);
      });
      if (equal == end || fixed_[id]) {
        seen.emplace(hash, id);
      } else {
        stands_for_[id] = equal->second;
      }
    }
  }

  // True when an earlier op computes the same.
  bool merge(const Op& op, const std::vector<Op>& kept) {
    const std::size_t hash = hash_of(op);
    const auto [begin, end] = seen_.equal_range(hash);
    const auto equal =
        std::find_if(begin, end, [&](const auto& entry) { return same_op(kept[entry.second], op); });
    if (equal == end || any_of(outputs_of(op), fixed_)) {
      seen_.emplace(hash, kept.size());
      return false;
    }
    const Op& first = kept[equal->second];
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid()) stands_for_[op.outputs[i]] = first.outputs[i];
    }
    changed_ = true;
    return true;
  }

  Graph& graph_;
  IdMap<ValueId, ValueId> stands_for_;
  IdMap<ValueId, bool> fixed_;  // inputs and outputs of the graph
  std::unordered_multimap<std::size_t, std::size_t> seen_;
  bool changed_ = false;
};

}  // namespace

bool merge_equal(Graph& graph) { return Merger(graph).run(); }

}  // namespace podium::ir
