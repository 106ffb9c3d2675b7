// Every legal pair of strategies trains the models that Podium ships to the same weights: those of one
// processor that sees the same micro-batches one after the other.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "executor/device/presets.h"
#include "executor/schedule/families.h"
#include "executor/session/check_options.h"
#include "executor/session/host_arrays.h"
#include "executor/session/model_weights.h"
#include "executor/session/training_session.h"
#include "importer/import.h"
#include "ir/gradients/gradient.h"
#include "ir/passes/set_precision.h"
#include "models/catalog.h"
#include "tests/strategies/micro_batches.h"
#include "tests/strategies/training_settings.h"
#include "tests/support/jumps.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::Setting;
using testing::SettingChoice;
using ::testing::StartsWith;
using testing::training_choices;
using testing::training_spreads;
using testing::with_replicas;

struct TrainedModel {
  std::string name;
  models::Parameters parameters;
};

const std::vector<TrainedModel>& trained_models() {
  static const std::vector<TrainedModel> kModels{
      {"mnist-mlp", {{"batch", "4"}}},
      {"mnist-cnn", {{"batch", "2"}}},
      {"bert",
       {{"layers", "1"},
        {"hidden", "8"},
        {"heads", "2"},
        {"sequence", "4"},
        {"vocabulary", "10"},
        {"batch", "2"}}},
      {"gpt2",
       {{"layers", "1"},
        {"hidden", "8"},
        {"heads", "2"},
        {"sequence", "4"},
        {"vocabulary", "10"},
        {"batch", "2"}}},
      {"unet", {{"image", "8"}, {"depth", "2"}, {"channels", "2"}, {"batch", "2"}}},
  };
  return kModels;
}

// Those of weights that several layers read: the embedding of GPT-2, and of BERT with a head of words, is the
// head, and an encoder and a decoder have one embedding, which is the head too.
constexpr std::size_t kBert = 2;
constexpr std::size_t kGpt2 = 3;
constexpr std::size_t kEncoderDecoder = 5;
constexpr std::size_t kBertOfWords = 6;
constexpr std::size_t kBertThatDrops = 7;

std::string name_of_model(std::size_t model) {
  if (model == kBertThatDrops) return "bert that drops";
  if (model == kBertOfWords) return "bert of words";
  return model == kEncoderDecoder ? "encoder-decoder" : trained_models()[model].name;
}

ir::Graph encoder_decoder() {
  std::mt19937 random(3);
  const auto weight = [&](const char* name, int rows) {
    std::vector<std::string> numbers;
    for (int i = 0; i < rows * 8; ++i)
      numbers.push_back(fmt::format("{:.3f}", static_cast<double>(random() % 401) / 500 - 0.4));
    return fmt::format("float[{},8] {} = {{{}}}", rows, name, fmt::join(numbers, ", "));
  };
  const std::string weights = fmt::format("{}, {}, {}, {}, {}", weight("embedding", 10), weight("encode", 8),
                                          weight("query", 8), weight("value", 8), weight("decode", 8));
  return testing::model_of(fmt::format(R"(
    g (int64[2,4] source, int64[2,4] target, int64[2,4] label) => (float loss) <{}> {{
      s = Gather (embedding, source)
      sw = MatMul (s, encode)
      memory = Tanh (sw)
      t = Gather (embedding, target)
      q = MatMul (t, query)
      keys = Transpose <perm = [0, 2, 1]> (memory)
      scores = MatMul (q, keys)
      attention = Softmax (scores)
      values = MatMul (memory, value)
      mixed = MatMul (attention, values)
      sum = Add (t, mixed)
      d = MatMul (sum, decode)
      h = Tanh (d)
      head = Transpose <perm = [1, 0]> (embedding)
      logits = MatMul (h, head)
      classes = Transpose <perm = [0, 2, 1]> (logits)
      loss = SoftmaxCrossEntropyLoss (classes, label)
    }})",
                                       weights))
      .graph;
}

