// Variables of which every replica holds a part train as whole ones do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/passes/make_training.h"
#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/trained.h"
#include "tests/support/graph_text.h"
#include "tests/support/locations.h"

namespace podium::lower {
namespace {

using executor::Collective;
using executor::CollectiveKind;
using executor::CollectiveReduction;
using testing::on_one_processor;
using testing::on_two_processors;
using testing::shard;
using testing::steps_of_kind;
using testing::train;
using testing::TrainedState;
using testing::two_layers;

std::size_t count(const executor::Program& program, CollectiveKind kind, CollectiveReduction reduction) {
  const auto collectives = steps_of_kind<Collective>(program.steps);
  return static_cast<std::size_t>(
      std::count_if(collectives.begin(), collectives.end(),
                    [&](const Collective& one) { return one.kind == kind && one.reduction == reduction; }));
}

void expect_near(const std::vector<float>& found, const std::vector<float>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], 1e-5 * std::max(1.0F, std::abs(wanted[i])));
  }
}

void expect_near(const TrainedState& found, const TrainedState& wanted) {
  expect_near(found.y, wanted.y);
  for (const auto& [name, numbers] : wanted.state) {
    SCOPED_TRACE(name);
    expect_near(found.state.at(name), numbers);
  }
}

Strategy with_sharded_state() {
  Strategy strategy;
  strategy.replicas = 2;
  strategy.accumulation_factor = 2;
  shard(strategy.optimizer_state);
  return strategy;
}

TEST(TrainingSharded, OptimizersComputeOnPartsAndGatherTheWeight) {
  const ir::Training training = two_layers({});
  const executor::Program program = lower(training, on_one_processor(training), with_sharded_state());
  EXPECT_EQ(count(program, CollectiveKind::AllReduce, CollectiveReduction::Add), 0U);
  EXPECT_EQ(count(program, CollectiveKind::ReduceScatter, CollectiveReduction::Add), 2U);    // the gradients
  EXPECT_EQ(count(program, CollectiveKind::ReduceScatter, CollectiveReduction::Local), 2U);  // the weights
  EXPECT_EQ(count(program, CollectiveKind::AllGather, CollectiveReduction::Add), 2U);
}

// Nothing large is kept over the exchange that the states alone would give after it.
TEST(TrainingSharded, DecayedStatesAreMadeWhenTheGradientsAreThere) {
  const ir::Training training = two_layers({});
  const executor::Program program = lower(training, on_one_processor(training), with_sharded_state());
  int before = 0;
  int after = 0;
  for (const executor::Block& block : program.blocks) {
    for (const ir::Op& op : block.graph.ops) {
      if (!op.is("Mul") || block.graph[op.outputs[0]].type.element_count() == 1) continue;
      if (block.name.ends_with(".0")) ++before;
      if (block.name.ends_with(".1")) ++after;
    }
  }
  EXPECT_EQ(before, 0);
  EXPECT_GT(after, 0);
}

TEST(TrainingSharded, WeightsInPartsAreGatheredWhereTheyAreRead) {
  const ir::Training training = two_layers({});
  Strategy strategy = with_sharded_state();
  shard(strategy.weights);
  const executor::Program program = lower(training, on_one_processor(training), strategy);
  EXPECT_EQ(count(program, CollectiveKind::ReduceScatter, CollectiveReduction::Local), 0U);
  EXPECT_EQ(count(program, CollectiveKind::AllGather, CollectiveReduction::Add), 2U);
  EXPECT_EQ(steps_of_kind<Collective>(std::get<executor::Repeat>(program.steps[1].action).body).size(), 2U);
}

TEST(TrainingSharded, AThresholdKeepsSmallVariablesWhole) {
  const ir::Training training = two_layers({.elements = 7});
  Strategy strategy;
  strategy.replicas = 2;
  strategy.accumulation_factor = 2;
  strategy.optimizer_state.location.sharded = true;
  strategy.optimizer_state.min_elements_for_sharding = 8;
  const executor::Program program = lower(training, on_one_processor(training), strategy);
  EXPECT_EQ(count(program, CollectiveKind::AllReduce, CollectiveReduction::Add), 2U);
  strategy.optimizer_state.min_elements_for_sharding = 7;
  const executor::Program sharded = lower(training, on_one_processor(training), strategy);
  EXPECT_EQ(count(sharded, CollectiveKind::ReduceScatter, CollectiveReduction::Add), 2U);
}

struct ShardedCase {
  int elements;
  int replicas;
  bool weights;
  bool accumulators;
  bool off_chip;
  bool lamb;
};

