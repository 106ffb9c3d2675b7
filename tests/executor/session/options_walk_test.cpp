// Every option that a file may have and every annotation that a model may have is asked for once, in a
// session where it has something to act on. It changes what the session is (its Program with the ops and
// constants of its blocks, its memory, or its clock), or is refused, or a note names it with a reason. The
// tables are as long as the product's: an option without a row here fails.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "annotate/unheeded.h"
#include "executor/device/presets.h"
#include "executor/session/option_rows.h"
#include "executor/session/options_without_effect.h"
#include "executor/session/read_options.h"
#include "executor/session/tensor_kinds.h"
#include "executor/session/training_session.h"
#include "ir/passes/set_precision.h"
#include "tests/support/device_configurations.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"

namespace podium::options_walk {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

enum class WalkedTask : std::uint8_t { Run, Train };

struct WalkModel {
  std::string text;  ///< of the graph, or the bytes of a model where it is made of them
  WalkedTask task = WalkedTask::Run;
  ir::DataType precision = ir::DataType::Float;  ///< with halves, the loss scale can change
  std::map<std::string, std::string> metadata = {};
  bool is_bytes = false;
};

std::string numbers_of(int count, double scale) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{:.3f}", i == 0 ? "" : ", ", scale * ((i * 7) % 11 - 5));
  return text;
}

// Four layers of one size; in `first` and `second` stand annotations of the first and the second product.
std::string layers(std::string_view end, std::string_view first, std::string_view second) {
  constexpr int kWidth = 16;
  std::string weights;
  for (int i = 0; i < 4; ++i) {
    weights += fmt::format("{}float[{},{}] w{} = {{{}}}", i == 0 ? "" : ", ", kWidth, kWidth, i,
                           numbers_of(kWidth * kWidth, 0.02 + 0.01 * i));
  }
  std::string text = fmt::format("agraph (float[4,{}] x) => (float{}) <{}> {{ ", kWidth, end, weights);
  for (int i = 0; i < 4; ++i) {
    text += fmt::format("p{0} = MatMul {1} ({2}, w{0}) ", i,
                        i == 0   ? first
                        : i == 1 ? second
                                 : "",
                        i == 0 ? std::string("x") : fmt::format("r{}", i - 1));
    text += i == 3 ? "" : fmt::format("r{0} = Relu(p{0}) ", i);
  }
  return text;
}

WalkModel inference(std::string_view first = "", std::string_view second = "") {
  return {layers("[4,16] y", first, second) + "y = Relu(p3) }"};
}
WalkModel training(std::string_view first = "", std::string_view second = "") {
  return {layers(" loss", first, second) + "h = Mul(p3, p3) loss = ReduceMean <keepdims = 0> (h) }",
          WalkedTask::Train};
}

WalkModel halves() {
  WalkModel model = training();
  model.precision = ir::DataType::Float16;
  return model;
}
WalkModel product(std::string_view annotation = "") {
  return {
      fmt::format("agraph (float16[512,512] x, float16[512,512] w) => (float16[512,512] y) "
                  "{{ y = MatMul {} (x, w) }}",
                  annotation)};
}
WalkModel convolution() {
  return {
      "agraph (float16[2,128,32,32] x, float16[128,128,3,3] w) => (float16[2,128,30,30] y) { y = Conv(x, w) }"};
}
// One attention of two heads over four tokens.
WalkModel attention() {
  std::string text =
      "agraph (float[1,4,8] x) => (float[1,4,8] y) <int64[4] heads = {0, 0, 2, 4}, int64[3] flat = {0, 0, 8}";
  for (const char* weight : {"wq", "wk", "wv", "wo"})
    text += fmt::format(", float[8,8] {} = {{{}}}", weight, numbers_of(64, 0.05));
  text += "> { ";
  for (const char* one : {"q", "k", "v"})
    text += fmt::format("{0} = MatMul(x, w{0}) {0}1 = Reshape({0}, heads) ", one);
  return {text +
          "q2 = Transpose <perm = [0,2,1,3]> (q1) k2 = Transpose <perm = [0,2,3,1]> (k1) "
          "v2 = Transpose <perm = [0,2,1,3]> (v1) s = MatMul(q2, k2) p = Softmax(s) c = MatMul(p, v2) "
          "c1 = Transpose <perm = [0,2,1,3]> (c) c2 = Reshape(c1, flat) o = MatMul(c2, wo) y = Add(o, x) }"};
}
// Two experts whose rows are there by expert.
WalkModel experts() {
  return {
      fmt::format("agraph (float[2,3,4] x) => (float[2,3,4] y) <float[2,4,8] up = {{{0}}}, "
                  "float[2,8,4] down = {{{0}}}> {{ h = MatMul(x, up) i = Relu(h) y = MatMul(i, down) }}",
                  numbers_of(64, 0.05))};
}
WalkModel lstm() {
  return {
      "agraph (float16[4,64,256] x, float16[1,1024,256] w, float16[1,1024,256] r) => (float16[4,1,64,256] y) "
      "{ y = LSTM <hidden_size = 256> (x, w, r) }"};
}
WalkModel groups() {
  return {
      "agraph (float[1,4,2] x) => (float[1,4,2] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 2, 3}> "
      "{ y = GroupNormalization <num_groups = 2> (x, s, b) }"};
}