ir::Graph trained_graph(std::size_t model) {
  if (model == kEncoderDecoder) return encoder_decoder();
  const bool is_bert = model == kBertOfWords || model == kBertThatDrops;
  const TrainedModel& made = trained_models()[is_bert ? kBert : model];
  models::Parameters parameters = made.parameters;
  parameters["loss"] = "cross-entropy";
  if (model == kBertThatDrops) parameters["dropout"] = "0.25";
  if (model == kBertOfWords) parameters["head"] = "words";
  return models::build(made.name, parameters).graph;
}

// Weights of which each group of replicas has its own.
struct Sharing {
  ir::ReplicaGroup group;
  bool of_all = true;  ///< or of every second weight
};

struct TrainingCase {
  std::size_t model = 0;
  Setting setting = {};
  ir::DataType precision = ir::DataType::Float;
  std::optional<Sharing> sharing = {};
  // The replicas out of so many whose data one processor sees, and the group whose weights it has.
  int replicas = 1;
  std::vector<int> seen = {0};
  int group = 0;
};

// The replicas 0, 1, ... see their own data.
TrainingCase with_all_replicas(TrainingCase of) {
  of.replicas = of.setting.options.replicas;
  of.seen.resize(static_cast<std::size_t>(of.replicas));
  std::iota(of.seen.begin(), of.seen.end(), 0);
  return of;
}

// One processor that sees what these replicas of the case see.
TrainingCase alone(TrainingCase of, const std::vector<int>& replicas, int group = 0) {
  const Strategy given = std::exchange(of.setting.options, {});
  Strategy& options = of.setting.options;
  options.batches_per_step = given.batches_per_step;
  options.accumulation_factor = given.accumulation_factor * static_cast<int>(replicas.size());
  options.reduction = given.reduction;
  options.mean_strategy = given.mean_strategy;
  of.sharing.reset();
  of.seen = replicas;
  of.group = group;
  return of;
}

// Replicas on one processor each that share their weights as those of the case do.
TrainingCase unspread(TrainingCase of) {
  const Strategy given = std::exchange(of.setting.options, {});
  Strategy& options = of.setting.options;
  options.batches_per_step = given.batches_per_step;
  options.accumulation_factor = given.accumulation_factor;
  options.replicas = given.replicas;
  options.reduction = given.reduction;
  options.mean_strategy = given.mean_strategy;
  return of;
}

bool shares_some(const TrainingCase& of) { return of.sharing && !of.sharing->of_all; }

std::vector<std::vector<int>> groups_of(const TrainingCase& of) {
  return executor::replica_groups(of.sharing ? of.sharing->group : ir::ReplicaGroup{}, of.replicas);
}

// Groups begin with weights of different sizes.
Tensor of_group(const Tensor& weight, int group) {
  return ir::multiplied(weight, 1 + group / 8.0, weight.type());
}

void give_groups_their_weights(importer::Model& model, const TrainingCase& of) {
  bool is_grouped = true;
  for (const std::string& name : weight_names(model)) {
    const auto value = std::find_if(model.graph.values.begin(), model.graph.values.end(),
                                    [&](const ir::Value& v) { return v.name == name; });
    if (!of.sharing) {
      value->constant = of_group(*value->constant, of.group);
      continue;
    }
    if (std::exchange(is_grouped, of.sharing->of_all || !is_grouped)) {
      std::vector<Tensor> parts;
      for (int g = 0; g < std::ssize(groups_of(of)); ++g) parts.push_back(of_group(*value->constant, g));
      value->constant = testing::joined(parts, parts.size());
      value->type = value->constant->type_and_dims();
      model.info.metadata["__comm_group_type/" + name] =
          std::to_string(static_cast<int>(of.sharing->group.type));
      model.info.metadata["__comm_group_size/" + name] = std::to_string(of.sharing->group.size);
    }
  }
}

// Copies share their weights.
importer::Model load(const TrainingCase& of) {
  static std::map<std::pair<std::size_t, ir::DataType>, importer::Model> known;
  importer::Model& loaded = known[{of.model, of.precision}];
  if (loaded.graph.ops.empty()) {
    loaded.graph = trained_graph(of.model);
    if (of.precision != ir::DataType::Float) ir::set_precision(loaded.graph, of.precision);
  }
  importer::Model model = loaded;
  if (of.sharing || of.group > 0) give_groups_their_weights(model, of);
  return model;
}

