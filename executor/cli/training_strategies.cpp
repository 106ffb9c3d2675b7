// The strategies that `podium compare --train` tries when nobody names others.
#include <fmt/core.h>

#include <algorithm>

#include "executor/cli/strategies.h"
#include "executor/cli/strategy_sizes.h"

namespace podium::cli {
namespace {

using nlohmann::json;
using Path = json::json_pointer;

constexpr int kCopiesOfWeights = 4;  // the weight, its gradient and the state of most optimizers
constexpr int kLongTrainingPipeline =
    256;  // there and back: its fill and drain would need a thousand micro-batches

constexpr const char* kWeights = "weightTensorLocationSettings";
constexpr const char* kState = "optimizerStateTensorLocationSettings";
constexpr const char* kAccumulators = "accumulatorTensorLocationSettings";
constexpr const char* kActivations = "activationTensorLocationSettings";

using Settings = std::initializer_list<const char*>;

void locate(json& options, Settings settings, const char* what, const char* value) {
  for (const char* setting : settings) options[Path(fmt::format("/{}/location/{}", setting, what))] = value;
}

// An update on `processors` a replica takes the same micro-batches whatever the replicas.
Strategy on(const StrategyRequest& request, const std::string& name, const char* mode, int processors,
            int replicas = 1) {
  Strategy strategy{.name = replicas > 1 ? fmt::format("{}, {} replicas", name, replicas) : name,
                    .options = request.base};
  json& options = strategy.options;
  options["virtualGraphMode"] = mode;
  options["enablePipelining"] = false;
  options["numIPUs"] = processors * replicas;
  options["enableGradientAccumulation"] = true;
  options["accumulationFactor"] = std::max(1, micro_batches_of_step(request) / replicas);
  options["enableReplicatedGraphs"] = replicas > 1;
  options["replicatedGraphCount"] = replicas;
  return strategy;
}

Strategy pipelined(const StrategyRequest& request, int processors, int replicas = 1) {
  Strategy strategy = on(request, fmt::format("pipelined over {}", processors), "Auto", processors, replicas);
  strategy.options["enablePipelining"] = true;
  return strategy;
}

// Weights and all that belongs to them come from streaming memory; on two processors that take turns, or on
// one with IO tiles.
Strategy phased(const StrategyRequest& request, int processors, int replicas = 1) {
  const bool is_alone = processors == 1;
  Strategy strategy = on(request, is_alone ? "phases on 1 with IO tiles" : "phases in turns on 2",
                         "ExecutionPhases", processors, replicas);
  json& options = strategy.options;
  options["executionPhaseSettings"] = {{"phases", phases_that_fit(request)}, {"stages", processors}};
  options["syncPattern"] = "ReplicaAndLadder";
  locate(options, {kWeights, kState, kAccumulators, kActivations}, "storage", "OffChip");
  if (!is_alone) return strategy;
  options["numIOTiles"] = sensible_io_tiles(request);
  locate(options, {kWeights, kState, kAccumulators, kActivations}, "loadTileSet", "IO");
  return strategy;
}

Strategy recomputed(Strategy strategy, const char* rule) {
  strategy.name += ", recomputation";
  strategy.options["autoRecomputation"] = rule;
  return strategy;
}

Strategy off_chip(Strategy strategy, const char* what, Settings settings) {
  strategy.name += fmt::format(", {} off chip", what);
  locate(strategy.options, settings, "storage", "OffChip");
  return strategy;
}

Strategy in_shards(Strategy strategy, const char* what, Settings settings) {
  strategy.name += fmt::format(", {} sharded", what);
  locate(strategy.options, settings, "replicatedTensorSharding", "On");
  return strategy;
}

// Each replica keeps a part of everything that belongs to weights.
Strategy all_in_shards(Strategy strategy) {
  return in_shards(std::move(strategy), "all", {kWeights, kState, kAccumulators});
}

void add(std::vector<Strategy>& list, std::initializer_list<Strategy> more) { list.insert(list.end(), more); }

void add_whole_device(std::vector<Strategy>& list, const StrategyRequest& request) {
  const int processors = request.processors;
  const Strategy sharded = on(request, fmt::format("sharded over {}", processors), "Auto", processors);
  add(list, {sharded, recomputed(sharded, "Standard")});
  if (processors <= kLongTrainingPipeline) {
    const Strategy pipeline = pipelined(request, processors);
    add(list, {pipeline, recomputed(pipeline, "Pipeline"), off_chip(pipeline, "optimizer state", {kState})});
  }
  const Strategy copies = on(request, "one processor", "Off", 1, processors);
  add(list, {copies, in_shards(copies, "optimizer state", {kState}), all_in_shards(copies),
             all_in_shards(off_chip(copies, "weights and state", {kWeights, kState}))});
}

}  // namespace

std::vector<Strategy> sensible_training_strategies(StrategyRequest request) {
  request.weight_bytes *= kCopiesOfWeights;
  const int processors = request.processors;
  const Strategy one = on(request, "one processor", "Off", 1);
  std::vector<Strategy> list{one, recomputed(one, "Standard"), off_chip(one, "optimizer state", {kState}),
                             off_chip(one, "weights and state", {kWeights, kState}), phased(request, 1)};
  if (processors > 1) {
    add(list, {phased(request, 2)});
    add_whole_device(list, request);
  }
  for (int length : shorter_pipelines(request)) {
    const Strategy pipeline = pipelined(request, length, processors / length);
    add(list, {pipeline, recomputed(pipeline, "Pipeline"), in_shards(pipeline, "optimizer state", {kState})});
  }
  if (processors >= 4 && processors % 2 == 0) {
    const Strategy phases = phased(request, 2, processors / 2);
    add(list, {phases, all_in_shards(phases)});
  }
  return list;
}

}  // namespace podium::cli