// What can be seen of a session.
struct Seen {
  std::string program;
  std::vector<std::int64_t> memory;
  double seconds = 0;
  Notes notes;
  bool has_cache = false;
};

void describe(const executor::Program& program, Seen& seen) {
  seen.program = print(program);
  for (const executor::Block& block : program.blocks) {
    ir::Graph graph = block.graph;
    for (ir::Op& op : graph.ops) {
      std::erase_if(op.attributes, [](const ir::Attribute& one) { return one.name.starts_with("__"); });
    }
    seen.program += print(graph);
    for (const ir::Value& value : graph.values) {
      if (!value.constant || value.constant->type() == ir::DataType::String) continue;
      const std::string_view bytes(reinterpret_cast<const char*>(value.constant->raw()),
                                   value.constant->bytes());
      seen.program += fmt::format("{} ", std::hash<std::string_view>()(bytes));
    }
  }
  for (const executor::Buffer& buffer : program.buffers) {
    seen.program += fmt::format("{}{} ", buffer.persistent ? "p" : "", buffer.initial.size());
  }
  for (const auto* list : {&program.inputs, &program.outputs}) {
    for (const executor::HostTensor& one : *list)
      seen.program += fmt::format("{} {} {} ", one.name, one.micro_batches, one.every);
  }
}

// Folders in which sessions of the walk keep what they pack.
const testing::TemporaryFolder& caches() {
  static const testing::TemporaryFolder kFolder;
  return kFolder;
}

Seen see(const WalkModel& model, const json& options) {
  Seen seen;
  SessionOptions session{.strategy = read_option_document(options, "o", seen.notes),
                         .device = *device::find_preset("ipu-pod16"),
                         .clock = true,
                         .estimate = !options.contains("cachePath")};
  importer::Model imported = model.is_bytes ? importer::import_bytes(model.text)
                                            : importer::import_text(testing::model_text(model.text));
  if (model.precision == ir::DataType::Float16) ir::set_precision(imported.graph, model.precision);
  imported.info.metadata.insert(model.metadata.begin(), model.metadata.end());
  const auto take = [&](const auto& made) {
    describe(made.program(), seen);
    seen.notes.insert(seen.notes.end(), made.notes().begin(), made.notes().end());
    if (made.timeline() == nullptr) return;
    seen.seconds = made.timeline()->makespan;
    for (const sim::ProcessorReport& one : made.timeline()->processors) {
      seen.memory.insert(seen.memory.end(), {one.memory.peak, one.memory.code, one.memory.streams,
                                             one.memory.streaming, one.memory.always_live});
    }
  };
  if (model.task == WalkedTask::Run) {
    take(InferenceSession(std::move(imported), session));
  } else {
    TrainingOptions asked{.session = session, .loss = "loss"};
    asked.optimizer = ir::make_optimizer("SGD", {{"momentum", {0.9}}});
    if (model.precision == ir::DataType::Float16)
      asked.optimizer.loss_scaling = {.value = 8, .constant = false};
    take(TrainingSession(std::move(imported), asked));
  }
  seen.has_cache = std::filesystem::exists(caches().file("now"));
  std::filesystem::remove_all(caches().file("now"));
  return seen;
}

enum class Outcome : std::uint8_t { Silent, Program, Memory, Clock, Cache, Noted, Refused };

Outcome compare(const Seen& before, const Seen& after, std::string_view name) {
  if (before.program != after.program) return Outcome::Program;
  if (before.memory != after.memory) return Outcome::Memory;
  if (before.seconds != after.seconds) return Outcome::Clock;
  if (before.has_cache != after.has_cache) return Outcome::Cache;
  const bool is_noted = std::ranges::any_of(
      after.notes, [&](const std::string& note) { return note.find(name) != std::string::npos; });
  return is_noted ? Outcome::Noted : Outcome::Silent;
}

