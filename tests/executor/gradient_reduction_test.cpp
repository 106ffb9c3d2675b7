// The gradients that optimizers get: accumulated, reduced, clipped, scaled, of other element types.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/kernels/tools/kernel.h"
#include "importer/import.h"
#include "ir/infer.h"
#include "ir/optimizer_spec.h"
#include "ir/passes/add_loss.h"
#include "ir/passes/set_precision.h"
#include "tests/executor/equations.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using ir::Contributions;
using ir::GradientReduction;
using ir::Optimizer;
using testing::expect_near;
using testing::float_tensor;
using testing::gradient;
using testing::GraphTrainer;
using testing::kFirstWeight;
using testing::kProduct;
using testing::kSteps;
using testing::length;
using testing::Numbers;
using testing::TensorsByName;
using testing::training_of;

TEST(ClipNorm, ShortensTheGradientsOfAGroupTogether) {
  const std::string model =
      "g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}, float[3] v = {0.7, -0.4, 1.3}> {\n"
      "  p = Mul (w, x)\n  q = Mul (v, x)\n  d = Add (q, q)\n  s = Add (p, d)\n  loss = ReduceSum <keepdims "
      "= 0> (s)\n}";
  for (const auto& groups :
       {std::vector<ir::ClipNorm>{{1.5, {}}}, std::vector<ir::ClipNorm>{{0.5, {"w"}}, {2.5, {"v"}}}}) {
    for (const auto state : {ir::SgdState::Combined, ir::SgdState::Separate}) {
      for (const int accumulation : {1, 2}) {
        Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1}}, {"momentum", {0.5}}});
        optimizer.sgd_state = state;
        optimizer.clip_norms = groups;
        optimizer.loss_scaling = {20};
        const Contributions contributions{.accumulation = accumulation,
                                          .reduction = GradientReduction::MeanPost};
        GraphTrainer trainer(training_of(model, optimizer, contributions));
        Numbers w = kFirstWeight;
        Numbers v = kFirstWeight;
        Numbers velocity(3, 0);
        Numbers other_velocity(3, 0);
        for (int step = 0; step < kSteps; ++step) {
          const Numbers x = gradient(step);
          trainer.step(
              std::vector<TensorsByName>(static_cast<std::size_t>(accumulation), {{"x", float_tensor(x)}}));
          const bool together = groups.size() == 1;
          const double norm = length(x);
          const double of_w =
              groups[0].max_norm / std::max(groups[0].max_norm, together ? norm * std::sqrt(5) : norm);
          const double of_v = together ? of_w : 2.5 / std::max(2.5, 2 * norm);
          for (std::size_t i = 0; i < 3; ++i) {
            velocity[i] = 0.5 * velocity[i] + x[i] * of_w;
            w[i] -= 0.1 * velocity[i];
            other_velocity[i] = 0.5 * other_velocity[i] + 2 * x[i] * of_v;
            v[i] -= 0.1 * other_velocity[i];
          }
          expect_near(trainer.variable("w"), w);
          expect_near(trainer.variable("v"), v);
        }
      }
    }
  }
}

TEST(ClipNorm, OfEveryOptimizer) {
  for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
    SCOPED_TRACE(spec->name);
    Optimizer clipping = ir::make_optimizer(*spec, {{"learningRate", {0.01}}});
    clipping.clip_norms = {{0.25, {}}};
    GraphTrainer clipped(training_of(kProduct, clipping));
    GraphTrainer plain(training_of(kProduct, ir::make_optimizer(*spec, {{"learningRate", {0.01}}})));
    for (int step = 0; step < kSteps; ++step) {
      const Numbers x = gradient(step);
      Numbers shorter = x;
      for (double& number : shorter) number *= 0.25 / std::max(0.25, length(x));
      clipped.step({{{"x", float_tensor(x)}}});
      plain.step({{{"x", float_tensor(shorter)}}});
      const auto expected = plain.variable("w").values<float>();
      expect_near(clipped.variable("w"), {expected.begin(), expected.end()});
    }
  }
}

