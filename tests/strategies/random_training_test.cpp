// Random models under random strategies train to the weights of one processor that sees the same
// micro-batches one after the other, and both readers of the Program count the same peak of memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "executor/session/training_session.h"
#include "ir/gradients/gradient.h"
#include "ir/passes/set_precision.h"
#include "tests/strategies/micro_batches.h"
#include "tests/strategies/random_case.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;
using testing::alone;
using ::testing::ElementsAre;
using testing::keeps_order;
using testing::micro_batches;
using ::testing::Pair;
using testing::Random;
using testing::random_location;
using testing::RandomCase;

// Ways to train that the cases have beside what they are made of.
void put_in_half(Random& random, RandomCase& made) {
  made.in_half = true;
  made.options.session.fuse = false;
  if (random.coin()) return;
  made.options.optimizer.loss_scaling = {8, false};
  LossScaling& scaling = made.options.session.strategy.loss_scaling;
  scaling = {
      .automatic = true, .bin_edge = random.of<double>({0.125, 1e-4, 1e-6}), .period = 1 + random.below(2)};
}

void let_weights_be_stale(RandomCase& made) {
  Strategy& strategy = made.options.session.strategy;
  made.stale = true;
  strategy.batches_per_step = strategy.accumulation_factor;
  strategy.accumulation_factor = 1;
  strategy.batch_serialization = {};
  strategy.reduction = Reduction::Mean;
  strategy.anchors.clear();
}

void give_groups_weights(Random& random, RandomCase& made) {
  const int replicas = made.options.session.strategy.replicas;
  const ir::ReplicaGroup alone{ir::GroupType::None, 0};
  std::vector<ir::ReplicaGroup> ways{alone};
  if (replicas == 4)
    ways.insert(ways.end(), {{ir::GroupType::Consecutive, 2}, {ir::GroupType::Orthogonal, 2}});
  for (const std::string& name : made.model.weights) {
    if (random.coin()) made.groups[name] = random.of(ways);
  }
}

RandomCase random_way(unsigned seed) {
  RandomCase made = testing::random_case(seed);
  Random random(seed + 77);
  Strategy& strategy = made.options.session.strategy;
  const bool clips = !made.options.optimizer.clip_norms.empty();
  made.resumes = random.one_in(3);
  if (random.one_in(3)) {
    put_in_half(random, made);
  } else if (strategy.pipelining && !clips && random.coin()) {
    let_weights_be_stale(made);
  } else if (strategy.replicas > 1 && !clips && random.coin()) {
    give_groups_weights(random, made);
    made.resumes = false;
  }
  const std::vector<std::string> states{"Accum___", "Accl1___", "Accl2___", "Step___", "Gradient___"};
  if (random.one_in(3) && strategy.replicas == 1 && !made.combined && !made.stale) {
    strategy.anchors[random.of(states) + random.of(made.model.weights)] = {
        static_cast<AnchorReturn>(random.below(3))};
  }
  if (random.one_in(3)) {
    strategy.location_overrides[random.of(states) + made.model.weights[0]] =
        random_location(random, strategy.replicas);
  }
  return made;
}

// The tensors that a session holds and gives after three steps; the learning rate changes before the last.
using State = std::map<std::string, Tensor>;

importer::Model model_of(const RandomCase& made, const TrainingOptions& options, bool broadcast,
                         const std::string& saved = "") {
  importer::Model model = testing::model_of(made.model.text);
  if (!saved.empty()) resume(model, importer::import_model(saved));
  if (broadcast) model.info.metadata["__replicated_stream_mode/z"] = "1";
  if (made.in_half) ir::set_precision(model.graph, ir::DataType::Float16);
  for (ir::Value& value : model.graph.values) {
    const auto group = made.groups.find(value.name);
    if (group == made.groups.end()) continue;
    std::vector<Tensor> parts;
    const std::size_t count =
        executor::replica_groups(group->second, options.session.strategy.replicas).size();
    for (std::size_t g = 0; g < count; ++g)
      parts.push_back(
          ir::multiplied(*value.constant, 1 + static_cast<double>(g) / 8, value.constant->type()));
    value.constant = testing::joined(parts, count);
    value.type = value.constant->type_and_dims();
    model.info.metadata["__comm_group_type/" + value.name] =
        std::to_string(static_cast<int>(group->second.type));
    model.info.metadata["__comm_group_size/" + value.name] = std::to_string(group->second.size);
  }
  return model;
}