struct Walked {
  WalkModel model;
  json before;                         ///< what the option needs to act
  json change;                         ///< the option
  Outcome expected = Outcome::Silent;  ///< Noted or Refused where it does not act; else any that acts
};

Outcome outcome_of(const Walked& walked, std::string_view name) {
  json asked = walked.before;
  asked.merge_patch(walked.change);
  const Seen before = see(walked.model, walked.before);
  try {
    return compare(before, see(walked.model, asked), name);
  } catch (const Error&) {
    return Outcome::Refused;
  }
}

class Counts {
 public:
  void note(const std::string& what, Outcome outcome, Outcome expected) {
    ++counts_[outcome];
    EXPECT_NE(outcome, Outcome::Silent) << what << " does nothing and no note says so";
    const bool acts = outcome != Outcome::Silent && outcome != Outcome::Noted && outcome != Outcome::Refused;
    if (expected == Outcome::Silent) {
      EXPECT_TRUE(acts) << what << " is " << (outcome == Outcome::Noted ? "noted" : "refused");
    } else {
      EXPECT_EQ(outcome, expected) << what;
    }
  }
  void print(std::string_view what) {
    std::cout << fmt::format(
        "{}: {} change the Program, {} memory, {} the clock, {} a folder, {} are noted, {} refused\n", what,
        counts_[Outcome::Program], counts_[Outcome::Memory], counts_[Outcome::Clock], counts_[Outcome::Cache],
        counts_[Outcome::Noted], counts_[Outcome::Refused]);
  }

 private:
  std::map<Outcome, int> counts_;
};

json merged(json base, const json& more) {
  base.merge_patch(more);
  return base;
}

json nested(const std::string& path, json value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return {{path, std::move(value)}};
  return {{path.substr(0, dot), nested(path.substr(dot + 1), std::move(value))}};
}

using Walks = std::map<std::string, Walked>;

const json kTwo = {{"virtualGraphMode", "Auto"}, {"numIPUs", 2}};
const json kPipeline = merged(kTwo, {{"enablePipelining", true}});
const json kPhases = {
    {"virtualGraphMode", "ExecutionPhases"}, {"executionPhaseSettings", {{"phases", 4}}}, {"numIOTiles", 32}};
const json kAccumulates = {{"accumulationFactor", 4}};