ir::Graph linear_model(ir::DataType type) {
  ir::Graph graph = testing::graph_of(
      "g (float[3] x) => (float loss) <float[3] w = {0.5, -0.25, 1.5}> {\n"
      "  p = Mul (w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}");
  ir::set_precision(graph, type);
  ir::infer(graph);
  return graph;
}
ir::Graph half_model() { return linear_model(ir::DataType::Float16); }

ir::Tensor half_tensor(const Numbers& numbers) {
  ir::Tensor result(ir::DataType::Float16, {std::ssize(numbers)});
  for (std::size_t i = 0; i < numbers.size(); ++i)
    result.values<ir::Float16>()[i] = ir::Float16(static_cast<float>(numbers[i]));
  return result;
}

TEST(Float16Weights, KeepTheirStateInFloat) {
  Optimizer optimizer = ir::make_optimizer("AdamNoBias", {{"learningRate", {0.01}}});
  optimizer.state_type = ir::DataType::Float;
  optimizer.accumulator_type = ir::DataType::Float;
  ir::Graph graph = half_model();
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  GraphTrainer trainer(ir::make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .contributions = {.accumulation = 2}}));
  double mean = 0;
  for (int step = 0; step < kSteps; ++step) {
    trainer.step({{{"x", half_tensor({1, 2, 4})}}, {{"x", half_tensor({0.0009765625, 2, 4})}}});
    mean = 0.9 * mean + 0.1 * 1.0009765625;  // more digits than float16 has
  }
  EXPECT_EQ(trainer.variable("w").type(), ir::DataType::Float16);
  EXPECT_NEAR(trainer.variable("Accl1___w").values<float>()[0], mean, 1e-6);
}

// A rate over a loss scale is less than any float16, and so are unscaled gradients.
TEST(Float16Weights, LearnByRatesThatTheyCouldNotHold) {
  for (const double momentum : {0.0, 0.5}) {
    for (const auto form : {ir::SgdState::Combined, ir::SgdState::Separate}) {
      for (const int accumulation : {1, 2}) {
        SCOPED_TRACE(fmt::format("momentum {} form {} accumulation {}", momentum, static_cast<int>(form),
                                 accumulation));
        Optimizer optimizer = ir::make_optimizer(
            "SGD", {{"learningRate", {0.0005}}, {"momentum", {momentum}}, {"velocityScaling", {1}}});
        optimizer.loss_scaling = {16384};
        optimizer.sgd_state = form;
        ir::Graph graph = half_model();
        const std::vector<ir::Variable> weights = ir::take_weights(graph);
        GraphTrainer trainer(
            ir::make_training(std::move(graph), {.loss = "loss",
                                                 .weights = weights,
                                                 .optimizer = optimizer,
                                                 .contributions = {.accumulation = accumulation}}));
        const std::vector<TensorsByName> micro_batches(static_cast<std::size_t>(accumulation),
                                                       {{"x", half_tensor({1, 1, 1})}});
        trainer.step(micro_batches);
        const float moved = 0.5F - static_cast<float>(trainer.variable("w").values<ir::Float16>()[0]);
        EXPECT_NEAR(moved, 0.0005 * accumulation, 0.00025);  // half a step of the weight's type
      }
    }
  }
}

struct FloatStateCase {
  const char* name;
  std::string_view kind;
  ir::OptimizerValues values = {};
  ir::SgdState sgd_state = ir::SgdState::Combined;
};

std::vector<FloatStateCase> float_state_cases() {
  const ir::OptimizerValues momentum{{"momentum", {0.9}}};
  return {{"SGD", "SGD"},
          {"SGD combined", "SGD", momentum},
          {"SGD separate", "SGD", momentum, ir::SgdState::Separate},
          {"Adam", "Adam"},
          {"AdaMax", "AdaMax"},
          {"LAMB", "LAMB", {{"maxWeightNorm", {0}}}},
          {"AdamNoBias", "AdamNoBias"},
          {"LambNoBias", "LambNoBias", {{"maxWeightNorm", {0}}}},
          {"AdaGrad", "AdaGrad"},
          {"RMSProp", "RMSProp", momentum},
          {"CenteredRMSProp", "CenteredRMSProp"},
          {"AdaDelta", "AdaDelta", {{"eps", {0.01}}}}};
}

