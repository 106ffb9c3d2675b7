#include "executor/cli/session_flags.h"

#include <array>

#include "executor/cli/flag_values.h"

namespace podium::cli {
namespace {

using nlohmann::json;
using Words = std::vector<std::pair<std::string_view, std::string_view>>;

// A flag with one value. Without words it is a whole number.
struct Flag {
  std::string name;
  std::string meaning;
  std::string fallback;             // what holds when neither flag nor file says it
  std::vector<std::string> places;  // JSON pointers of the options it stands for
  Words words = {};                 // of the flag, and of the option
  int least = 1;
  std::string turns_on = {};  // JSON pointer of the option that switches on what it counts
};

// A flag with a list of the kinds of tensors that it is about.
struct KindsFlag {
  std::string name;
  std::string meaning;
  std::string place;  // JSON pointer inside the kind's TensorLocationSettings
  std::string value;
  Words kinds;
};

const Words kLocations{{"weights", "/weightTensorLocationSettings"},
                       {"optimizer", "/optimizerStateTensorLocationSettings"},
                       {"accumulators", "/accumulatorTensorLocationSettings"},
                       {"activations", "/activationTensorLocationSettings"}};
const Words kShardable{kLocations.begin(), kLocations.begin() + 3};
constexpr const char* kThreshold = "minElementsForReplicatedTensorSharding";

std::vector<std::string> threshold_places() {
  std::vector<std::string> places;
  for (const auto& [kind, settings] : kShardable) places.push_back(std::string(settings) + "/" + kThreshold);
  return places;
}

const std::vector<Flag> kFlags{
    {"ipus", "N processors, all replicas together; 0: as many as are needed", "0", {"/numIPUs"}, {}, 0},
    {"virtual-graph-mode",
     "how ops come to processors: off, manual, auto, execution-phases",
     "off",
     {"/virtualGraphMode"},
     {{"off", "Off"}, {"manual", "Manual"}, {"auto", "Auto"}, {"execution-phases", "ExecutionPhases"}}},
    {"batches-per-step", "N micro-batches of a replica in a step", "1", {"/batchesPerStep"}},
    {"accumulate",
     "N micro-batches an update of the weights (training)",
     "1",
     {"/accumulationFactor"},
     {},
     1,
     "/enableGradientAccumulation"},
    {"replicas",
     "N data-parallel replicas",
     "1",
     {"/replicatedGraphCount"},
     {},
     1,
     "/enableReplicatedGraphs"},
    {"phases", "N execution phases", "0", {"/executionPhaseSettings/phases"}, {}, 0},
    {"batch-serialize",
     "N slices of a micro-batch, one after the other",
     "0",
     {"/batchSerializationSettings/factor"},
     {},
     0},
    {"io-mode",
     "how slices come and go: compute, io, io-overlapped",
     "compute",
     {"/batchSerializationSettings/ioMode"},
     {{"compute", "Compute"}, {"io", "IO"}, {"io-overlapped", "IOOverlapped"}}},
    {"shard-threshold", "N elements: smaller tensors are not sharded", "8192", threshold_places(), {}, 0},
    {"io-tiles", "N tiles of each processor for input and output", "0", {"/numIOTiles"}, {}, 0},
    {"overlap-io",
     "host data beside compute: none, inner, loops",
     "none",
     {"/exchangeStrategy"},
     {{"none", "JustInTime"}, {"inner", "OverlapInnerLoop"}, {"loops", "OverlapLoops"}}},
    {"recompute",
     "none, standard, norm-only, pipeline, all",
     "none",
     {"/autoRecomputation"},
     {{"none", "None"},
      {"standard", "Standard"},
      {"norm-only", "NormOnly"},
      {"pipeline", "Pipeline"},
      {"all", "RecomputeAll"}}},
    {"sync",
     "who waits for an exchange: full, single-pipeline, replica-and-ladder",
     "full",
     {"/syncPattern"},
     {{"full", "Full"}, {"single-pipeline", "SinglePipeline"}, {"replica-and-ladder", "ReplicaAndLadder"}}},
    {"reduction",
     "of gradients over micro-batches and replicas: sum, mean",
     "sum",
     {"/accumulationAndReplicationReductionType"},
     {{"sum", "Sum"}, {"mean", "Mean"}}},
};

const std::vector<KindsFlag> kKindsFlags{
    {"off-chip", "what lives in streaming memory: weights,optimizer,accumulators,activations",
     "/location/storage", "OffChip", kLocations},
    {"shard", "what is sharded over replicas: weights,optimizer,accumulators",
     "/location/replicatedTensorSharding", "On", kShardable},
};

std::vector<std::string_view> names_of(const Words& words) {
  std::vector<std::string_view> names;
  for (const auto& [name, meaning] : words) names.push_back(name);
  return names;
}

void read(const Flag& flag, const std::string& text, json& document) {
  json value;
  if (flag.words.empty()) {
    value = number("--" + flag.name, text, flag.least);
  } else {
    value = flag.words[index_of_word(flag.name, text, names_of(flag.words))].second;
  }
  for (const std::string& place : flag.places) document[json::json_pointer(place)] = value;
  if (!flag.turns_on.empty()) document[json::json_pointer(flag.turns_on)] = true;
}

void read(const KindsFlag& flag, const std::string& text, json& document) {
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::size_t kind = index_of_word(flag.name, text.substr(start, end - start), names_of(flag.kinds));
    document[json::json_pointer(std::string(flag.kinds[kind].second) + flag.place)] = flag.value;
    start = end + 1;
  }
}

json read_anchor(const std::string& name, const std::string& text) {
  constexpr std::string_view kEvery = "every-";
  if (text.starts_with(kEvery) && text != "every-N") {
    const int period = number("--anchor " + name, text.substr(kEvery.size()), 1);
    return {{"returnType", "EveryN"}, {"returnPeriod", period}};
  }
  const std::array kWords{"All", "Final", "Sum"};
  return kWords.at(index_of_word("anchor " + name, text, {"all", "final", "sum", "every-N"}));
}

}  // namespace