void add_plain(Walks& walks) {
  const auto add = [&](const std::string& path, WalkModel model, json before, json value,
                       Outcome expected = Outcome::Silent) {
    walks[path] = {std::move(model), std::move(before), nested(path, std::move(value)), expected};
  };
  add("virtualGraphMode", inference(), json::object(), "Auto");
  walks["virtualGraphMode"].change["numIPUs"] = 2;
  add("virtualGraphSplitRatios", inference(), kTwo, {0.25, 0.75});
  add("deviceConfiguration", {.text = testing::cut_model(1), .is_bytes = true}, json::object(), "tp");
  add("numIPUs", inference(), kTwo, 4);
  add("enablePipelining", inference(), merged(kTwo, {{"batchesPerStep", 4}}), true);
  add("pipelineSchedule", training(), merged(kPipeline, kAccumulates), "1F1B");
  add("pipelineChunks", training(),
      merged(kPipeline, {{"accumulationFactor", 4}, {"pipelineSchedule", "Interleaved"}}), 2);
  add("pipelineDeferred", training(),
      merged(kPipeline, {{"accumulationFactor", 4}, {"pipelineSchedule", "ZB-H2"}}), 0);
  add("enableWeightStashing", training(), merged(kPipeline, {{"batchesPerStep", 4}}), true);
  add("batchesPerStep", inference(), json::object(), 3);
  add("enableGradientAccumulation", training(), kAccumulates, false, Outcome::Refused);
  add("accumulationFactor", training(), json::object(), 2);
  add("enableReplicatedGraphs", training(), {{"replicatedGraphCount", 2}}, false, Outcome::Refused);
  add("replicatedGraphCount", training(), json::object(), 2);
  add("enableDistributedReplicatedGraphs", training(), {{"globalReplicationFactor", 4}}, true,
      Outcome::Refused);
  add("globalReplicationFactor", training(), json::object(), 4, Outcome::Noted);
  add("globalReplicaOffset", training(), json::object(), 1, Outcome::Noted);
  add("autoRecomputation", training(), merged(kTwo, kAccumulates), "RecomputeAll");
  add("numIOTiles", inference(), kTwo, 1470);
  add("exchangeStrategy", inference(), merged(kTwo, {{"numIOTiles", 32}, {"batchesPerStep", 3}}),
      "OverlapInnerLoop");
  add("syncPattern", inference(), merged(kPipeline, {{"batchesPerStep", 6}}), "SinglePipeline");
  add("accumulationAndReplicationReductionType", training(), kAccumulates, "Mean");
  add("meanAccumulationAndReplicationReductionStrategy", training(),
      merged(kAccumulates,
             {{"accumulationAndReplicationReductionType", "Mean"}, {"replicatedGraphCount", 2}}),
      "Running");
  add("syntheticDataMode", inference(), json::object(), "Zeros");
  add("partialsTypeMatMuls", product(), json::object(), "half");
  add("operandsTypeMatMuls", training(), json::object(), "mxfp8");
  add("matmulOptions.partialsType", product(), json::object(), "half");
  add("matmulOptions.availableMemoryProportion", product(), json::object(), 0.0002);
  add("convolutionOptions.partialsType", convolution(), json::object(), "half");
  add("convolutionOptions.availableMemoryProportion", convolution(), json::object(), "0.0002");
  add("lstmOptions.partialsType", lstm(), json::object(), "half");
  add("lstmOptions.availableMemoryProportion", lstm(), json::object(), 0.0002);
  add("enableOutlining", inference(), json::object(), false);
  add("enableMergeExchange", training(),
      merged(kTwo, {{"optimizerStateTensorLocationSettings",
                     {{"location", {{"storage", "OffChip"}}}, {"minElementsForOffChip", 0}}}}),
      false);
  add("enablePrefetchDatastreams", inference(), {{"batchesPerStep", 4}}, false);
  const json busy_host = {{"replicatedGraphCount", 4}, {"batchesPerStep", 8}};
  add("defaultBufferingDepth", product(), busy_host, 2);
  add("bufferingDepthMap.*", product(), busy_host, nullptr);
  walks["bufferingDepthMap.*"].change = {{"bufferingDepthMap", {{"y", 4}}}};
  add("prefetchBufferingDepthMap", product(), busy_host, {{"y", 4}});
  add("groupNormStridedChannelGrouping", groups(), json::object(), true);
  add("constantWeights", inference(), json::object(), false);
  add("updatableNamedBuffers", inference(), json::object(), {"w1"});
  add("enableEngineCaching", inference(), {{"cachePath", caches().file("now")}}, true);
  add("cachePath", inference(), {{"enableEngineCaching", true}, {"cachePath", caches().file("other")}},
      caches().file("now"));
}