// An input's micro-batches of a step. Whoever sees them, those of all replicas are drawn.
Tensor drawn(const ir::Type& type, const TrainingCase& of, std::mt19937& random) {
  const Strategy& options = of.setting.options;
  const int needed = options.batches_per_step * options.accumulation_factor * options.replicas;
  const int all = needed / static_cast<int>(of.seen.size()) * of.replicas;
  std::vector<Tensor> parts;
  for (int i = 0; i < all; ++i) {
    Tensor part = testing::random_tensor(type, random);
    if (std::find(of.seen.begin(), of.seen.end(), i % of.replicas) != of.seen.end())
      parts.push_back(std::move(part));
  }
  return parts.size() == 1 ? parts[0] : testing::joined(parts, parts.size());
}

// The tensors that a session holds and gives after two steps.
using State = std::map<std::string, Tensor>;

State train(const TrainingCase& of) {
  TrainingOptions options;
  options.session.fuse = false;
  options.session.strategy = of.setting.options;
  options.session.clock = true;
  if (of.setting.device != nullptr) options.session.device = *device::find_preset(of.setting.device);
  options.loss = "loss";
  options.optimizer = of.setting.optimizer;
  TrainingSession session(load(of), options);
  State state;
  std::mt19937 random(7);
  for (int step = 0; step < 2; ++step) {
    std::vector<Datum> inputs;
    for (const executor::HostTensor& input : session.inputs())
      inputs.emplace_back(drawn(whole_type(input), of, random));
    const auto results = session.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      state[fmt::format("{} of step {}", session.outputs()[i].name, step)] = results[i].tensor.clone();
    }
  }
  EXPECT_TRUE(session.copies_agree());
  for (const auto& tensors : {session.weights(), session.optimizer_state()}) {
    for (const auto& [name, tensor] : tensors) state[name] = tensor.clone();
  }
  for (std::size_t p = 0; p < session.timeline()->processors.size(); ++p) {
    EXPECT_EQ(session.timeline()->processors[p].memory.peak_data, session.peak_bytes(static_cast<int>(p)));
  }
  return state;
}

std::vector<double> numbers_of(const Tensor& tensor) {
  const Tensor doubles = cast(tensor, ir::DataType::Double);
  return {doubles.values<double>().begin(), doubles.values<double>().end()};
}

// The parts of a result that one processor has which stands for the replicas of a group.
std::vector<double> of_replicas(const TrainingCase& of, const std::string& name, const Tensor& all,
                                std::size_t group) {
  const bool is_output = name.find(" of step ") != std::string::npos;
  const std::vector<double> numbers = numbers_of(all);
  const std::vector<std::vector<int>> groups = groups_of(of);
  if (groups.size() == 1 || shares_some(of)) return numbers;
  const Strategy& options = of.setting.options;
  const std::size_t rows =
      is_output
          ? static_cast<std::size_t>(options.batches_per_step * options.accumulation_factor * of.replicas)
          : groups.size();
  const std::size_t size = numbers.size() / rows;
  std::vector<double> part;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::vector<int>& members = groups[group];
    const bool is_own = is_output ? std::find(members.begin(), members.end(),
                                              static_cast<int>(row) % of.replicas) != members.end()
                                  : row == group;
    if (is_own) part.insert(part.end(), numbers.begin() + row * size, numbers.begin() + (row + 1) * size);
  }
  return part;
}

// The largest difference, over the largest magnitude; `least` is what counts as one.
double difference(const std::vector<double>& found, const std::vector<double>& expected, double least) {
  if (found.size() != expected.size()) return INFINITY;
  double most = 0;
  double scale = least;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(found[i])) return INFINITY;
    most = std::max(most, std::fabs(found[i] - expected[i]));
    scale = std::max(scale, std::fabs(expected[i]));
  }
  return most / scale;
}

struct TrainingCounts {
  int equal = 0;
  std::map<std::string, int> illegal = {};  ///< options that contradict each other, by reason
  std::map<std::string, int> refused = {};  ///< what a model cannot have

  void say(std::string_view what) const {
    fmt::print("{}: {} equal to one processor\n", what, equal);
    for (const auto* refusals : {&illegal, &refused}) {
      for (const auto& [reason, times] : *refusals) fmt::print("  {} times: {}\n", times, reason);
    }
  }
};

