#include "executor/cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cxxopts.hpp>
#include <limits>
#include <type_traits>

#include "ir/nearest.h"

namespace podium::cli {
namespace {

struct LaterOption {
  std::string_view name;
  std::string_view meaning;
  bool takes_value = true;
};

// Options of the contract that need the simulated pod: known, so that they are refused by name and never ignored.
constexpr std::array kLater{
    LaterOption{"device", "device description: a preset or FILE.json"},
    LaterOption{"ipus", "processors to use, all replicas together"},
    LaterOption{"options", "session options, PopART's names (FILE.json)"},
    LaterOption{"estimate", "clock only, compute nothing", false},
    LaterOption{"trace", "timeline for Perfetto (FILE.json)"},
    LaterOption{"virtual-graph-mode", "off, manual, auto or execution-phases"},
    LaterOption{"pipeline", "pipeline the stages", false},
    LaterOption{"batches-per-step", "batches in a step"},
    LaterOption{"accumulate", "gradient accumulation factor"},
    LaterOption{"replicas", "data-parallel replicas"},
    LaterOption{"phases", "execution phases"},
    LaterOption{"batch-serialize", "batch serialisation factor"},
    LaterOption{"io-mode", "compute, io or io-overlapped"},
    LaterOption{"off-chip", "what lives in streaming memory"},
    LaterOption{"shard", "what is sharded over replicas"},
    LaterOption{"shard-threshold", "least elements for sharding"},
    LaterOption{"io-tiles", "tiles for input and output"},
    LaterOption{"overlap-io", "none, inner or loops"},
    LaterOption{"recompute", "none, standard, norm-only, pipeline or all"},
    LaterOption{"sync", "full, single-pipeline or replica-and-ladder"},
    LaterOption{"reduction", "sum or mean"},
    LaterOption{"anchor", "NAME=all, final, sum or every-N"},
    LaterOption{"precision", "float32 or float16"},
};

// More threads than any machine runs at once only use up memory.
constexpr int kMostThreads = 256;

bool has(const std::vector<OptionGroup>& groups, OptionGroup group) {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

cxxopts::Options make(std::string_view command, std::string_view what, const std::vector<OptionGroup>& groups) {
  cxxopts::Options options("podium " + std::string(command), std::string(what));
  options.custom_help("[options]");
  options.positional_help("PATH...");
  options.add_options()("h,help", "print this help")("quiet", "no progress and no notes")(
      "verbose", "more detail")("paths", "", cxxopts::value<std::vector<std::string>>());
  options.parse_positional("paths");
  if (has(groups, OptionGroup::Data)) {
    options.add_options("Data")("input", "NAME=FILE: an input from .npy, .pb or IDX (repeatable)",
                                cxxopts::value<std::vector<std::string>>())(
        "inputs", "DIR with input_N.pb in graph order, or NAME.npy", cxxopts::value<std::string>())(
        "random", "SEED of inputs that have no file", cxxopts::value<std::string>()->default_value("0"))(
        "dim", "NAME=N: value of a symbolic dimension (repeatable)", cxxopts::value<std::vector<std::string>>())(
        "output-dir", "DIR that gets the outputs as NAME.npy", cxxopts::value<std::string>())(
        "expected", "DIR with output_N.pb to compare with", cxxopts::value<std::string>())(
        "report", "FILE.json that gets the whole result", cxxopts::value<std::string>())(
        "repeat", "N runs; the median time is reported", cxxopts::value<std::string>()->default_value("1"));
  }
  if (has(groups, OptionGroup::Comparison)) {
    options.add_options("Comparison")("rtol", "relative tolerance",
                                      cxxopts::value<std::string>()->default_value("1e-3"))(
        "atol", "absolute tolerance", cxxopts::value<std::string>()->default_value("1e-7"));
  }
  if (has(groups, OptionGroup::Info)) {
    options.add_options("Info")("ops", "one line an op, with inferred types")(
        "ops-supported", "every op with its version, types and whether it has a gradient")(
        "dim", "NAME=N: value of a symbolic dimension (repeatable)", cxxopts::value<std::vector<std::string>>())(
        "report", "FILE.json that gets the whole result", cxxopts::value<std::string>());
  }
  if (has(groups, OptionGroup::Session)) {
    options.add_options("Session")("threads", "N threads; 0: one a processor of the machine",
                                   cxxopts::value<std::string>()->default_value("0"))(
        "seed", "of random ops without a seed", cxxopts::value<std::string>()->default_value("0"));
  }
  for (const LaterOption& later : kLater) {
    auto value = later.takes_value ? cxxopts::value<std::string>() : cxxopts::value<bool>();
    options.add_options("Not yet available")(std::string(later.name), std::string(later.meaning), value);
  }
  options.allow_unrecognised_options();
  return options;
}

void refuse_unknown(const cxxopts::Options& options, const cxxopts::ParseResult& result,
                    const std::vector<std::string>& groups) {
  for (const std::string& word : result.unmatched()) {
    if (!word.starts_with("-")) continue;
    std::vector<std::string> names;
    for (const std::string& group : groups) {
      for (const auto& option : options.group_help(group).options) {
        if (!option.l.empty() && option.l[0] != "paths") names.push_back("--" + option.l[0]);
      }
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    throw UsageError("unknown option '{}', the nearest is '{}'", word,
                     ir::nearest(word.substr(0, word.find('=')), views));
  }
}

std::pair<std::string, std::string> name_and_value(std::string_view option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    throw UsageError("--{}: '{}' found, NAME=VALUE needed", option, text);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// The whole text as a number of at least `least`; `what` names the option.
template <class Number>
Number number(const std::string& what, const std::string& text, Number least, Number most) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [used, failure] = std::from_chars(text.data(), end, value);
  const bool fits = failure == std::errc() && used == end && value >= least && value <= most;
  if (fits) return value;
  const char* const kind = std::is_integral_v<Number> ? "whole number" : "number";
  if (most == std::numeric_limits<Number>::max()) {
    throw UsageError("{}: '{}' found, a {} of at least {} needed", what, text, kind, least);
  }
  throw UsageError("{}: '{}' found, a {} from {} to {} needed", what, text, kind, least, most);
}

template <class Number>
Number number(const cxxopts::ParseResult& result, const std::string& option, Number least,
              Number most = std::numeric_limits<Number>::max()) {
  return number("--" + option, result[option].as<std::string>(), least, most);
}

// Pairs NAME=VALUE of an option that is repeated, each name once.
std::map<std::string, std::string> pairs(const cxxopts::ParseResult& result, const std::string& option) {
  std::map<std::string, std::string> values;
  if (result.count(option) == 0) return values;
  for (const auto& text : result[option].as<std::vector<std::string>>()) {
    const auto [name, value] = name_and_value(option, text);
    if (!values.emplace(name, value).second) throw UsageError("--{} {}: given twice", option, name);
  }
  return values;
}

void read_data(const cxxopts::ParseResult& result, Options& options) {
  for (const auto& pair : pairs(result, "input")) options.inputs.push_back(pair);
  if (result.count("inputs") > 0) options.inputs_folder = result["inputs"].as<std::string>();
  options.random_seed = number<std::uint64_t>(result, "random", 0);
  if (result.count("output-dir") > 0) options.output_folder = result["output-dir"].as<std::string>();
  if (result.count("expected") > 0) options.expected_folder = result["expected"].as<std::string>();
  options.repeat = number(result, "repeat", 1);
}

void read_shared(const cxxopts::ParseResult& result, const std::vector<OptionGroup>& groups, Options& options) {
  options.help = result.count("help") > 0;
  options.quiet = result.count("quiet") > 0;
  options.verbose = result.count("verbose") > 0;
  if (result.count("paths") > 0) options.paths = result["paths"].as<std::vector<std::string>>();
  if (has(groups, OptionGroup::Data) || has(groups, OptionGroup::Info)) {
    if (result.count("report") > 0) options.report_file = result["report"].as<std::string>();
    for (const auto& [name, value] : pairs(result, "dim")) {
      options.dims[name] = number("--dim " + name, value, std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
    }
  }
  if (has(groups, OptionGroup::Comparison)) {
    options.relative = number(result, "rtol", 0.0);
    options.absolute = number(result, "atol", 0.0);
  }
  if (has(groups, OptionGroup::Session)) {
    options.threads = number(result, "threads", 0, kMostThreads);
    options.seed = number<std::uint64_t>(result, "seed", 0);
  }
}

}  // namespace

Options parse(std::string_view command, const Arguments& arguments, const std::vector<OptionGroup>& groups) {
  cxxopts::Options parser = make(command, "", groups);
  std::vector<const char*> words{"podium"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  Options options;
  try {
    const auto result = parser.parse(static_cast<int>(words.size()), words.data());
    refuse_unknown(parser, result, parser.groups());
    read_shared(result, groups, options);
    if (has(groups, OptionGroup::Data)) read_data(result, options);
    if (has(groups, OptionGroup::Info)) {
      options.list_ops = result.count("ops") > 0;
      options.list_supported = result.count("ops-supported") > 0;
    }
    for (const LaterOption& later : kLater) {
      if (result.count(std::string(later.name)) > 0) {
        throw Error("--{}: not yet available in this version, which runs models on one processor", later.name);
      }
    }
  } catch (const cxxopts::exceptions::exception& error) {
    throw UsageError("{}", error.what());
  }
  return options;
}

std::string help(std::string_view command, std::string_view what, const std::vector<OptionGroup>& groups) {
  return make(command, what, groups).help();
}

}  // namespace podium::cli
