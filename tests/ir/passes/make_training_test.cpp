#include "ir/passes/make_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "executor/kernels/tools/kernel.h"
#include "ir/infer.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"
#include "tests/support/train_graph.h"

namespace podium::ir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Optimizer sgd(const OptimizerValues& values = {}) { return make_optimizer("SGD", values); }

Training trained(const std::string& text, TrainingRequest request = {.loss = "loss"}) {
  Graph graph = testing::graph_of(text);
  request.weights = take_weights(graph);
  Training training = make_training(std::move(graph), request);
  verify(training.graph);
  return training;
}

std::string refusal_to_train(const std::string& text, const TrainingRequest& request) {
  return testing::refusal([&] { trained(text, request); });
}

std::vector<std::string> reduced_names(const Training& training) {
  return testing::names_of(training.graph, training.reduced);
}

std::vector<std::string> untrained_names(const Training& training) {
  return testing::names_of(training.graph, training.untrained);
}

Tensor first_value(const Training& training, const std::string& name) {
  for (const Variable& variable : training.variables) {
    if (training.graph[variable.value].name == name) return variable.initial;
  }
  return {};
}

// "MatMul ipu 1 stage 4 outer" for each op after the first `forward` ones.
std::vector<std::string> places(const Training& training, std::size_t forward) {
  std::vector<std::string> found;
  for (std::size_t i = forward; i < training.graph.ops.size(); ++i) {
    const Op& op = training.graph.ops[i];
    std::string text(op.spec->name);
    if (const auto* ipu = attribute_if<std::int64_t>(op, "__ipu_number"))
      text += fmt::format(" ipu {}", *ipu);
    if (const auto* stage = attribute_if<std::int64_t>(op, "__pipeline_stage"))
      text += fmt::format(" stage {}", *stage);
    if (const auto* phase = attribute_if<std::int64_t>(op, "__execution_phase"))
      text += fmt::format(" phase {}", *phase);
    if (attribute_if<std::int64_t>(op, kContextAttribute) != nullptr) text += " outer";
    found.push_back(text);
  }
  return found;
}

constexpr const char* kTwoStages =
    "g (float[3] x) => (float loss) <float[3] v = {1, 2, 3}, float[3] w = {1, 2, 3}> {\n"
    "  p = Mul <__ipu_number = 0, __pipeline_stage = 0> (v, x)\n"
    "  q = Mul <__ipu_number = 1, __pipeline_stage = 1> (p, w)\n"
    "  r = Mul <__ipu_number = 1, __pipeline_stage = 1> (q, v)\n"
    "  loss = ReduceSum <keepdims = 0, __ipu_number = 1, __pipeline_stage = 1> (r)\n}";

TEST(MakeTraining, GivesGradientsOfWhatIsNotLearntWhenAskedForThem) {
  const char* const kModel =
      "g (float[2] x, int64[2] i) => (float loss) <float[2] w = {1, 2}>"
      "{ h = Mul(x, w) y = Exp(h) z = Gather(y, i) loss = ReduceSum <keepdims = 0> (z) }";
  const auto has_gradient = [&](const std::vector<std::string>& asked, const char* of) {
    const Training training = trained(kModel, {.loss = "loss", .gradients_of = asked});
    const std::vector<Value>& values = training.graph.values;
    return std::any_of(values.begin(), values.end(),
                       [&](const Value& value) { return value.name == std::string("Gradient___") + of; });
  };
  EXPECT_FALSE(has_gradient({}, "x"));
  EXPECT_TRUE(has_gradient({"x"}, "x"));
  EXPECT_TRUE(has_gradient({"x", "h"}, "w"));
  EXPECT_FALSE(has_gradient({"i", "nothing"}, "i"));
}

// A branch that has known a weight as a constant must not go on with what it was then.
TEST(MakeTraining, AWeightThatABranchCapturesIsNoConstantOfTheBranch) {
  Graph graph = testing::graph_of(
      "g (bool c, float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = If(c) <"
      "then_branch = t () => (float[2,2] p) { q = Transpose(w) p = MatMul(x, q) },"
      "else_branch = e () => (float[2,2] r) { r = Neg(x) }> }");
  infer(graph);
  take_weights(graph);
  infer(graph, {.evaluate = kernels::evaluate});
  EXPECT_EQ(attribute<Body>(graph.ops[0], "then_branch")->ops.size(), 2U);
}

