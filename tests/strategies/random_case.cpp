// Random choices in an order of their own, so that a seed stays the case that it is.
#include "tests/strategies/random_case.h"

#include <algorithm>

#include "ir/optimizer_spec.h"
#include "tests/strategies/micro_batches.h"
#include "tests/support/jumps.h"

namespace podium::testing {

using ir::Tensor;

ir::TensorLocation random_location(Random& random, int replicas) {
  ir::TensorLocation location{.storage = static_cast<ir::Storage>(random.below(2)),
                              .load_tiles = static_cast<ir::TileSet>(random.below(2)),
                              .sharded = random.coin()};
  if (replicas == 4 && random.one_in(4)) {
    location.domain = {random.coin() ? ir::GroupType::Consecutive : ir::GroupType::Orthogonal, 2};
  }
  return location;
}

namespace {

constexpr int kSamples = 2;  // of a micro-batch

Tensor whole_numbers(std::int64_t first, std::mt19937& random) {
  Tensor tensor(ir::DataType::Int64, {kSamples, 3});
  for (std::int64_t& value : tensor.values<std::int64_t>())
    value = first + static_cast<std::int64_t>(random() % 5);
  return tensor;
}

// Epsilons keep gradients of the size of rounding errors from moving weights as far as others.
ir::Optimizer random_optimizer(Random& random, bool& combined) {
  const ir::OptimizerValue rate{0.02, random.coin()};
  const auto all = ir::all_optimizers();
  const ir::OptimizerSpec& spec = *all[random.below(static_cast<int>(all.size()))];
  ir::Optimizer optimizer = ir::make_optimizer(spec, {{"learningRate", rate}, {"weightDecay", {0.01}}});
  if (optimizer.defaults.contains("eps")) optimizer.defaults["eps"].value = 0.1;
  if (optimizer.defaults.contains("momentum")) optimizer.defaults["momentum"].value = random.coin() ? 0.8 : 0;
  if (spec.has_form("separate")) {
    optimizer.sgd_state = random.coin() ? ir::SgdState::Combined : ir::SgdState::Separate;
    optimizer.nesterov = random.one_in(3);
    combined = optimizer.sgd_state == ir::SgdState::Combined;
  }
  optimizer.decay_mode = random.coin() ? ir::WeightDecayMode::Decay : ir::WeightDecayMode::L2Regularization;
  if (random.one_in(3)) optimizer.clip_norms = {{.max_norm = 0.3}};
  if (random.one_in(3)) optimizer.loss_scaling = {8, random.coin()};
  return optimizer;
}

void spread_out(Random& random, Spread spread, const RandomModel& model, Strategy& options) {
  const int parts = 2 + random.below(2);
  if (spread == Spread::Sharded || spread == Spread::Pipelined)
    options.virtual_graph_mode = VirtualGraphMode::Manual;
  if (spread == Spread::Auto || spread == Spread::AutoPipelined) {
    options.virtual_graph_mode = VirtualGraphMode::Auto;
    options.ipus = parts * options.replicas;
  }
  if (spread == Spread::Pipelined || spread == Spread::AutoPipelined) {
    options.pipelining = true;
    options.weight_stashing = random.one_in(3);
    const int stages = 2 * (spread == Spread::Pipelined ? model.parts : parts) - 1;
    options.accumulation_factor = random.one_in(3) ? 2 : stages + 1 + random.below(3);
  }
  if (spread != Spread::Phased && spread != Spread::AutoPhased) return;
  options.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  options.phases.phases = spread == Spread::Phased ? std::max(2, model.parts) : parts;
  options.phases.stages = 1 + random.below(2);
  options.phases.schedule = static_cast<PhaseSchedule>(random.below(3));
  for (PhaseIo* io : {&options.phases.weights, &options.phases.activations, &options.phases.optimizer_state,
                      &options.phases.accumulators}) {
    *io = static_cast<PhaseIo>(random.below(2));
  }
}

void place_tensors(Random& random, Strategy& options) {
  for (LocationSettings* settings :
       {&options.weights, &options.optimizer_state, &options.accumulators, &options.activations}) {
    if (random.coin()) continue;
    settings->location = random_location(random, options.replicas);
    settings->min_elements_for_sharding = random.of<std::int64_t>({2, 5, 12, 8192});
    settings->min_elements_for_off_chip = random.of<std::int64_t>({2, 6});
  }
  if (random.one_in(5)) options.location_overrides["w0"] = random_location(random, options.replicas);
}

void ask_for_anchors(Random& random, const RandomModel& model, Strategy& options) {
  const auto any_kind = [&] { return Anchor{static_cast<AnchorReturn>(random.below(3))}; };
  if (random.one_in(3)) options.anchors[random.of(model.values)] = any_kind();
  // Without accumulation a weight comes back updated, by one processor only once it has seen what all
  // replicas have.
  const bool comparable = options.accumulation_factor > 1 || options.replicas == 1;
  if (random.one_in(4) && comparable) options.anchors[model.weights.back()] = any_kind();
  if (random.one_in(4)) options.anchors["Gradient___" + model.weights.back()] = any_kind();
  if (random.one_in(6)) {
    options.anchors[random.of(model.values)] = {AnchorReturn::EveryN, options.batches_per_step};
  }
}

}  // namespace

bool keeps_order(const RandomCase& made) {
  const Strategy& strategy = made.options.session.strategy;
  return strategy.replicas == 1 && strategy.batch_serialization.factor == 0 &&
         made.options.optimizer.clip_norms.empty();
}

RandomCase random_case(unsigned seed, Layers layers) {
  Random random(seed);
  const auto spread = static_cast<Spread>(random.below(7));
  RandomCase made{.model = random_model(random, spread, layers)};
  TrainingOptions& options = made.options;
  options.session.threads = 1 + random.below(2);
  options.session.fuse = random.coin();
  options.optimizer = random_optimizer(random, made.combined);
  if (random.one_in(4)) {
    for (const std::string& name : made.model.weights) {
      if (random.coin()) options.weights.push_back(name);
    }
  }
  Strategy& strategy = options.session.strategy;
  strategy.replicas = made.model.keeps_statistics ? 1 : 1 + random.below(4);
  strategy.batches_per_step = 1 + random.below(3);
  strategy.accumulation_factor = random.of<int>({1, 2, 4});
  spread_out(random, spread, made.model, strategy);
  if (random.one_in(3) && spread != Spread::One) {
    strategy.io_tiles = 64;
    strategy.overlap_io = static_cast<ir::ExchangeStrategy>(random.below(3));
  }
  if (random.one_in(5)) {
    strategy.batch_serialization = {
        kSamples, strategy.io_tiles > 0 ? static_cast<IoMode>(random.below(3)) : IoMode::Compute};
  }
  strategy.reduction = static_cast<Reduction>(random.below(2));
  strategy.mean_strategy = static_cast<MeanStrategy>(random.below(2));
  strategy.sync = static_cast<SyncPattern>(random.below(3));
  if (random.coin()) strategy.recomputation = static_cast<Recomputation>(random.below(5));
  if (strategy.recomputation == Recomputation::Pipeline && !strategy.pipelining) strategy.recomputation = {};
  place_tensors(random, strategy);
  ask_for_anchors(random, made.model, strategy);
  made.broadcast = random.one_in(5);
  // The sign of what rounding leaves is one or the other: it may not move a weight by more than rounding.
  const bool is_exact = keeps_order(made) && !options.session.fuse;
  if (!is_exact && jumps(options.optimizer)) options.optimizer.defaults["learningRate"].value = 1e-7;
  return made;
}

std::vector<Tensor> micro_batches(const std::string& input, const RandomCase& made, std::mt19937& random) {
  const Strategy& strategy = made.options.session.strategy;
  const int count = strategy.batches_per_step * strategy.accumulation_factor * strategy.replicas;
  std::vector<Tensor> parts;
  for (int i = 0; i < count; ++i) {
    const bool is_copy = ((input == "z" && made.broadcast) || made.stale) && i % strategy.replicas > 0;
    if (is_copy) {
      parts.push_back(parts.back());
    } else if (input == "ids" || input == "labels") {
      parts.push_back(whole_numbers(input == "ids" ? 0 : -1, random));
    } else {
      parts.push_back(random_tensor({.element = ir::DataType::Float, .dims = {kSamples, 3, 4}}, random));
    }
  }
  return parts;
}

TrainingOptions alone(const RandomCase& made) {
  const TrainingOptions& given = made.options;
  TrainingOptions one = given;
  const Strategy& strategy = given.session.strategy;
  one.session.fuse = false;
  one.session.strategy = {.batches_per_step = strategy.batches_per_step,
                          .accumulation_factor = strategy.accumulation_factor * strategy.replicas,
                          .reduction = strategy.reduction,
                          .mean_strategy = strategy.mean_strategy,
                          .loss_scaling = strategy.loss_scaling};
  if (!made.groups.empty()) {
    one.session.strategy.replicas = strategy.replicas;
    one.session.strategy.accumulation_factor = strategy.accumulation_factor;
  }
  if (made.stale) {
    one.session.strategy.virtual_graph_mode = strategy.virtual_graph_mode;
    one.session.strategy.ipus = strategy.ipus / strategy.replicas;
    one.session.strategy.pipelining = true;
    one.session.strategy.weight_stashing = strategy.weight_stashing;
    one.session.strategy.recomputation = strategy.recomputation;
    one.session.strategy.accumulation_factor = 1;
  }
  for (const auto& [name, anchor] : strategy.anchors) one.session.strategy.anchors[name] = {};
  return one;
}

}  // namespace podium::testing