GraphTrainer linear_trainer(bool narrow, const Optimizer& optimizer) {
  ir::Graph graph = linear_model(narrow ? ir::DataType::Float16 : ir::DataType::Float);
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  return GraphTrainer(ir::make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .contributions = {.accumulation = 2}}));
}

// The data are the gradients, and float16 holds them. So states are those of weights in float, and each
// update is that of weights in float, rounded once.
TEST(Float16Weights, WithStateInFloatTrainAsInFloatWithEveryOptimizer) {
  for (const FloatStateCase& one : float_state_cases()) {
    SCOPED_TRACE(one.name);
    Optimizer optimizer = ir::make_optimizer(one.kind, one.values);
    optimizer.defaults["learningRate"] = {0.01};
    optimizer.sgd_state = one.sgd_state;
    optimizer.state_type = ir::DataType::Float;
    optimizer.accumulator_type = ir::DataType::Float;
    GraphTrainer wide = linear_trainer(false, optimizer);
    GraphTrainer narrow = linear_trainer(true, optimizer);
    std::vector<float> expected{0.5F, -0.25F, 1.5F};
    for (int step = 0; step < kSteps; ++step) {
      const Numbers first{0.125 * (step % 5) + 0.0625, -1.5, 0.25};
      const Numbers second{0.5, 0.125 * (step % 3), 2};
      const auto before = testing::values<float>(wide.variable("w"));
      wide.step({{{"x", float_tensor(first)}}, {{"x", float_tensor(second)}}});
      narrow.step({{{"x", half_tensor(first)}}, {{"x", half_tensor(second)}}});
      const auto after = testing::values<float>(wide.variable("w"));
      const auto found = narrow.variable("w").values<ir::Float16>();
      for (std::size_t i = 0; i < 3; ++i) {
        expected[i] = static_cast<float>(ir::Float16(expected[i] + (after[i] - before[i])));
        EXPECT_NEAR(static_cast<float>(found[i]), expected[i], 0x1p-10)
            << "step " << step << " element " << i;
        expected[i] = static_cast<float>(found[i]);
      }
    }
    for (const ir::Variable& variable : narrow.training().variables) {
      if (variable.kind == ir::VariableKind::Weight) continue;
      const std::string& name = narrow.training().graph[variable.value].name;
      ASSERT_EQ(narrow.variable(name).type(), ir::DataType::Float) << name;
      const auto wanted = testing::values<float>(wide.variable(name));
      expect_near(narrow.variable(name), {wanted.begin(), wanted.end()});
    }
  }
}

TEST(AutomaticLossScaling, DoublesTheScaleUntilGradientsAreLarge) {
  Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.125}}});
  optimizer.loss_scaling = {1024, false};
  for (const int accumulation : {1, 2}) {
    ir::Graph graph = half_model();
    const std::vector<ir::Variable> weights = ir::take_weights(graph);
    const Contributions contributions{.accumulation = accumulation, .reduction = GradientReduction::MeanPost};
    GraphTrainer trainer(
        ir::make_training(std::move(graph), {.loss = "loss",
                                             .weights = weights,
                                             .optimizer = optimizer,
                                             .contributions = contributions,
                                             .automatic_loss_scaling = ir::AutomaticLossScaling{}}));
    const auto hyper = ir::hyper_parameter_tensors(trainer.training(), optimizer, contributions);
    const std::vector<TensorsByName> micro_batches(static_cast<std::size_t>(accumulation),
                                                   {{"x", half_tensor({1, 0.5, -0.25})}});
    // 1024 to 8192; 8192 is above an eighth of 65504.
    for (const float factor : {2, 4, 8, 4, 8, 4}) {
      trainer.step(micro_batches, hyper);
      EXPECT_EQ(trainer.variable("lossScaleUpdateFactor").to_number(), factor);
    }
    EXPECT_EQ(static_cast<float>(trainer.variable("w").values<ir::Float16>()[0]), 0.5F - 6 * 0.125F);
  }
}

