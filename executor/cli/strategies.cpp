#include "executor/cli/strategies.h"

#include <fmt/core.h>

#include <algorithm>

#include "executor/cli/strategy_sizes.h"

namespace podium::cli {
namespace {

using nlohmann::json;
using Path = json::json_pointer;

constexpr int kLongPipeline = 256;  // is not tried with few batches: it would fill and drain most of the time
constexpr int kMostSlices = 4;

void put_weights_off_chip(json& options) {
  options[Path("/weightTensorLocationSettings/location/storage")] = "OffChip";
}

class List {
 public:
  explicit List(const StrategyRequest& request)
      : request_(request), micro_batches_(micro_batches_of_step(request)) {}

  /// A strategy of `processors` a replica, with the step's micro-batches shared out over the replicas.
  json& add(std::string name, int processors, int replicas = 1) {
    json options = request_.base;
    options["virtualGraphMode"] = "Off";
    options["enablePipelining"] = false;
    options["numIPUs"] = processors * replicas;
    options["batchesPerStep"] = std::max(1, micro_batches_ / replicas);
    options["enableReplicatedGraphs"] = replicas > 1;
    options["replicatedGraphCount"] = replicas;
    if (replicas > 1) name += fmt::format(", {} replicas", replicas);
    strategies.push_back({std::move(name), std::move(options)});
    return strategies.back().options;
  }
  json& sharded(int processors, int replicas = 1) {
    json& options = add(fmt::format("sharded over {}", processors), processors, replicas);
    options["virtualGraphMode"] = "Auto";
    return options;
  }
  json& pipelined(int processors, int replicas = 1) {
    json& options = add(fmt::format("pipelined over {}", processors), processors, replicas);
    options["virtualGraphMode"] = "Auto";
    options["enablePipelining"] = true;
    return options;
  }
  /// Phases with weights in streaming memory; on two processors that take turns, or on one with IO tiles.
  void phased(int processors, int replicas = 1) {
    const char* const where = processors == 2 ? "phases in turns on 2" : "phases on 1 with IO tiles";
    json& options = add(where, processors, replicas);
    options["virtualGraphMode"] = "ExecutionPhases";
    options["executionPhaseSettings"] = {{"phases", phases_that_fit(request_)}, {"stages", processors}};
    options["syncPattern"] = "ReplicaAndLadder";
    put_weights_off_chip(options);
    if (processors > 1) return;
    options["numIOTiles"] = sensible_io_tiles(request_);
    options[Path("/weightTensorLocationSettings/location/loadTileSet")] = "IO";
  }
  /// The last strategy once more with a part of each weight on each replica.
  void with_shards() {
    json& options = again("weights sharded");
    options[Path("/weightTensorLocationSettings/location/replicatedTensorSharding")] = "On";
  }
  /// The last strategy once more with a micro-batch in slices that come and go beside the computation; only
  /// where the samples can be shared out.
  void with_slices() {
    const int slices = request_.batch % kMostSlices == 0 ? kMostSlices : 2;
    if (request_.batch % slices != 0) return;
    json& options = again(fmt::format("batch in {} slices", slices));
    options["numIOTiles"] = sensible_io_tiles(request_);
    options["batchSerializationSettings"] = {{"factor", slices}, {"ioMode", "IOOverlapped"}};
  }
  void with_overlapped_io() {
    json& options = again("host IO overlapped");
    if (options["virtualGraphMode"] == "Off") options["virtualGraphMode"] = "Auto";
    options["numIOTiles"] = sensible_io_tiles(request_);
    options["exchangeStrategy"] = "OverlapInnerLoop";
  }

  std::vector<Strategy> strategies;

 private:
  json& again(const std::string& what) {
    Strategy strategy = strategies.back();
    strategy.name += fmt::format(", {}", what);
    strategies.push_back(std::move(strategy));
    return strategies.back().options;
  }

  const StrategyRequest& request_;
  int micro_batches_;
};

void add_whole_device(List& list, int processors) {
  list.sharded(processors);
  if (processors <= kLongPipeline) {
    list.pipelined(processors)["batchesPerStep"] = processors;
    list.strategies.back().name += fmt::format(", {} batches", processors);
  }
  list.pipelined(processors);
  list.with_overlapped_io();
  list.add("one processor", 1, processors);
  list.with_shards();
  put_weights_off_chip(list.add("one processor, weights off chip", 1, processors));
  list.with_shards();
}

Strategy read_strategy(const json& entry, const std::string& place, const json& base) {
  if (!entry.is_object()) throw Error("{}: {} found, an object needed", place, entry.type_name());
  Strategy strategy{.name = "", .options = base};
  for (const auto& [key, value] : entry.items()) {
    if (key == "name" && value.is_string()) {
      strategy.name = value;
    } else if (key == "options" && value.is_object()) {
      strategy.options.merge_patch(value);
    } else if (key == "annotate" && value.is_structured()) {
      strategy.annotations = value;
    } else {
      throw Error("{}: '{}' found, name (a text), options (an object) or annotate (rules) needed", place,
                  key);
    }
  }
  return strategy;
}

}  // namespace

std::vector<Strategy> sensible_strategies(StrategyRequest request) {
  const int processors = request.processors;
  List list(request);
  list.add("one processor", 1);
  list.with_overlapped_io();
  list.phased(1);
  if (processors > 1) {
    list.phased(2);
    list.with_slices();
    add_whole_device(list, processors);
  }
  for (int length : shorter_pipelines(request)) list.pipelined(length, processors / length);
  if (processors >= 4 && processors % 2 == 0) {
    list.with_shards();
    list.sharded(2, processors / 2);
    list.phased(2, processors / 2);
    list.with_shards();
  }
  return std::move(list.strategies);
}

std::vector<Strategy> read_strategies(const std::string& text, const std::string& where, const json& base) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) throw Error("{}: no JSON found", where);
  if (!document.is_array() || document.empty())
    throw Error("{}: a list of at least one strategy needed", where);
  std::vector<Strategy> strategies;
  for (const json& entry : document) {
    strategies.push_back(
        read_strategy(entry, fmt::format("{}: strategy {}", where, strategies.size()), base));
    if (strategies.back().name.empty())
      strategies.back().name = fmt::format("strategy {}", strategies.size() - 1);
  }
  return strategies;
}

}  // namespace podium::cli
