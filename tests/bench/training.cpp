// Steps of training: one processor against the strategies that do the same work.
#include <fmt/core.h>

#include <algorithm>

#include "executor/session/training_session.h"
#include "ir/number_text.h"
#include "tests/bench/common.h"

namespace podium::bench {
namespace {

// Micro-batches of an update, over all replicas.
constexpr int kMicroBatches = 12;

struct NamedStrategy {
  std::string name;
  Strategy options = {.accumulation_factor = kMicroBatches};
  /// Parts of the model's batch that micro-batches are.
  int parts = 1;
  /// The one before it that does the same work on one processor; none: it is one of these.
  std::string base = "one processor";

  int micro_batches() const {
    return options.accumulation_factor * options.batches_per_step * options.replicas;
  }
};

NamedStrategy alone(const std::string& name) {
  NamedStrategy strategy{name};
  strategy.base = "";
  return strategy;
}

NamedStrategy spread(const std::string& name, int processors, bool pipelined) {
  NamedStrategy strategy{name};
  strategy.options.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.options.ipus = processors;
  strategy.options.pipelining = pipelined;
  return strategy;
}

NamedStrategy in_phases(const std::string& name, int phases) {
  NamedStrategy strategy{name};
  strategy.options.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  strategy.options.phases.phases = phases;
  return strategy;
}

NamedStrategy with_everything_off_chip(NamedStrategy strategy) {
  for (LocationSettings* settings : {&strategy.options.weights, &strategy.options.optimizer_state,
                                     &strategy.options.accumulators, &strategy.options.activations})
    settings->location.storage = ir::Storage::OffChip;
  return strategy;
}

NamedStrategy over_io_tiles(NamedStrategy strategy, ir::ExchangeStrategy exchange) {
  strategy.options.io_tiles = 64;
  strategy.options.overlap_io = exchange;
  return strategy;
}

// Each updates its part of the weights.
NamedStrategy replicated(const std::string& name, int replicas, bool sharded) {
  NamedStrategy strategy{name};
  strategy.options.replicas = replicas;
  strategy.options.accumulation_factor /= replicas;
  strategy.options.optimizer_state.location.sharded = sharded;
  return strategy;
}

// Tensors of transformers and chains cut over the processors.
NamedStrategy cut_over(const std::string& name, int devices, bool cuts_tokens) {
  NamedStrategy strategy{name};
  strategy.options.tensor_parallel = {.devices = devices, .cuts_tokens = cuts_tokens};
  return strategy;
}

// An update after each micro-batch.
NamedStrategy without_accumulation(NamedStrategy strategy) {
  std::swap(strategy.options.accumulation_factor, strategy.options.batches_per_step);
  return strategy;
}

// Both compute with parts of the batch.
constexpr int kParts = 4;
NamedStrategy in_parts(const std::string& name) {
  NamedStrategy strategy = alone(name);
  strategy.parts = kParts;
  strategy.options.accumulation_factor *= kParts;
  return strategy;
}
NamedStrategy serialised(const std::string& name) {
  NamedStrategy strategy{name};
  strategy.options.batch_serialization.factor = kParts;
  strategy.base = "one, a quarter batch";
  return strategy;
}

// Recomputation is not among them: it computes more.
std::vector<NamedStrategy> strategies_over(int processors) {
  NamedStrategy one_update_each = without_accumulation(alone("one, no accumulation"));
  if (processors == 1) return {{"one processor", {}, 1, ""}};
  NamedStrategy stashing = without_accumulation(spread("pipelined, weights stashed", processors, true));
  stashing.options.weight_stashing = true;
  stashing.base = one_update_each.name;
  NamedStrategy state_off_chip{"state off chip"};
  state_off_chip.options.optimizer_state.location.storage = ir::Storage::OffChip;
  NamedStrategy ladder = in_phases("phased, replica and ladder", processors);
  ladder.options.sync = SyncPattern::ReplicaAndLadder;
  return {alone("one processor"),
          spread("sharded", processors, false),
          spread("pipelined", processors, true),
          in_phases("phased", processors),
          with_everything_off_chip(in_phases("phased, all off chip", processors)),
          ladder,
          replicated("2 replicas", 2, false),
          replicated("2 replicas, state sharded", 2, true),
          replicated("4 replicas", 4, false),
          replicated("4 replicas, state sharded", 4, true),
          state_off_chip,
          with_everything_off_chip({"all off chip"}),
          over_io_tiles(spread("sharded, IO tiles", processors, false), ir::ExchangeStrategy::JustInTime),
          over_io_tiles(spread("pipelined, IO overlapped", processors, true),
                        ir::ExchangeStrategy::OverlapInnerLoop),
          cut_over("tensors cut", processors, false),
          cut_over("tensors and tokens cut", processors, true),
          in_parts("one, a quarter batch"),
          serialised("batch serialised"),
          one_update_each,
          stashing};
}

class Trained {
 public:
  Trained(const NamedModel& model, const NamedStrategy& strategy, const Settings& settings)
      : name(strategy.name),
        base(strategy.base),
        micro_batches_(strategy.micro_batches()),
        batches_(micro_batches_ / strategy.parts),
        session_(load(model, strategy.parts), options(strategy, settings)) {
    for (const executor::HostTensor& input : session_.inputs()) {
      ir::Type type = input.type;
      if (micro_batches_ * input.slices > 1)
        type.dims.insert(type.dims.begin(), micro_batches_ * input.slices);
      inputs_.emplace_back(filled(type));
    }
    session_.run(inputs_);
  }
  void time() {
    const double processor_before = processor_ms();
    const auto before = Clock::now();
    session_.run(inputs_);
    processor.push_back((processor_ms() - processor_before) / batches_);
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count() / batches_);
  }