TEST(MakeTraining, PutsDerivativesOnTheWayBackAndUpdatesBesideThem) {
  const std::vector<std::string> found = places(trained(kTwoStages), 4);
  // w's gradient is made where the loss is; v's is a sum whose last part comes from stage 0, whose way back
  // is 2.
  EXPECT_THAT(found, Contains("Sum ipu 0 stage 2"));
  EXPECT_THAT(found, Contains("Sub ipu 0 stage 2 outer"));
  EXPECT_THAT(found, Contains("Sub ipu 1 stage 1 outer"));
  for (const std::string& place : found) EXPECT_THAT(place, HasSubstr("stage")) << "an op without a place";
}

TEST(MakeTraining, CountsPhasesBackFromTheLast) {
  const std::vector<std::string> found =
      places(trained("g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}> {\n"
                     "  p = Mul <__execution_phase = 0> (w, x)\n"
                     "  q = Tanh <__execution_phase = 1> (p)\n"
                     "  loss = ReduceSum <keepdims = 0, __execution_phase = 2> (q)\n}"),
             3);
  EXPECT_THAT(found, Contains("Sub phase 4 outer"));
  EXPECT_THAT(found.front(), HasSubstr("phase 2"));
}

TEST(MakeTraining, KeepsWhatIsMadeForAForwardOpThatIsComputedAgain) {
  const Training training = trained(
      "g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}> {\n"
      "  p = Mul <__recompute_output_in_backward_pass = 2> (w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}");
  const auto* kept = attribute_if<std::int64_t>(training.graph.ops[4], "__recompute_output_in_backward_pass");
  ASSERT_NE(kept, nullptr) << print(training.graph);
  EXPECT_EQ(*kept, 1);
}

TEST(MakeTraining, TellsVariablesUpdatesAndWhatReplicasReduce) {
  Optimizer optimizer = sgd({{"learningRate", {0.1, false}}, {"momentum", {0.9}}});
  optimizer.sgd_state = SgdState::Separate;
  const Training training =
      trained(kTwoStages, {.loss = "loss", .optimizer = optimizer, .contributions = {.accumulation = 4}});
  EXPECT_THAT(testing::variable_names(training),
              ElementsAre("v", "w", "Accum___v", "Accum___w", "Accl1___v", "Accl1___w"));
  EXPECT_THAT(reduced_names(training), ElementsAre("Accum___v", "Accum___w"));
  EXPECT_THAT(testing::hyper_parameter_names(training), ElementsAre("scaledLearningRate2___default___FLOAT"));
  const auto updates_of = [&](const std::string& name, bool outer) {
    return std::count_if(training.updates.begin(), training.updates.end(), [&](const Update& update) {
      return training.graph[update.variable].name == name && update.outer == outer;
    });
  };
  EXPECT_EQ(updates_of("Accum___w", false), 1);
  EXPECT_EQ(updates_of("Accum___w", true), 1);
  EXPECT_EQ(updates_of("w", true), 1);
  EXPECT_EQ(updates_of("w", false), 0);
  EXPECT_EQ(updates_of("Accl1___w", true), 1);
}

TEST(MakeTraining, WithoutAccumulationReducesTheGradientsThemselves) {
  const Training training = trained(kTwoStages);
  EXPECT_THAT(reduced_names(training), ElementsAre("Gradient___v", "Gradient___w"));
}

TEST(MakeTraining, HasACounterForEachPlaceOfARunningMean) {
  const Training training = trained(
      kTwoStages, {.loss = "loss",
                   .optimizer = sgd(),
                   .contributions = {.accumulation = 2, .reduction = GradientReduction::MeanRunning}});
  EXPECT_THAT(testing::variable_names(training), Contains("Counter____VGraph0_PStage2"));
  EXPECT_THAT(testing::variable_names(training), Contains("Counter____VGraph1_PStage1"));
  EXPECT_TRUE(training.reduces_by_mean);
}

TEST(MakeTraining, HasACounterForEachPhaseOfARunningMean) {
  const Training training = trained(
      "g (float[3] x) => (float loss) <float[3] v = {1, 2, 3}, float[3] w = {4, 5, 6}> {\n"
      "  a = Mul <__execution_phase = 0> (x, v)\n  b = Mul <__execution_phase = 1> (a, w)\n"
      "  loss = ReduceSum <keepdims = 0, __execution_phase = 1> (b)\n}",
      {.loss = "loss",
       .optimizer = sgd(),
       .contributions = {.accumulation = 2, .reduction = GradientReduction::MeanRunning}});
  EXPECT_THAT(testing::variable_names(training), Contains("Counter____Phase1"));
  EXPECT_THAT(testing::variable_names(training), Contains("Counter____Phase2"));
}

