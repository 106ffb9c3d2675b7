// Weights that not all replicas share: a value for each group of replicas (semantics, section 6.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/training_session.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::tensor;
using testing::values;

constexpr int kReplicas = 4;

// The loss is the sum of x * w, so the gradient of w is x. Two groups of replicas have a w each.
constexpr const char* kTwoGroups = R"(agraph (float[2] x) => (float loss) <float[2,2] w = {10, 20, 30, 40}>
  { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y) })";
// The same with a w a replica.
constexpr const char* kAlone =
    R"(agraph (float[2] x) => (float loss) <float[4,2] w = {10, 20, 30, 40, 50, 60, 70, 80}>
  { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y) })";

importer::Model grouped(const char* text, ir::GroupType type, int size) {
  importer::Model model = testing::model_of(text);
  model.info.metadata["__comm_group_type/w"] = std::to_string(static_cast<int>(type));
  model.info.metadata["__comm_group_size/w"] = std::to_string(size);
  return model;
}
importer::Model pairs() { return grouped(kTwoGroups, ir::GroupType::Consecutive, 2); }

TrainingOptions with(double rate, double momentum = 0, double decay = 0) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy.replicas = kReplicas;
  options.optimizer = ir::make_optimizer(
      "SGD", {{"learningRate", {rate}}, {"momentum", {momentum}}, {"weightDecay", {decay}}});
  return options;
}

// 1, 2 for the first replica, 3, 4 for the second, and so on.
std::vector<ir::Datum> data() { return {tensor<float>({kReplicas, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}; }

TEST(VariableGroups, EachGroupBeginsWithItsValueAndLearnsFromItsData) {
  TrainingSession session(pairs(), with(0.5));
  // 1 * 10 + 2 * 20, 3 * 10 + 4 * 20, 5 * 30 + 6 * 40, 7 * 30 + 8 * 40
  EXPECT_THAT(values<float>(session.run(data())[0].tensor), ElementsAre(50, 110, 390, 530));
  const ir::Tensor one_per_group = session.weights().at("w");
  EXPECT_EQ(one_per_group.dims(), (ir::Dims{2, 2}));
  EXPECT_THAT(values<float>(one_per_group), ElementsAre(10 - 2, 20 - 3, 30 - 6, 40 - 7));
}

TEST(VariableGroups, OrthogonalGroupsAreStrided) {
  TrainingSession session(grouped(kTwoGroups, ir::GroupType::Orthogonal, 2), with(0.5));
  EXPECT_THAT(values<float>(session.run(data())[0].tensor), ElementsAre(50, 250, 170, 530));
  EXPECT_THAT(values<float>(session.weights().at("w")), ElementsAre(10 - 3, 20 - 4, 30 - 5, 40 - 6));
}

TEST(VariableGroups, EveryReplicaMayBeAlone) {
  TrainingSession session(grouped(kAlone, ir::GroupType::None, 0), with(0.5));
  EXPECT_THAT(values<float>(session.run(data())[0].tensor), ElementsAre(50, 250, 610, 1130));
  EXPECT_THAT(values<float>(session.weights().at("w")),
              ElementsAre(9.5F, 19, 28.5F, 38, 47.5F, 57, 66.5F, 76));
}

TEST(VariableGroups, OneGroupOfAllHasNoLeadingAxis) {
  constexpr const char* kShared = R"(agraph (float[2] x) => (float loss) <float[2] w = {10, 20}>
    { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y) })";
  TrainingSession session(grouped(kShared, ir::GroupType::Consecutive, kReplicas), with(0.5));
  session.run(data());
  EXPECT_THAT(values<float>(session.weights().at("w")), ElementsAre(10 - 8, 20 - 10));
}

TEST(VariableGroups, GivesAValueForEveryReplicaOnRequest) {
  TrainingSession session(pairs(), with(0.5));
  const ir::Tensor all = session.weights(Retrieval::AllReplicas).at("w");
  EXPECT_EQ(all.dims(), (ir::Dims{kReplicas, 2}));
  EXPECT_THAT(values<float>(all), ElementsAre(10, 20, 10, 20, 30, 40, 30, 40));
}