// However small the gradients are, the scale stays what float16 holds.
TEST(AutomaticLossScaling, EndsAtTheLargestPowerOfTwoThatFits) {
  Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {1}}});
  optimizer.loss_scaling = {4096, false};
  ir::Graph graph = half_model();
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  GraphTrainer trainer(ir::make_training(
      std::move(graph), {.loss = "loss",
                         .weights = weights,
                         .optimizer = optimizer,
                         .automatic_loss_scaling = ir::AutomaticLossScaling{.bin_edge = 1}}));
  const auto hyper = ir::hyper_parameter_tensors(trainer.training(), optimizer, {});
  for (const float factor : {2, 4, 8, 8, 8}) {
    trainer.step({{{"x", half_tensor({0.125, 0, 0})}}}, hyper);
    EXPECT_EQ(trainer.variable("lossScaleUpdateFactor").to_number(), factor);
  }
  EXPECT_EQ(static_cast<float>(trainer.variable("w").values<ir::Float16>()[0]), 0.5F - 5 * 0.125F);
}

// The factor after each step; the data of a step are its `x`, three times.
std::vector<double> factors(const ir::AutomaticLossScaling& scaling, const std::vector<double>& x) {
  Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.125}}});
  optimizer.loss_scaling = {4096, false};
  ir::Graph graph = half_model();
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  GraphTrainer trainer(ir::make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .automatic_loss_scaling = scaling}));
  const auto hyper = ir::hyper_parameter_tensors(trainer.training(), optimizer, {});
  std::vector<double> found;
  for (const double number : x) {
    trainer.step({{{"x", half_tensor({number, number, number})}}}, hyper);
    found.push_back(trainer.variable("lossScaleUpdateFactor").to_number());
  }
  return found;
}

// The gradient of p is the scale, that of w the scale times the data.
TEST(AutomaticLossScaling, LooksAtTheTensorsThatItIsToldTo) {
  using enum ir::TrackedGradients;
  const std::vector<double> small(4, 0.0625);
  EXPECT_EQ(factors({.tracked = OfTensors, .tensors = {"w"}}, small), (std::vector<double>{2, 4, 8, 8}));
  EXPECT_EQ(factors({.tracked = OfTensors, .tensors = {"p"}}, small), (std::vector<double>{2, 1, 2, 1}));
  EXPECT_EQ(factors({.tracked = All}, small), (std::vector<double>{2, 1, 2, 1}));
}

// Half of the numbers that are counted are large at a scale of 8192, which is not more than half.
TEST(AutomaticLossScaling, HalvesAboveItsThresholdAlone) {
  const std::vector<double> small(4, 0.0625);
  EXPECT_EQ(factors({.threshold = 0.5}, small), (std::vector<double>{2, 4, 8, 8}));
  EXPECT_EQ(factors({.threshold = 0.49}, small), (std::vector<double>{2, 1, 2, 1}));
}

// A large number in the first update of a period counts at its end.
TEST(AutomaticLossScaling, ChangesTheScaleOnceAPeriod) {
  const ir::AutomaticLossScaling scaling{
      .update_period = 2, .tracked = ir::TrackedGradients::OfTensors, .tensors = {"w"}};
  EXPECT_EQ(factors(scaling, {0.5, 0.5, 2, 0.5, 0.5, 0.5}), (std::vector<double>{1, 2, 2, 1, 1, 2}));
}

