#include "executor/session/watched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/training_session.h"
#include "tests/support/device_configurations.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::list;
using testing::model_of;
using testing::values;

constexpr const char* kWatchedLinear = R"(agraph (float[2] x) => (float loss) <float[2] w = {10, 20}>
  { y = Mul(x, w) z = Neg(y) loss = ReduceSum <keepdims = 0> (z) })";

TrainingOptions watching_with(const Strategy& strategy) {
  TrainingOptions options{.loss = "loss", .optimizer = ir::make_optimizer("SGD", {{"learningRate", {1}}})};
  options.session = {.fuse = false, .strategy = strategy, .watches = true};
  return options;
}

template <class Session>
std::vector<float> came_back(const Session& session, std::span<const ir::Datum> results,
                             const std::string& name) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (session.outputs()[i].name == name) return values<float>(results[i]);
  }
  return {};
}

TEST(Watched, IsNothingUnlessAskedFor) {
  TrainingOptions options = watching_with({});
  options.session.watches = false;
  EXPECT_EQ(TrainingSession(model_of(kWatchedLinear), options).watched(), nullptr);
}

TEST(Watched, GivesWhatLiesBetweenOpsOfEveryMicroBatchAndReplica) {
  TrainingSession session(model_of(kWatchedLinear), watching_with({.accumulation_factor = 2, .replicas = 2}));
  ASSERT_NE(session.watched(), nullptr);
  const auto results = session.run(std::vector<ir::Datum>{list<float>({1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_THAT(came_back(session, results, "y"), ElementsAre(10, 40, 30, 80, 50, 120, 70, 160));
}

// The gradient of w is -x, whose sum over four micro-batches both replicas read.
TEST(Watched, GivesWhatAnUpdateReadsWithTheOtherSign) {
  TrainingSession session(model_of(kWatchedLinear), watching_with({.accumulation_factor = 2, .replicas = 2}));
  const auto results = session.run(std::vector<ir::Datum>{list<float>({1, 2, 3, 4, 5, 6, 7, 8})});
  const Watched& watched = *session.watched();
  ASSERT_EQ(watched.negatives.size(), 1U);
  const auto [reduced, negative] = *watched.negatives.begin();
  EXPECT_EQ(watched.whole.graph[reduced].name, "Accum___w");
  EXPECT_THAT(came_back(session, results, watched.whole.graph[negative].name), ElementsAre(16, 20, 16, 20));
}

TEST(Watched, PutsPartsOverDevicesTogetherAndKnowsHowOpsWereCut) {
  InferenceSession session(importer::import_bytes(testing::cut_model(1)),
                           {.fuse = false, .strategy = {.device_configuration = "tp"}, .watches = true});
  const Watched& watched = *session.watched();
  EXPECT_EQ(watched.devices, 2);
  EXPECT_THAT(watched.cuts, ElementsAre(annotate::Cut::Apart));
  const auto results =
      session.run(std::vector<ir::Datum>{testing::tensor<float>({4, 5}, std::vector<float>(20, 3))});
  EXPECT_THAT(came_back(session, results, "y"), Each(-3));
}

// y = f(f(x)) with f(a) = Neg(a), whose node cuts a along its rows over two devices.
std::string model_with_a_cut_function() {
  using testing::bytes_field;
  using testing::number_field;
  const auto node = [](const std::string& from, const std::string& to, const std::string& op) {
    return bytes_field(1, from) + bytes_field(2, to) + bytes_field(4, op);
  };
  const std::string cut =
      testing::node_configuration("tp", {testing::spec("a", {0, 1}, {testing::sharded(0, 2)})});
  const std::string opset = number_field(2, 17);
  const std::string function =
      bytes_field(1, "f") + bytes_field(4, "a") + bytes_field(5, "b") +
      bytes_field(7, node("a", "b", "Neg") + bytes_field(testing::kNodeDeviceConfigurations, cut)) +
      bytes_field(9, opset) + bytes_field(10, "local");
  const auto call = [&](const std::string& from, const std::string& to) {
    return bytes_field(1, node(from, to, "f") + bytes_field(7, "local"));
  };
  const std::string graph = call("x", "t") + call("t", "y") + bytes_field(2, "g") +
                            bytes_field(11, testing::matrix("x", 4, 5)) +
                            bytes_field(12, testing::matrix("y", 4, 5));
  return number_field(1, 11) + bytes_field(7, graph) + bytes_field(8, opset) +
         bytes_field(8, bytes_field(1, "local") + number_field(2, 1)) + bytes_field(25, function) +
         bytes_field(testing::kModelConfiguration, testing::device_configuration("tp", 2));
}

TEST(Watched, KnowsThatNodesOfFunctionsAreCutInEachCall) {
  InferenceSession session(importer::import_bytes(model_with_a_cut_function()),
                           {.fuse = false, .strategy = {.device_configuration = "tp"}, .watches = true});
  EXPECT_THAT(session.watched()->cuts, ElementsAre(annotate::Cut::Apart, annotate::Cut::Apart));
  const auto results =
      session.run(std::vector<ir::Datum>{testing::tensor<float>({4, 5}, std::vector<float>(20, 3))});
  EXPECT_THAT(came_back(session, results, "y"), Each(3));
}

// t = Neg(x), cut over two devices; y = t where c, else Abs(t), whose node in the body says the same.
std::string model_with_a_cut_body() {
  using testing::bytes_field;
  using testing::number_field;
  constexpr int kGraph = 5;
  constexpr int kBool = 9;
  const auto cut = [](const std::string& tensor) {
    const std::string spec = testing::spec(tensor, {0, 1}, {testing::sharded(0, 2)});
    return bytes_field(testing::kNodeDeviceConfigurations, testing::node_configuration("tp", {spec}));
  };
  const auto branch = [](const std::string& name, const std::string& node) {
    const std::string graph =
        bytes_field(1, node) + bytes_field(2, name) + bytes_field(12, testing::matrix("b", 4, 5));
    return bytes_field(5, bytes_field(1, name) + bytes_field(6, graph) + number_field(20, kGraph));
  };
  const auto node = [](const std::string& from, const std::string& to, const std::string& op) {
    return bytes_field(1, from) + bytes_field(2, to) + bytes_field(4, op);
  };
  const std::string graph =
      bytes_field(1, node("x", "t", "Neg") + cut("x")) +
      bytes_field(1, node("c", "y", "If") + branch("then_branch", node("t", "b", "Identity")) +
                         branch("else_branch", node("t", "b", "Abs") + cut("t"))) +
      bytes_field(2, "g") + bytes_field(11, testing::matrix("x", 4, 5)) +
      bytes_field(11, bytes_field(1, "c") +
                          bytes_field(2, bytes_field(1, number_field(1, kBool) + bytes_field(2, "")))) +
      bytes_field(12, testing::matrix("y", 4, 5));
  return number_field(1, 11) + bytes_field(7, graph) + bytes_field(8, number_field(2, 17)) +
         bytes_field(testing::kModelConfiguration, testing::device_configuration("tp", 2));
}

TEST(Watched, SaysThatWhatNodesInBodiesSayOfDevicesHasNoEffect) {
  InferenceSession session(importer::import_bytes(model_with_a_cut_body()),
                           {.fuse = false, .strategy = {.device_configuration = "tp"}, .watches = true});
  EXPECT_THAT(
      session.notes(),
      ::testing::Contains("device configuration 'tp': what 1 node in bodies of If, Loop or Scan says has "
                          "no effect, a body is not cut"));
  EXPECT_THAT(session.watched()->cuts, ElementsAre(annotate::Cut::Apart, annotate::Cut::Whole));
}

}  // namespace
}  // namespace podium
