#include "tests/strategies/training_settings.h"

#include "ir/optimizer_spec.h"
#include "tests/strategies/strategies.h"

namespace podium::testing {

void with_replicas(Setting& setting, int replicas) {
  if (setting.options.ipus > 0) setting.options.ipus *= replicas;
  setting.options.replicas = replicas;
  setting.reorders = true;
}

namespace {

void spread(Setting& setting, int processors, bool pipelined) {
  setting.options.virtual_graph_mode = VirtualGraphMode::Auto;
  setting.options.ipus = processors;
  setting.options.pipelining = pipelined;
  if (pipelined) setting.options.accumulation_factor = 2 * processors;
}

void in_order(Setting& setting, int processors, PipelineOrder order, int chunks = 1) {
  spread(setting, processors, true);
  setting.options.pipeline_order = order;
  setting.options.pipeline_chunks = chunks;
}

// Gradients are added up in two sums.
void both_ways(Setting& setting, int processors, PipelineOrder order) {
  in_order(setting, processors, order);
  setting.reorders = true;
}

void in_phases(Setting& setting, int processors) {
  setting.options.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  setting.options.ipus = processors;
  setting.options.phases.phases = 3;
  setting.options.phases.stages = processors;
}

void in_slices(Setting& setting, IoMode mode) {
  setting.options.batch_serialization = {.factor = 2, .io_mode = mode};
  if (mode != IoMode::Compute) setting.options.io_tiles = 64;
  setting.reorders = true;
}

void with_phase_io(Setting& setting, PhaseIo io, PhaseSchedule schedule) {
  PhaseSettings& phases = setting.options.phases;
  phases.weights = phases.activations = phases.optimizer_state = phases.accumulators = io;
  phases.schedule = schedule;
}

void with_sgd(Setting& setting, ir::SgdState state) {
  setting.optimizer =
      ir::make_optimizer("SGD", {{"learningRate", {0.05}}, {"momentum", {0.9}}, {"weightDecay", {0.01}}});
  setting.optimizer.sgd_state = state;
}

// With an epsilon that keeps gradients of the size of rounding errors from moving weights as far as others.
void with_optimizer(Setting& setting, const ir::OptimizerSpec& spec, ir::WeightDecayMode decay) {
  setting.optimizer = ir::make_optimizer(spec, {{"learningRate", {0.001}}});
  setting.optimizer.decay_mode = decay;
  const auto eps = setting.optimizer.defaults.find("eps");
  if (eps != setting.optimizer.defaults.end()) eps->second.value = 1e-3;
}

void with_named(Setting& setting, const char* name) {
  const ir::OptimizerSpec& spec = *ir::find_optimizer(name);
  with_optimizer(setting, spec, setting.optimizer.decay_mode);
}

}  // namespace

const std::vector<SettingChoice>& training_spreads() {
  static const std::vector<SettingChoice> kSpreads{
      {"one processor", [](Setting&) {}},
      {"sharded over 2", [](Setting& setting) { spread(setting, 2, false); }},
      {"sharded over 3", [](Setting& setting) { spread(setting, 3, false); }},
      {"pipelined over 2", [](Setting& setting) { spread(setting, 2, true); }},
      {"pipelined over 3", [](Setting& setting) { spread(setting, 3, true); }},
      {"phases on 1", [](Setting& setting) { in_phases(setting, 1); }},
      {"phases on 2", [](Setting& setting) { in_phases(setting, 2); }},
  };
  return kSpreads;
}

const std::vector<SettingChoice>& spreads_in_turns() {
  static const std::vector<SettingChoice> kSpreads{
      {"1F1B over 2", [](Setting& setting) { in_order(setting, 2, PipelineOrder::OneForwardOneBackward); }},
      {"1F1B over 3", [](Setting& setting) { in_order(setting, 3, PipelineOrder::OneForwardOneBackward); }},
      {"interleaved over 2", [](Setting& setting) { in_order(setting, 2, PipelineOrder::Interleaved, 2); }},
      {"lockstep-split over 3", [](Setting& setting) { in_order(setting, 3, PipelineOrder::LockstepSplit); }},
      {"breadth-first over 2",
       [](Setting& setting) { in_order(setting, 2, PipelineOrder::BreadthFirst, 2); }},
      {"ZB-H2 over 3", [](Setting& setting) { in_order(setting, 3, PipelineOrder::ZeroBubbleH2); }},
      {"V-Half over 2", [](Setting& setting) { in_order(setting, 2, PipelineOrder::VHalf, 2); }},
      {"V-Min over 3", [](Setting& setting) { in_order(setting, 3, PipelineOrder::VMin, 2); }},
      {"DualPipeV over 2", [](Setting& setting) { in_order(setting, 2, PipelineOrder::DualPipeV, 2); }},
      {"ZB-H1 over 3", [](Setting& setting) { in_order(setting, 3, PipelineOrder::ZeroBubbleH1); }},
      {"GPipe over 2", [](Setting& setting) { in_order(setting, 2, PipelineOrder::GPipe); }},
      {"list over 3", [](Setting& setting) { in_order(setting, 3, PipelineOrder::ListScheduled); }},
      {"ZB-V over 2", [](Setting& setting) { in_order(setting, 2, PipelineOrder::ZeroBubbleV, 2); }},
      {"DualPipe over 2", [](Setting& setting) { both_ways(setting, 2, PipelineOrder::DualPipe); }},
      {"DualPipe over 4", [](Setting& setting) { both_ways(setting, 4, PipelineOrder::DualPipe); }},
      {"Chimera over 2", [](Setting& setting) { both_ways(setting, 2, PipelineOrder::Chimera); }},
      {"Chimera over 4", [](Setting& setting) { both_ways(setting, 4, PipelineOrder::Chimera); }},
  };
  return kSpreads;
}

const std::vector<SettingChoice>& all_optimizers() {
  static const std::vector<SettingChoice> kOptimizers = [] {
    std::vector<SettingChoice> choices;
    for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
      for (const ir::TypedName& typed : spec->typed) {
        choices.push_back({std::string(typed.name), [spec, decay = typed.decay](Setting& setting) {
                             with_optimizer(setting, *spec, decay);
                           }});
      }
    }
    return choices;
  }();
  return kOptimizers;
}