void expect_equal(const TrainingCase& of, const std::string& where, const State& found, const State& expected,
                  std::size_t group) {
  // Halves of a moment of squares are relatively twice as far apart as those of the gradients.
  const auto rounding = [&](const std::string& tensor) {
    if (of.precision == ir::DataType::Float) return 1e-5;
    return tensor.starts_with("Accl2") ? 4e-2 : 2e-2;
  };
  // Numbers below the smallest normal one of a half are all as far apart as next to it.
  const double least = of.precision == ir::DataType::Float ? 1e-6 : 0x1p-14;
  for (const auto& [tensor, value] : expected) {
    // A softmax does not see what is added to all scores: the gradient is what rounding leaves.
    if (of.setting.reorders && tensor.ends_with("key.bias")) continue;
    const auto same = found.find(tensor);
    if (same == found.end()) {
      ADD_FAILURE() << where << " has no " << tensor;
      continue;
    }
    EXPECT_LE(difference(of_replicas(of, tensor, same->second, group), numbers_of(value), least),
              of.setting.reorders ? rounding(tensor) : 0)
        << where << ": " << tensor;
  }
}

void expect_right(TrainingCase of, const std::string& name, TrainingCounts& counts) {
  of = with_all_replicas(of);
  const std::string where = name_of_model(of.model) + ", " + name;
  State found;
  try {
    found = train(of);
  } catch (const Error& error) {
    const std::optional<std::string> illegal = why_illegal(of.setting.options);
    ++(illegal ? counts.illegal[*illegal] : counts.refused[name_of_model(of.model) + ": " + error.what()]);
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE() << where << ": " << error.what();
    return;
  }
  EXPECT_EQ(why_illegal(of.setting.options), std::nullopt) << where;
  ++counts.equal;
  if (shares_some(of)) return expect_equal(of, where, found, train(unspread(of)), 0);
  const auto groups = groups_of(of);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    expect_equal(of, where, found, train(alone(of, groups[g], static_cast<int>(g))), g);
  }
}

// That these options contradict each other, so many times: stages to recompute without a pipeline, slices
// that overlap and exchanges that do, both without a virtualGraphMode.
void expect_illegal(const TrainingCounts& counts, int stages, int slices, int exchanges) {
  EXPECT_THAT(counts.illegal,
              ElementsAre(Pair(StartsWith("autoRecomputation Pipeline needs"), stages),
                          Pair(StartsWith("batchSerializationSettings.ioMode IOOverlapped needs"), slices),
                          Pair(StartsWith("exchangeStrategy other than JustInTime needs"), exchanges)));
}

using Choices = std::vector<const SettingChoice*>;

// With every choice, and if they come in pairs with every pair of choices of different groups.
template <class Use>
void for_every_strategy(const std::vector<SettingChoice>& spreads,
                        const std::vector<std::vector<SettingChoice>>& groups, bool in_pairs,
                        const Use& use) {
  const auto made_of = [&](const SettingChoice& on, const Choices& choices) {
    Setting setting;
    on.apply(setting);
    std::string name = on.name;
    for (const SettingChoice* choice : choices) {
      choice->apply(setting);
      name += ", " + choice->name;
    }
    // The sign of what rounding leaves is one or the other: it may not move a weight by more than rounding.
    if (setting.reorders && testing::jumps(setting.optimizer))
      setting.optimizer.defaults["learningRate"].value = 1e-7;
    use(setting, name);
  };
  for (const SettingChoice& on : spreads) {
    made_of(on, {});
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (const SettingChoice& first : groups[a]) {
        made_of(on, {&first});
        for (std::size_t b = a + 1; b < groups.size() && in_pairs; ++b) {
          for (const SettingChoice& second : groups[b]) made_of(on, {&first, &second});
        }
      }
    }
  }
}

template <class Use>
void for_every_strategy(bool in_pairs, const Use& use) {
  for_every_strategy(training_spreads(), training_choices(), in_pairs, use);
}

