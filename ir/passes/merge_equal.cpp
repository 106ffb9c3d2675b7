// One round over the ops in their order: an op whose operands, after what has been merged, and whose
// attributes are those of an earlier one is left out, and its results are that one's. Equal constants
// go first.
#include "ir/passes/merge_equal.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/annotation.h"
#include "ir/bodies.h"
#include "ir/ops/group_exchange.h"
#include "ir/same.h"

namespace podium::ir {
namespace {

using ir::mix;

void mix(std::size_t& hash, const Tensor& tensor) {
  mix(hash, static_cast<std::size_t>(tensor.type()));
  for (std::int64_t dim : tensor.dims()) mix(hash, dim);
  if (tensor.bytes() > kLargestCompared) return;
  if (tensor.type() != DataType::String) {
    const std::size_t bytes = std::min(tensor.bytes(), kMostHashed);
    mix(hash, std::hash<std::string_view>()({static_cast<const char*>(tensor.raw()), bytes}));
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

bool adds_up_parts(const Op& op) { return op.is(kGroupAllReduce, "podium"); }

// Sums of the same parts are the same, whichever movement of the report they are part of.
bool tells(const Op& op, const Attribute& attribute) {
  return attribute.name != kMovement || !adds_up_parts(op);
}

bool same_op(const Op& a, const Op& b) {
  if (a.spec != b.spec || a.inputs != b.inputs || a.outputs.size() != b.outputs.size()) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].valid() != b.outputs[i].valid()) return false;
  }
  return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [&](const Attribute& x, const Attribute& y) {
                      return (x.name == y.name && !tells(a, x)) || same_attribute(x, y);
                    });
}

std::size_t hash_of(const Op& op) {
  std::size_t hash = std::hash<const OpSpec*>()(op.spec);
  for (ValueId id : op.inputs) mix(hash, id.number() + 1);
  for (const Attribute& attribute : op.attributes) {
    if (!tells(op, attribute)) continue;
    mix(hash, std::hash<std::string_view>()(attribute.name));
    mix(hash, visit_value(HashOf(), attribute.value));
  }
  return hash;
}

// Places of what is kept by their hashes, in arrays: the nodes of a map would take longer than all else that
// is done for most ops, whose like has not been seen.
class PlacesByHash {
 public:
  explicit PlacesByHash(std::size_t most) : first_(std::bit_ceil(2 * most + 1), kNone) {}
  /// The first one to be added of those with this hash that `is_wanted`.
  template <class IsWanted>
  std::optional<std::size_t> find(std::size_t hash, const IsWanted& is_wanted) const {
    std::optional<std::size_t> found;
    for (std::uint32_t i = first_[bucket(hash)]; i != kNone; i = entries_[i].next) {
      if (entries_[i].hash == hash && is_wanted(entries_[i].place)) found = entries_[i].place;
    }
    return found;
  }
  void add(std::size_t hash, std::size_t place) {
    std::uint32_t& first = first_[bucket(hash)];
    entries_.push_back({hash, place, first});
    first = static_cast<std::uint32_t>(entries_.size() - 1);
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Entry {
    std::size_t hash;
    std::size_t place;
    std::uint32_t next;
  };
  std::size_t bucket(std::size_t hash) const { return hash & (first_.size() - 1); }

  std::vector<std::uint32_t> first_;
  std::vector<Entry> entries_;
};

class Merger {
 public:
  explicit Merger(Graph& graph)
      : graph_(graph),
        stands_for_(std::ssize(graph.values)),
        fixed_(std::ssize(graph.values), false),
        seen_(graph.ops.size()) {
    for (ValueId id : graph.value_ids()) stands_for_[id] = id;
    for (ValueId id : graph.inputs) fixed_[id] = true;
    for (ValueId id : graph.outputs) fixed_[id] = true;
  }

  bool run() {
    merge_constants();
    std::vector<Op> kept;
    kept.reserve(graph_.ops.size());
    for (Op& op : graph_.ops) {
      for (ValueId& id : op.inputs) {
        if (!id.valid() || stands_for_[id] == id) continue;
        id = stands_for_[id];
        changed_ = true;
      }
      if (has_body(op)) {
        changed_ |= edit_bodies(op, merge_equal);
      } else if ((!op.spec->random || adds_up_parts(op)) && merge(op, kept)) {
        continue;
      }
      kept.push_back(std::move(op));
    }
    graph_.ops = std::move(kept);
    return changed_;
  }

 private:
  void merge_constants() {
    PlacesByHash seen(graph_.values.size());
    for (ValueId id : graph_.value_ids()) {
      const auto& constant = graph_[id].constant;
      if (!constant || constant->bytes() > kLargestCompared) continue;
      const std::size_t hash = HashOf()(*constant);
      const auto equal = seen.find(
          hash, [&](std::size_t place) { return identical(*graph_.values[place].constant, *constant); });
      if (!equal || fixed_[id]) {
        seen.add(hash, id.number());
      } else {
        stands_for_[id] = ValueId{static_cast<std::int32_t>(*equal)};
      }
    }
  }

  // True when an earlier op computes the same.
  bool merge(const Op& op, const std::vector<Op>& kept) {
    const std::size_t hash = hash_of(op);
    const auto equal = seen_.find(hash, [&](std::size_t place) { return same_op(kept[place], op); });
    if (!equal || any_of(outputs_of(op), fixed_)) {
      seen_.add(hash, kept.size());
      return false;
    }
    const Op& first = kept[*equal];
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid()) stands_for_[op.outputs[i]] = first.outputs[i];
    }
    changed_ = true;
    return true;
  }

  Graph& graph_;
  IdMap<ValueId, ValueId> stands_for_;
  IdMap<ValueId, bool> fixed_;  // inputs and outputs of the graph
  PlacesByHash seen_;
  bool changed_ = false;
};

}  // namespace

bool merge_equal(Graph& graph) { return Merger(graph).run(); }

}  // namespace podium::ir
