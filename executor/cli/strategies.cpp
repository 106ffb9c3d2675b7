#include "executor/cli/strategies.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "executor/session/read_options.h"

namespace podium::cli {
namespace {

constexpr int kBatchesAProcessor = 4;  // of a step: fills a pipeline for four fifths of its time
constexpr int kMostPipelines = 4;
constexpr int kLeastPhases = 4;
constexpr int kIoShare = 16;  // one tile in so many for input and output

class List {
 public:
  explicit List(const StrategyRequest& request) : request_(request) {
    const podium::Options& base = request.base;
    micro_batches_ = base.batches_per_step > 1 ? base.batches_per_step * base.replicas
                                               : kBatchesAProcessor * request.processors;
  }

  /// A strategy of `processors` a replica, with the step's micro-batches shared out over the replicas.
  podium::Options& add(std::string name, int processors, int replicas) {
    podium::Options options = request_.base;
    options.ipus = processors * replicas;
    options.replicas = replicas;
    options.batches_per_step = std::max(1, micro_batches_ / replicas);
    if (replicas > 1) name += fmt::format(", {} replicas", replicas);
    strategies.push_back({std::move(name), std::move(options)});
    return strategies.back().options;
  }
  podium::Options& sharded(int processors, int replicas = 1) {
    podium::Options& options = add(fmt::format("sharded over {}", processors), processors, replicas);
    options.virtual_graph_mode = VirtualGraphMode::Auto;
    return options;
  }
  podium::Options& pipelined(int processors, int replicas = 1) {
    podium::Options& options = add(fmt::format("pipelined over {}", processors), processors, replicas);
    options.virtual_graph_mode = VirtualGraphMode::Auto;
    options.pipelining = true;
    return options;
  }
  /// Phases with weights in streaming memory; on two processors that take turns, or on one with IO tiles.
  podium::Options& phased(int processors, int replicas = 1) {
    const char* const where = processors == 2 ? "phases in turns on 2" : "phases on 1 with IO tiles";
    podium::Options& options = add(where, processors, replicas);
    options.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
    options.phases.phases = phases();
    options.phases.stages = processors;
    options.weights.location.storage = ir::Storage::OffChip;
    options.sync = SyncPattern::ReplicaAndLadder;
    if (processors == 1) {
      options.io_tiles = io_tiles();
      options.weights.location.load_tiles = ir::TileSet::IO;
    }
    return options;
  }
  /// The last strategy once more with a part of each weight on each replica.
  void with_shards() {
    Strategy strategy = strategies.back();
    strategy.name += ", weights sharded";
    strategy.options.weights.location.sharded = true;
    strategies.push_back(std::move(strategy));
  }
  void with_overlapped_io() {
    Strategy strategy = strategies.back();
    strategy.name += ", host IO overlapped";
    if (strategy.options.virtual_graph_mode == VirtualGraphMode::Off) {
      strategy.options.virtual_graph_mode = VirtualGraphMode::Auto;
    }
    strategy.options.io_tiles = io_tiles();
    strategy.options.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
    strategies.push_back(std::move(strategy));
  }

  std::vector<Strategy> strategies;

 private:
  int io_tiles() const { return std::max(32, request_.tiles / kIoShare / 2 * 2); }
  /// An even number of which four fit into a processor's memory: two in use, two on their way.
  int phases() const {
    const std::int64_t memory = std::max<std::int64_t>(request_.memory_bytes, 1);
    const std::int64_t wanted = (kLeastPhases * request_.weight_bytes + memory - 1) / memory;
    const std::int64_t most = std::max(request_.ops, 2);
    return static_cast<int>(std::min(std::max<std::int64_t>(wanted, kLeastPhases), most)) / 2 * 2;
  }

  const StrategyRequest& request_;
  int micro_batches_ = 1;
};

// Lengths of pipelines shorter than the whole, longest first: halves of it as long as the weights fit.
std::vector<int> shorter_pipelines(const StrategyRequest& request) {
  std::vector<int> lengths;
  for (int length = request.processors; length % 2 == 0 && length > 2;) {
    length /= 2;
    const bool fits = request.weight_bytes < length * request.memory_bytes;
    if (length > request.ops) continue;
    if (!fits && !lengths.empty()) break;
    lengths.push_back(length);
    if (lengths.size() == kMostPipelines) break;
  }
  return lengths;
}

void add_whole_device(List& list, int processors) {
  list.sharded(processors);
  list.pipelined(processors).batches_per_step = processors;
  list.strategies.back().name += fmt::format(", {} batches", processors);
  list.pipelined(processors);
  list.with_overlapped_io();
  list.add("one processor", 1, processors);
  list.with_shards();
  list.add("one processor, weights off chip", 1, processors).weights.location.storage = ir::Storage::OffChip;
  list.with_shards();
}

}  // namespace

std::vector<Strategy> sensible_strategies(const StrategyRequest& request) {
  const int processors = request.processors;
  List list(request);
  list.add("one processor", 1, 1);
  list.with_overlapped_io();
  list.phased(1);
  if (processors > 1) {
    list.phased(2);
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

std::vector<Strategy> read_strategies(const std::string& text, const std::string& where, const podium::Options& base,
                                      std::vector<std::string>& notes) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Error("{}: no JSON found", where);
  if (!json.is_array() || json.empty()) throw Error("{}: a list of at least one strategy needed", where);
  std::vector<Strategy> strategies;
  for (const nlohmann::json& entry : json) {
    const std::string place = fmt::format("{}: strategy {}", where, strategies.size());
    if (!entry.is_object()) throw Error("{}: {} found, an object needed", place, entry.type_name());
    Strategy strategy{.name = fmt::format("strategy {}", strategies.size()), .options = base};
    for (const auto& [key, value] : entry.items()) {
      if (key == "name" && value.is_string()) {
        strategy.name = value;
      } else if (key == "options") {
        strategy.options = read_options(value.dump(), place + ": options", notes, base);
      } else if (key == "annotate") {
        strategy.annotations = value.dump();
      } else {
        throw Error("{}: '{}' found, name (a text), options or annotate needed", place, key);
      }
    }
    strategies.push_back(std::move(strategy));
  }
  return strategies;
}

}  // namespace podium::cli