// Each on one model in turn.
TEST(TrainingStrategies, GiveTheWeightsOfOneProcessor) {
  TrainingCounts counts;
  std::size_t model = 0;
  for_every_strategy(true, [&](const Setting& setting, const std::string& name) {
    expect_right({.model = model++ % trained_models().size(), .setting = setting}, name, counts);
  });
  counts.say("floats");
  EXPECT_EQ(counts.equal, 3269);
  expect_illegal(counts, 145, 28, 58);
  EXPECT_THAT(counts.refused, IsEmpty());
}

// Every strategy, alone and beside a second replica, on all three.
TEST(TrainingStrategies, GiveTheWeightsOfOneProcessorWhereLayersShareThem) {
  TrainingCounts counts;
  for_every_strategy(false, [&](const Setting& setting, const std::string& name) {
    for (const std::size_t model : {kGpt2, kEncoderDecoder, kBertOfWords}) {
      TrainingCase of{.model = model, .setting = setting};
      expect_right(of, name, counts);
      if (setting.options.replicas > 1) continue;
      with_replicas(of.setting, 2);
      expect_right(of, name + ", 2 replicas", counts);
    }
  });
  counts.say("shared weights");
  EXPECT_EQ(counts.equal, 1296);
  expect_illegal(counts, 30, 6, 12);
  EXPECT_THAT(counts.refused, IsEmpty());
}

// The first and the last stage are one processor's, which adds up where it makes them the gradients of a
// table that both read.
bool is_in_a_v(const Setting& setting) {
  return schedule::family_of(setting.options.pipeline_order).shape == schedule::Shape::V;
}

TEST(TrainingStrategies, GiveTheWeightsOfOneProcessorInTurns) {
  TrainingCounts counts;
  std::size_t model = 0;
  for_every_strategy(testing::spreads_in_turns(), training_choices(), false,
                     [&](const Setting& setting, const std::string& name) {
                       for (ir::DataType precision : {ir::DataType::Float, ir::DataType::Float16}) {
                         if (precision == ir::DataType::Float16 && setting.reorders) continue;
                         TrainingCase of{.model = model++ % trained_models().size(),
                                         .setting = setting,
                                         .precision = precision};
                         if (of.model == kGpt2 && is_in_a_v(setting)) of.setting.reorders = true;
                         expect_right(of, name, counts);
                       }
                     });
  counts.say("schedules");
  EXPECT_EQ(counts.equal, 921);
  EXPECT_EQ(counts.illegal.size(), 2U);  // of two copies, a running mean
  EXPECT_THAT(counts.refused, IsEmpty());
}

// Micro-batches from both ends, as few as the schedule takes and more.
TEST(TrainingStrategies, GiveTheWeightsOfOneProcessorBothWays) {
  TrainingCounts counts;
  for (std::size_t model = 0; model < trained_models().size(); ++model) {
    for (const PipelineOrder order : {PipelineOrder::Chimera, PipelineOrder::DualPipe}) {
      for (const int processors : {2, 4}) {
        for (const int units : {1, 2, 3}) {
          if (units == 1 && order == PipelineOrder::DualPipe) continue;
          for (const char* optimizer : {"SGD", "Adam"}) {
            Setting setting{.reorders = true};
            Strategy& options = setting.options;
            options.virtual_graph_mode = VirtualGraphMode::Auto;
            options.ipus = processors;
            options.pipelining = true;
            options.pipeline_order = order;
            options.accumulation_factor = units * processors;
            setting.optimizer = ir::make_optimizer(optimizer, {{"learningRate", {0.001}}});
            if (setting.optimizer.defaults.contains("eps")) setting.optimizer.defaults["eps"].value = 1e-3;
            expect_right(
                {.model = model, .setting = setting},
                fmt::format("{} micro-batches over {}, {}", units * processors, processors, optimizer),
                counts);
          }
        }
      }
    }
  }
  counts.say("both ways");
  EXPECT_EQ(counts.equal, 100);
  EXPECT_THAT(counts.illegal, IsEmpty());
  EXPECT_THAT(counts.refused, IsEmpty());
}