State train(const RandomCase& made, const TrainingOptions& options, bool broadcast) {
  auto session = std::make_unique<TrainingSession>(model_of(made, options, broadcast), options);
  State state;
  std::mt19937 random(7);
  for (int step = 0; step < 3; ++step) {
    std::map<std::string, std::vector<Tensor>> data;
    for (const std::string name : {"x", "z", "wanted", "ids", "labels"})
      data[name] = micro_batches(name, made, random);
    std::vector<Datum> inputs;
    for (const executor::HostTensor& input : session->inputs()) {
      std::vector<Tensor> parts;
      const Strategy& asked = made.options.session.strategy;
      const bool takes_one =
          (input.name == "z" && broadcast) || (made.stale && options.session.strategy.replicas == 1);
      const int every = takes_one ? asked.replicas : 1;
      const std::vector<Tensor>& all = data.at(input.name);
      for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(every))
        parts.push_back(made.in_half ? ir::in_precision(all[i], ir::DataType::Float16) : all[i]);
      inputs.emplace_back(parts.size() == 1 ? parts[0] : testing::joined(parts, parts.size()));
    }
    if (step == 2 && made.resumes && &options == &made.options) {
      const testing::TemporaryFolder folder;
      session->model_to_file(folder.file("saved.onnx"));
      session = std::make_unique<TrainingSession>(
          model_of(made, options, broadcast, folder.file("saved.onnx")), options);
    }
    if (step == 2 && !options.optimizer.defaults.at("learningRate").constant) {
      ir::Optimizer slower = options.optimizer;
      slower.defaults.at("learningRate").value = 0.01;
      session->update_optimizer(slower);
    }
    const auto results = session->run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      state[fmt::format("{} of step {}", session->outputs()[i].name, step)] = results[i].tensor.clone();
    }
  }
  EXPECT_TRUE(session->copies_agree());
  for (const auto& tensors : {session->weights(), session->optimizer_state()}) {
    for (const auto& [name, tensor] : tensors) state[name] = tensor.clone();
  }
  if (session->timeline() == nullptr) return state;
  for (std::size_t p = 0; p < session->timeline()->processors.size(); ++p) {
    EXPECT_EQ(session->timeline()->processors[p].memory.peak_data, session->peak_bytes(static_cast<int>(p)))
        << p;
  }
  return state;
}

// The rows that an anchor returns of all micro-batches of a run (semantics, section 6.2).
std::vector<double> returned(const Tensor& all, const Anchor& anchor, const Strategy& strategy) {
  const std::int64_t rows = strategy.batches_per_step * strategy.accumulation_factor;
  const std::int64_t size = all.size() / rows;
  const auto at = [&](std::int64_t i) { return static_cast<double>(all.data<float>()[i]); };
  std::vector<double> values(anchor.returns == AnchorReturn::Sum ? static_cast<std::size_t>(size) : 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool is_due = (row / strategy.accumulation_factor + 1) % anchor.every == 0;
    const bool is_kept = anchor.returns == AnchorReturn::All ||
                         (anchor.returns == AnchorReturn::EveryN && is_due) ||
                         (anchor.returns == AnchorReturn::Final && row + 1 == rows);
    for (std::int64_t i = 0; i < size; ++i) {
      if (is_kept) values.push_back(at(row * size + i));
      if (anchor.returns == AnchorReturn::Sum) values[i] += at(row * size + i);
    }
  }
  return values;
}