// States that keep the loss scale follow it when automatic scaling changes it: the weights do not tell. The
// data are powers of two, so that scaling rounds nothing.
TEST(AutomaticLossScaling, LeavesTheWeightsAsTheyAreWithScaledStates) {
  for (const std::string_view kind : {"Adam", "AdaMax", "LAMB"}) {
    for (const auto mode : {ir::WeightDecayMode::Decay, ir::WeightDecayMode::L2Regularization}) {
      for (const bool clips : {false, true}) {
        SCOPED_TRACE(fmt::format("{} mode {} clips {}", kind, static_cast<int>(mode), clips));
        Optimizer optimizer =
            ir::make_optimizer(kind, {{"learningRate", {0.125}}, {"eps", {0.25}}, {"weightDecay", {0.5}}});
        optimizer.decay_mode = mode;
        optimizer.state_type = ir::DataType::Float;
        if (clips) optimizer.clip_norms = {{.max_norm = 0.5}};
        const auto train = [&](bool scaled) {
          Optimizer own = optimizer;
          own.loss_scaling = {scaled ? 1024.0 : 1.0, false};
          own.scaled_state = scaled;
          ir::Graph graph = half_model();
          const std::vector<ir::Variable> weights = ir::take_weights(graph);
          ir::TrainingRequest request{.loss = "loss", .weights = weights, .optimizer = own};
          if (scaled) request.automatic_loss_scaling.emplace();
          GraphTrainer trainer(ir::make_training(std::move(graph), request));
          const auto hyper = ir::hyper_parameter_tensors(trainer.training(), own, {});
          for (int step = 0; step < 6; ++step) {
            trainer.step({{{"x", half_tensor({1, 0.5, -0.25 * step})}}}, hyper);
          }
          if (scaled) {
            EXPECT_EQ(trainer.variable("lossScaleUpdateFactor").to_number(), 4);
            EXPECT_EQ(trainer.variable("PreviousLossScaling___w").to_number(), 1024 * 8);
          }
          return trainer.variable("w");
        };
        const ir::Tensor plain = train(false);
        const ir::Tensor scaled = train(true);
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(static_cast<float>(scaled.values<ir::Float16>()[i]),
                    static_cast<float>(plain.values<ir::Float16>()[i]));
        }
      }
    }
  }
}

// A network whose gradients depend on its weights, with a loss over samples.
const char* const kNetwork =
    "g (float[N,3] x) => (float[N,2] y) <float[3,4] a = {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, -0.9, "
    "0.1, 0.2, 0.3}, "
    "float[4] b = {0.1, 0.2, 0.3, 0.4}, float[4,2] c = {0.5, -0.4, 0.3, 0.2, -0.1, 0.6, 0.7, -0.8}> {\n"
    "  p = MatMul (x, a)\n  q = Add (p, b)\n  h = Tanh (q)\n  y = MatMul (h, c)\n}";

GraphTrainer network_trainer(int samples, const Optimizer& optimizer, const Contributions& contributions,
                             ir::LossReduction reduction) {
  importer::ImportOptions options;
  options.dims["N"] = samples;
  ir::Graph graph = importer::import_text(testing::model_text(kNetwork), options).graph;
  ir::infer(graph);
  const std::string loss =
      ir::add_loss(graph, ir::LossKind::CrossEntropy, "y", "label", {.reduction = reduction});
  const std::vector<ir::Variable> weights = ir::take_weights(graph, {"a", "b", "c"});
  return GraphTrainer(
      ir::make_training(
          std::move(graph),
          {.loss = loss, .weights = weights, .optimizer = optimizer, .contributions = contributions}),
      contributions.replicas);
}

// Samples first to first + count of a step.
TensorsByName samples(int step, int first, int count) {
  std::vector<float> x;
  std::vector<std::int64_t> labels;
  for (int n = first; n < first + count; ++n) {
    for (int i = 0; i < 3; ++i) x.push_back(static_cast<float>(std::sin(1.1 * step + 2.3 * n + 0.7 * i)));
    labels.push_back((n * 3 + step) % 2);
  }
  return {{"x", testing::tensor<float>({count, 3}, x)},
          {"label", testing::tensor<std::int64_t>({count}, labels)}};
}