void add_session_flags(cxxopts::Options& options) {
  constexpr const char* kGroup = "Strategy";
  options.add_options(kGroup)("options",
                              "FILE.json with session options, PopART's names and nesting; flags win over it",
                              cxxopts::value<std::string>());
  for (const Flag& flag : kFlags) {
    options.add_options(kGroup)(flag.name, fmt::format("{} (default: {})", flag.meaning, flag.fallback),
                                cxxopts::value<std::string>());
    if (flag.name != "virtual-graph-mode") continue;
    options.add_options(kGroup)("pipeline", "pipeline the stages (default: off)")(
        "weight-stashing",
        "in a pipeline that updates every micro-batch, the backward pass meets the weights that the forward "
        "pass met, "
        "not the newest (training; default: off)");
  }
  for (const KindsFlag& flag : kKindsFlags) {
    options.add_options(kGroup)(flag.name, flag.meaning + " (default: none)", cxxopts::value<std::string>());
  }
  options.add_options(kGroup)(
      "anchor", "NAME=all|final|sum|every-N: what comes back of a tensor (repeatable; default: outputs, all)",
      cxxopts::value<std::vector<std::string>>());
}

json read_session_flags(const cxxopts::ParseResult& result) {
  json document = json::object();
  if (result.count("pipeline") > 0) document["enablePipelining"] = true;
  if (result.count("weight-stashing") > 0) document["enableWeightStashing"] = true;
  for (const Flag& flag : kFlags) {
    if (result.count(flag.name) > 0) read(flag, result[flag.name].as<std::string>(), document);
  }
  for (const KindsFlag& flag : kKindsFlags) {
    if (result.count(flag.name) > 0) read(flag, result[flag.name].as<std::string>(), document);
  }
  for (const auto& [name, text] : pairs(result, "anchor"))
    document["anchors"][name] = read_anchor(name, text);
  return document;
}

}  // namespace podium::cli