// In every reduction the mean is over the micro-batches of the group.
TEST(VariableGroups, AMeanIsOverTheGroup) {
  for (const MeanStrategy strategy : {MeanStrategy::Post, MeanStrategy::Running}) {
    for (const double momentum : {0.0, 0.9}) {
      TrainingOptions options = with(0.5, momentum);
      options.session.strategy.accumulation_factor = 2;
      options.session.strategy.reduction = Reduction::Mean;
      options.session.strategy.mean_strategy = strategy;
      TrainingSession session(pairs(), options);
      const std::vector<ir::Datum> inputs{
          tensor<float>({2 * kReplicas, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})};
      session.run(inputs);
      // The first pair has seen 1, 3, 9, 11.
      EXPECT_THAT(values<float>(session.weights().at("w")),
                  ElementsAre(10 - 3, 20 - 3.5F, 30 - 5, 40 - 5.5F));
    }
  }
}

// A velocity that runs ahead begins with the decay of the group's own weight: w - rate * (x + decay * w).
TEST(VariableGroups, StateBeginsWithTheGroupsOwnWeight) {
  TrainingSession session(pairs(), with(0.5, 0.9, 0.25));
  EXPECT_THAT(values<float>(session.optimizer_state().at("Accl___w")), ElementsAre(2.5F, 5, 7.5F, 10));
  session.run(data());
  EXPECT_THAT(values<float>(session.weights().at("w")),
              ElementsAre(10 - 0.5F * 6.5F, 20 - 0.5F * 11, 30 - 0.5F * 19.5F, 40 - 0.5F * 24));
}

// Beside a grouped weight w: only a name of the table of states, which no op reads, is a state of it.
TEST(VariableGroups, AnInitializerNamedLikeAStateIsNone) {
  constexpr const char* kOthers = R"(agraph (float[2] x) => (float loss)
    <float[2,2] w = {10, 20, 30, 40}, float[2] a___w = {1, 1}, float[2] Accl1___w = {1, 1}>
    { y = Mul(x, w) z = Mul(y, a___w) v = Mul(z, Accl1___w) loss = ReduceSum <keepdims = 0> (v) })";
  TrainingOptions options = with(0.5);
  options.weights = {"w"};
  TrainingSession session(grouped(kOthers, ir::GroupType::Consecutive, 2), options);
  EXPECT_THAT(values<float>(session.run(data())[0].tensor), ElementsAre(50, 110, 390, 530));
}

TEST(VariableGroups, SavedGroupsGoOn) {
  const TemporaryFolder folder;
  TrainingOptions options = with(0.5);
  options.optimizer = ir::make_optimizer("Adam");
  TrainingSession whole(pairs(), options);
  for (int i = 0; i < 4; ++i) whole.run(data());
  TrainingSession first(pairs(), options);
  for (int i = 0; i < 2; ++i) first.run(data());
  EXPECT_EQ(first.optimizer_state().at("Step___w").dims(), (ir::Dims{2}));
  first.model_to_file(folder.file("saved.onnx"));
  importer::Model model = pairs();
  resume(model, importer::import_model(folder.file("saved.onnx")));
  TrainingSession second(std::move(model), options);
  for (int i = 0; i < 2; ++i) second.run(data());
  EXPECT_EQ(values<float>(second.weights().at("w")), values<float>(whole.weights().at("w")));
}

TEST(VariableGroups, AreSetByGroup) {
  TrainingSession session(pairs(), with(0.5));
  session.set_weights({{"w", tensor<float>({2, 2}, {1, 1, 2, 2})}});
  EXPECT_THAT(values<float>(session.run(data())[0].tensor), ElementsAre(3, 7, 22, 30));
  EXPECT_THROW(session.set_weights({{"w", tensor<float>({2}, {1, 1})}}), Error);
}

