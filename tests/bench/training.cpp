// Steps of training: one processor against the strategies that do the same work.
#include <fmt/core.h>

#include "executor/session/training_session.h"
#include "tests/bench/common.h"

namespace podium::bench {
namespace {

// Of an update, over all replicas.
constexpr int kMicroBatches = 12;

struct Strategy {
  std::string name;
  Options options = {.accumulation_factor = kMicroBatches};

  int micro_batches() const { return options.accumulation_factor * options.replicas; }
};

Strategy spread(const std::string& name, int processors, bool pipelined) {
  Strategy strategy{name};
  strategy.options.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.options.ipus = processors;
  strategy.options.pipelining = pipelined;
  return strategy;
}

Strategy in_phases(int phases) {
  Strategy strategy{"phased"};
  strategy.options.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  strategy.options.phases.phases = phases;
  return strategy;
}

// Each updates its part of the weights.
Strategy replicated(int replicas) {
  Strategy strategy{fmt::format("{} replicas, state sharded", replicas)};
  strategy.options.replicas = replicas;
  strategy.options.accumulation_factor /= replicas;
  strategy.options.optimizer_state.location.sharded = true;
  return strategy;
}

Strategy off_chip() {
  Strategy strategy{"state off chip"};
  strategy.options.optimizer_state.location.storage = ir::Storage::OffChip;
  return strategy;
}

// Recomputation is not among them: it computes more.
std::vector<Strategy> strategies_over(int processors) {
  if (processors == 1) return {{"one processor", {}}};
  return {{"one processor"},
          spread("sharded", processors, false),
          spread("pipelined", processors, true),
          in_phases(processors),
          replicated(2),
          replicated(4),
          off_chip()};
}

class Trained {
 public:
  Trained(const NamedModel& model, const Strategy& strategy, const Settings& settings)
      : name(strategy.name),
        micro_batches_(strategy.micro_batches()),
        session_(load(model), options(strategy, settings)) {
    for (const executor::HostTensor& input : session_.inputs()) {
      ir::Type type = input.type;
      if (micro_batches_ > 1) type.dims.insert(type.dims.begin(), micro_batches_);
      inputs_.emplace_back(filled(type));
    }
    session_.run(inputs_);
  }
  void time() {
    const auto before = Clock::now();
    session_.run(inputs_);
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count() / micro_batches_);
  }

  std::string name;
  std::vector<double> ms = {};  // of a micro-batch, round by round

 private:
  static importer::Model load(const NamedModel& named) {
    models::Parameters parameters = named.parameters;
    parameters["loss"] = "cross-entropy";
    importer::Model model;
    model.graph = models::build(named.name, parameters).graph;
    return model;
  }
  static TrainingOptions options(const Strategy& strategy, const Settings& settings) {
    TrainingOptions options{.loss = "loss"};
    options.session = {.threads = settings.threads, .fuse = settings.fuse, .strategy = strategy.options};
    options.optimizer = ir::make_optimizer(ir::OptimizerKind::Adam, {{"learningRate", {1e-5}}});
    return options;
  }

  int micro_batches_;
  TrainingSession session_;
  std::vector<ir::Datum> inputs_;
};

}  // namespace

bool compare_training(const std::string& text, const Settings& settings) {
  constexpr double kMost = 1.2;
  const NamedModel model = parse_model(text);
  std::vector<Trained> ways;
  for (const Strategy& strategy : strategies_over(settings.processors))
    ways.emplace_back(model, strategy, settings);
  const auto start = Clock::now();
  while (ways[0].ms.size() < 7 ||
         std::chrono::duration<double>(Clock::now() - start).count() < settings.seconds) {
    for (Trained& way : ways) way.time();
  }
  bool is_good = true;
  for (const Trained& way : ways) {
    const double ratio = times_as_long(way.ms, ways[0].ms);
    const bool is_long = settings.check && ratio > kMost;
    fmt::print("{:<24} {:<24} {:>9.4f} ms  {:>5.2f} of one processor's{}\n", text, way.name, median(way.ms),
               ratio, is_long ? fmt::format(", at most {} needed", kMost) : "");
    is_good = is_good && !is_long;
  }
  return is_good;
}

}  // namespace podium::bench
