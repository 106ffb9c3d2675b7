// The strategies of training on a model as users write them: derivatives and optimizers made by the passes.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "executor/session/training_session.h"
#include "ir/passes/set_precision.h"
#include "tests/support/locations.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium::testing {
namespace {

// Weights of 15 elements do not divide by 2 or 4 replicas.
constexpr const char* kModel = R"(agraph (float[2,3] x, float[2,5] wanted) => (float loss)
  <float[3,5] w0 = {0.1,0.2,0.3,-0.1,0.4, 0.2,0.5,-0.2,0.1,0.3, -0.4,0.1,0.2,0.3,0.1}, float[5] b0 = {0.1,0.1,0.1,0,0.2},
   float[5,5] w1 = {0.3,-0.2,0.1,0.2,0.1, -0.3,0.1,0.1,0.4,0.2, 0.1,0.2,0.3,-0.1,0.1, 0.2,0.1,0.1,0.3,-0.2,
                    0.4,0.1,-0.1,0.2,0.2}, float[5] b1 = {0,0.2,-0.1,0.1,0}>
  { a = MatMul(x, w0) c = Add(a, b0) d = Tanh(c)
    e = MatMul(d, w1) f = Add(e, b1) g = Sub(f, wanted) h = Mul(g, g) loss = ReduceMean <keepdims = 0> (h) })";

ir::Tensor numbers(std::int64_t count, std::size_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.2F * static_cast<float>((5 * i + seed) % 9) - 0.8F;
  return tensor<float>({count}, values);
}

std::map<std::string, ir::Tensor> trained(const ir::Optimizer& optimizer, const Strategy& strategy) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  options.optimizer = optimizer;
  TrainingSession session(model_of(kModel), options);
  const std::int64_t micro_batches =
      strategy.batches_per_step * strategy.accumulation_factor * strategy.replicas;
  for (std::size_t run = 0; run < 3; ++run) {
    const std::vector<ir::Datum> inputs{numbers(micro_batches * 6, run),
                                        numbers(micro_batches * 10, run + 4)};
    session.run(inputs);
  }
  return session.weights();
}

void shard_weights_and_state(Strategy& options) {
  shard(options.weights);
  shard(options.optimizer_state);
}

void run_in_phases(Strategy& options) {
  options.pipelining = false;
  options.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  options.phases.phases = 2;
}

struct NamedStrategy {
  std::string name;
  std::function<void(Strategy&)> ask;
};

const std::vector<NamedStrategy>& strategies() {
  static const std::vector<NamedStrategy> kStrategies{
      {"off chip", put_variables_off_chip},
      {"state in parts", [](Strategy& o) { shard(o.optimizer_state); }},
      {"all in parts", shard_weights_and_state},
      {"parts off chip", [](Strategy& o) { shard_weights_and_state(o), put_variables_off_chip(o); }},
      {"recomputed", [](Strategy& o) { o.recomputation = Recomputation::RecomputeAll; }},
      {"accumulators in parts", [](Strategy& o) { shard(o.accumulators); }},
      {"slices over IO tiles",
       [](Strategy& o) {
         if (o.pipelining) return;
         o.virtual_graph_mode = VirtualGraphMode::Auto;
         o.ipus = 2 * o.replicas;
         o.io_tiles = 64;
         o.batch_serialization = {.factor = 2, .io_mode = IoMode::Io};
       }},
      {"phases", run_in_phases},
      {"phases off chip", [](Strategy& o) { run_in_phases(o), put_variables_off_chip(o); }},
      {"phases, parts off chip",
       [](Strategy& o) { run_in_phases(o), put_variables_off_chip(o), shard_weights_and_state(o); }},
      {"phases, accumulators in parts off chip",
       [](Strategy& o) { run_in_phases(o), put_variables_off_chip(o), shard(o.accumulators); }},
  };
  return kStrategies;
}

void expect_near(const std::map<std::string, ir::Tensor>& found,
                 const std::map<std::string, ir::Tensor>& wanted) {
  for (const auto& [name, tensor] : wanted) {
    const auto expected = tensor.values<float>();
    const auto actual = found.at(name).values<float>();
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-5) << name << " " << i;
  }
}

