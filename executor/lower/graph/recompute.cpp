#include "executor/lower/graph/recompute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "executor/program.h"
#include "ir/at.h"

namespace podium::lower {

using ir::Graph;
using ir::Op;
using ir::OpId;
using ir::OpPlacement;
using ir::Recompute;
using ir::ValueId;

namespace {

enum class Pass : std::uint8_t { Forward, Backward, Outer };

// Backward is what leads to an update and not to the loss.
std::vector<Pass> passes_of(const ir::Training& training) {
  const Graph& graph = training.graph;
  std::vector<bool> to_loss(graph.values.size(), false);
  std::vector<bool> to_update(graph.values.size(), false);
  to_loss[at(graph.outputs[training.loss])] = true;
  for (const ir::Update& update : training.updates) to_update[at(graph.outputs[update.output])] = true;
  std::vector<Pass> passes(graph.ops.size(), Pass::Forward);
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const auto any = [&](const std::vector<bool>& marks) {
      return std::any_of(op.outputs.begin(), op.outputs.end(),
                         [&](ValueId id) { return id.valid() && marks[at(id)]; });
    };
    const auto* context = ir::attribute_if<std::int64_t>(op, ir::kContextAttribute);
    const bool outer = context != nullptr && *context == ir::kOuterContext;
    const bool leads_to_loss = any(to_loss);
    const bool leads_to_update = any(to_update);
    if (outer) passes[i] = Pass::Outer;
    if (!outer && !leads_to_loss && leads_to_update) passes[i] = Pass::Backward;
    for (ValueId id : op.inputs) {
      if (!id.valid()) continue;
      to_loss[at(id)] = to_loss[at(id)] || leads_to_loss;
      to_update[at(id)] = to_update[at(id)] || leads_to_update;
    }
  }
  return passes;
}

bool is_random(const Op& op) {
  bool found = op.spec->random;
  ir::for_each_body(op, [&](std::string_view, const Graph& body) {
    found = found || std::any_of(body.ops.begin(), body.ops.end(), is_random);
  });
  return found;
}

// Per op of the list, the bytes of what the forward pass has made up to it and still reads behind it.
std::vector<std::int64_t> live_bytes(const Graph& graph, const std::vector<std::size_t>& forward,
                                     std::vector<std::size_t>& last_read) {
  last_read.assign(graph.values.size(), 0);
  for (std::size_t k = 0; k < forward.size(); ++k) {
    for (ValueId id : graph.ops[forward[k]].inputs) {
      if (id.valid()) last_read[at(id)] = k;
    }
  }
  std::vector<std::int64_t> dies(forward.size() + 1, 0);
  std::vector<std::int64_t> live;
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < forward.size(); ++k) {
    for (ValueId id : graph.ops[forward[k]].outputs) {
      if (!id.valid() || last_read[at(id)] <= k) continue;
      const std::int64_t size = executor::device_bytes(graph[id].type);
      bytes += size;
      dies[last_read[at(id)]] += size;
    }
    bytes -= dies[k];
    live.push_back(bytes);
  }
  return live;
}

// In each interval, the ops whose results wait where the least does are checkpoints (semantics,
// section 12.2).
std::vector<bool> standard_checkpoints(const Graph& graph, const std::vector<std::size_t>& forward) {
  std::vector<std::size_t> last_read;
  const std::vector<std::int64_t> live = live_bytes(graph, forward, last_read);
  std::vector<bool> is_checkpoint(graph.ops.size(), false);
  const double root = std::floor(std::sqrt(2.0 * static_cast<double>(forward.size())) - 1);
  auto length = static_cast<std::size_t>(std::max(1.0, 0.75 * root));
  for (std::size_t first = 0; first < forward.size();
       first += std::exchange(length, std::max<std::size_t>(1, length - 1))) {
    const auto begin = live.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = live.begin() + static_cast<std::ptrdiff_t>(std::min(first + length, live.size()));
    const auto cheapest = static_cast<std::size_t>(std::min_element(begin, end) - live.begin());
    for (std::size_t k = first; k <= cheapest; ++k) {
      for (ValueId id : graph.ops[forward[k]].outputs) {
        if (id.valid() && last_read[at(id)] > cheapest) is_checkpoint[forward[k]] = true;
      }
    }
  }
  return is_checkpoint;
}

class Copier {
 public:
  Copier(ir::Training& training, ir::Placement& placement, std::vector<bool> again)
      : graph_(training.graph),
        placement_(placement),
        again_(std::move(again)),
        producer_(producers(graph_)) {}