TEST(MakeTraining, MakesConstantsOfWeightsThatTheLossDoesNotNeed) {
  const Training training = trained(
      "g (float[3] x) => (float loss, float[3] y) <float[3] w = {1, 2, 3}, float[3] v = {4, 5, 6}> {\n"
      "  p = Mul (w, x)\n  y = Add (p, v)\n  loss = ReduceSum <keepdims = 0> (p)\n}");
  EXPECT_THAT(untrained_names(training), ElementsAre("v"));
  EXPECT_THAT(testing::variable_names(training), ElementsAre("w"));
  const auto found = std::find_if(training.graph.values.begin(), training.graph.values.end(),
                                  [](const Value& value) { return value.name == "v"; });
  EXPECT_TRUE(found->constant.has_value());
}

TEST(MakeTraining, GoesOnWithSavedState) {
  Optimizer optimizer = sgd({{"momentum", {0.9}}});
  TrainingRequest request{.loss = "loss", .optimizer = optimizer};
  const StateKey velocity{"Accl___", testing::value_named(testing::graph_of(kTwoStages), "w")};
  request.saved[velocity] = testing::tensor<float>({3}, {7, 8, 9});
  const Training training = trained(kTwoStages, request);
  EXPECT_EQ(first_value(training, "Accl___w").values<float>()[2], 9);
  EXPECT_EQ(first_value(training, "Accl___v").values<float>()[2], 0);
  request.saved[velocity] = testing::tensor<float>({2}, {7, 8});
  EXPECT_EQ(refusal_to_train(kTwoStages, request), "saved state 'Accl___w' is float[2], float[3] needed");
}

TEST(MakeTraining, RefusesALossScaleThatTheLossCannotHold) {
  const char* const text =
      "g (float[3] x) => (float16 loss) <float[3] w = {1, 2, 3}> {\n"
      "  p = Mul (w, x)\n  q = Cast <to = 10> (p)\n  loss = ReduceSum <keepdims = 0> (q)\n}";
  Optimizer optimizer = sgd();
  for (const bool constant : {false, true}) {
    optimizer.loss_scaling = {100000, constant};
    EXPECT_EQ(
        refusal_to_train(text, {.loss = "loss", .optimizer = optimizer}),
        "loss scaling is 100000, which is inf in float16, the type of the loss; a finite number other than 0 needed");
  }
  optimizer.loss_scaling = {1e-9};
  EXPECT_EQ(
      refusal_to_train(text, {.loss = "loss", .optimizer = optimizer}),
      "loss scaling is 1e-09, which is 0 in float16, the type of the loss; a finite number other than 0 needed");
}

TEST(MakeTraining, StartsAVelocityAheadWithTheDecay) {
  const Training training =
      trained(kTwoStages, {.loss = "loss", .optimizer = sgd({{"momentum", {0.9}}, {"weightDecay", {0.5}}})});
  EXPECT_FLOAT_EQ(first_value(training, "Accl___w").values<float>()[2], 1.5F);
}

// momentum 0.5: the mean of the channel's numbers 1, 3 moves 0 to 1, then to 1.5.
TEST(MakeTraining, UpdatesRunningStatisticsInEveryMicroBatch) {
  testing::GraphTrainer trainer(
      trained("g (float[2,1] x) => (float loss) <float[1] s = {1}, float[1] b = {0}, float[1] m = {0}, "
              "float[1] d = {1}> {\n"
              "  y, n, e = BatchNormalization <training_mode = 1, momentum = 0.5> (x, s, b, m, d)\n"
              "  z = Mul (y, y)\n  loss = ReduceSum <keepdims = 0> (z)\n}",
              {.loss = "loss", .optimizer = sgd(), .contributions = {.accumulation = 2}}));
  EXPECT_THAT(trainer.training().untrained, IsEmpty());
  const testing::TensorsByName data{{"x", testing::tensor<float>({2, 1}, {1, 3})}};
  trainer.step({data, data});
  EXPECT_FLOAT_EQ(trainer.variable("m").values<float>()[0], 1.5F);
  EXPECT_FLOAT_EQ(trainer.variable("d").values<float>()[0], 1.0F);
  for (const Variable& variable : trainer.training().variables) {
    const std::string& name = trainer.training().graph[variable.value].name;
    EXPECT_EQ(variable.kind == VariableKind::Statistic, name == "m" || name == "d") << name;
  }
}