void add_nested(Walks& walks) {
  const auto add = [&](const std::string& path, WalkModel model, json before, json value,
                       Outcome expected = Outcome::Silent) {
    walks[path] = {std::move(model), std::move(before), nested(path, std::move(value)), expected};
  };
  const auto off_chip = [](const std::string& kind) -> json {
    return {{kind, {{"location", {{"storage", "OffChip"}}}}}};
  };
  const std::string phases = "executionPhaseSettings.";
  const json weights_off = merged(kPhases, off_chip("weightTensorLocationSettings"));
  add(phases + "phases", inference(), kPhases, 2);
  add(phases + "stages", inference(), kPhases, 1);
  add(phases + "weightIOSchedule", inference(), weights_off, "OnDemand");
  add(phases + "activationIOSchedule", training(),
      merged(kPhases, off_chip("activationTensorLocationSettings")), "OnDemand");
  add(phases + "optimizerStateIOSchedule", training(),
      merged(kPhases, off_chip("optimizerStateTensorLocationSettings")), "Preload");
  add(phases + "accumulatorIOSchedule", training(),
      merged(merged(kPhases, kAccumulates), off_chip("accumulatorTensorLocationSettings")), "OnDemand");
  add(phases + "schedule", inference(), weights_off, "Batch");
  const std::string cut = "tensorParallelSettings.";
  const json cut_over_two = {{"tensorParallelSettings", {{"devices", 2}}}};
  add(cut + "devices", inference(), json::object(), 2);
  add(cut + "cutsTokens", attention(), cut_over_two, true);
  add(cut + "expertGroups", experts(), cut_over_two, 2);
  add(cut + "contextGroups", attention(), cut_over_two, 2);
  add(cut + "spatialGroups", convolution(), json::object(), 2);
  add(cut + "sampleGroups", convolution(), json::object(), 2);
  add(cut + "scattersSends", inference(),
      merged(cut_over_two, {{"virtualGraphMode", "Auto"}, {"enablePipelining", true}, {"numIPUs", 4}}), true);
  add(cut + "recomputesExchanges", training(), merged(cut_over_two, {{"autoRecomputation", "RecomputeAll"}}),
      true);
  add("batchSerializationSettings.factor", inference(), json::object(), 2);
  add("batchSerializationSettings.ioMode", inference(),
      merged(weights_off, {{"batchSerializationSettings", {{"factor", 2}}}}), "IOOverlapped");
  const std::string scaling = "automaticLossScalingSettings.";
  const json scales = {{"automaticLossScalingSettings", {{"enabled", true}}}};
  add(scaling + "enabled", halves(), json::object(), true);
  add(scaling + "binEdgeLocation", halves(), scales, 0.5);
  add(scaling + "thresholdUpperCountProportion", halves(), scales, 0.25);
  add(scaling + "updatePeriod", halves(), scales, 3);
  add(scaling + "gradientTensorTrackingMethod", halves(), scales, "ConvAndMatmulGradients");
  add(scaling + "toTrackTensors", halves(), scales, {"p1"});
  walks[scaling + "toTrackTensors"].change["automaticLossScalingSettings"]["gradientTensorTrackingMethod"] =
      "GradientsOfUserSpecifiedTensors";
  const json sharded = {
      {"replicatedGraphCount", 2},
      {"optimizerStateTensorLocationSettings",
       {{"location", {{"replicatedTensorSharding", "On"}}}, {"minElementsForReplicatedTensorSharding", 1}}}};
  const std::string merging = "replicatedCollectivesSettings.";
  const json joined = merged(sharded, nested(merging + "prepareScheduleForMergingCollectives", true));
  add(merging + "prepareScheduleForMergingCollectives", training(), sharded, true);
  add(merging + "mergeAllReduceCollectives", training(), {{"replicatedGraphCount", 2}}, true);
  add(merging + "mergeReduceScatterCollectives", training(), joined, true);
  add(merging + "mergeAllGatherCollectives", training(), joined, true);
  const json four = merged(kTwo, {{"numIOTiles", 32}, {"batchesPerStep", 4}});
  const auto anchored = [](const json& anchor) -> json { return {{"anchors", {{"y", anchor}}}}; };
  const auto add_anchor = [&](const std::string& name, const json& before, const json& after) {
    walks["anchors.*." + name] = {inference(), merged(four, anchored(before)), anchored(after)};
  };
  add_anchor("returnType", {{"returnType", "All"}}, {{"returnType", "Final"}});
  add_anchor("returnPeriod", {{"returnType", "EveryN"}, {"returnPeriod", 2}}, {{"returnPeriod", 4}});
  add_anchor("tileSet", {{"returnType", "All"}}, {{"tileSet", "IO"}});
  add_anchor("exchangeStrategy", {{"returnType", "All"}}, {{"exchangeStrategy", "OverlapInnerLoop"}});
}

// The fields of a location, in a session where each has something to act on.
void add_location(Walks& walks, const std::string& path, const WalkModel& model, const json& session,
                  const std::string& settings, Outcome sharding) {
  const auto add = [&](const std::string& field, const json& before, json value, Outcome expected) {
    json base = session;
    for (const auto& [name, preset] : before.items()) base.merge_patch(nested(settings + name, preset));
    std::string key = settings + field;
    walks[path + field] = {model, base, nested(key, std::move(value)), expected};
  };
  const json is_sharded = {{"replicatedTensorSharding", "On"}};
  const json in_pairs = {{"replicatedTensorSharding", "On"},
                         {"shardingDomain", {{"type", "Consecutive"}, {"replicaGroupSize", 2}}}};
  add("storage", json::object(), "OffChip", Outcome::Silent);
  add("loadTileSet", {{"storage", "OffChip"}}, "IO", Outcome::Silent);
  add("storageTileSet", json::object(), "IO", Outcome::Silent);
  add("replicatedTensorSharding", json::object(), "On", sharding);
  add("shardingDomain.type", is_sharded, "Consecutive", sharding);
  walks[path + "shardingDomain.type"].change.merge_patch(
      nested(settings + "shardingDomain.replicaGroupSize", 2));
  add("shardingDomain.replicaGroupSize", in_pairs, 4, sharding);
}

