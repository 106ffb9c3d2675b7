#include "ir/passes/optimizer_states.h"

#include <gtest/gtest.h>

#include "ir/contributions.h"
#include "ir/filled.h"
#include "tests/support/near.h"

namespace podium::ir {
namespace {

constexpr const char* kWeight = "w";

// A line a tensor that is kept for a weight: "Accl1___ float[2] state".
std::string kept(const Optimizer& optimizer, const Contributions& contributions, const Type& weight) {
  std::string lines;
  for (const KeptTensor& tensor : states_of({optimizer, kWeight, contributions}, weight)) {
    lines += fmt::format("{} {} {}\n", tensor.name, to_string(tensor.type),
                         tensor.kind == VariableKind::Accumulator ? "accumulator" : "state");
  }
  return lines;
}

const Type kFloats = Type::tensor(DataType::Float, {2});
const Type kHalves = Type::tensor(DataType::Float16, {2});

TEST(OptimizerStates, OfPlainSgdAreNoneButTheAccumulator) {
  EXPECT_EQ(kept(make_optimizer("SGD"), {}, kFloats), "");
  EXPECT_EQ(kept(make_optimizer("SGD"), {.accumulation = 4}, kFloats), "Accum___ float[2] accumulator\n");
}

TEST(OptimizerStates, OfMomentumHoldTheMicroBatchesToo) {
  Optimizer momentum = make_optimizer("SGD", {{"momentum", {0.9}}});
  EXPECT_EQ(kept(momentum, {.accumulation = 4}, kFloats), "Accl___ float[2] state\n");
  momentum.sgd_state = SgdState::Separate;
  EXPECT_EQ(kept(momentum, {.accumulation = 4}, kFloats),
            "Accum___ float[2] accumulator\n"
            "Accl1___ float[2] state\n");
}

TEST(OptimizerStates, OfAdamAreFloatBesideHalves) {
  EXPECT_EQ(kept(make_optimizer("Adam"), {.accumulation = 2}, kHalves),
            "Accum___ float16[2] accumulator\n"
            "Accl1___ float[2] state\n"
            "Accl2___ float[2] state\n"
            "Step___ float[] state\n");
}

TEST(OptimizerStates, AreOfTheTypesThatAreAskedFor) {
  Optimizer adam = make_optimizer("Adam");
  adam.accumulator_type = DataType::Float;
  adam.state_type = DataType::Float16;
  EXPECT_EQ(kept(adam, {.accumulation = 2}, kHalves),
            "Accum___ float[2] accumulator\n"
            "Accl1___ float16[2] state\n"
            "Accl2___ float16[2] state\n"
            "Step___ float[] state\n");
}

// PopART's combined velocity starts with the share of weight decay, a multiple of the weight.
TEST(OptimizerStates, MayStartAsAMultipleOfTheWeight) {
  const Optimizer momentum = make_optimizer("SGD", {{"momentum", {0.9}}, {"weightDecay", {0.5}}});
  const Contributions contributions;
  const WeightValues values{momentum, kWeight, contributions};
  const StateSpec& velocity = momentum.spec->states.front();
  ASSERT_TRUE(velocity.starts_as_weight);
  const Tensor weight = filled(DataType::Float, {2}, 4);
  const Tensor first = first_value(velocity, values, kFloats, weight);
  testing::expect_near(first.values<float>(), {2, 2});
  const Tensor unknown = first_value(velocity, values, kFloats, {});
  testing::expect_near(unknown.values<float>(), {0, 0});
}

}  // namespace
}  // namespace podium::ir