TEST(MakeTraining, NeverLearnsStatistics) {
  const Training training = trained(
      "g (float[2,1] x) => (float loss) <float[1] s = {1}, float[1] b = {0}, float[1] m = {0}, float[1] d = "
      "{1}> {\n"
      "  y = BatchNormalization (x, s, b, m, d)\n  loss = ReduceSum <keepdims = 0> (y)\n}");
  EXPECT_THAT(testing::variable_names(training), ElementsAre("s", "b"));
}

TEST(MakeTraining, NamesWhatCannotBeALoss) {
  EXPECT_EQ(refusal_to_train(kTwoStages, {.loss = "lost"}), "there is no value 'lost' to be the loss");
  EXPECT_EQ(refusal_to_train(kTwoStages, {.loss = "q"}), "loss 'q' is float[3], one number needed");
  EXPECT_EQ(refusal_to_train("g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}> {\n"
                             "  p = Mul (w, x)\n  loss = ReduceSum <keepdims = 0> (x)\n}",
                             {.loss = "loss"}),
            "loss 'loss' does not depend on any weight");
}

TEST(MakeTraining, NamesTheOpThatLetsNothingFlowBack) {
  EXPECT_EQ(
      refusal_to_train("g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}> {\n"
                       "  p = Mul (w, x)\n  steps = Round (p)\n  loss = ReduceSum <keepdims = 0> (steps)\n}",
                       {.loss = "loss"}),
      "loss 'loss' does not depend on any weight that it could train: nothing flows back through "
      "node 'steps' (Round): its derivative is 0 wherever it has one");
  const Training training = trained(
      "g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}, float[3] v = {1, 2, 3}> {\n"
      "  p = Mul (w, x)\n  steps = Floor (p)\n  q = Mul (steps, v)\n  loss = ReduceSum <keepdims = 0> (q)\n}");
  EXPECT_THAT(testing::variable_names(training), ElementsAre("v"));
  EXPECT_THAT(untrained_names(training), ElementsAre("w"));
  EXPECT_THAT(training.why_untrained,
              ::testing::StartsWith("nothing flows back through node 'steps' (Floor)"));
}

TEST(MakeTraining, KeepsTheNamesOfWhatIsReducedThroughOptimize) {
  Training training = trained(
      "g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}> {\n"
      "  p = Mul (w, x)\n  i = Identity (p)\n  loss = ReduceSum <keepdims = 0> (i)\n}");
  const std::size_t outputs = training.graph.outputs.size();
  optimize(training, {});
  EXPECT_EQ(training.graph.outputs.size(), outputs);
  EXPECT_THAT(reduced_names(training), ElementsAre("Gradient___w"));
  EXPECT_TRUE(std::any_of(training.graph.values.begin(), training.graph.values.end(),
                          [](const Value& value) { return value.name == "Gradient___w"; }));
}

// The ids that a Training has of its values are right after passes that renumber them.
TEST(MakeTraining, OptimizeKeepsWhatATrainingSaysOfValues) {
  Training training = trained(
      "g (float[3] x) => (float loss) <float[3] u = {1, 2, 3}, float[3] w = {1, 2, 3}> {\n"
      "  unread = Exp (x)\n  a = Identity (x)\n  b = Add (unread, x)\n  p = Mul (w, a)\n"
      "  q = Mul (p, u)\n  loss = ReduceSum <keepdims = 0> (q)\n}",
      {.loss = "loss",
       .optimizer = make_optimizer("Adam", {{"learningRate", {0.1, false}}}),
       .contributions = {.accumulation = 2}});
  const auto tell = [&] {
    std::vector<std::string> told = testing::variable_names(training);
    for (const Variable& variable : training.variables) {
      told.push_back(variable.weight.valid() ? training.graph[variable.weight].name : "");
    }
    for (const Update& update : training.updates) {
      told.push_back(training.graph[update.variable].name + " = " +
                     training.graph[training.graph.outputs[update.output]].name);
    }
    for (const std::string& name : reduced_names(training)) told.push_back(name);
    for (const std::string& name : testing::hyper_parameter_names(training)) told.push_back(name);
    return told;
  };
  const std::vector<std::string> before = tell();
  const std::size_t values = training.graph.values.size();
  optimize(training, {});
  EXPECT_LT(training.graph.values.size(), values);
  EXPECT_EQ(tell(), before);
}