void add_locations(Walks& walks) {
  const json session = {{"virtualGraphMode", "Auto"},
                        {"numIPUs", 8},
                        {"replicatedGraphCount", 4},
                        {"numIOTiles", 32},
                        {"accumulationFactor", 2}};
  for (const TensorKind& kind : kTensorKinds) {
    const std::string name(kind.option);
    json base = session;
    base[name]["minElementsForReplicatedTensorSharding"] = 1;
    if (name == "optimizerStateTensorLocationSettings") base.erase("accumulationFactor");
    const Outcome sharding = kind.can_be_sharded ? Outcome::Silent : Outcome::Noted;
    add_location(walks, name + ".location.", training(), base, name + ".location.", sharding);
    walks[name + ".minElementsForOffChip"] = {training(),
                                              merged(base, nested(name + ".location.storage", "OffChip")),
                                              nested(name + ".minElementsForOffChip", 100000)};
    walks[name + ".minElementsForReplicatedTensorSharding"] = {
        training(), merged(base, nested(name + ".location.replicatedTensorSharding", "On")),
        nested(name + ".minElementsForReplicatedTensorSharding", 100000), sharding};
  }
  add_location(walks, "tensorLocationSettingsOverride.*.", training(), session,
               "tensorLocationSettingsOverride.w1.", Outcome::Silent);
}

const Walks& walks_of_options() {
  static const Walks kWalks = [] {
    Walks walks;
    add_plain(walks);
    add_nested(walks);
    add_locations(walks);
    return walks;
  }();
  return kWalks;
}

// A strategy in which every option that may be left out is there.
Strategy with_everything() {
  Strategy strategy;
  strategy.anchors["name"] = {.returns = AnchorReturn::EveryN,
                              .every = 1,
                              .tiles = ir::TileSet::IO,
                              .exchange = ir::ExchangeStrategy::JustInTime};
  strategy.location_overrides["name"] = {};
  strategy.host_streams.depths["name"] = 1;
  for (ProductPlanning* planning : {&strategy.matmuls, &strategy.convolutions, &strategy.recurrent})
    planning->available_memory = 1;
  return strategy;
}

void add_paths(const std::string& path, const json& value, std::set<std::string>& paths) {
  if (!value.is_object() || value.empty()) {
    paths.insert(path);
    return;
  }
  for (const auto& [name, inner] : value.items())
    add_paths(path + "." + (name == "name" ? "*" : name), inner, paths);
}

// Every option of the tables, options inside others by their paths, names of tensors as stars.
std::set<std::string> all_options() {
  const Strategy everything = with_everything();
  std::set<std::string> paths;
  for (const Row<Strategy>& row : option_rows()) {
    const std::string name(row.name);
    if (row.access.write == nullptr) {
      paths.insert(name);
    } else {
      add_paths(name, row.access.write(everything), paths);
    }
  }
  paths.insert("matmulOptions.partialsType");  // which is written as partialsTypeMatMuls
  return paths;
}

TEST(WalkOverOptions, HasARowForEachAndNoOther) {
  std::set<std::string> walked;
  for (const auto& [path, walk] : walks_of_options()) walked.insert(path);
  EXPECT_EQ(walked, all_options());
}

TEST(WalkOverOptions, EachActsOrIsRefusedOrIsNamedInANote) {
  Counts counts;
  for (const auto& [path, walk] : walks_of_options()) {
    SCOPED_TRACE(path);
    const std::string name = path.substr(0, path.find('.'));
    const bool is_sharding = walk.expected == Outcome::Noted && path.find("Location") != std::string::npos;
    counts.note(path, outcome_of(walk, is_sharding ? "replicatedTensorSharding" : name), walk.expected);
  }
  counts.print(fmt::format("{} options", walks_of_options().size()));
}

json sample_of(Shape shape) {
  switch (shape) {
    case Shape::Truth:
      return true;
    case Shape::Number:
      return 1;
    case Shape::Text:
    case Shape::Any:
      return "text";
    case Shape::List:
      return json::array();
    case Shape::Object:
      return json::object();
  }
  return {};
}

TEST(WalkOverOptions, ThoseWithoutEffectAreNamedWithTheReason) {
  for (const OptionWithoutEffect& row : options_without_effect()) {
    std::string path(row.path);
    if (path.ends_with('*')) path.back() = 'x';
    Notes notes;
    const Strategy strategy = read_option_document(nested(path, sample_of(row.shape)), "o", notes);
    EXPECT_EQ(notes, Notes{fmt::format("o: no effect on a simulated device: {} ({})", path, row.reason)});
    EXPECT_EQ(write_options(strategy), json::object());
  }
  std::cout << fmt::format("{} options without effect are named in a note\n",
                           options_without_effect().size());
}

// Models with and without an annotation of the first product.
struct WalkedAnnotation {
  WalkModel before;
  WalkModel after;
  json options;
};

