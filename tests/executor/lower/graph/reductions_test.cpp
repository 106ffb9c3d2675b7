#include "executor/lower/graph/reductions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/infer.h"
#include "ir/passes/bind_replicas.h"
#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium::lower {
namespace {

using ::testing::ElementsAre;

// Both the update and, where `is_read`, an output read the gradient of w.
PlacedGraph one_gradient(bool is_read) {
  const std::string others = is_read ? "z = Neg (dw)" : "z = Neg (x)";
  return testing::placed_graph(
      {.graph = testing::graph_of("g (float[2] x, float[2] w) => (float[2] z, float[2] w_next) {\n"
                                  "dw = Mul <__ipu_number = 1> (x, x)\n" +
                                  others +
                                  "\nstep = Neg <__ipu_number = 1, __execution_context = 1> (dw)\n"
                                  "w_next = Sub <__ipu_number = 1, __execution_context = 1> (w, step)\n}"),
       .variables = {{"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})}},
       .updates = {{"w", 1, true}},
       .reduced = {"dw"}});
}

TEST(Reductions, AreOpsThatUpdatesReadWhereAskedFor) {
  PlacedGraph placed = one_gradient(true);
  reduce_by_ops(placed, 2);
  EXPECT_EQ(
      testing::ops_of(placed),
      "dw = Mul(x, x)  # float[2]  @ ipu 1\n"
      "z = Neg(dw)  # float[2]\n"
      "dw:0 = podium.lower.Collective(dw) {kind=0, reduction=0, group=0, group_size=0, stride=1}  # float[2]  "
      "@ ipu 1 update\n"
      "step = Neg(dw:0)  # float[2]  @ ipu 1 update\n"
      "w_next = Sub(w, step)  # float[2]  @ ipu 1 update\n"
      "output z, w_next\n");
  EXPECT_TRUE(placed.training.reduced.empty());
}

TEST(Reductions, OfOneReplicaAreNone) {
  PlacedGraph placed = one_gradient(true);
  const std::string before = print(placed);
  reduce_by_ops(placed, 1);
  EXPECT_EQ(print(placed), before);
}

TEST(Reductions, OfWhatOthersReadTooAreOfACopy) {
  PlacedGraph placed = one_gradient(true);
  reduce_copies_of_what_others_read(placed);
  EXPECT_EQ(testing::ops_of(placed),
            "dw = Mul(x, x)  # float[2]  @ ipu 1\n"
            "z = Neg(dw)  # float[2]\n"
            "dw:0 = Identity(dw)  # float[2]  @ ipu 1\n"
            "step = Neg(dw:0)  # float[2]  @ ipu 1 update\n"
            "w_next = Sub(w, step)  # float[2]  @ ipu 1 update\n"
            "output z, w_next\n");
  EXPECT_THAT(testing::names_of(placed.graph(), placed.training.reduced), ElementsAre("dw:0"));
}

TEST(Reductions, OfWhatTheUpdateAloneReadsNeedNoCopy) {
  PlacedGraph placed = one_gradient(false);
  const std::string before = print(placed);
  reduce_copies_of_what_others_read(placed);
  EXPECT_EQ(print(placed), before);
}

TEST(Reductions, AreAmongTheReplicasThatShareTheWeight) {
  PlacedGraph placed = one_gradient(false);
  EXPECT_TRUE(reduction_groups(placed).empty());
  const ir::ReplicaGroup pairs{ir::GroupType::Consecutive, 2};
  placed.placement.variable_groups["w"] = pairs;
  const auto groups = reduction_groups(placed);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.at(testing::value_named(placed.graph(), "dw")), pairs);
}

PlacedGraph exchanging(const std::string& op, int replicas) {
  ir::Graph graph =
      testing::model_of("g (float[5] x) => (float[] y) { y = ai.graphcore." + op + "(x) }").graph;
  std::erase_if(graph.ops, [](const ir::Op& one) { return one.is("Reshape"); });
  for (ir::Op& one : graph.ops) one.inputs = {graph.inputs[0]};
  ir::bind_replicas(graph, replicas);
  ir::infer(graph);
  const ir::Placement placement{.ops = std::vector<ir::OpPlacement>(graph.ops.size(), {.processor = 1}),
                                .processors = 2};
  return {ir::Training{.graph = std::move(graph)}, placement};
}

std::string exchanged(const std::string& op, int replicas) {
  PlacedGraph placed = exchanging(op, replicas);
  exchange_by_ops(placed);
  return testing::ops_of(placed);
}

TEST(Exchanges, CopiesWhatIsExchanged) {
  EXPECT_EQ(
      exchanged("ReplicatedAllReduce <__collectiveOperator = 1>", 2),
      "x:0 = Identity(x)  # float[5]  @ ipu 1\n"
      "y = podium.lower.Collective(x:0) {kind=0, reduction=1, group=0, group_size=0, stride=1}  # float[5]  @ ipu 1\n"
      "output y\n");
  EXPECT_EQ(
      exchanged("ReplicatedAllGather <__collectiveCommGroup = [1, 2]>", 4),
      "x:2 = Identity(x)  # float[5]  @ ipu 1\n"
      "y = podium.lower.Collective(x:2) {kind=2, reduction=0, group=1, group_size=2, stride=1}  # float[10]  @ ipu 1\n"
      "output y\n");
}

TEST(Exchanges, CopiesThePartThatAReplicaGets) {
  EXPECT_EQ(
      exchanged("ReplicatedReduceScatter", 2),
      "x:0 = Identity(x)  # float[5]  @ ipu 1\n"
      "y:1 = podium.lower.Collective(x:0) {kind=1, reduction=0, group=0, group_size=0, stride=1}  # float[3]  @ ipu 1\n"
      "y = Identity(y:1)  # float[3]  @ ipu 1\n"
      "output y\n");
}

TEST(Exchanges, LeavesAReplicaThatIsAlone) {
  PlacedGraph placed = exchanging("ReplicatedReduceScatter", 1);
  const std::string before = print(placed);
  exchange_by_ops(placed);
  EXPECT_EQ(print(placed), before);
}

}  // namespace
}  // namespace podium::lower