std::vector<double> expected_values(const std::string& name, const Tensor& tensor, const Strategy& strategy) {
  const std::size_t end = name.find(" of step ");
  if (end == std::string::npos) return returned(tensor, {}, {});
  const auto anchor = strategy.anchors.find(name.substr(0, end));
  return returned(tensor, anchor == strategy.anchors.end() ? Anchor{} : anchor->second, strategy);
}

// The largest difference, over the largest magnitude.
double difference(const Tensor& found, const std::vector<double>& expected) {
  if (found.size() != std::ssize(expected)) return INFINITY;
  double most = 0;
  double scale = 1e-6;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto value = static_cast<double>(found.data<float>()[i]);
    if (std::isnan(value)) return INFINITY;
    most = std::max(most, std::fabs(value - expected[i]));
    scale = std::max(scale, std::fabs(expected[i]));
  }
  return most / scale;
}

void expect_the_same(const State& found, const State& expected, const RandomCase& made) {
  const Strategy& strategy = made.options.session.strategy;
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [name, value] : expected) {
    if (made.combined && name.starts_with("Accl___")) continue;
    ASSERT_TRUE(found.contains(name)) << name;
    // Rounding errors of sums in another order, times what three steps make of them.
    EXPECT_LE(difference(found.at(name), expected_values(name, value, strategy)), 1e-4) << name;
  }
}

// Requests that no strategy can fulfil, or that do not suit a random model, by what their refusals say.
constexpr std::string_view kUnknownName = "the model has no tensor of this name";
constexpr std::string_view kMixesSamples = "batchSerializationSettings.factor 2";
constexpr std::string_view kUnknownTotal = "how what 2 slices of a micro-batch make of it is put together";
constexpr std::string_view kOnOneProcessor = "pipelining needs more than 1 processor";
constexpr std::string_view kNoWeight = "does not depend on any weight";
constexpr std::string_view kOtherGroup = "sharded over a group of replicas, another one is needed";

// The known refusal that an error is; empty when it is none.
std::string_view known_refusal(std::string_view error) {
  for (std::string_view known :
       {kUnknownName, kMixesSamples, kUnknownTotal, kOnOneProcessor, kNoWeight, kOtherGroup}) {
    if (error.find(known) != std::string_view::npos) return known;
  }
  return {};
}

// With what a case of other ways may differ: the sums of halves on the device are rounded at every step.
double tolerance(const RandomCase& made, const std::string& name) {
  if (!made.in_half) return 1e-4;
  const auto anchor = made.options.session.strategy.anchors.find(name.substr(0, name.find(" of step ")));
  const bool is_sum =
      anchor != made.options.session.strategy.anchors.end() && anchor->second.returns == AnchorReturn::Sum;
  return is_sum ? 1e-2 : 0;
}

// Replicas that all see the same data each give outputs of their own, so the weights are compared.
bool is_compared(const RandomCase& made, const std::string& name) {
  const bool is_output = name.find(" of step ") != std::string::npos;
  if (made.stale && made.options.session.strategy.replicas > 1 && is_output) return false;
  return !made.combined || !name.starts_with("Accl___");
}

void expect_the_same_in_other_ways(const State& found, const State& expected, const RandomCase& made) {
  if (made.in_half && !keeps_order(made)) return;  // rounding makes of halves what it will
  for (const auto& [name, value] : expected) {
    if (!is_compared(made, name)) continue;
    ASSERT_TRUE(found.contains(name)) << name;
    const std::vector<double> wanted =
        expected_values(name, ir::in_precision(value, ir::DataType::Float), made.options.session.strategy);
    EXPECT_LE(difference(ir::in_precision(found.at(name), ir::DataType::Float), wanted),
              tolerance(made, name))
        << name;
  }
}

RandomCase plain_case(unsigned seed) { return testing::random_case(seed); }

struct TrainedCases {
  int trained = 0;
  std::map<std::string_view, int> refused = {};
};