const std::vector<std::vector<SettingChoice>>& sharded_choices() {
  static const std::vector<std::vector<SettingChoice>> kGroups = [] {
    std::vector<SettingChoice> optimizers = all_optimizers();
    optimizers.push_back({"momentum", [](Setting& setting) { with_sgd(setting, ir::SgdState::Combined); }});
    optimizers.push_back(
        {"momentum apart", [](Setting& setting) { with_sgd(setting, ir::SgdState::Separate); }});
    optimizers.push_back({"nesterov", [](Setting& setting) {
                            with_sgd(setting, ir::SgdState::Combined);
                            setting.optimizer.nesterov = true;
                          }});
    const std::vector<SettingChoice> reductions{
        {"sum", [](Setting&) {}},
        {"mean", [](Setting& setting) { setting.options.reduction = Reduction::Mean; }},
        {"running mean", [](Setting& setting) {
           setting.options.reduction = Reduction::Mean;
           setting.options.mean_strategy = MeanStrategy::Running;
         }}};
    const std::vector<SettingChoice> shards{
        {"accumulators sharded", [](Setting& setting) { shard(setting.options.accumulators); }},
        {"state sharded", [](Setting& setting) { shard(setting.options.optimizer_state); }},
        {"weights sharded", [](Setting& setting) { shard(setting.options.weights); }},
        {"everything sharded", [](Setting& setting) {
           shard(setting.options.accumulators);
           shard(setting.options.optimizer_state);
           shard(setting.options.weights);
         }}};
    return std::vector<std::vector<SettingChoice>>{optimizers, reductions, shards};
  }();
  return kGroups;
}

