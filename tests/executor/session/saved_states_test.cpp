#include "executor/session/saved_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/model_weights.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using testing::tensor;

// "state of weight", or "none".
std::string parts_of(std::string_view name) {
  const auto parts = read_state_name(name);
  return parts ? fmt::format("{} of {}", parts->state, parts->weight) : "none";
}

TEST(SavedStates, HaveNamesOfAStateAndItsWeight) {
  EXPECT_EQ(parts_of("Accl1___w"), "Accl1___ of w");
  EXPECT_EQ(parts_of("Accl___w"), "Accl___ of w");
  EXPECT_EQ(parts_of("Step___layer___w"), "Step___ of layer___w");
  EXPECT_EQ(parts_of("PreviousLossScaling___w"), "PreviousLossScaling___ of w");
  EXPECT_EQ(parts_of("lossScaleUpdateFactor"), "lossScaleUpdateFactor of ");
}

TEST(SavedStates, AreNotWhateverHasSuchASeparator) {
  for (const char* name : {"a___w", "Accl1___", "Accl9___w", "Accum___w", "w", "lossScaleUpdateFactors"}) {
    EXPECT_EQ(parts_of(name), "none") << name;
  }
}

TEST(SavedStates, BelongToAWeightThatThereIs) {
  const ir::Graph graph = testing::graph_of(
      "g (float[1] x) => (float[1] y) <float[1] w = {1}, float[1] Accl1___w = {2}, float[1] Accl1___v = {3},"
      "float[1] a___w = {4}, float lossScaleUpdateFactor = {5}> { y = Mul (x, w) }");
  const std::map<std::string, ir::Tensor> unread = unread_constants(graph);
  EXPECT_EQ(unread.size(), 4U);
  const ir::Training forward = with_variables(graph, {"w"});
  const ir::ValueId w = testing::value_named(forward.graph, "w");
  std::map<ir::StateKey, float> found;
  for (const auto& [key, value] : saved_states(forward, unread)) {
    found[key] = static_cast<float>(value.to_number());
  }
  EXPECT_THAT(found, ElementsAre(Pair(ir::StateKey("Accl1___", w), 2),
                                 Pair(ir::StateKey("lossScaleUpdateFactor", ir::kNoValue), 5)));
}

TEST(SavedStates, VariablesHaveTheNamesOfTheirValues) {
  ir::Training training = testing::as_training(
      {.graph = testing::graph_of("g (float[1] w, float[1] Accl1___w) => (float[1] y) { y = Mul (w, w) }"),
       .variables = {{"w", ir::VariableKind::Weight, tensor<float>({1}, {1})},
                     {"Accl1___w", ir::VariableKind::OptimizerState, tensor<float>({1}, {0}), "w"}}});
  training.variables[1].state = "Accl1___";
  const std::vector<NamedVariable> named = named_variables(training);
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].name, "w");
  EXPECT_EQ(named[0].weight, "");
  EXPECT_EQ(named[1].name, "Accl1___w");
  EXPECT_EQ(named[1].weight, "w");
  EXPECT_EQ(named[1].state, "Accl1___");
}

}  // namespace
}  // namespace podium