// Leaves out what a refusal is about: names of states that the optimizer does not keep, or slices of a model
// that mixes samples. False where the case is left as it is.
bool leave_out(std::string_view refusal, RandomCase& made) {
  Strategy& strategy = made.options.session.strategy;
  if (refusal == kUnknownName) {
    const auto is_of_model = [&](const auto& one) {
      return std::ranges::count(made.model.values, one.first) > 0 ||
             std::ranges::count(made.model.weights, one.first) > 0;
    };
    std::erase_if(strategy.anchors, [&](const auto& one) { return !is_of_model(one); });
    std::erase_if(strategy.location_overrides, [&](const auto& one) { return !is_of_model(one); });
    return true;
  }
  if (refusal != kMixesSamples && refusal != kUnknownTotal) return false;
  strategy.batch_serialization = {};
  return true;
}

// Trains a case as it is, or what is left of it; gives what it is refused for, and nothing when it trains.
std::string_view why_refused(RandomCase made,
                             void (*expect_agreement)(const State&, const State&, const RandomCase&)) {
  for (;;) {
    try {
      const State found = train(made, made.options, made.broadcast);
      const bool broadcast = made.broadcast && !made.groups.empty();
      expect_agreement(found, train(made, alone(made), broadcast), made);
      return {};
    } catch (const Error& error) {
      const std::string_view refusal = known_refusal(error.what());
      EXPECT_NE(refusal, "") << error.what();
      if (refusal.empty() || !leave_out(refusal, made)) return refusal;
    }
  }
}

// Trains each case, and what does the same on one processor, and expects them to agree.
TrainedCases train_all(unsigned count, const std::vector<unsigned>& more_seeds, RandomCase (*draw)(unsigned),
                       void (*expect_agreement)(const State&, const State&, const RandomCase&)) {
  std::vector<unsigned> seeds(count);
  std::iota(seeds.begin(), seeds.end(), 0U);
  seeds.insert(seeds.end(), more_seeds.begin(), more_seeds.end());
  TrainedCases cases;
  for (const unsigned seed : seeds) {
    if (::testing::Test::HasFailure()) break;
    const RandomCase made = draw(seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, made.model.text));
    try {
      const std::string_view refusal = why_refused(made, expect_agreement);
      ++(refusal.empty() ? cases.trained : cases.refused[refusal]);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  fmt::print("{} trained as on one processor\n", cases.trained);
  for (const auto& [reason, times] : cases.refused) fmt::print("  {} times: {}\n", times, reason);
  return cases;
}

// Halves with and without automatic loss scaling, pipelines with stale weights, weights of groups of
// replicas, going on from a saved file, anchors and locations of state. Stale weights are compared with those
// of one replica.
TEST(RandomTraining, InOtherWaysGivesTheWeightsOfPlainOnes) {
  // An update that read what no slice had brought it, an anchor of state off chip, a branch with an old
  // weight.
  const std::vector<unsigned> faults{3567, 3602, 592};
  const TrainedCases cases = train_all(250, faults, random_way, expect_the_same_in_other_ways);
  EXPECT_EQ(cases.trained, 234);
  EXPECT_THAT(cases.refused,
              ElementsAre(Pair(kNoWeight, 12), Pair(kOnOneProcessor, 5), Pair(kOtherGroup, 2)));
}

TEST(RandomTraining, GivesTheWeightsOfOneProcessorAndThePeakOfTheSimulator) {
  const std::vector<unsigned> faults{3923,
                                     4189};  // counted a micro-batch before all its gradients were added
  const TrainedCases cases = train_all(400, faults, plain_case, expect_the_same);
  EXPECT_EQ(cases.trained, 376);
  EXPECT_THAT(cases.refused,
              ElementsAre(Pair(kNoWeight, 17), Pair(kOnOneProcessor, 8), Pair(kOtherGroup, 1)));
}

}  // namespace
}  // namespace podium