std::map<std::string, WalkedAnnotation> walks_of_annotations() {
  const json manual = {{"virtualGraphMode", "Manual"}};
  const json io_tiles = merged(kTwo, {{"numIOTiles", 32}});
  const auto in = [](std::string_view text) { return inference(text); };
  // Every node of a model in which most are on one processor.
  const auto everywhere = [](std::string_view others, std::string_view last, bool trains) {
    WalkModel model = trains ? training() : inference();
    std::string& text = model.text;
    for (std::size_t at = text.find("{ p0"); (at = text.find('(', at)) != std::string::npos;) {
      const std::string_view told = at > text.find("p3 =") ? last : others;
      const std::string annotation = told.empty() ? "" : fmt::format("<{}> ", told);
      text.insert(at, annotation);
      at += annotation.size() + 1;
    }
    return model;
  };
  std::map<std::string, WalkedAnnotation> walks;
  walks["__ipu_number"] = {everywhere("__ipu_number = 0", "__ipu_number = 0", false),
                           everywhere("__ipu_number = 0", "__ipu_number = 1", false), manual};
  walks["virtualGraph"] = {everywhere("virtualGraph = 0", "virtualGraph = 0", false),
                           everywhere("virtualGraph = 0", "virtualGraph = 1", false), manual};
  const json staged = merged(manual, {{"enablePipelining", true}, {"batchesPerStep", 4}});
  walks["__pipeline_stage"] = {
      everywhere("__ipu_number = 0, __pipeline_stage = 0", "__ipu_number = 1, __pipeline_stage = 1", false),
      everywhere("__ipu_number = 1, __pipeline_stage = 0", "__ipu_number = 0, __pipeline_stage = 1", false),
      staged};
  walks["pipelineStage"] = {
      everywhere("__ipu_number = 0, pipelineStage = 0", "__ipu_number = 1, pipelineStage = 1", false),
      everywhere("__ipu_number = 1, pipelineStage = 0", "__ipu_number = 0, pipelineStage = 1", false),
      staged};
  const json phased = {{"virtualGraphMode", "ExecutionPhases"}, {"executionPhaseSettings", {{"phases", 2}}}};
  walks["__execution_phase"] = {everywhere("__execution_phase = 0", "__execution_phase = 0", false),
                                everywhere("__execution_phase = 0", "__execution_phase = 1", false), phased};
  walks["executionPhase"] = {everywhere("executionPhase = 0", "executionPhase = 0", false),
                             everywhere("executionPhase = 0", "executionPhase = 1", false), phased};
  walks["__tile_set"] = {in(""), in("<__tile_set = 1>"), io_tiles};
  walks["__recompute_output_in_backward_pass"] = {
      training(), everywhere("__recompute_output_in_backward_pass = 2", "", true), kAccumulates};
  const std::string moved = "__output_tensor_location = [1, 0, 0, 0, 0, 0]";
  walks["__output_tensor_location"] = {training(), everywhere(moved, "", true),
                                       merged(kPipeline, kAccumulates)};
  // Two branches: which comes first is a matter of priority.
  const auto branches = [](std::string_view first, std::string_view second) -> WalkModel {
    return {
        fmt::format("agraph (float[4] x) => (float[4] y) {{ a = Neg {} (x) b = Exp {} (x) y = Sub(a, b) }}",
                    first, second)};
  };
  walks["__schedule_priority"] = {branches("", ""), branches("", "<__schedule_priority = 2.0>"),
                                  json::object()};
  walks["__partials_type"] = {product(), product("<__partials_type = \"half\">"), json::object()};
  walks["__operands_type"] = {product(), product("<__operands_type = \"mxfp8\">"), json::object()};
  walks["__available_memory"] = {product(), product("<__available_memory = 0.0002>"), json::object()};
  walks["__output_type"] = {
      {"agraph (float16[4,4] x, float16[4,4] w) => (float16[4,4] y) { y = MatMul(x, w) }"},
      {"agraph (float16[4,4] x, float16[4,4] w) => (float[4,4] y) { y = MatMul <__output_type = \"FLOAT\"> (x, w) }"},
      json::object()};
  const std::string rows = "<__serialize_matmul_mode = \"input_channels\", __serialize_matmul_factor = 2>";
  walks["__serialize_matmul_mode"] = {
      in(rows), in("<__serialize_matmul_mode = \"reducing_dim\", __serialize_matmul_factor = 2>"),
      json::object()};
  walks["__serialize_matmul_factor"] = {
      in(rows), in("<__serialize_matmul_mode = \"input_channels\", __serialize_matmul_factor = 4>"),
      json::object()};
  const std::string parts = "__serialize_matmul_mode = \"reducing_dim\", __serialize_matmul_factor = 2";
  walks["__serialize_matmul_precision"] = {product("<" + parts + ">"),
                                           product("<" + parts + ", __serialize_matmul_precision = 1>"),
                                           json::object()};
  walks["__outline"] = {in(""), in("<__outline = [\"layer\", \"first\"]>"), json::object()};
  // What is made of weights alone may be made once per update.
  const auto norms = [](std::string_view annotation) -> WalkModel {
    WalkModel model = training();
    const std::string_view end = "float loss)";
    model.text.replace(model.text.find(end), end.size(), "float loss, float[16,16] n)");
    model.text.replace(model.text.size() - 1, 1, fmt::format("n = Mul {} (w0, w0) }}", annotation));
    return model;
  };
  walks["__execution_context"] = {norms(""), norms("<__execution_context = 1>"), kAccumulates};
  return walks;
}

