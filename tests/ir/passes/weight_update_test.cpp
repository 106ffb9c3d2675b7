#include "ir/passes/weight_update.h"

#include <gtest/gtest.h>

#include "tests/support/graph_equations.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/near.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

constexpr ScalarSpec kRate{"rate", {"learningRate"}, [](const WeightValues& v) { return v("learningRate"); }};
constexpr StateSpec kVelocity{.name = "Velocity___"};

// An optimizer of these tests alone, whose rate is 0.5.
const OptimizerSpec& row() {
  static const OptimizerSpec kRow{
      .name = "Test", .values = {kLearningRate}, .states = {kVelocity}, .scalars = {&kRate}};
  return kRow;
}

// A graph with a weight and its gradient, and what builds an update of it.
struct Built {
  Training training = testing::as_training(
      {.graph = testing::graph_of("g (float16[2] w, float16[2] d) => (float16[2] y) { y = Mul(w, d) }"),
       .variables = {{"w", VariableKind::Weight, filled(DataType::Float16, {2}, 1)}}});
  Optimizer optimizer = make_optimizer(row(), {{"learningRate", {0.5}}});
  Contributions contributions = {};
  std::map<StateKey, Tensor> saved = {};
  UpdateBuilder builder{training, optimizer, contributions, saved};

  WeightUpdate update() {
    const ValueId w = testing::value_named(training.graph, "w");
    const Term gradient = builder.term_of(testing::value_named(training.graph, "d"));
    return {builder, "w", {{"__ipu_number", std::int64_t{3}}}, w, gradient, DataType::Float};
  }
  std::string equations() const { return testing::equations_of(training.graph, 1); }
};

TEST(WeightUpdate, ComputesInItsTypeAndStoresInTheWeights) {
  Built built;
  const WeightUpdate update = built.update();
  update.set(update.value() - cast_to(update.type, update.gradient) * update.scalar(kRate));
  EXPECT_EQ(built.equations(), "Cast(Sub(Cast(w), Mul(Cast(d), 0.5)))\n");
  ASSERT_EQ(built.training.updates.size(), 1U);
  EXPECT_TRUE(built.training.updates[0].outer);
}

TEST(WeightUpdate, KeepsAStateAsAVariableOfTheWeight) {
  Built built;
  const WeightUpdate update = built.update();
  update.set_state(kVelocity, update.state(kVelocity) * 0.5);
  EXPECT_EQ(testing::variable_names(built.training), (std::vector<std::string>{"w", "Velocity___w"}));
  EXPECT_EQ(built.training.variables[1].weight, update.weight);
  EXPECT_EQ(to_string(built.training.variables[1].initial.type_and_dims()), "float16[2]");
  EXPECT_EQ(built.equations(), "Cast(Mul(Cast(Velocity___w), 0.5))\n");
}

TEST(WeightUpdate, GoesOnWithASavedStateOfItsType) {
  Built built;
  const StateKey key{"Velocity___", testing::value_named(built.training.graph, "w")};
  built.saved[key] = filled(DataType::Float16, {2}, 7);
  built.update().state(kVelocity);
  testing::expect_near(built.training.variables[1].initial.values<Float16>(), {7, 7});

  Built other;
  other.saved[key] = filled(DataType::Float, {2}, 7);
  EXPECT_EQ(testing::refusal([&] { other.update().state(kVelocity); }),
            "saved state 'Velocity___w' is float[2], float16[2] needed");
}

TEST(WeightUpdate, ReadsAScalarThatMayChangeFromOneInput) {
  Built built;
  built.optimizer.defaults.find("learningRate")->second.constant = false;
  const WeightUpdate update = built.update();
  EXPECT_FALSE(update.is_always(kRate, 0.5));
  EXPECT_EQ(update.scalar(kRate).id, update.scalar(kRate).id);
  EXPECT_EQ(testing::hyper_parameter_names(built.training),
            (std::vector<std::string>{"rate___default___FLOAT"}));
}

// A weight that no gradient has reached takes no step, whatever its state divides by.
TEST(WeightUpdate, DividesNothingByNothingOnlyWhereItsEpsMayVanish) {
  constexpr ScalarSpec kEpsilon{
      "eps", {"learningRate"}, [](const WeightValues& v) { return v("learningRate"); }};
  Built built;
  const WeightUpdate update = built.update();
  const Term one = built.builder.number(2, update.type);
  update.set(update.quotient(update.value(), one, kEpsilon));
  built.optimizer.defaults.find("learningRate")->second.value = 0;
  update.set(update.quotient(update.value(), one, kEpsilon));
  EXPECT_EQ(built.equations(),
            "Cast(Div(Cast(w), 2))\n"
            "Cast(Where(Equal(Cast(w), 0), Cast(w), Div(Cast(w), 2)))\n");
}

TEST(PlacedScope, PlacesWhatIsAppendedWhileItLives) {
  Built built;
  const WeightUpdate update = built.update();
  {
    const auto scope = built.builder.at(update.place, Context::Update);
    update.set(update.value());
  }
  const Op& last = built.training.graph.ops.back();
  EXPECT_TRUE(is_outer(last));
  EXPECT_EQ(*attribute_if<std::int64_t>(last, "__ipu_number"), 3);
  EXPECT_FALSE(is_outer(built.training.graph.ops.front()));
}

}  // namespace
}  // namespace podium::ir
