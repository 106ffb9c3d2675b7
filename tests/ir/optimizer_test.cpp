#include "ir/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/error.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

std::string refusal(const Optimizer& optimizer) {
  return testing::refusal([&] { check_optimizer(optimizer, {"w", "v"}); });
}

std::string refusal(std::string_view kind, const OptimizerValues& values) {
  return testing::refusal([&] { check_optimizer(make_optimizer(kind, values), {"w", "v"}); });
}

TEST(CheckOptimizer, NamesValuesOutOfRange) {
  const auto sgd = [](const char* name, OptimizerValue value) { return refusal("SGD", {{name, value}}); };
  EXPECT_EQ(sgd("learningRate", {-0.1}), "learningRate is -0.1, it must be at least 0");
  EXPECT_EQ(sgd("learningRate", {0}), "learningRate is constant 0, so that no weight would change");
  EXPECT_EQ(sgd("learningRate", {0, false}), "");
  EXPECT_EQ(sgd("weightDecay", {-1}), "weightDecay is -1, it must be at least 0");
  EXPECT_EQ(sgd("momentum", {-1}), "momentum is -1, it must be at least 0");
  EXPECT_EQ(sgd("dampening", {-1}), "dampening is -1, it must be at least 0");
  EXPECT_EQ(sgd("velocityScaling", {0}), "velocityScaling is 0, it must be above 0");
  EXPECT_EQ(sgd("momentum", {std::nan("")}), "momentum is nan, it must be at least 0");
  EXPECT_EQ(refusal("Adam", {{"eps", {-1}}}), "eps is -1, it must be at least 0");
  EXPECT_EQ(refusal("Adam", {{"eps", {0}}}), "");
  EXPECT_EQ(refusal("RMSProp", {{"alpha", {-1}}}), "alpha is -1, it must be at least 0");
  EXPECT_EQ(refusal("LAMB", {{"maxWeightNorm", {-1}}}), "maxWeightNorm is -1, it must be at least 0");
  EXPECT_EQ(refusal("Adam", {{"beta2", {1}}}), "beta2 is 1, it must be at least 0 and below 1");
}

TEST(CheckOptimizer, NamesTheNearestOfAnUnknownValue) {
  EXPECT_EQ(refusal("Adam", {{"beta", {0.9}}}), "Adam has no value 'beta'; nearest is 'beta1'");
  EXPECT_EQ(refusal("SGD", {{"eps", {0.9}}}).find("SGD has no value 'eps'"), 0U);
}

TEST(CheckOptimizer, NamesOptionsThatExcludeEachOther) {
  Optimizer nesterov = make_optimizer("SGD", {{"dampening", {0.1}}, {"momentum", {0.9}}});
  nesterov.nesterov = true;
  EXPECT_EQ(refusal(nesterov), "nesterov momentum: dampening is 0.1, it must be constant 0");
  Optimizer adam = make_optimizer("Adam");
  adam.nesterov = true;
  EXPECT_EQ(refusal(adam), "Adam has no nesterov momentum, only SGD has");
  Optimizer unscaled = make_optimizer("SGD");
  for (const double scaling : {0.0, std::nan("")}) {
    unscaled.loss_scaling = {scaling};
    EXPECT_EQ(refusal(unscaled), fmt::format("loss scaling is {}, it must be another number", scaling));
  }
  Optimizer scaled = make_optimizer("SGD");
  scaled.scaled_state = true;
  EXPECT_EQ(refusal(scaled), "SGD cannot keep scaled states, only Adam's family can");
  Optimizer tensorflow = make_optimizer("AdaGrad");
  tensorflow.tensorflow_rms = true;
  EXPECT_EQ(refusal(tensorflow), "AdaGrad has no TensorFlow variant, only RMSProp has");
  Optimizer narrow = make_optimizer("SGD");
  narrow.state_type = DataType::Int32;
  EXPECT_EQ(refusal(narrow), "optimizer state of type int32, float or float16 needed");
}

TEST(CheckOptimizer, LooksAtEachWeightsOwnValues) {
  Optimizer optimizer = make_optimizer("SGD");
  optimizer.specific["v"]["momentum"] = {-1};
  EXPECT_EQ(refusal(optimizer), "values of weight 'v': momentum is -1, it must be at least 0");
  optimizer.specific = {{"vv", {}}};
  EXPECT_EQ(refusal(optimizer), "there is no weight 'vv' that is trained; nearest is 'v'");
}