// What is dropped follows from the micro-batch: not from the processor, the slice, the replica, the copy of
// the model or the pass that draws it.
TEST(TrainingStrategies, GiveTheWeightsOfOneProcessorWhereLayersDrop) {
  TrainingCounts counts;
  const auto expect_same = [&](const Setting& setting, const std::string& name) {
    TrainingCase of{.model = kBertThatDrops, .setting = setting};
    expect_right(of, name, counts);
    if (setting.options.replicas > 1) return;
    with_replicas(of.setting, 2);
    expect_right(of, name + ", 2 replicas", counts);
  };
  for_every_strategy(false, expect_same);
  for_every_strategy(testing::spreads_in_turns(), {}, false, expect_same);
  for (const PipelineOrder order : {PipelineOrder::Chimera, PipelineOrder::DualPipe}) {
    Setting setting{.reorders = true};
    setting.options.virtual_graph_mode = VirtualGraphMode::Auto;
    setting.options.ipus = 2;
    setting.options.pipelining = true;
    setting.options.pipeline_order = order;
    setting.options.accumulation_factor = 4;
    expect_same(setting, "both ways");
  }
  counts.say("dropping");
  EXPECT_EQ(counts.equal, 470);
  EXPECT_THAT(counts.refused, IsEmpty());
}

// Where processors do not wait for each other's exchanges each adds up what it makes of a tied weight's
// gradient.
TEST(TrainingStrategies, GiveTheWeightsOfOneProcessorWhereStagesAddUp) {
  TrainingCounts counts;
  for (std::size_t model = 0; model < trained_models().size(); ++model) {
    for (const std::optional<PipelineOrder> order :
         {std::optional<PipelineOrder>(), std::optional(PipelineOrder::Lockstep),
          std::optional(PipelineOrder::GPipe), std::optional(PipelineOrder::OneForwardOneBackward)}) {
      for (const char* optimizer : {"SGD", "Adam"}) {
        Setting setting{.device = "a100-80", .reorders = true};
        setting.options.virtual_graph_mode = VirtualGraphMode::Auto;
        setting.options.ipus = 2;
        setting.options.pipelining = order.has_value();
        if (order) setting.options.pipeline_order = *order;
        setting.options.accumulation_factor = 4;
        setting.optimizer = ir::make_optimizer(optimizer, {{"learningRate", {0.001}}});
        if (setting.optimizer.defaults.contains("eps")) setting.optimizer.defaults["eps"].value = 1e-3;
        expect_right({.model = model, .setting = setting}, optimizer, counts);
      }
    }
  }
  counts.say("added up by stage");
  EXPECT_EQ(counts.equal, 40);
  EXPECT_THAT(counts.illegal, IsEmpty());
  EXPECT_THAT(counts.refused, IsEmpty());
}

TEST(TrainingStrategies, GiveTheWeightsOfOneProcessorWithEveryOptimizer) {
  TrainingCounts counts;
  std::size_t model = 0;
  for_every_strategy(training_spreads(), {testing::all_optimizers()}, false,
                     [&](const Setting& setting, const std::string& name) {
                       expect_right({.model = model++ % trained_models().size(), .setting = setting}, name,
                                    counts);
                     });
  counts.say("optimizers");
  EXPECT_EQ(counts.equal, std::ssize(training_spreads()) * (1 + std::ssize(testing::all_optimizers())));
  EXPECT_THAT(counts.refused, IsEmpty());
}

// Alone, and beside a second replica.
TEST(TrainingStrategies, GiveTheHalfWeightsOfOneProcessor) {
  TrainingCounts counts;
  std::size_t model = 0;
  for_every_strategy(false, [&](const Setting& setting, const std::string& name) {
    TrainingCase of{
        .model = model++ % trained_models().size(), .setting = setting, .precision = ir::DataType::Float16};
    expect_right(of, name, counts);
    if (setting.options.replicas > 1) return;
    with_replicas(of.setting, 2);
    expect_right(of, name + ", 2 replicas", counts);
  });
  counts.say("halves");
  EXPECT_EQ(counts.equal, 432);
  expect_illegal(counts, 10, 2, 4);
  EXPECT_THAT(counts.refused, IsEmpty());
}

