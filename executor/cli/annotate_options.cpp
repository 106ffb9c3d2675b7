#include "executor/cli/annotate_options.h"

#include <limits>

#include "annotate/annotations.h"
#include "executor/cli/flag_values.h"
#include "executor/device/presets.h"

namespace podium::cli {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();

cxxopts::Options make() {
  using Texts = std::vector<std::string>;
  cxxopts::Options options("podium annotate",
                           "Places the nodes of a model on processors, stages and phases.");
  options.custom_help("[options]");
  options.positional_help("MODEL");
  options.add_options()("h,help", "print this help")("quiet", "no notes")("paths", "",
                                                                          cxxopts::value<Texts>());
  options.parse_positional("paths");
  options.add_options("Result")("o,output", "OUT.onnx: the model with its annotations, all else as it was",
                                cxxopts::value<std::string>())(
      "list", "print the placement, and per processor its ops, parameters, FLOP, bytes in and out");
  options.add_options("Rules")("stage",
                               "'PATTERN=N': pipeline stage of the nodes (repeatable, later ones win)",
                               cxxopts::value<Texts>())(
      "ipu", "'PATTERN=N': processor inside a replica (repeatable)", cxxopts::value<Texts>())(
      "phase", "'PATTERN=N': execution phase (repeatable)", cxxopts::value<Texts>())(
      "from",
      "FILE.json with a list of rules; --stage, --ipu and --phase win over it. A rule: {\"match\": PATTERN, "
      "\"ipu\": N, \"stage\": N, \"phase\": N, \"recompute\": true, \"tiles\": \"IO\", \"location\": "
      "\"OffChip\", "
      "\"priority\": X}",
      cxxopts::value<std::string>())("clear", "first remove all annotations of placement");
  options.add_options("Automatic placement")(
      "auto", "shard, pipeline or phases, by estimated time and memory; rules win over it",
      cxxopts::value<std::string>())("ipus",
                                     "N processors of a replica; of phases 1 or 2 that take turns (2)",
                                     cxxopts::value<std::string>())(
      "phases", "N phases (as many as the memory asks for, at least 4)", cxxopts::value<std::string>())(
      "device", "NAME of a preset, or FILE.json: what ops cost there",
      cxxopts::value<std::string>()->default_value(std::string(device::kDefaultPreset)))(
      "dim", "NAME=N: value of a symbolic dimension (repeatable)", cxxopts::value<Texts>());
  options.allow_unrecognised_options();
  return options;
}

void read_rules(const cxxopts::ParseResult& result, const std::string& option, std::string_view annotation,
                std::vector<annotate::Rule>& rules) {
  if (result.count(option) == 0) return;
  for (const std::string& text : result[option].as<std::vector<std::string>>()) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--{}: '{}' found, 'PATTERN=N' needed", option, text);
    }
    const auto value = number<std::int64_t>("--" + option + " " + text, text.substr(equals + 1), 0, kMost);
    rules.push_back({text.substr(0, equals), {{std::string(annotation), value}}});
  }
}

void read_automatic(const cxxopts::ParseResult& result, AnnotateOptions& options) {
  if (result.count("auto") == 0) {
    for (const char* option : {"ipus", "phases"}) {
      if (result.count(option) > 0) throw UsageError("--{}: found without --auto, which it is for", option);
    }
    return;
  }
  options.automatic = static_cast<AutomaticPlacement>(
      index_of_word("auto", result["auto"].as<std::string>(), {"shard", "pipeline", "phases"}));
  const bool phased = options.automatic == AutomaticPlacement::Phases;
  if (!phased && result.count("ipus") == 0) throw UsageError("--auto: --ipus N needed");
  if (!phased && result.count("phases") > 0)
    throw UsageError("--phases: found without --auto phases, which it is for");
  const int least = options.automatic == AutomaticPlacement::Pipeline ? 2 : 1;
  options.ipus = result.count("ipus") == 0 ? 2 : number<int>(result, "ipus", least, phased ? 2 : 1 << 20);
  if (result.count("phases") > 0) options.phases = number<int>(result, "phases", 2);
}

AnnotateOptions read(const cxxopts::ParseResult& result) {
  AnnotateOptions options;
  options.help = result.count("help") > 0;
  if (options.help) return options;
  const auto paths =
      result.count("paths") > 0 ? result["paths"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (paths.size() != 1) throw UsageError("annotate: {} models found, one needed", paths.size());
  options.model = paths[0];
  options.list = result.count("list") > 0;
  options.clear = result.count("clear") > 0;
  options.quiet = result.count("quiet") > 0;
  options.device = result["device"].as<std::string>();
  if (result.count("output") > 0) options.output = result["output"].as<std::string>();
  if (result.count("from") > 0) options.rules_file = result["from"].as<std::string>();
  read_rules(result, "ipu", annotate::kVirtualGraph, options.rules);
  read_rules(result, "stage", annotate::kPipelineStage, options.rules);
  read_rules(result, "phase", annotate::kExecutionPhase, options.rules);
  read_automatic(result, options);
  for (const auto& [name, value] : pairs(result, "dim")) {
    options.dims[name] = number("--dim " + name, value, std::int64_t{0});
  }
  if (options.output.ends_with(".onnxtxt")) {
    throw UsageError("-o: '{}' found, a name that ends in .onnx needed: models are written in binary",
                     options.output);
  }
  if (options.output.empty() && !options.list) throw UsageError("annotate: -o OUT.onnx or --list needed");
  return options;
}

}  // namespace

AnnotateOptions parse_annotate(const Arguments& arguments) {
  cxxopts::Options parser = make();
  std::vector<const char*> words{"podium"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  try {
    const auto result = parser.parse(static_cast<int>(words.size()), words.data());
    refuse_unknown(parser, result, parser.groups());
    return read(result);
  } catch (const cxxopts::exceptions::exception& error) {
    throw UsageError("{}", error.what());
  }
}

std::string annotate_help() {
  return make().help() +
         "\nPATTERN: a glob on node names (an unnamed node goes by its first output), type:GLOB on op types,\n"
         "or A..B for every node on the paths from tensor A to tensor B. A name without wildcards stands also\n"
         "for what is under it.\n";
}

}  // namespace podium::cli