TEST(CheckOptimizer, LooksAtGroupsOfClipNorms) {
  Optimizer optimizer = make_optimizer("SGD");
  optimizer.clip_norms = {{1, {}}, {2, {"w"}}};
  EXPECT_EQ(refusal(optimizer), "clip norm over all weights: 2 groups found, it must be the only one");
  optimizer.clip_norms = {{1, {"w"}}, {2, {"v", "w"}}};
  EXPECT_EQ(refusal(optimizer), "weight 'w' is in two groups of clip norms");
  optimizer.clip_norms = {{0, {}}};
  EXPECT_EQ(refusal(optimizer), "clip norm is 0, it must be above 0");
}

TEST(OptimizerValues, OfAWeightComeBeforeTheDefaults) {
  Optimizer optimizer = make_optimizer("SGD", {{"momentum", {0.5}}});
  optimizer.specific["w"]["momentum"] = {0.9, false};
  EXPECT_EQ(value_of(optimizer, "momentum", "w"), (OptimizerValue{0.9, false}));
  EXPECT_EQ(value_of(optimizer, "momentum", "v"), (OptimizerValue{0.5, true}));
  EXPECT_EQ(value_of(optimizer, "learningRate", "w"), (OptimizerValue{0.1, true}));
}

TEST(ForWeights, WritesGlobsOutOverThem) {
  Optimizer optimizer = make_optimizer("SGD");
  optimizer.specific = {{"*.b", {{"momentum", {0.5}}}},
                        {"fc*", {{"weightDecay", {0.25}}}},
                        {"fc1.b", {{"momentum", {0.75}}}},
                        {"x[0]", {{"momentum", {1}}}},
                        {"other", {}}};
  optimizer.clip_norms = {{1, {"fc*", "*.b", "x[0]"}}};
  const std::vector<std::string> weights{"fc1.w", "fc1.b", "fc2.b", "x[0]"};
  const Optimizer found = for_weights(optimizer, weights);
  const std::map<std::string, OptimizerValues> wanted{
      {"fc1.w", {{"weightDecay", {0.25}}}},
      {"fc1.b", {{"momentum", {0.75}}, {"weightDecay", {0.25}}}},
      {"fc2.b", {{"momentum", {0.5}}, {"weightDecay", {0.25}}}},
      {"x[0]", {{"momentum", {1}}}},
      {"other", {}}};
  EXPECT_EQ(found.specific, wanted);
  EXPECT_EQ(found.clip_norms[0].weights, (std::vector<std::string>{"fc1.w", "fc1.b", "fc2.b", "x[0]"}));
}

std::string refusal_of_globs(const std::map<std::string, OptimizerValues>& specific) {
  Optimizer optimizer = make_optimizer("SGD");
  optimizer.specific = specific;
  return testing::refusal([&] { for_weights(optimizer, {"fc1.w", "fc1.b"}); });
}

TEST(ForWeights, RefusesGlobsThatFitNothingOrContradict) {
  EXPECT_EQ(refusal_of_globs({{"fd1.*", {}}}), "'fd1.*' fits no weight that is trained; nearest is 'fc1.w'");
  EXPECT_EQ(refusal_of_globs({{"*b", {{"momentum", {1}}}}, {"fc*", {{"momentum", {1}}}}}),
            "weight 'fc1.b' gets momentum from '*b' and from 'fc*', one needed");
  EXPECT_EQ(refusal_of_globs({{"*b", {{"momentum", {1}}}}, {"fc*", {{"dampening", {1}}}}}), "");
}

TEST(Optimizer, KeepsStatesOfNarrowWeightsInFloatWhereTheyAreSquares) {
  EXPECT_EQ(state_type_of(make_optimizer("Adam"), DataType::Float16), DataType::Float);
  EXPECT_EQ(state_type_of(make_optimizer("RMSProp"), DataType::Float), DataType::Float);
  EXPECT_EQ(state_type_of(make_optimizer("LAMB"), DataType::Double), DataType::Double);
  EXPECT_EQ(state_type_of(make_optimizer("SGD"), DataType::Float16), DataType::Float16);
  Optimizer asked = make_optimizer("Adam");
  asked.state_type = DataType::Float16;
  EXPECT_EQ(state_type_of(asked, DataType::Float16), DataType::Float16);
}

}  // namespace
}  // namespace podium::ir
