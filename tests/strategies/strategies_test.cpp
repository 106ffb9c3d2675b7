// Every legal pair of strategies on the models that Podium ships: the outputs of one processor, whatever the
// way. The simulator's peak of memory is what the engine measures, byte for byte. As the engine fuses ops,
// sums change their order with the cut; without fusing, every bit is the same.
#include "tests/strategies/strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "executor/session/check_options.h"
#include "executor/session/session.h"
#include "models/catalog.h"
#include "tests/strategies/micro_batches.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::joined;
using testing::NamedStrategy;
using testing::random_tensor;

struct TestModel {
  std::string name;
  models::Parameters parameters;
};

const std::vector<TestModel>& test_models() {
  static const std::vector<TestModel> kModels{
      {"mnist-mlp", {{"batch", "2"}}},
      {"mnist-cnn", {{"batch", "2"}}},
      {"phased-matmul", {{"size", "8"}, {"rows", "3"}, {"batch", "2"}}},
      {"resnet18", {{"image", "32"}, {"classes", "10"}, {"batch", "2"}}},
      {"mobilenet-v2", {{"image", "32"}, {"classes", "10"}, {"batch", "2"}}},
      {"unet", {{"image", "16"}, {"depth", "2"}, {"channels", "4"}, {"batch", "2"}}},
      {"bert",
       {{"layers", "2"},
        {"hidden", "16"},
        {"heads", "2"},
        {"sequence", "4"},
        {"vocabulary", "10"},
        {"batch", "2"}}},
      {"gpt2",
       {{"layers", "2"},
        {"hidden", "16"},
        {"heads", "2"},
        {"sequence", "4"},
        {"vocabulary", "10"},
        {"batch", "2"}}},
      {"lstm", {{"hidden", "4"}, {"features", "3"}, {"sequence", "5"}, {"batch", "2"}}},
      {"early-exit", {{"batch", "2"}}},
      {"decoder-loop", {{"hidden", "8"}, {"vocabulary", "10"}, {"steps", "3"}, {"batch", "2"}}},
      {"bert",
       {{"form", "primitive"},
        {"layers", "1"},
        {"hidden", "16"},
        {"heads", "2"},
        {"sequence", "4"},
        {"vocabulary", "10"},
        {"batch", "2"}}},
  };
  return kModels;
}

// Copies share their weights.
importer::Model load(std::size_t model) {
  static std::map<std::size_t, importer::Model> known;
  importer::Model& loaded = known[model];
  if (loaded.graph.ops.empty()) {
    loaded.graph = models::build(test_models()[model].name, test_models()[model].parameters).graph;
  }
  return loaded;
}

constexpr int kMostMicroBatches = 6;
constexpr int kMostReplicas = 3;

// A model's micro-batches and what one processor makes of each.
struct Reference {
  std::vector<executor::HostTensor> inputs;
  std::vector<std::string> outputs;
  std::vector<std::vector<Tensor>> data;     // per input, per micro-batch
  std::vector<std::vector<Tensor>> results;  // per output, per micro-batch
};

enum class Feed { Finite, Special };

// What a reference is of.
struct Asked {
  std::size_t model = 0;
  bool fuse = false;
  Feed feed = Feed::Finite;
  auto operator<=>(const Asked&) const = default;
};

// One element of each micro-batch is no number, or has no end.
void make_special(Tensor& tensor, int micro_batch) {
  constexpr std::array<float, 3> kSpecial{NAN, INFINITY, -INFINITY};
  if (tensor.type() == ir::DataType::Float && tensor.size() > 0)
    tensor.data<float>()[micro_batch % tensor.size()] = kSpecial[micro_batch % kSpecial.size()];
}

Reference make_reference(const Asked& setting) {
  const auto [model, fuse, feed] = setting;
  InferenceSession session(load(model), {.fuse = fuse});
  Reference reference{.inputs = session.inputs(), .outputs = {}, .data = {}, .results = {}};
  for (const auto& output : session.outputs()) reference.outputs.push_back(output.name);
  reference.data.resize(reference.inputs.size());
  reference.results.resize(reference.outputs.size());
  std::mt19937 random(7);
  for (int m = 0; m < kMostMicroBatches * kMostReplicas; ++m) {
    std::vector<Datum> inputs;
    for (std::size_t i = 0; i < reference.inputs.size(); ++i) {
      reference.data[i].push_back(random_tensor(reference.inputs[i].type, random));
      if (feed == Feed::Special) make_special(reference.data[i].back(), m);
      inputs.emplace_back(reference.data[i].back());
    }
    const auto results = session.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i)
      reference.results[i].push_back(results[i].tensor.clone());
  }
  return reference;
}

const Reference& reference_of(const Asked& setting) {
  static std::map<Asked, Reference> known;
  const auto found = known.find(setting);
  if (found != known.end()) return found->second;
  return known.emplace(setting, make_reference(setting)).first->second;
}