std::string scaling_refusal(const AutomaticLossScaling& scaling, bool constant) {
  Optimizer optimizer = sgd();
  optimizer.loss_scaling = {8, constant};
  return refusal_to_train(kTwoStages,
                          {.loss = "loss", .optimizer = optimizer, .automatic_loss_scaling = scaling});
}

TEST(AutomaticLossScaling, NamesWhatDoesNotFit) {
  EXPECT_EQ(scaling_refusal({}, true),
            "automatic loss scaling: the optimizer's loss scaling is constant, it must not be");
  EXPECT_EQ(scaling_refusal({}, false), "automatic loss scaling: no gradient of type float16 to follow");
  EXPECT_EQ(scaling_refusal({.bin_edge = 1.5}, false),
            "automatic loss scaling: binEdgeLocation is 1.5, it must be from 0 to 1");
  EXPECT_EQ(scaling_refusal({.threshold = -1}, false),
            "automatic loss scaling: thresholdUpperCountProportion is -1, it must be from 0 to 1");
  EXPECT_THAT(scaling_refusal({.tensors = {"p"}}, false),
              HasSubstr("1 tensors to track found, none is needed"));
  EXPECT_THAT(scaling_refusal({.tracked = TrackedGradients::OfTensors}, false),
              HasSubstr("0 tensors to track found, some are needed"));
  EXPECT_THAT(scaling_refusal({.tracked = TrackedGradients::OfTensors, .tensors = {"nowhere"}}, false),
              HasSubstr("there is no tensor 'nowhere' whose gradient could be followed"));
  EXPECT_THAT(scaling_refusal({.update_period = 0}, false),
              HasSubstr("updatePeriod is 0, it must be at least 1"));
}

// Places that the forward ops get once derivatives are there say as much as those of before.
TEST(MakeTraining, PlacesDerivativesAfterTheyWereMade) {
  const std::string text =
      "g (float[2] x) => (float loss) <float[2] w = {1, 2}, float[2] v = {3, 4}> {\n"
      "  a = Mul (x, w)\n  b = Mul (a, v)\n  loss = ReduceSum <keepdims = 0> (b)\n}";
  const auto place = [](Graph& graph) {
    for (std::int64_t i = 0; i < 3; ++i) {
      set_attribute(graph.ops[i], "__ipu_number", std::min<std::int64_t>(i, 1));
      set_attribute(graph.ops[i], "__pipeline_stage", std::min<std::int64_t>(i, 1));
    }
  };
  Graph before = testing::graph_of(text);
  TrainingRequest request{
      .loss = "loss", .optimizer = make_optimizer("Adam"), .contributions = {.accumulation = 2}};
  request.weights = take_weights(before);
  Differentiated made = append_derivatives(before, request);
  place(made.training.graph);
  place(before);
  EXPECT_EQ(print(append_updates(std::move(made), request).graph),
            print(make_training(before, request).graph));
}

TEST(OpsOfUpdate, AreThoseThatTrainingAppends) {
  const std::string text =
      "g (float[2] x) => (float loss) <float[2] w = {1, 2}> {\n"
      "  a = Mul (x, w)\n  loss = ReduceSum <keepdims = 0> (a)\n}";
  for (const char* name : {"SGD", "Adam", "LAMB"}) {
    for (const int micro_batches : {1, 4}) {
      TrainingRequest request{.loss = "loss",
                              .optimizer = make_optimizer(name),
                              .contributions = {.accumulation = micro_batches}};
      Graph graph = testing::graph_of(text);
      request.weights = take_weights(graph);
      const Differentiated made = append_derivatives(std::move(graph), request);
      const auto derivatives = std::ssize(made.training.graph.ops);
      const Training training = append_updates(made, request);
      EXPECT_EQ(ops_of_update(request.optimizer, request.contributions, DataType::Float),
                std::ssize(training.graph.ops) - derivatives)
          << name << " " << micro_batches;
    }
  }
}

}  // namespace
}  // namespace podium::ir
