// Streaming memory as PopART's streamingmemory_test_0 and streamingmemory_tensor_location_test have it
// (semantics, section 15, row 27): what lives where, and that weights do not depend on it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/executor/session/acceptance.h"

namespace podium::testing {
namespace {

constexpr int kStreamedLayers = 3;

// Products with weights of [size, size], layer i in phase i on processor i % 2; the loss is 0.1 * |y|, added
// up or its mean.
importer::Model products(int layers, int size, int batch, Reduction reduction = Reduction::Sum) {
  std::mt19937 random(10911);
  std::string weights;
  std::string ops;
  const auto at = [](int i) { return fmt::format("__execution_phase = {}, __ipu_number = {}", i, i % 2); };
  for (int i = 0; i < layers; ++i) {
    weights += initializer(fmt::format("W{}", i), {size, size},
                           random_numbers(random, std::int64_t{size} * size, 0, 1)) +
               ", ";
    ops += fmt::format("h{0} = MatMul <{1}> ({2}, W{0}) ", i, at(i), i > 0 ? fmt::format("h{}", i - 1) : "x");
  }
  return model_of(fmt::format(
      "agraph (float[{0},{1},{1}] x) => (float loss) <{2}float lambda = {{0.1}}>"
      "{{ {3} a = Abs <{4}> (h{5}) s = {6} <keepdims = 0, {4}> (a) loss = Mul <{4}> (s, lambda) }}",
      batch, size, weights, ops, at(layers - 1), layers - 1,
      reduction == Reduction::Sum ? "ReduceSum" : "ReduceMean"));
}

LocationSettings settings(bool off_chip, bool sharded) {
  return {.location = {.storage = off_chip ? ir::Storage::OffChip : ir::Storage::OnChip, .sharded = sharded},
          .min_elements_for_off_chip = 0,
          .min_elements_for_sharding = 2};
}

const LocationSettings kOnChip = settings(false, false);
const LocationSettings kOffChip = settings(true, false);
const LocationSettings kOffChipInParts = settings(true, true);

Strategy phased(int layers) {
  Strategy options{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  options.phases.phases = layers;
  return options;
}

Strategy phased(const LocationSettings& activations, const LocationSettings& weights,
                const LocationSettings& state, const LocationSettings& accumulators) {
  Strategy options = phased(kStreamedLayers);
  options.activations = activations;
  options.weights = weights;
  options.optimizer_state = state;
  options.accumulators = accumulators;
  return options;
}
Strategy all_off_chip() { return phased(kOffChip, kOffChip, kOffChip, kOffChip); }

Strategy on_replicas(Strategy options, int replicas, int accumulation = 1) {
  options.replicas = replicas;
  options.accumulation_factor = accumulation;
  return options;
}

// `samples` in every step, however many micro-batches they come in. A prime size forces padding.
TensorsByName trained(Strategy options, int samples, const ir::Optimizer& optimizer, int steps,
                      Reduction reduction = Reduction::Sum) {
  constexpr int kSize = 37;
  options.reduction = reduction;
  const int micro_batches = options.replicas * options.accumulation_factor;
  TrainingOptions training{.loss = "loss", .optimizer = optimizer};
  training.session.strategy = options;
  std::mt19937 random(7);
  std::vector<std::vector<ir::Datum>> runs;
  for (int i = 0; i < steps; ++i) runs.push_back({random_tensor(random, {samples, kSize, kSize}, 0, 1)});
  return train(products(kStreamedLayers, kSize, samples / micro_batches, reduction), training, runs).weights;
}

// numpy's allclose with rtol 1e-4 and atol 1e-5.
void expect_close(const TensorsByName& found, const TensorsByName& wanted) {
  ASSERT_EQ(wanted.size(), std::size_t{kStreamedLayers});
  for (const auto& [name, tensor] : wanted) {
    const auto a = found.at(name).values<float>();
    const auto b = tensor.values<float>();
    std::size_t apart = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
      apart += std::fabs(a[i] - b[i]) <= 1e-5F + 1e-4F * std::fabs(b[i]) ? 0 : 1;
    EXPECT_EQ(apart, 0U) << name;
  }
}

ir::Optimizer plain_sgd() { return ir::make_optimizer("SGD", {{"learningRate", {0.5, false}}}); }

ir::Optimizer adam(std::string_view kind, bool constant = true) {
  ir::Optimizer optimizer = ir::make_optimizer(kind, {{"learningRate", {0.005, constant}},
                                                      {"beta1", {0.7, constant}},
                                                      {"beta2", {0.8, constant}},
                                                      {"weightDecay", {0.1, constant}},
                                                      {"eps", {1e-6, constant}}});
  optimizer.loss_scaling = {10, constant};
  return optimizer;
}

TEST(StreamingMemory, PhasesUpdateWeightsAsOneProcessor) {
  expect_close(trained(all_off_chip(), 1, plain_sgd(), 1), trained({}, 1, plain_sgd(), 1));
}

TEST(StreamingMemory, HoldsSomeOrAllTensors) {
  const TensorsByName normal = trained({}, 1, plain_sgd(), 1);
  for (const Strategy& options :
       {phased(kOnChip, kOffChip, kOffChip, kOnChip), phased(kOffChip, kOnChip, kOffChip, kOnChip),
        phased(kOffChip, kOffChip, kOnChip, kOnChip)}) {
    expect_close(trained(options, 1, plain_sgd(), 1), normal);
  }
}

TEST(StreamingMemory, ReplicasUpdateAsOneWithSgd) {
  const TensorsByName wanted = trained(all_off_chip(), 4, plain_sgd(), 1);
  expect_close(trained(on_replicas(all_off_chip(), 2), 4, plain_sgd(), 1), wanted);
  const Strategy parts = phased(kOffChip, kOffChipInParts, kOffChipInParts, kOffChipInParts);
  expect_close(trained(on_replicas(parts, 2), 4, plain_sgd(), 1), wanted);
  const Strategy accumulating = phased(kOffChip, kOffChipInParts, kOffChipInParts, kOnChip);
  expect_close(trained(on_replicas(accumulating, 2, 2), 4, plain_sgd(), 1), wanted);
}

TEST(StreamingMemory, ReplicasUpdateAsOneWithMomentum) {
  for (const ir::SgdState state : {ir::SgdState::Combined, ir::SgdState::Separate}) {
    ir::Optimizer sgd = ir::make_optimizer("SGD", {{"learningRate", {0.00001, false}},
                                                   {"momentum", {0.9, false}},
                                                   {"dampening", {0.2, false}},
                                                   {"velocityScaling", {0.1, false}},
                                                   {"weightDecay", {0.2, true}}});
    sgd.sgd_state = state;
    const TensorsByName wanted = trained(all_off_chip(), 2, sgd, 5);
    for (const LocationSettings& weights : {kOffChip, kOffChipInParts}) {
      for (const LocationSettings& accumulators : {kOffChip, weights}) {
        const Strategy options = phased(kOffChip, weights, weights, accumulators);
        expect_close(trained(on_replicas(options, 2), 2, sgd, 5), wanted);
      }
    }
  }
}

TEST(StreamingMemory, ReplicasUpdateAsOneWithAdam) {
  const ir::Optimizer optimizer = adam("Adam");
  const TensorsByName wanted = trained(all_off_chip(), 2, optimizer, 5);
  expect_close(trained(on_replicas(all_off_chip(), 2), 2, optimizer, 5), wanted);
  const Strategy parts = phased(kOffChip, kOffChipInParts, kOffChipInParts, kOffChipInParts);
  expect_close(trained(on_replicas(parts, 2), 2, optimizer, 5), wanted);
}

TEST(StreamingMemory, ReplicasUpdateAsOneWithLamb) {
  for (const bool constant : {false, true}) {
    for (const Reduction reduction : {Reduction::Sum, Reduction::Mean}) {
      const auto train_with = [&](const Strategy& options) {
        return trained(options, 4, adam("LAMB", constant), 5, reduction);
      };
      const TensorsByName wanted = train_with(all_off_chip());
      expect_close(train_with(on_replicas(all_off_chip(), 2)), wanted);
      const Strategy parts = phased(kOffChip, kOffChipInParts, kOffChipInParts, kOffChip);
      expect_close(train_with(on_replicas(parts, 2)), wanted);
      expect_close(train_with(on_replicas(parts, 2, 2)), wanted);
      expect_close(train_with(on_replicas(phased(kOffChip, kOnChip, kOffChipInParts, kOnChip), 2, 2)),
                   wanted);
    }
  }
}

TEST(StreamingMemory, ClipsGradientsOfWeightsInParts) {
  ir::Optimizer lamb = adam("LAMB", false);
  lamb.decay_mode = ir::WeightDecayMode::Decay;
  lamb.clip_norms = {{.max_norm = 0.1}};
  Strategy parts{.replicas = 2};
  parts.activations = parts.accumulators = kOffChip;
  parts.weights = parts.optimizer_state = kOffChipInParts;
  expect_close(trained(parts, 4, lamb, 5), trained({.replicas = 2}, 4, lamb, 5));
}

// State is loaded for the update, unless a micro-batch gives it back.
TEST(StreamingMemory, GivesBackStateThatLivesThere) {
  for (const int accumulation : {1, 2}) {
    for (const PhaseIo io : {PhaseIo::Preload, PhaseIo::OnDemand}) {
      const auto outputs = [&](const LocationSettings& state) {
        Strategy options = on_replicas(phased(kOnChip, kOnChip, state, kOnChip), 1, accumulation);
        options.phases.optimizer_state = io;
        for (const char* name : {"Accl1___W0", "Accl1___W1", "Accl1___W2", "Step___W1"})
          options.anchors[name] = {};
        TrainingOptions training{.loss = "loss", .optimizer = adam("Adam")};
        training.session.strategy = options;
        std::mt19937 random(7);
        const ir::Tensor x = random_tensor(random, {accumulation, 8, 8}, 0, 1);
        return train(products(kStreamedLayers, 8, 1), training, {{x}, {x}}).outputs;
      };
      const TensorsByName wanted = outputs(kOnChip);
      const TensorsByName found = outputs(kOffChip);
      ASSERT_EQ(wanted.size(), 5U);
      for (const auto& [name, tensor] : wanted) EXPECT_TRUE(ir::identical(found.at(name), tensor)) << name;
    }
  }
}

// Names of tensors that are in streaming memory at some time.
std::set<std::string> remote(const Strategy& options, int layers, double momentum) {
  TrainingOptions training{.loss = "loss"};
  training.optimizer =
      ir::make_optimizer("SGD", {{"learningRate", {0.1}}, {"momentum", {momentum, momentum == 0}}});
  training.session.strategy = options;
  const TrainingSession session(products(layers, 48, 1), training);
  std::set<std::string> names;
  for (const executor::Buffer& buffer : session.program().buffers) {
    if (buffer.memory != executor::Memory::Streaming) continue;
    names.insert(buffer.rows.begin(), buffer.rows.end());
    if (buffer.rows.empty()) names.insert(buffer.name);
  }
  return names;
}

using Names = std::set<std::string>;

// By settings, and with one tensor put where the others are not.
void expect_located(LocationSettings Strategy::*which, int layers, const Names& tensors,
                    const std::string& one, int accumulation, double momentum = 0) {
  const Strategy plain = on_replicas(phased(layers), 1, accumulation);
  const auto located = [&](const LocationSettings& settings) {
    Strategy options = plain;
    options.*which = settings;
    return options;
  };
  const auto found = [&](const Strategy& options) {
    Names among;
    for (const std::string& name : remote(options, layers, momentum)) {
      if (tensors.contains(name)) among.insert(name);
    }
    return among;
  };
  EXPECT_EQ(found(plain), Names{});
  EXPECT_EQ(found(located(kOnChip)), Names{});
  EXPECT_EQ(found(located(kOffChip)), tensors);
  Strategy but_one = located(kOffChip);
  but_one.location_overrides[one] = kOnChip.location;
  Names others = tensors;
  others.erase(one);
  EXPECT_EQ(found(but_one), others);
  Strategy one_only = located(kOnChip);
  one_only.location_overrides[one] = kOffChip.location;
  EXPECT_EQ(found(one_only), Names{one});
}

TEST(StreamingMemory, HasWeightsBySettingsAndOverrides) {
  expect_located(&Strategy::weights, 3, {"W0", "W1", "W2"}, "W2", 2);
  expect_located(&Strategy::weights, 3, {"W0", "W1", "W2"}, "W1", 2);
}

// PopART's micro-batches each go through all phases. Here a phase has a loop over all of them, so that what a
// later phase reads of several waits in streaming memory in any case.
TEST(StreamingMemory, HasActivationsBySettingsAndOverrides) {
  expect_located(&Strategy::activations, 5, {"h0", "h1"}, "h1", 1);
}

// PopART's optimizer has a momentum of 0 that may change.
TEST(StreamingMemory, HasAccumulatorsBySettingsAndOverrides) {
  expect_located(&Strategy::accumulators, 3, {"Accl___W0", "Accl___W1", "Accl___W2"}, "Accl___W1", 2, 0.5);
}

}  // namespace
}  // namespace podium::testing