// The results that an anchor returns of all micro-batches, [batch][replica] in order.
std::vector<float> anchored(const std::vector<Tensor>& results, const Anchor& anchor, int batches,
                            int replicas) {
  std::vector<float> values;
  const auto append = [&](const Tensor& tensor) {
    const auto span = tensor.values<float>();
    values.insert(values.end(), span.begin(), span.end());
  };
  const int every = anchor.returns == AnchorReturn::EveryN ? anchor.every : 1;
  for (int batch = 0; batch < batches; ++batch) {
    const bool is_last = batch + 1 == batches;
    if (anchor.returns == AnchorReturn::Final && !is_last) continue;
    if (anchor.returns == AnchorReturn::Sum || (batch + 1) % every != 0) continue;
    for (int r = 0; r < replicas; ++r) append(results[batch * replicas + r]);
  }
  if (anchor.returns != AnchorReturn::Sum) return values;
  for (int r = 0; r < replicas; ++r) {
    std::vector<float> sum(static_cast<std::size_t>(results[0].size()), 0.0F);
    for (int batch = 0; batch < batches; ++batch) {
      const auto one = results[batch * replicas + r].values<float>();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
    }
    values.insert(values.end(), sum.begin(), sum.end());
  }
  return values;
}

// The largest difference, over the largest magnitude of the expected values. Where NaN or an infinity is
// expected, nothing else will do.
double difference(const Tensor& found, const std::vector<float>& expected) {
  if (found.size() != std::ssize(expected)) return INFINITY;
  double most = 0;
  double scale = 1e-6;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float number = found.data<float>()[i];
    if (std::isnan(number) != std::isnan(expected[i])) return INFINITY;
    if (std::isnan(number) || number == expected[i]) continue;
    if (!std::isfinite(number) || !std::isfinite(expected[i])) return INFINITY;
    most = std::max(most, static_cast<double>(std::fabs(found.data<float>()[i] - expected[i])));
    scale = std::max(scale, static_cast<double>(std::fabs(expected[i])));
  }
  return most / scale;
}

void give_every_output_its_anchor(Strategy& options, const Reference& reference) {
  const auto all = options.anchors.extract("*");
  if (all.empty()) return;
  for (const std::string& output : reference.outputs) options.anchors[output] = all.mapped();
}

enum class Outcome { Equal, Refused, Wrong };

struct Result {
  Outcome outcome = Outcome::Equal;
  std::string what = {};
};

Result try_strategy(const Asked& setting, Strategy options) {
  const auto [model, fuse, feed] = setting;
  const Reference& reference = reference_of(setting);
  give_every_output_its_anchor(options, reference);
  std::optional<InferenceSession> session;
  try {
    session.emplace(load(model), SessionOptions{.fuse = fuse, .strategy = options, .clock = true});
  } catch (const Error& error) {
    return {Outcome::Refused, error.what()};
  }
  const auto count = static_cast<std::size_t>(options.batches_per_step * options.replicas);
  std::vector<Datum> inputs;
  for (std::size_t i = 0; i < reference.inputs.size(); ++i) {
    inputs.emplace_back(count == 1 ? reference.data[i][0] : joined(reference.data[i], count));
  }
  const auto results = session->run(inputs);
  if (session->timeline() == nullptr) return {Outcome::Wrong, "nothing was clocked"};
  for (std::size_t p = 0; p < session->timeline()->processors.size(); ++p) {
    const std::int64_t clocked = session->timeline()->processors[p].memory.peak_data;
    const std::int64_t measured = session->peak_bytes(static_cast<int>(p));
    if (clocked == measured) continue;
    return {Outcome::Wrong,
            fmt::format("ipu {} holds {} bytes, the simulator says {}", p, measured, clocked)};
  }
  // A kernel adds up a slice of the batch in another order than the whole.
  const bool same_order = !fuse && options.batch_serialization.factor <= 1;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto anchor = options.anchors.find(reference.outputs[i]);
    const std::vector<float> expected =
        anchored(reference.results[i], anchor == options.anchors.end() ? Anchor{} : anchor->second,
                 options.batches_per_step, options.replicas);
    const double found = difference(results[i].tensor, expected);
    if (found > (same_order ? 0 : 1e-5)) {
      return {Outcome::Wrong, fmt::format("output '{}' differs by {}", reference.outputs[i], found)};
    }
  }
  return {};
}

struct Counts {
  int equal = 0;
  int illegal = 0;
  std::map<std::string, int> refused;  // by reason: a strategy that this model cannot have
};

