// Every legal pair of strategies trains the models that Podium ships to the same weights: those of one
// processor that sees the same micro-batches one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "executor/session/check_options.h"
#include "executor/session/training_session.h"
#include "models/catalog.h"
#include "tests/strategies/micro_batches.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;

struct TestModel {
  std::string name;
  models::Parameters parameters;
};

const std::vector<TestModel>& test_models() {
  static const std::vector<TestModel> kModels{
      {"mnist-mlp", {{"batch", "4"}}},
      {"mnist-cnn", {{"batch", "2"}}},
      {"bert",
       {{"layers", "1"},
        {"hidden", "8"},
        {"heads", "2"},
        {"sequence", "4"},
        {"vocabulary", "10"},
        {"batch", "2"}}},
      {"gpt2",
       {{"layers", "1"},
        {"hidden", "8"},
        {"heads", "2"},
        {"sequence", "4"},
        {"vocabulary", "10"},
        {"batch", "2"}}},
      {"unet", {{"image", "8"}, {"depth", "2"}, {"channels", "2"}, {"batch", "2"}}},
  };
  return kModels;
}

// What one processor does with the same micro-batches decides what a strategy must give.
struct Setting {
  Options options = {};
  ir::Optimizer optimizer = ir::make_optimizer(ir::OptimizerKind::Sgd, {{"learningRate", {0.05}}});
  /// Sums over micro-batches are made in another order than by one processor.
  bool reorders = false;
};

struct Choice {
  std::string name;
  void (*apply)(Setting&);
};

void spread(Setting& setting, int processors, bool pipelined) {
  setting.options.virtual_graph_mode = VirtualGraphMode::Auto;
  setting.options.ipus = processors;
  setting.options.pipelining = pipelined;
  if (pipelined) setting.options.accumulation_factor = 2 * processors;
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

void with_replicas(Setting& setting, int replicas) {
  if (setting.options.ipus > 0) setting.options.ipus *= replicas;
  setting.options.replicas = replicas;
  setting.reorders = true;
}

void off_chip(LocationSettings& settings) { settings.location.storage = ir::Storage::OffChip; }

void shard(LocationSettings& settings) {
  settings.location.sharded = true;
  settings.min_elements_for_sharding = 2;
}

void with_sgd(Setting& setting, ir::SgdState state) {
  setting.optimizer = ir::make_optimizer(
      ir::OptimizerKind::Sgd, {{"learningRate", {0.05}}, {"momentum", {0.9}}, {"weightDecay", {0.01}}});
  setting.optimizer.sgd_state = state;
}

// With an epsilon that keeps gradients of the size of rounding errors from moving weights as far as others.
void with_adam(Setting& setting, ir::OptimizerKind kind) {
  setting.optimizer = ir::make_optimizer(kind, {{"learningRate", {0.001}}, {"eps", {1e-3}}});
}

const std::vector<Choice> kSpreads{
    {"one processor", [](Setting&) {}},
    {"sharded over 2", [](Setting& setting) { spread(setting, 2, false); }},
    {"sharded over 3", [](Setting& setting) { spread(setting, 3, false); }},
    {"pipelined over 2", [](Setting& setting) { spread(setting, 2, true); }},
    {"pipelined over 3", [](Setting& setting) { spread(setting, 3, true); }},
    {"phases on 1", [](Setting& setting) { in_phases(setting, 1); }},
    {"phases on 2", [](Setting& setting) { in_phases(setting, 2); }},
};

const std::vector<std::vector<Choice>> kGroups{
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
     {"momentum and accumulator apart", [](Setting& setting) { with_sgd(setting, ir::SgdState::Separate); }},
     {"Adam", [](Setting& setting) { with_adam(setting, ir::OptimizerKind::Adam); }},
     {"LAMB", [](Setting& setting) { with_adam(setting, ir::OptimizerKind::Lamb); }},
     {"clipped",
      [](Setting& setting) {
        setting.optimizer.clip_norms = {{.max_norm = 0.1}};
        setting.reorders = true;
      }}},
    {{"weights off chip", [](Setting& setting) { off_chip(setting.options.weights); }},
     {"weights sharded", [](Setting& setting) { shard(setting.options.weights); }}},
    {{"state off chip", [](Setting& setting) { off_chip(setting.options.optimizer_state); }},
     {"state sharded", [](Setting& setting) { shard(setting.options.optimizer_state); }},
     {"state off chip and sharded",
      [](Setting& setting) {
        off_chip(setting.options.optimizer_state);
        shard(setting.options.optimizer_state);
      }}},
    {{"accumulators off chip", [](Setting& setting) { off_chip(setting.options.accumulators); }}},
    {{"recomputed", [](Setting& setting) { setting.options.recomputation = Recomputation::Standard; }},
     {"all recomputed",
      [](Setting& setting) { setting.options.recomputation = Recomputation::RecomputeAll; }},
     {"norms recomputed", [](Setting& setting) { setting.options.recomputation = Recomputation::NormOnly; }},
     {"stages recomputed",
      [](Setting& setting) { setting.options.recomputation = Recomputation::Pipeline; }}},
    {{"activations off chip", [](Setting& setting) { off_chip(setting.options.activations); }}},
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

// Copies share their weights.
importer::Model load(std::size_t model) {
  static std::map<std::size_t, importer::Model> known;
  importer::Model& loaded = known[model];
  if (loaded.graph.ops.empty()) {
    models::Parameters parameters = test_models()[model].parameters;
    parameters["loss"] = "cross-entropy";
    loaded.graph = models::build(test_models()[model].name, parameters).graph;
  }
  return loaded;
}

// The tensors that a session holds and gives after two steps.
using State = std::map<std::string, Tensor>;

State train(std::size_t model, const Setting& setting) {
  TrainingOptions options;
  options.session.fuse = false;
  options.session.strategy = setting.options;
  options.session.clock = true;
  options.loss = "loss";
  options.optimizer = setting.optimizer;
  TrainingSession session(load(model), options);
  const auto count = static_cast<std::size_t>(setting.options.batches_per_step *
                                              setting.options.accumulation_factor * setting.options.replicas);
  State state;
  std::mt19937 random(7);
  for (int step = 0; step < 2; ++step) {
    std::vector<Datum> inputs;
    for (const executor::HostTensor& input : session.inputs()) {
      std::vector<Tensor> parts;
      for (std::size_t i = 0; i < count; ++i)
        parts.push_back(testing::random_tensor(whole_type(input), random));
      inputs.emplace_back(count == 1 ? parts[0] : testing::joined(parts, count));
    }
    const auto results = session.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      state[fmt::format("{} of step {}", session.outputs()[i].name, step)] = results[i].tensor.clone();
    }
  }
  for (const auto& tensors : {session.weights(), session.optimizer_state()}) {
    for (const auto& [name, tensor] : tensors) state[name] = tensor.clone();
  }
  for (std::size_t p = 0; p < session.timeline()->processors.size(); ++p) {
    EXPECT_EQ(session.timeline()->processors[p].memory.peak_data, session.peak_bytes(static_cast<int>(p)));
  }
  return state;
}