  void run(const std::vector<Pass>& passes) {
    ops_ = std::exchange(graph_.ops, {});
    places_ = std::exchange(placement_.ops, {});
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      Op op = ops_[i];
      if (passes[i] == Pass::Backward) {
        for (ValueId& id : op.inputs) id = again(id, places_[i]);
      }
      graph_.ops.push_back(std::move(op));
      placement_.ops.push_back(places_[i]);
    }
  }

 private:
  // The value as ops of the backward pass there read it.
  ValueId again(ValueId id, const OpPlacement& place) {
    const OpId maker = id.valid() ? producer_[at(id)] : OpId{};
    if (!maker.valid() || !again_[at(maker)] || places_[at(maker)].processor != place.processor) return id;
    const std::tuple key{id, place.processor, place.stage, place.phase};
    const auto found = copies_.find(key);
    if (found != copies_.end()) return found->second;
    Op op = ops_[at(maker)];
    for (ValueId& input : op.inputs) input = again(input, place);
    for (ValueId& output : op.outputs) {
      if (!output.valid()) continue;
      const ir::Value original = graph_[output];
      const ValueId copy = graph_.add_value(graph_.fresh_name(original.name), original.type);
      copies_[{output, place.processor, place.stage, place.phase}] = copy;
      output = copy;
    }
    graph_.ops.push_back(std::move(op));
    placement_.ops.push_back(place);
    return copies_.at(key);
  }

  Graph& graph_;
  ir::Placement& placement_;
  std::vector<bool> again_;
  ir::IdMap<ValueId, OpId> producer_;
  std::vector<Op> ops_;
  std::vector<OpPlacement> places_;
  std::map<std::tuple<ValueId, int, int, int>, ValueId> copies_;
};

}  // namespace

std::vector<bool> ops_to_recompute(const ir::Training& training, const ir::Placement& placement,
                                   const Options& options) {
  const Graph& graph = training.graph;
  const std::vector<Pass> passes = passes_of(training);
  std::vector<std::size_t> forward;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (passes[i] == Pass::Forward) forward.push_back(i);
  }
  const OpId loss = producers(graph)[at(graph.outputs[training.loss])];
  const auto is_beside_loss = [&](const OpPlacement& op) {
    if (placement.stages == 1 && placement.phases == 1) return false;
    const OpPlacement& last = placement.ops[at(loss)];
    return op.stage == last.stage && op.phase == last.phase;
  };
  std::vector<bool> is_checkpoint(graph.ops.size(), false);
  if (options.recomputation == Recomputation::Standard) is_checkpoint = standard_checkpoints(graph, forward);
  const auto is_chosen = [&](std::size_t i) {
    switch (options.recomputation) {
      case Recomputation::None:
        return false;
      case Recomputation::Standard:
        return !is_checkpoint[i];
      case Recomputation::NormOnly:
        return graph.ops[i].spec->norm;
      case Recomputation::Pipeline:
      case Recomputation::RecomputeAll:
        return !is_beside_loss(placement.ops[i]);
    }
    IR_CHECK(false);
  };
  std::vector<bool> again(graph.ops.size(), false);
  for (std::size_t i : forward) {
    const Recompute asked = placement.ops[i].recompute;
    again[i] = !is_random(graph.ops[i]) &&
               (asked == Recompute::Undefined ? is_chosen(i) : asked != Recompute::Checkpoint);
  }
  return again;
}

std::vector<ValueId> kept_for_backward(const ir::Training& training, const ir::Placement& placement,
                                       const Options& options) {
  const Graph& graph = training.graph;
  const std::vector<Pass> passes = passes_of(training);
  const std::vector<bool> again = ops_to_recompute(training, placement, options);
  const auto makers = producers(graph);
  std::vector<bool> is_read(graph.values.size(), false);
  std::vector<ValueId> kept;
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const bool runs_again = again[i] && std::any_of(op.outputs.begin(), op.outputs.end(), [&](ValueId id) {
                              return id.valid() && is_read[at(id)];
                            });
    if (passes[i] != Pass::Backward && !runs_again) continue;
    for (ValueId id : op.inputs) {
      if (!id.valid() || is_read[at(id)]) continue;
      is_read[at(id)] = true;
      const OpId maker = makers[at(id)];
      if (maker.valid() && passes[at(maker)] == Pass::Forward && !again[at(maker)]) kept.push_back(id);
    }
  }
  return kept;
}

void recompute(ir::Training& training, ir::Placement& placement, const Options& options) {
  std::vector<bool> again = ops_to_recompute(training, placement, options);
  if (std::find(again.begin(), again.end(), true) == again.end()) return;
  const std::vector<Pass> passes = passes_of(training);
  Copier(training, placement, std::move(again)).run(passes);
}

}  // namespace podium::lower
