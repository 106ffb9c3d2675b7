#include "executor/cli/op_layers.h"

#include <gmock/gmock.h>

#include "tests/support/hand_made.h"

namespace podium::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// A weight that a forward block reads, and a block of its update.
class Updated : public ::testing::Test {
 protected:
  Updated() {
    for (const char* name : {"x", "y", "gradient", "part of w"}) made_.buffer(name, {2});
    made_.buffer("w", {2}).role = executor::Role::Weight;
    const executor::BlockId update =
        made_.block("agraph (float[2] g, float[2] w) => (float[2] next) { s = Neg (g) next = Add (w, s) }");
    for (ir::Op& op : made_.program[update].graph.ops) op.name.clear();
  }
  executor::Step there(const std::string& text, const std::vector<std::string>& op_names) {
    const executor::BlockId block = made_.block(text);
    ir::Graph& graph = made_.program[block].graph;
    for (std::size_t i = 0; i < graph.ops.size(); ++i)
      graph.ops[i].name = i < op_names.size() ? op_names[i] : "";
    return {.action = executor::Compute{block, {made_.slot("x"), made_.slot("w")}, {made_.slot("y")}}};
  }
  executor::Step dense() {
    return there("agraph (float[2] x, float[2] w) => (float[2] y) { y = Mul (x, w) }", {"net/dense/Mul"});
  }
  executor::Step update(const std::string& to) const {
    return {.action = executor::Compute{
                executor::BlockId{0}, {made_.slot("gradient"), made_.slot("w")}, {made_.slot(to)}}};
  }
  ValueLayers of(const executor::Step& step) const {
    return OpLayers(made_.program, model_).of(std::get<executor::Compute>(step.action));
  }

  testing::HandMade made_;
  std::set<std::string> model_{"x", "w", "y"};
};

TEST_F(Updated, WeightsGiveTheLayerOfTheOpThatReadsThem) {
  made_.step(dense());
  made_.step(update("w"));
  EXPECT_THAT(of(made_.program.steps[0]), ElementsAre(Pair("y", "net/dense")));
  EXPECT_THAT(of(made_.program.steps[1]), ElementsAre(Pair("next", "net/dense"), Pair("s", "net/dense")));
}

TEST_F(Updated, SharesOfAWeightAreFoundThroughTheirCollective) {
  made_.step(dense());
  made_.step(update("part of w"));
  EXPECT_THAT(of(update("part of w")), ElementsAre(Pair("next", ""), Pair("s", "")));
  made_.step({.action = executor::Collective{.kind = executor::CollectiveKind::AllGather,
                                             .transfer = {made_.slot("part of w"), made_.slot("w")}}});
  EXPECT_THAT(of(update("part of w")), ElementsAre(Pair("next", "net/dense"), Pair("s", "net/dense")));
}

TEST_F(Updated, WhatSeveralLayersNeedHasNone) {
  const executor::Step step = there(
      "agraph (float[2] x, float[2] w) => (float[2] y) { both = Neg (x) a = Mul (both, w) y = Add (a, both) }",
      {"", "net/a/Mul", "net/b/Add"});
  EXPECT_THAT(of(step), ElementsAre(Pair("a", "net/a"), Pair("both", ""), Pair("y", "net/b")));
}

TEST_F(Updated, WhatNobodyNamedHasTheLayerOfItsOperands) {
  const executor::Step step =
      there("agraph (float[2] x, float[2] w) => (float[2] sum) { g = Mul (x, w) sum = Add (g, x) }",
            {"net/a/Mul_gradient"});
  EXPECT_THAT(of(step), ElementsAre(Pair("g", "net/a"), Pair("sum", "net/a")));
}

TEST_F(Updated, WithoutAGraphThereAreNone) {
  made_.step(dense());
  for (executor::Block& block : made_.program.blocks) block.graph = {};
  EXPECT_THAT(of(made_.program.steps[0]), ::testing::IsEmpty());
}

}  // namespace
}  // namespace podium::cli