// One processor that sees what all replicas see.
Setting alone(Setting setting) {
  Setting one{.options = {}, .optimizer = setting.optimizer};
  one.options.batches_per_step = setting.options.batches_per_step;
  one.options.accumulation_factor = setting.options.accumulation_factor * setting.options.replicas;
  one.options.reduction = setting.options.reduction;
  one.options.mean_strategy = setting.options.mean_strategy;
  return one;
}

// The largest difference, over the largest magnitude.
double difference(const Tensor& found, const Tensor& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double most = 0;
  double scale = 1e-6;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const auto at = [&](const Tensor& tensor) { return static_cast<double>(tensor.data<float>()[i]); };
    if (std::isnan(at(found))) return INFINITY;
    most = std::max(most, std::fabs(at(found) - at(expected)));
    scale = std::max(scale, std::fabs(at(expected)));
  }
  return most / scale;
}

struct Counts {
  int equal = 0;
  int illegal = 0;
  std::map<std::string, int> refused;
};

void expect_right(std::size_t model, const std::string& name, const Setting& setting, Counts& counts) {
  const std::string where = test_models()[model].name + ", " + name;
  State found;
  try {
    found = train(model, setting);
  } catch (const Error& error) {
    ++(why_illegal(setting.options) ? counts.illegal
                                    : counts.refused[test_models()[model].name + ": " + error.what()]);
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE() << where << ": " << error.what();
    return;
  }
  EXPECT_EQ(why_illegal(setting.options), std::nullopt) << where;
  const State expected = train(model, alone(setting));
  for (const auto& [tensor, value] : expected) {
    // A softmax does not see what is added to all scores: the gradient is what rounding leaves.
    if (setting.reorders && tensor.ends_with("key.bias")) continue;
    const auto same = found.find(tensor);
    if (same == found.end()) {
      ADD_FAILURE() << where << " has no " << tensor;
      continue;
    }
    EXPECT_LE(difference(same->second, value), setting.reorders ? 1e-5 : 0) << where << ": " << tensor;
  }
  ++counts.equal;
}

// Each spread with every choice, and with every pair of choices of different groups, on one model in turn.
TEST(TrainingStrategies, GiveTheWeightsOfOneProcessor) {
  Counts counts;
  std::size_t model = 0;
  const auto next = [&](const Choice& on, const std::vector<const Choice*>& choices) {
    Setting setting;
    on.apply(setting);
    std::string name = on.name;
    for (const Choice* choice : choices) {
      choice->apply(setting);
      name += ", " + choice->name;
    }
    expect_right(model, name, setting, counts);
    model = (model + 1) % test_models().size();
  };
  for (const Choice& on : kSpreads) {
    next(on, {});
    for (std::size_t a = 0; a < kGroups.size(); ++a) {
      for (const Choice& first : kGroups[a]) {
        next(on, {&first});
        for (std::size_t b = a + 1; b < kGroups.size(); ++b) {
          for (const Choice& second : kGroups[b]) next(on, {&first, &second});
        }
      }
    }
  }
  fmt::print("{} equal to one processor, {} illegal and refused\n", counts.equal, counts.illegal);
  for (const auto& [reason, times] : counts.refused) fmt::print("  {} times: {}\n", times, reason);
  EXPECT_GT(counts.equal, 500);
}

}  // namespace
}  // namespace podium