TEST(Accumulation, OfAnyFactorsEqualsTheWholeBatch) {
  struct Reductions {
    ir::LossReduction loss;
    GradientReduction gradients;
  };
  Optimizer sgd =
      ir::make_optimizer("SGD", {{"learningRate", {0.12}}, {"weightDecay", {0.08}}, {"momentum", {0.5}}});
  sgd.loss_scaling = {8};
  const Optimizer adam = ir::make_optimizer("Adam", {{"learningRate", {0.01}}, {"weightDecay", {0.08}}});
  for (const Optimizer& optimizer : {sgd, adam}) {
    for (const auto& [loss, gradients] : {Reductions{ir::LossReduction::Mean, GradientReduction::MeanPost},
                                          Reductions{ir::LossReduction::Mean, GradientReduction::MeanRunning},
                                          Reductions{ir::LossReduction::Sum, GradientReduction::Sum}}) {
      GraphTrainer whole = network_trainer(12, optimizer, {.reduction = gradients}, loss);
      for (int step = 0; step < 5; ++step) whole.step({samples(step, 0, 12)});
      for (const auto& [accumulation, replicas] : {std::pair(4, 1), std::pair(1, 3), std::pair(2, 3)}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(optimizer), static_cast<int>(gradients), accumulation,
                                 replicas));
        const int count = accumulation * replicas;
        GraphTrainer split = network_trainer(
            12 / count, optimizer,
            {.accumulation = accumulation, .replicas = replicas, .reduction = gradients}, loss);
        for (int step = 0; step < 5; ++step) {
          std::vector<TensorsByName> parts;
          for (int m = 0; m < count; ++m) parts.push_back(samples(step, m * 12 / count, 12 / count));
          split.step(parts);
        }
        for (const char* name : {"a", "b", "c"}) {
          const auto expected = whole.variable(name).values<float>();
          expect_near(split.variable(name, replicas - 1), {expected.begin(), expected.end()}, 1e-5);
        }
      }
    }
  }
}

TEST(LossScaling, ChangesNoWeight) {
  for (const std::string_view kind : {"SGD", "Adam", "RMSProp"}) {
    Optimizer optimizer = ir::make_optimizer(kind, {{"learningRate", {0.01}}});
    GraphTrainer plain = network_trainer(4, optimizer, {}, ir::LossReduction::Mean);
    optimizer.loss_scaling = {200};
    GraphTrainer scaled = network_trainer(4, optimizer, {}, ir::LossReduction::Mean);
    for (int step = 0; step < 5; ++step) {
      const double loss = plain.step({samples(step, 0, 4)});
      EXPECT_NEAR(scaled.step({samples(step, 0, 4)}), loss, 1e-6);  // what is told of the loss is not scaled
    }
    for (const char* name : {"a", "b", "c"}) {
      const auto expected = plain.variable(name).values<float>();
      expect_near(scaled.variable(name), {expected.begin(), expected.end()}, 2e-6);
    }
  }
}

// Replicas that all know a gradient beforehand add it up as if they had reduced it.
TEST(Replicas, AddUpAGradientThatNoDataDecides) {
  for (const auto reduction :
       {GradientReduction::Sum, GradientReduction::MeanPost, GradientReduction::MeanRunning}) {
    const Contributions contributions{.replicas = 2, .reduction = reduction};
    GraphTrainer trainer(training_of("g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}> {\n"
                                     "  s = Add (w, x)\n  loss = ReduceSum <keepdims = 0> (s)\n}",
                                     ir::make_optimizer("SGD", {{"learningRate", {0.1}}}), contributions),
                         2);
    trainer.step({{{"x", float_tensor({1, 2, 3})}}, {{"x", float_tensor({4, 5, 6})}}});
    const double gradients = reduction == GradientReduction::Sum ? 2 : 1;
    EXPECT_NEAR(trainer.variable("w").values<float>()[0], 0.7 - 0.1 * gradients, 1e-6);
  }
}

}  // namespace
}  // namespace podium