TEST(WalkOverAnnotations, HasARowForEachAndNoOther) {
  std::set<std::string_view> walked;
  const auto walks = walks_of_annotations();
  for (const auto& [name, walk] : walks) walked.insert(name);
  const auto known = annotate::annotations_with_effect();
  EXPECT_EQ(walked, (std::set<std::string_view>{known.begin(), known.end()}));
}

TEST(WalkOverAnnotations, EachChangesTheProgramItsMemoryOrItsClock) {
  Counts counts;
  for (const auto& [name, walk] : walks_of_annotations()) {
    SCOPED_TRACE(name);
    Outcome outcome = Outcome::Refused;
    const std::string refusal = testing::refusal(
        [&] { outcome = compare(see(walk.before, walk.options), see(walk.after, walk.options), name); });
    EXPECT_EQ(refusal, "");
    counts.note(name, outcome, Outcome::Silent);
  }
  counts.print(fmt::format("{} annotations", walks_of_annotations().size()));
}

TEST(WalkOverAnnotations, EachKeyOfTheMetadataActs) {
  const json session = {{"virtualGraphMode", "Auto"},
                        {"numIPUs", 4},
                        {"replicatedGraphCount", 2},
                        {"numIOTiles", 32},
                        {"batchesPerStep", 4}};
  const std::map<std::string, std::map<std::string, std::string>> rows{
      {"__tile_set", {{"__tile_set/x", "1"}}},
      {"__exchange_strategy", {{"__exchange_strategy/x", "1"}}},
      {"__replicated_stream_mode", {{"__replicated_stream_mode/x", "1"}}}};
  std::set<std::string_view> walked{"__comm_group_type", "__comm_group_size"};
  for (const auto& [name, metadata] : rows) {
    WalkModel told = inference();
    told.metadata = metadata;
    Seen before = see(inference(), session);
    Seen after = see(told, session);
    const bool is_broadcast = name == "__replicated_stream_mode";  // which is seen in the inputs
    EXPECT_TRUE(is_broadcast || compare(before, after, name) != Outcome::Silent) << name;
    walked.insert(name);
  }
  const auto known = annotate::metadata_with_effect();
  EXPECT_EQ(walked, (std::set<std::string_view>{known.begin(), known.end()}));
}

TEST(WalkOverAnnotations, ThoseWithoutEffectAndUnknownOnesAreNamedWithTheReason) {
  for (const annotate::AnnotationWithoutEffect& row : annotate::annotations_without_effect()) {
    importer::Model model = importer::import_text(testing::model_text(inference().text));
    ir::set_attribute(model.graph.ops[0], row.name, std::string("text"));
    EXPECT_THAT(annotate::unheeded(model.graph, {}, {}, annotate::Use::Inference),
                Contains(fmt::format("{} of 1 node: no effect, {}", row.name, row.reason)));
  }
  EXPECT_THAT(see(inference("<__schedule_priorty = 1.0>"), json::object()).notes,
              Contains("__schedule_priorty of 1 node: no effect, it is unknown, the nearest is "
                       "'__schedule_priority'"));
  EXPECT_THAT(see(inference("<__tile_set = 1>"), json::object()).notes,
              Contains(HasSubstr("__tile_set IO of 1 op: no effect, there are no IO tiles")));
  EXPECT_THAT(see(inference("<__pipeline_stage = 0>"), json::object()).notes,
              Contains("__pipeline_stage of 1 node: no effect, enablePipelining is false"));
}

}  // namespace
}  // namespace podium::options_walk
