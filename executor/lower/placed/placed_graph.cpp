#include "executor/lower/placed/placed_graph.h"

#include <algorithm>

#include "ir/ops/group_exchange.h"

namespace podium::lower {
namespace {

std::string text_of(const ir::OpPlacement& place) {
  std::string text;
  if (place.processor != 0) text += fmt::format(" ipu {}", place.processor);
  if (place.stage != 0) text += fmt::format(" stage {}", place.stage);
  if (place.phase != 0) text += fmt::format(" phase {}", place.phase);
  if (place.context == ir::Context::Update) text += " update";
  return text.empty() ? text : "  @" + text;
}

}  // namespace

ir::OpPlacement PlacedOp::place_of_member(std::size_t member) const {
  ir::OpPlacement own = place;
  if (ir::exchanges_in_group(op)) own.processor = ir::group_processor(op, member);
  return own;
}

PlacedGraph::PlacedGraph(ir::Training of, ir::Placement placed)
    : training(std::move(of)), placement(std::move(placed)) {
  IR_CHECK(placement.ops.size() == graph().ops.size(), "{} places for {} ops", placement.ops.size(),
           graph().ops.size());
  for (const ir::OpPlacement& op : placement.ops) placement.phases = std::max(placement.phases, op.phase + 1);
  if (training.variables.empty()) return;
  for (ir::OpId id : graph().op_ids()) {
    ir::Op& op = graph()[id];
    (*this)[id].context = ir::is_outer(op) ? ir::Context::Update : ir::Context::MicroBatch;
    ir::remove_attribute(op, ir::kContextAttribute);
  }
}

ir::OpPlacement PlacedGraph::place_of(ir::OpId maker, ir::ValueId made) const {
  ir::OpPlacement place = (*this)[maker];
  const ir::Op& op = graph()[maker];
  if (ir::exchanges_in_group(op))
    place.processor = ir::group_processor(op, std::ranges::find(op.outputs, made) - op.outputs.begin());
  return place;
}

void PlacedGraph::append(ir::Op op, const ir::OpPlacement& place) {
  graph().ops.push_back(std::move(op));
  placement.ops.push_back(place);
}

ir::ValueId PlacedGraph::append_copy(ir::ValueId source, std::string name, const ir::OpPlacement& place) {
  const ir::ValueId copy = graph().add_value(std::move(name), graph()[source].type);
  append({.spec = ir::find_op("", "Identity"), .inputs = {source}, .outputs = {copy}}, place);
  return copy;
}

ir::IdMap<ir::OpId, PlacedOp> PlacedGraph::take_ops() {
  ir::IdMap<ir::OpId, PlacedOp> ops;
  ops.reserve(std::ssize(graph().ops));
  for (ir::OpId id : graph().op_ids()) ops.push_back({std::move(graph()[id]), (*this)[id]});
  graph().ops.clear();
  placement.ops.clear();
  return ops;
}

std::vector<ir::OpId> backwards(const ir::Graph& graph) {
  std::vector<ir::OpId> ids;
  for (ir::OpId id : graph.op_ids()) ids.push_back(id);
  std::reverse(ids.begin(), ids.end());
  return ids;
}

ir::OpPlacement in_context(ir::OpPlacement place, ir::Context context) {
  place.context = context;
  return place;
}

std::string print(const PlacedGraph& placed) {
  const std::string plain = print(placed.graph());
  std::string text;
  std::size_t next = 0;
  for (std::size_t begin = 0; begin < plain.size();) {
    const std::size_t end = plain.find('\n', begin);
    const std::string line = plain.substr(begin, end - begin);
    begin = end + 1;
    // Lines of bodies are indented; an op's own is neither that nor one of the graph's inputs and outputs.
    const bool is_op = line.find(" = ") != std::string::npos && !line.starts_with(' ');
    text += line + (is_op ? text_of(placed.placement.ops[next++]) : "") + "\n";
  }
  return text;
}

}  // namespace podium::lower