TEST(VariableGroups, AreShardedInTheGroup) {
  TrainingOptions options = with(0.5, 0.9, 0.25);
  options.optimizer.sgd_state = ir::SgdState::Separate;
  TrainingSession whole(pairs(), options);
  for (LocationSettings* settings :
       {&options.session.strategy.weights, &options.session.strategy.optimizer_state}) {
    settings->location.sharded = true;
    settings->location.domain = {ir::GroupType::Consecutive, 2};
    settings->min_elements_for_sharding = 2;
  }
  TrainingSession sharded(pairs(), options);
  for (int i = 0; i < 3; ++i) {
    whole.run(data());
    sharded.run(data());
  }
  EXPECT_EQ(values<float>(sharded.weights(Retrieval::AllReplicas).at("w")),
            values<float>(whole.weights(Retrieval::AllReplicas).at("w")));
}

// v is every replica's: those that hold the same part of it reduce that part among themselves, as pairs with
// a w of their own must not.
TEST(VariableGroups, AreShardedBesideWeightsThatAllShare) {
  constexpr const char* kMixed =
      R"(agraph (float[2] x) => (float loss) <float[2,2] w = {10, 20, 30, 40}, float[2] v = {1, 1}>
    { y = Mul(x, w) z = Mul(y, v) loss = ReduceSum <keepdims = 0> (z) })";
  const auto pair = ir::ReplicaGroup{ir::GroupType::Consecutive, 2};
  const auto trained = [&](bool sharded) {
    TrainingOptions options = with(0.001);
    options.session.strategy.weights = {.location = {.sharded = sharded, .domain = pair},
                                        .min_elements_for_sharding = 2};
    TrainingSession session(grouped(kMixed, pair.type, pair.size), options);
    for (int i = 0; i < 2; ++i) session.run(data());
    return session.weights(Retrieval::AllReplicas);
  };
  const TensorsByName whole = trained(false);
  const TensorsByName sharded = trained(true);
  for (const char* name : {"w", "v"})
    EXPECT_EQ(values<float>(sharded.at(name)), values<float>(whole.at(name))) << name;
}

TEST(VariableGroups, ServeInference) {
  SessionOptions options;
  options.strategy.replicas = kReplicas;
  InferenceSession session(pairs(), options);
  EXPECT_THAT(values<float>(session.run(data())[0].tensor), ElementsAre(50, 110, 390, 530));
}

std::string refusal(importer::Model model, const TrainingOptions& options) {
  return testing::refusal([&] { TrainingSession session(std::move(model), options); });
}

TEST(VariableGroups, AreRefusedWhereTheyDoNotFit) {
  EXPECT_THAT(refusal(grouped(kAlone, ir::GroupType::Consecutive, 2), with(0.5)),
              HasSubstr("initializer 'w': float[4,2] found, a leading axis of 2 needed"));
  EXPECT_THAT(refusal(grouped(kTwoGroups, ir::GroupType::Consecutive, 3), with(0.5)),
              HasSubstr("initializer 'w': groups of 3 replicas found, a divisor of 4 needed"));
}

// Replicas that clip by different norms would move a weight that they share differently.
TEST(VariableGroups, AreNotClippedWithWeightsThatOthersShare) {
  constexpr const char* kMixed =
      R"(agraph (float[2] x) => (float loss) <float[2,2] w = {10, 20, 30, 40}, float[2] v = {1, 1}>
    { y = Mul(x, w) z = Mul(y, v) loss = ReduceSum <keepdims = 0> (z) })";
  TrainingOptions options = with(0.5);
  options.optimizer.clip_norms = {{.max_norm = 1}};
  EXPECT_THAT(refusal(grouped(kMixed, ir::GroupType::Consecutive, 2), options),
              HasSubstr("shared by different groups of replicas"));
}

}  // namespace
}  // namespace podium