TEST(TrainingStrategies, GiveTheWeightsOfOneProcessor) {
  for (const std::string_view kind : {"SGD", "Adam", "LAMB"}) {
    for (const int replicas : {1, 2, 4}) {
      Strategy options{.batches_per_step = 2, .accumulation_factor = 4, .replicas = replicas};
      const ir::Optimizer optimizer = ir::make_optimizer(kind, {{"learningRate", {0.02, false}}});
      const auto wanted = trained(optimizer, options);
      for (const bool pipelining : {false, true}) {
        for (const NamedStrategy& strategy : strategies()) {
          SCOPED_TRACE(::testing::Message() << strategy.name << ", " << replicas << " replicas, pipelining "
                                            << pipelining << ", optimizer " << kind);
          Strategy asked = options;
          if (pipelining) {
            asked.virtual_graph_mode = VirtualGraphMode::Auto;
            asked.ipus = 2 * replicas;
            asked.pipelining = true;
          }
          strategy.ask(asked);
          if (asked.virtual_graph_mode == VirtualGraphMode::ExecutionPhases && !pipelining)
            asked.ipus = 2 * replicas;
          expect_near(trained(optimizer, asked), wanted);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// What is complete only when all phases have run, starts from more than zeros, or counts micro-batches.
TEST(TrainingStrategies, GiveThemWithClippedGradientsVelocitiesAndRunningMeans) {
  ir::Optimizer clipped = ir::make_optimizer("Adam", {{"learningRate", {0.02}}, {"eps", {0.1}}});
  clipped.clip_norms = {{.max_norm = 0.1}};
  const ir::Optimizer velocities =
      ir::make_optimizer("SGD", {{"learningRate", {0.02}}, {"momentum", {0.9}}, {"weightDecay", {0.1}}});
  for (const ir::Optimizer& optimizer : {clipped, velocities}) {
    for (const Reduction reduction : {Reduction::Sum, Reduction::Mean}) {
      for (const int replicas : {1, 2}) {
        Strategy options{.batches_per_step = 2, .accumulation_factor = 4, .replicas = replicas};
        options.reduction = reduction;
        options.mean_strategy = MeanStrategy::Running;
        const auto wanted = trained(optimizer, options);
        for (const NamedStrategy& strategy : strategies()) {
          SCOPED_TRACE(::testing::Message() << strategy.name << ", " << replicas << " replicas, mean "
                                            << (reduction == Reduction::Mean));
          Strategy asked = options;
          strategy.ask(asked);
          if (asked.virtual_graph_mode == VirtualGraphMode::ExecutionPhases) asked.ipus = 2 * replicas;
          expect_near(trained(optimizer, asked), wanted);
        }
      }
    }
  }
}

TEST(TrainingStrategies, LeaveNumbersWholeWhateverIsAsked) {
  const auto weight = [](bool sharded) {
    TrainingOptions options{.loss = "loss"};
    options.session.strategy.replicas = 2;
    if (sharded) options.session.strategy.location_overrides["w"] = {.sharded = true};
    TrainingSession session(
        model_of("agraph (float[2] x) => (float loss) <float[1] w = {0.5}> "
                 "{ y = Mul (x, w) h = Mul (y, y) loss = ReduceMean <keepdims = 0> (h) }"),
        options);
    session.run(std::vector<ir::Datum>{tensor<float>({2, 2}, {1, 2, 3, 4})});
    return session.weights().at("w").values<float>()[0];
  };
  EXPECT_EQ(weight(true), weight(false));
}

// What the loss is scaled by after six updates in halves: gradients of all places count.
float loss_scale(Strategy strategy, bool states_keep_it) {
  strategy.batches_per_step = 6;
  strategy.loss_scaling.automatic = true;
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.01}}});
  if (states_keep_it) {
    options.optimizer = ir::make_optimizer("Adam", {{"learningRate", {0.01}}});
    options.optimizer.scaled_state = true;
    options.optimizer.state_type = ir::DataType::Float;
    options.optimizer.clip_norms = {{.max_norm = 1}};
  }
  options.optimizer.loss_scaling = {4096, false};
  importer::Model model = model_of(kModel);
  ir::set_precision(model.graph, ir::DataType::Float16);
  TrainingSession session(std::move(model), options);
  const std::int64_t micro_batches = 6LL * strategy.accumulation_factor * strategy.replicas;
  session.run(
      std::vector<ir::Datum>{ir::in_precision(numbers(micro_batches * 6, 0), ir::DataType::Float16),
                             ir::in_precision(numbers(micro_batches * 10, 4), ir::DataType::Float16)});
  return session.optimizer_state().at("lossScaleUpdateFactor").values<float>()[0];
}

void expect_one_loss_scale(int replicas, bool states_keep_it) {
  const Strategy alone{.accumulation_factor = 4, .replicas = replicas};
  const float wanted = loss_scale(alone, states_keep_it);
  EXPECT_NE(wanted, 64);  // six times doubled: nothing counts as large
  Strategy sharded = alone;
  sharded.virtual_graph_mode = VirtualGraphMode::Auto;
  sharded.ipus = 2 * replicas;
  EXPECT_EQ(loss_scale(sharded, states_keep_it), wanted);
  Strategy pipelined = sharded;
  pipelined.pipelining = true;
  EXPECT_EQ(loss_scale(pipelined, states_keep_it), wanted);
  Strategy phased = sharded;
  run_in_phases(phased);
  EXPECT_EQ(loss_scale(phased, states_keep_it), wanted);
}

TEST(TrainingStrategies, ScaleTheLossByTheGradientsOfAllPlaces) {
  for (const int replicas : {1, 2}) {
    for (const bool states_keep_it : {false, true}) expect_one_loss_scale(replicas, states_keep_it);
  }
}

TEST(TrainingStrategies, RefuseWhatAPipelineWithoutAccumulationDoesNotKnowInTime) {
  Strategy options{
      .virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2, .pipelining = true, .batches_per_step = 3};
  ir::Optimizer optimizer = ir::make_optimizer("SGD");
  EXPECT_NO_THROW(trained(optimizer, options));
  optimizer.clip_norms = {{.max_norm = 1}};
  EXPECT_THROW(trained(optimizer, options), Error);
  optimizer.clip_norms = {{.max_norm = 1, .weights = {"w0"}}};
  EXPECT_NO_THROW(trained(optimizer, options));
}

}  // namespace
}  // namespace podium::testing
