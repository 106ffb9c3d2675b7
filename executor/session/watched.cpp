#include "executor/session/watched.h"

#include <algorithm>
#include <set>

#include "ir/accumulated_values.h"

namespace podium {
namespace {

using ir::ValueId;

bool can_come_back(const ir::Type& type) {
  return type.is_tensor() && type.is_static() && type.element != ir::DataType::String &&
         !ir::is_complex(type.element);
}

// The first op of an update that reads the value.
const ir::Op* reader_in_update(const ir::Graph& graph, ValueId id) {
  const auto reads = [&](const ir::Op& op) {
    return ir::is_outer(op) && std::ranges::count(op.inputs, id) > 0;
  };
  const auto found = std::ranges::find_if(graph.ops, reads);
  return found == graph.ops.end() ? nullptr : &*found;
}

// An op beside another, in the same stage and phase of the update.
ir::Op negative_beside(const ir::Op& reader, ValueId of, ValueId result) {
  ir::Op op{.spec = ir::find_op("", "Neg"), .inputs = {of}, .outputs = {result}};
  for (const ir::Attribute& attribute : reader.attributes) {
    const bool is_place = attribute.name.starts_with("__") && attribute.name != annotate::kShardingPlace;
    if (is_place) op.attributes.push_back(attribute);
  }
  return op;
}

}  // namespace

Watched watch(ir::Training& training) {
  ir::Graph& graph = training.graph;
  Watched watched;
  for (ValueId id : training.reduced) {
    if (!is_float(graph[id].type.element) || !graph[id].type.is_static()) continue;
    const ir::Op* reader = reader_in_update(graph, id);
    if (reader == nullptr) continue;
    const ValueId negative = graph.add_value(graph.fresh_name(graph[id].name), graph[id].type);
    graph.ops.push_back(negative_beside(*reader, id, negative));
    watched.negatives.emplace(id, negative);
  }
  std::set<std::size_t> updates;
  for (const ir::Update& update : training.updates) updates.insert(update.output);
  std::set<ValueId> outputs;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!updates.contains(i)) outputs.insert(graph.outputs[i]);
  }
  const ir::IdMap<ValueId, bool> accumulated = ir::accumulated_values(training);
  for (const ir::Op& op : graph.ops) {
    for (ValueId id : outputs_of(op)) {
      if (accumulated[id] || !can_come_back(graph[id].type) || !outputs.insert(id).second) continue;
      graph.outputs.push_back(id);
      if (!training.output_axes.empty()) training.output_axes.emplace_back();
    }
  }
  watched.whole = training;
  return watched;
}

}  // namespace podium