const std::vector<std::vector<SettingChoice>>& training_choices() {
  static const std::vector<std::vector<SettingChoice>> kGroups{
      {{"2 batches", [](Setting& setting) { setting.options.batches_per_step = 2; }}},
      {{"accumulation", [](Setting& setting) { setting.options.accumulation_factor *= 2; }}},
      {{"2 replicas", [](Setting& setting) { with_replicas(setting, 2); }},
       {"3 replicas", [](Setting& setting) { with_replicas(setting, 3); }}},
      {{"mean", [](Setting& setting) { setting.options.reduction = Reduction::Mean; }},
       {"running mean",
        [](Setting& setting) {
          setting.options.reduction = Reduction::Mean;
          setting.options.mean_strategy = MeanStrategy::Running;
        }}},
      {{"momentum", [](Setting& setting) { with_sgd(setting, ir::SgdState::Combined); }},
       {"momentum and accumulator apart",
        [](Setting& setting) { with_sgd(setting, ir::SgdState::Separate); }},
       {"Adam", [](Setting& setting) { with_named(setting, "Adam"); }},
       {"LAMB", [](Setting& setting) { with_named(setting, "LAMB"); }},
       {"clipped",
        [](Setting& setting) {
          setting.optimizer.clip_norms = {{.max_norm = 0.1}};
          setting.reorders = true;
        }}},
      {{"weights off chip", [](Setting& setting) { put_off_chip(setting.options.weights); }},
       {"weights sharded", [](Setting& setting) { shard(setting.options.weights); }}},
      {{"state off chip", [](Setting& setting) { put_off_chip(setting.options.optimizer_state); }},
       {"state sharded", [](Setting& setting) { shard(setting.options.optimizer_state); }},
       {"state off chip and sharded",
        [](Setting& setting) {
          put_off_chip(setting.options.optimizer_state);
          shard(setting.options.optimizer_state);
        }}},
      {{"accumulators off chip", [](Setting& setting) { put_off_chip(setting.options.accumulators); }},
       {"accumulators sharded", [](Setting& setting) { shard(setting.options.accumulators); }}},
      {{"recomputed", [](Setting& setting) { setting.options.recomputation = Recomputation::Standard; }},
       {"all recomputed",
        [](Setting& setting) { setting.options.recomputation = Recomputation::RecomputeAll; }},
       {"norms recomputed",
        [](Setting& setting) { setting.options.recomputation = Recomputation::NormOnly; }},
       {"stages recomputed",
        [](Setting& setting) { setting.options.recomputation = Recomputation::Pipeline; }}},
      {{"activations off chip", [](Setting& setting) { put_off_chip(setting.options.activations); }}},
      {{"2 slices", [](Setting& setting) { in_slices(setting, IoMode::Compute); }},
       {"2 slices overlap", [](Setting& setting) { in_slices(setting, IoMode::IoOverlapped); }}},
      {{"loads on demand",
        [](Setting& setting) { with_phase_io(setting, PhaseIo::OnDemand, PhaseSchedule::Batch); }},
       {"loads ahead",
        [](Setting& setting) { with_phase_io(setting, PhaseIo::Preload, PhaseSchedule::BatchClusteredIO); }}},
      {{"IO tiles", [](Setting& setting) { setting.options.io_tiles = 64; }},
       {"IO overlaps the inner loop",
        [](Setting& setting) {
          setting.options.io_tiles = 64;
          setting.options.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
        }},
       {"IO overlaps all loops",
        [](Setting& setting) {
          setting.options.io_tiles = 64;
          setting.options.overlap_io = ir::ExchangeStrategy::OverlapLoops;
        }}},
      {{"single-pipeline sync", [](Setting& setting) { setting.options.sync = SyncPattern::SinglePipeline; }},
       {"replica-and-ladder sync",
        [](Setting& setting) { setting.options.sync = SyncPattern::ReplicaAndLadder; }}},
  };
  return kGroups;
}

}  // namespace podium::testing