// A strategy that is illegal in itself must be refused with that reason, any other must run or be refused for
// what the model is.
void expect_right(const Asked& setting, const NamedStrategy& strategy, Counts& counts) {
  const std::size_t model = setting.model;
  const std::string where = test_models()[model].name + ", " + strategy.name;
  Strategy options = strategy.options;
  give_every_output_its_anchor(options, reference_of(setting));
  const std::optional<std::string> illegal = why_illegal(options);
  Result result;
  try {
    result = try_strategy(setting, strategy.options);
  } catch (const std::exception& error) {
    result = {Outcome::Wrong, error.what()};
  }
  EXPECT_NE(result.outcome, Outcome::Wrong) << where << ": " << result.what;
  if (illegal) {
    EXPECT_EQ(result.outcome, Outcome::Refused) << where << " ran, although: " << *illegal;
    EXPECT_THAT(result.what, ::testing::HasSubstr(*illegal)) << where;
    ++counts.illegal;
  } else if (result.outcome == Outcome::Refused) {
    ++counts.refused[test_models()[model].name + ": " + result.what];
  } else {
    ++counts.equal;
  }
}

// The models that cannot run in slices, and why: each so many times.
using Refusal = std::pair<const std::string, int>;
Refusal in_a_body(int times) {
  return {
      "decoder-loop: batchSerializationSettings.factor 2: node 'Loop' (Loop): reads the batch in a body, "
      "which cannot be split into slices",
      times};
}
Refusal without_batch(int times) {
  return {
      "early-exit: batchSerializationSettings.factor 2: node 'exit/ReduceMin' (ReduceMin): gives float[] "
      "for a slice of the batch and float[] for all of it, one dimension divided by 2 needed",
      times};
}

void print(const char* what, const Counts& counts) {
  fmt::print("{}: {} equal to one processor, {} illegal and refused\n", what, counts.equal, counts.illegal);
  for (const auto& [reason, times] : counts.refused) fmt::print("  {} times: {}\n", times, reason);
}

TEST(Strategies, OfOneChoiceGiveEveryModelTheBitsOfOneProcessor) {
  Counts counts;
  for (std::size_t model = 0; model < test_models().size(); ++model) {
    for (const NamedStrategy& strategy : testing::strategies(1))
      expect_right({model, false}, strategy, counts);
  }
  print("one choice", counts);
  EXPECT_EQ(counts.equal, 1858);
  EXPECT_THAT(counts.refused, ElementsAre(in_a_body(19), without_batch(19)));
}

// Even micro-batches through one copy of the model, odd ones through the other: sums are in another order.
TEST(Strategies, WithMicroBatchesFromBothEndsGiveEveryModelTheBitsOfOneProcessor) {
  Counts counts;
  for (const auto& group : testing::other_choices()) {
    for (const testing::Choice& choice : group) {
      if (choice.name == "sum") continue;
      NamedStrategy strategy{.name = "both ways, " + choice.name, .options = {}};
      Strategy& options = strategy.options;
      options.virtual_graph_mode = VirtualGraphMode::Auto;
      options.ipus = 2;
      options.pipelining = true;
      options.pipeline_order = PipelineOrder::Chimera;
      options.batches_per_step = 3;
      choice.apply(options);
      options.batches_per_step *= 2;
      for (std::size_t model = 0; model < test_models().size(); ++model)
        expect_right({model, false}, strategy, counts);
    }
  }
  print("both ways", counts);
  EXPECT_EQ(counts.equal, 366);
  EXPECT_THAT(counts.refused, ElementsAre(in_a_body(3), without_batch(3)));
}

// Numbers that are none and infinite ones go the same way, whatever the strategy.
TEST(Strategies, OfOneChoiceGiveNaNAndInfinityWhereOneProcessorDoes) {
  Counts counts;
  std::size_t model = 0;
  for (const NamedStrategy& strategy : testing::strategies(1)) {
    for (const bool fuse : {false, true}) expect_right({model, fuse, Feed::Special}, strategy, counts);
    model = (model + 1) % test_models().size();
  }
  print("NaN and infinity", counts);
  EXPECT_EQ(counts.equal, 316);
}

// Weights that arrive at run time are multiplied by other kernels than those that are packed before.
TEST(Strategies, WithWeightsOffChipGiveEveryModelNaNAndInfinityWhereOneProcessorDoes) {
  NamedStrategy strategy{"weights off chip", {}};
  testing::put_off_chip(strategy.options.weights);
  Counts counts;
  for (std::size_t model = 0; model < test_models().size(); ++model) {
    for (const bool fuse : {false, true}) expect_right({model, fuse, Feed::Special}, strategy, counts);
  }
  EXPECT_EQ(counts.equal, 2 * std::ssize(test_models()));
}

// Each strategy on one model, in turn.
TEST(Strategies, OfTwoChoicesGiveTheNumbersOfOneProcessor) {
  Counts counts;
  std::size_t model = 0;
  for (const NamedStrategy& strategy : testing::strategies(2)) {
    expect_right({model, true}, strategy, counts);
    model = (model + 1) % test_models().size();
  }
  print("two choices", counts);
  EXPECT_EQ(counts.equal, 1536);
  EXPECT_THAT(counts.refused, ElementsAre(in_a_body(41), without_batch(25)));
}

}  // namespace
}  // namespace podium
