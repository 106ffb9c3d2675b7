// A weight's layer is that of the first op that reads it, in the order of the program: the forward one.
// Inside a block layers then flow twice: against the order of the ops, from the weights that an update writes
// and from ops that say their layer to what prepares their operands; and along it, from operands to results,
// for what no weight and no named op waits for, such as the sum of gradients. Where layers meet, as in a norm
// over all gradients, there is none.
#include "executor/cli/op_layers.h"

#include <algorithm>

#include "executor/report/profile.h"

namespace podium::cli {
namespace {

using executor::BufferId;
using executor::Compute;
using ir::ValueId;

// Nothing is known yet, or "" where layers meet.
using Layer = std::optional<std::string>;

void meet(Layer& layer, const Layer& other) {
  if (!other) return;
  layer = !layer || *layer == *other ? *other : "";
}

}  // namespace

OpLayers::OpLayers(const executor::Program& program, const std::set<std::string>& model)
    : program_(program), model_(model) {
  find_weights(program.steps);
}

std::optional<std::string> OpLayers::told(const ir::Graph& graph, const ir::Op& op) const {
  if (!op.name.empty()) return report::layer_of(op.name);
  for (ValueId id : outputs_of(op)) {
    if (model_.empty() || model_.contains(graph[id].name)) return report::layer_of(graph[id].name);
  }
  return {};
}

void OpLayers::find_weights(const std::vector<executor::Step>& steps) {
  for (const executor::Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) find_weights(repeat->body);
    if (const auto* compute = std::get_if<Compute>(&step.action)) {
      note_readers(*compute);
    } else {
      note_transfers(step);
    }
  }
}

// What a collective or a copy makes a weight of belongs to that weight: replicas that share an update meet
// so.
void OpLayers::note_transfers(const executor::Step& step) {
  const std::vector<executor::Slot> from = reads_of(step);
  const std::vector<executor::Slot> to = writes_of(step);
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    if (is_weight(to[i].buffer)) weights_.emplace(from[i].buffer, layer_of_weight(to[i].buffer));
  }
}

bool OpLayers::is_weight(BufferId buffer) const {
  return buffer.valid() && (program_[buffer].role == executor::Role::Weight || weights_.contains(buffer));
}

void OpLayers::note_readers(const Compute& step) {
  const ir::Graph& graph = program_[step.block].graph;
  if (graph.ops.empty()) return;
  std::map<ValueId, BufferId> read;
  for (std::size_t i = 0; i < step.reads.size(); ++i) {
    const BufferId buffer = step.reads[i].buffer;
    if (is_weight(buffer)) read[graph.inputs[i]] = buffer;
  }
  if (read.empty()) return;
  for (const ir::Op& op : graph.ops) {
    const Layer layer = told(graph, op);
    if (!layer || layer->empty()) continue;
    for (ValueId id : inputs_of(op)) {
      if (const auto found = read.find(id); found != read.end()) weights_.emplace(found->second, *layer);
    }
  }
}

std::string OpLayers::layer_of_weight(BufferId buffer) const {
  const auto found = weights_.find(buffer);
  return found == weights_.end() ? report::layer_of(program_[buffer].name) : found->second;
}

ValueLayers OpLayers::of(const Compute& step) const {
  const ir::Graph& graph = program_[step.block].graph;
  if (graph.ops.empty()) return {};
  ir::IdMap<ValueId, Layer> layers(std::ssize(graph.values));
  for (std::size_t i = 0; i < step.writes.size(); ++i) {
    const BufferId buffer = step.writes[i].buffer;
    if (is_weight(buffer)) layers[graph.outputs[i]] = layer_of_weight(buffer);
  }
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    Layer layer;
    for (ValueId id : outputs_of(*op)) meet(layer, layers[id]);
    if (Layer own = told(graph, *op)) layer = std::move(own);
    for (ValueId id : outputs_of(*op)) layers[id] = layer;
    for (ValueId id : inputs_of(*op)) meet(layers[id], layer);
  }
  ValueLayers named;
  for (const ir::Op& op : graph.ops) {
    Layer from;
    for (ValueId id : inputs_of(op)) {
      if (layers[id] && !layers[id]->empty()) meet(from, layers[id]);
    }
    for (ValueId id : outputs_of(op)) {
      if (!layers[id]) layers[id] = from;
      named[graph[id].name] = layers[id].value_or("");
    }
  }
  return named;
}

}  // namespace podium::cli
