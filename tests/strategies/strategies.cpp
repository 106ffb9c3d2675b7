#include "tests/strategies/strategies.h"

namespace podium::testing {
namespace {

void in_phases(Strategy& options, int phases, int stages) {
  options.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  options.phases.phases = phases;
  options.phases.stages = stages;
  options.ipus = stages;
}

void sharded(Strategy& options, int processors) {
  options.virtual_graph_mode = VirtualGraphMode::Auto;
  options.ipus = processors;
}

void pipelined(Strategy& options, int processors) {
  sharded(options, processors);
  options.pipelining = true;
  options.batches_per_step = processors + 1;
}

void with_replicas(Strategy& options, int replicas) {
  if (options.ipus > 0) options.ipus *= replicas;
  options.replicas = replicas;
}

void on_io_tiles(LocationSettings& settings) {
  settings.location.load_tiles = ir::TileSet::IO;
  settings.location.storage_tiles = ir::TileSet::IO;
}

void overlapped(Strategy& options, ir::ExchangeStrategy exchange) {
  options.io_tiles = 64;
  options.overlap_io = exchange;
}

void serialized(Strategy& options, IoMode mode) {
  options.batch_serialization.factor = 2;
  options.batch_serialization.io_mode = mode;
  if (mode != IoMode::Compute) options.io_tiles = 64;
}

// The anchor of output "*" is that of every output.
void anchored(Strategy& options, AnchorReturn returns, int every = 1) {
  options.anchors["*"] = {.returns = returns, .every = every};
}

}  // namespace

const std::vector<Choice>& spreads() {
  static const std::vector<Choice> kSpreads{
      {"one processor", [](Strategy&) {}},
      {"sharded over 2", [](Strategy& options) { sharded(options, 2); }},
      {"sharded over 3", [](Strategy& options) { sharded(options, 3); }},
      {"pipelined over 2", [](Strategy& options) { pipelined(options, 2); }},
      {"pipelined over 3", [](Strategy& options) { pipelined(options, 3); }},
      {"3 phases on 2", [](Strategy& options) { in_phases(options, 3, 2); }},
      {"4 phases on 1", [](Strategy& options) { in_phases(options, 4, 1); }},
  };
  return kSpreads;
}

const std::vector<std::vector<Choice>>& other_choices() {
  static const std::vector<std::vector<Choice>> kGroups{
      {{"", [](Strategy&) {}},
       {"3 batches", [](Strategy& options) { options.batches_per_step = 3; }},
       {"6 batches", [](Strategy& options) { options.batches_per_step = 6; }}},
      {{"", [](Strategy&) {}},
       {"2 replicas", [](Strategy& options) { with_replicas(options, 2); }},
       {"3 replicas", [](Strategy& options) { with_replicas(options, 3); }}},
      {{"", [](Strategy&) {}},
       {"weights off chip", [](Strategy& options) { put_off_chip(options.weights); }},
       {"weights sharded", [](Strategy& options) { shard(options.weights); }},
       {"weights off chip and sharded",
        [](Strategy& options) {
          put_off_chip(options.weights);
          shard(options.weights);
        }},
       {"weights off chip through IO tiles",
        [](Strategy& options) {
          put_off_chip(options.weights);
          on_io_tiles(options.weights);
          options.io_tiles = 64;
        }}},
      {{"", [](Strategy&) {}},
       {"activations off chip", [](Strategy& options) { put_off_chip(options.activations); }}},
      {{"", [](Strategy&) {}},
       {"IO tiles", [](Strategy& options) { overlapped(options, ir::ExchangeStrategy::JustInTime); }},
       {"IO overlaps the inner loop",
        [](Strategy& options) { overlapped(options, ir::ExchangeStrategy::OverlapInnerLoop); }},
       {"IO overlaps loops",
        [](Strategy& options) { overlapped(options, ir::ExchangeStrategy::OverlapLoops); }}},
      {{"", [](Strategy&) {}},
       {"batch in 2", [](Strategy& options) { serialized(options, IoMode::Compute); }},
       {"batch in 2 with IO", [](Strategy& options) { serialized(options, IoMode::Io); }},
       {"batch in 2 with overlapped IO",
        [](Strategy& options) { serialized(options, IoMode::IoOverlapped); }}},
      {{"", [](Strategy&) {}},
       {"final", [](Strategy& options) { anchored(options, AnchorReturn::Final); }},
       {"sum", [](Strategy& options) { anchored(options, AnchorReturn::Sum); }},
       {"every 3", [](Strategy& options) { anchored(options, AnchorReturn::EveryN, 3); }}},
      {{"", [](Strategy&) {}},
       {"single-pipeline sync", [](Strategy& options) { options.sync = SyncPattern::SinglePipeline; }},
       {"replica-and-ladder sync", [](Strategy& options) { options.sync = SyncPattern::ReplicaAndLadder; }}},
      {{"", [](Strategy&) {}},
       {"batch schedule", [](Strategy& options) { options.phases.schedule = PhaseSchedule::Batch; }},
       {"clustered schedule",
        [](Strategy& options) { options.phases.schedule = PhaseSchedule::BatchClusteredIO; }},
       {"on demand",
        [](Strategy& options) {
          options.phases.weights = PhaseIo::OnDemand;
          options.phases.activations = PhaseIo::OnDemand;
        }}},
  };
  return kGroups;
}

std::vector<NamedStrategy> strategies(int most_choices) {
  std::vector<NamedStrategy> all;
  const auto& groups = other_choices();
  const auto add = [&](const Choice& spread, const std::vector<const Choice*>& choices) {
    NamedStrategy strategy{.name = spread.name, .options = {}};
    spread.apply(strategy.options);
    for (const Choice* choice : choices) {
      choice->apply(strategy.options);
      strategy.name += ", " + choice->name;
    }
    all.push_back(std::move(strategy));
  };
  for (const Choice& spread : spreads()) {
    add(spread, {});
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (std::size_t i = 1; i < groups[a].size(); ++i) {
        add(spread, {&groups[a][i]});
        if (most_choices == 1) continue;
        for (std::size_t b = a + 1; b < groups.size(); ++b) {
          for (std::size_t k = 1; k < groups[b].size(); ++k) add(spread, {&groups[a][i], &groups[b][k]});
        }
      }
    }
  }
  return all;
}

}  // namespace podium::testing