  std::string name;
  std::string base;
  std::vector<double> ms = {};         // of a batch of the model's, round by round
  std::vector<double> processor = {};  // the same of processor time, over all threads

 private:
  static importer::Model load(const NamedModel& named, int parts) {
    models::Parameters parameters = named.parameters;
    if (parts > 1)
      parameters["batch"] = fmt::format("{}", ir::number_of<int>(parameters.at("batch")).value() / parts);
    parameters["loss"] = "cross-entropy";
    importer::Model model;
    model.graph = models::build(named.name, parameters).graph;
    return model;
  }
  static TrainingOptions options(const NamedStrategy& strategy, const Settings& settings) {
    TrainingOptions options{.loss = "loss"};
    options.session = {.threads = settings.threads, .fuse = settings.fuse, .strategy = strategy.options};
    options.optimizer = ir::make_optimizer("Adam", {{"learningRate", {1e-5}}});
    return options;
  }

  int micro_batches_;
  int batches_;
  TrainingSession session_;
  std::vector<ir::Datum> inputs_;
};

}  // namespace

bool compare_training(const std::string& text, const Settings& settings) {
  constexpr double kMost = 1.2;
  const NamedModel model = parse_model(text);
  std::vector<NamedStrategy> strategies = strategies_over(settings.processors);
  const auto is_base_of_none = [&](const NamedStrategy& strategy) {
    return std::none_of(strategies.begin(), strategies.end(),
                        [&](const NamedStrategy& other) { return other.base == strategy.name; });
  };
  std::erase_if(strategies, [&](const NamedStrategy& one) {
    return !one.base.empty() && one.name.find(settings.only) == std::string::npos;
  });
  if (strategies.size() > 1) {
    std::erase_if(strategies,
                  [&](const NamedStrategy& one) { return one.base.empty() && is_base_of_none(one); });
  }
  std::vector<Trained> ways;
  for (const NamedStrategy& strategy : strategies) ways.emplace_back(model, strategy, settings);
  const auto start = Clock::now();
  while (ways[0].ms.size() < 7 ||
         std::chrono::duration<double>(Clock::now() - start).count() < settings.seconds) {
    for (Trained& way : ways) way.time();
  }
  bool is_good = true;
  for (const Trained& way : ways) {
    const auto base =
        std::find_if(ways.begin(), ways.end(), [&](const Trained& one) { return one.name == way.base; });
    const Trained& compared = base == ways.end() ? way : *base;
    const double ratio = times_as_long(way.ms, compared.ms);
    const double of_processors = times_as_long(way.processor, compared.processor);
    const bool is_long = settings.check && ratio > kMost;
    fmt::print("{:<24} {:<28} {:>9.4f} ms {:>5.2f}, on processors {:>5.2f} of {}'s{}\n", text, way.name,
               median(way.ms), ratio, of_processors, compared.name,
               is_long ? fmt::format(", at most {} needed", kMost) : "");
    is_good = is_good && !is_long;
  }
  return is_good;
}

}  // namespace podium::bench