void expect_as_whole(const ShardedCase& wanted, int accumulation, bool pipelining, bool two_processors) {
  const ir::Training training =
      two_layers({.elements = wanted.elements, .accumulates = accumulation > 1, .lamb = wanted.lamb});
  const ir::Placement placement = two_processors ? on_two_processors(training) : on_one_processor(training);
  Strategy strategy;
  strategy.replicas = wanted.replicas;
  strategy.accumulation_factor = accumulation;
  strategy.batches_per_step = pipelining && accumulation == 1 ? 4 : 2;
  strategy.pipelining = pipelining;
  const TrainedState whole = train(training, placement, strategy);
  shard(strategy.optimizer_state);
  if (wanted.weights) shard(strategy.weights);
  if (wanted.accumulators) shard(strategy.accumulators);
  if (wanted.off_chip) testing::put_variables_off_chip(strategy);
  const TrainedState found = train(training, placement, strategy);
  // Norms, and gradients that meet in every micro-batch, are added up in another order.
  if (wanted.lamb || (wanted.accumulators && accumulation > 1)) {
    expect_near(found, whole);
  } else {
    EXPECT_EQ(found, whole);
  }
}

TEST(TrainingSharded, TrainsAsWhole) {
  for (const int elements : {8, 7, 2}) {
    for (const int replicas : {2, 4}) {
      for (int choice = 0; choice < 16; ++choice) {
        const ShardedCase one{elements,          replicas,          (choice & 1) != 0,
                              (choice & 2) != 0, (choice & 4) != 0, (choice & 8) != 0};
        for (const int accumulation : {1, 4}) {
          SCOPED_TRACE(::testing::Message() << elements << " elements, " << replicas << " replicas, "
                                            << accumulation << " micro-batches, choice " << choice);
          expect_as_whole(one, accumulation, false, false);
          expect_as_whole(one, accumulation, false, true);
          expect_as_whole(one, accumulation, true, true);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(TrainingSharded, EachReplicaHoldsItsPartOfTheState) {
  const ir::Training training = two_layers({.elements = 1000});
  Strategy strategy;
  strategy.replicas = 4;
  strategy.accumulation_factor = 2;
  const ir::Placement placement = on_one_processor(training);
  const std::int64_t whole = train(training, placement, strategy).peaks[0];
  shard(strategy.optimizer_state);
  // Three state tensors of 1000 floats, of which a quarter stays.
  EXPECT_EQ(train(training, placement, strategy).peaks[0], whole - 3 * 3000);
}

// What two replicas share is added up over the other pair too.
TEST(TrainingSharded, OverHalfOfTheReplicasTrainsAsWhole) {
  const ir::Training training = two_layers({});
  const ir::Placement placement = on_one_processor(training);
  Strategy strategy;
  strategy.replicas = 4;
  strategy.accumulation_factor = 2;
  const TrainedState whole = train(training, placement, strategy);
  for (const ir::GroupType type : {ir::GroupType::Consecutive, ir::GroupType::Orthogonal}) {
    shard(strategy.optimizer_state);
    strategy.optimizer_state.location.domain = {type, 2};
    expect_near(train(training, placement, strategy), whole);
  }
}

// Each pair of replicas has a weight of its own, and learns from its own data alone.
TEST(TrainingSharded, GradientsOfAGroupMeetInTheGroup) {
  const ir::Training training = two_layers({});
  Strategy strategy;
  strategy.replicas = 4;
  strategy.accumulation_factor = 2;
  ir::Placement placement = on_one_processor(training);
  const TrainedState all = train(training, placement, strategy);
  const ir::ReplicaGroup pairs{ir::GroupType::Consecutive, 2};
  placement.variable_groups = {{"w1", pairs}, {"w2", pairs}};
  const executor::Program program = lower(training, placement, strategy);
  for (const Collective& one : steps_of_kind<Collective>(program.steps)) EXPECT_EQ(one.group, pairs);
  const TrainedState grouped = train(training, placement, strategy);
  EXPECT_NE(grouped.state.at("w1"), all.state.at("w1"));
  shard(strategy.optimizer_state);
  strategy.optimizer_state.location.domain = pairs;
  EXPECT_EQ(train(training, placement, strategy), grouped);
}

TEST(TrainingSharded, ANormOverAllWeightsLeavesEachItsGroup) {
  ir::Graph graph = testing::graph_of(
      "g (float[3] x) => (float loss) <float[3] v = {1, 2, 3}, float[3] w = {4, 5, 6}> {\n"
      "  a = Mul (x, v)\n  b = Mul (a, w)\n  loss = ReduceSum <keepdims = 0> (b)\n}");
  ir::TrainingRequest request{.loss = "loss", .contributions = {.accumulation = 2, .replicas = 4}};
  request.optimizer = ir::make_optimizer("SGD");
  request.optimizer.clip_norms = {{.max_norm = 1}};
  request.weights = ir::take_weights(graph);
  const ir::Training training = ir::make_training(std::move(graph), request);
  ir::Placement placement = on_one_processor(training);
  const ir::ReplicaGroup pairs{ir::GroupType::Consecutive, 2};
  for (const char* grouped : {"v", "w"}) {
    placement.variable_groups = {{grouped, pairs}};
    const executor::Program program = lower(training, placement, {.accumulation_factor = 2, .replicas = 4});
    std::vector<ir::ReplicaGroup> groups;
    for (const Collective& one : steps_of_kind<Collective>(program.steps)) groups.push_back(one.group);
    EXPECT_THAT(groups, ::testing::UnorderedElementsAre(pairs, ir::ReplicaGroup{})) << grouped;
  }
}

}  // namespace
}  // namespace podium::lower