// Spreading a replica keeps the order of its sums: every bit is that of replicas of one processor each, on
// every model. One processor that sees all adds up eight halves in another order, and four updates at this
// rate make a tenth of a weight of what that rounds.
TEST(TrainingStrategies, GiveTheHalfWeightsOfReplicasOfOneProcessorOverTwoBatches) {
  for (const SettingChoice& on : training_spreads()) {
    for (std::size_t model = 0; model <= kBertOfWords; ++model) {
      TrainingCase of{.model = model, .precision = ir::DataType::Float16};
      on.apply(of.setting);
      with_replicas(of.setting, 2);
      of.setting.options.batches_per_step = 2;
      of.setting.reorders = false;
      of = with_all_replicas(of);
      expect_equal(of, name_of_model(model) + ", " + on.name, train(of), train(unspread(of)), 0);
    }
  }
}

// Every optimizer with every reduction, and with each kind of tensor in parts, where replicas accumulate.
TEST(TrainingStrategies, GiveTheHalfWeightsOfOneProcessorWithPartsOfEveryOptimizer) {
  TrainingCounts counts;
  const std::vector<SettingChoice>& spreads = training_spreads();
  std::size_t turn = 0;
  const auto& groups = testing::sharded_choices();
  for (const SettingChoice& optimizer : groups[0]) {
    for (const SettingChoice& reduction : groups[1]) {
      for (const SettingChoice& parts : groups[2]) {
        Setting setting;
        const SettingChoice& on = spreads[turn++ % spreads.size()];
        on.apply(setting);
        with_replicas(setting, 2);
        setting.options.accumulation_factor *= 2;
        for (const SettingChoice* choice : {&optimizer, &reduction, &parts}) choice->apply(setting);
        if (testing::jumps(setting.optimizer)) setting.optimizer.defaults["learningRate"].value = 1e-7;
        expect_right({.setting = setting, .precision = ir::DataType::Float16},
                     fmt::format("{}, {}, {}, {}", on.name, optimizer.name, reduction.name, parts.name),
                     counts);
      }
    }
  }
  counts.say("halves in parts");
  EXPECT_EQ(counts.equal, static_cast<int>(groups[0].size() * groups[1].size() * groups[2].size()));
}

void shard_in(const ir::ReplicaGroup& group, Strategy& options) {
  for (LocationSettings* settings :
       {&options.weights, &options.optimizer_state, &options.accumulators, &options.activations}) {
    settings->location.domain = group;
  }
}

// Each with one way in turn to share weights among replicas, and sharded over those that share them. Where
// only some weights have groups of replicas, no single processor does the same: what is spread does what
// replicas of one processor each do, as the other ways show that they are right.
TEST(TrainingStrategies, GiveTheWeightsOfOneProcessorForEachGroupOfReplicas) {
  struct Way {
    int replicas;
    Sharing sharing;
  };
  const std::vector<Way> ways{{4, {{ir::GroupType::Consecutive, 2}}},
                              {4, {{ir::GroupType::Orthogonal, 2}}},
                              {2, {{ir::GroupType::None, 0}}},
                              {4, {{ir::GroupType::Consecutive, 2}, false}}};
  TrainingCounts counts;
  std::size_t turn = 0;
  for_every_strategy(false, [&](Setting setting, const std::string& name) {
    if (setting.options.replicas > 1) return;
    const auto& [replicas, sharing] = ways[turn % ways.size()];
    with_replicas(setting, replicas);
    shard_in(sharing.group, setting.options);
    expect_right({.model = turn++ % trained_models().size(), .setting = setting, .sharing = sharing},
                 fmt::format("{}, {} replicas in groups of {}{}", name, replicas, sharing.group.size,
                             sharing.of_all ? "" : " for some"),
                 counts);
  });
  counts.say("groups");
  EXPECT_EQ(counts.equal, 207);
  expect_illegal(counts, 5, 1, 2);
  const auto clips = [](const char* model, const char* layer) {
    return std::pair<const std::string, int>(
        fmt::format("{0}: clip norm over weights '{1}.weight' and '{1}.bias': shared by different groups of "
                    "replicas, one group needed",
                    model, layer),
        1);
  };
  EXPECT_THAT(counts.refused, ElementsAre(clips("mnist-cnn", "conv1"), clips("mnist-mlp", "fc1")));
}

}  // namespace
}  // namespace podium
