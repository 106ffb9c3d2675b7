#include "executor/cli/options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "executor/cli/flag_values.h"
#include "executor/cli/session_flags.h"
#include "executor/cli/write_file.h"
#include "executor/device/presets.h"
#include "executor/session/read_options.h"

namespace podium::cli {
namespace {

// More threads than any machine runs at once only use up memory.
constexpr int kMostThreads = 256;

bool has(const std::vector<OptionGroup>& groups, OptionGroup group) {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

std::string preset_list() { return fmt::format("{}", fmt::join(device::preset_names(), ", ")); }

cxxopts::Options make(std::string_view command, std::string_view what,
                      const std::vector<OptionGroup>& groups) {
  cxxopts::Options options("podium " + std::string(command), std::string(what));
  options.custom_help("[options]");
  options.positional_help("PATH...");
  options.add_options()("h,help", "print this help")("quiet", "no progress and no notes")(
      "verbose", "more detail")("paths", "", cxxopts::value<std::vector<std::string>>());
  options.parse_positional("paths");
  if (has(groups, OptionGroup::Data)) {
    options.add_options("Data")(
        "precision", "float32, float16: cast the model's float tensors (default: as they are)",
        cxxopts::value<std::string>())("input", "NAME=FILE: an input from .npy, .pb or IDX (repeatable)",
                                       cxxopts::value<std::vector<std::string>>())(
        "inputs", "DIR with input_N.pb in graph order, or NAME.npy", cxxopts::value<std::string>())(
        "random", "SEED of inputs that have no file", cxxopts::value<std::string>()->default_value("0"))(
        "dim", "NAME=N: value of a symbolic dimension (repeatable)",
        cxxopts::value<std::vector<std::string>>())("output-dir", "DIR that gets the outputs as NAME.npy",
                                                    cxxopts::value<std::string>())(
        "expected", "DIR with output_N.pb to compare with", cxxopts::value<std::string>())(
        "report", "FILE.json that gets the whole result", cxxopts::value<std::string>())(
        "repeat", "N runs; the median time is reported", cxxopts::value<std::string>()->default_value("1"));
  }
  if (has(groups, OptionGroup::Train)) add_train_flags(options);
  if (has(groups, OptionGroup::TrainingStep)) add_step_flags(options);
  if (has(groups, OptionGroup::Comparison)) {
    options.add_options("Comparison")("rtol", "relative tolerance",
                                      cxxopts::value<std::string>()->default_value("1e-3"))(
        "atol", "absolute tolerance", cxxopts::value<std::string>()->default_value("1e-7"));
  }
  if (has(groups, OptionGroup::Strategy)) {
    options.add_options("Machine")("device", "NAME of a preset, or FILE.json",
                                   cxxopts::value<std::string>()->default_value("ipu-m2000"));
    add_session_flags(options);
  }
  if (has(groups, OptionGroup::Clock)) {
    options.add_options("Simulation")("estimate", "clock only: weights are not read, nothing is computed")(
        "trace", "FILE.json that gets a timeline for Perfetto", cxxopts::value<std::string>());
  }
  if (has(groups, OptionGroup::Compare)) {
    options.add_options("Comparison of strategies")(
        "strategies", "FILE.json: a list of {\"name\", \"options\", \"annotate\"}; default: what makes sense",
        cxxopts::value<std::string>())("estimate", "clock only: weights are not read, nothing is computed");
  }
  if (has(groups, OptionGroup::Info)) {
    options.add_options("Info")("device",
                                "prints a device, a preset or FILE.json, as JSON; with --verbose what its "
                                "fields mean. Presets: " +
                                    preset_list(),
                                cxxopts::value<std::string>())("ops", "one line an op, with inferred types")(
        "ops-supported", "every op with its version, types and whether it has a gradient")(
        "dim", "NAME=N: value of a symbolic dimension (repeatable)",
        cxxopts::value<std::vector<std::string>>())("report", "FILE.json that gets the whole result",
                                                    cxxopts::value<std::string>());
  }
  if (has(groups, OptionGroup::Session)) {
    options.add_options("Session")("threads", "N threads; 0: one a processor of the machine",
                                   cxxopts::value<std::string>()->default_value("0"))(
        "seed", "of random ops without a seed", cxxopts::value<std::string>()->default_value("0"));
  }
  options.allow_unrecognised_options();
  return options;
}

void read_precision(const cxxopts::ParseResult& result, Options& options) {
  if (result.count("precision") == 0) return;
  const bool is_half =
      index_of_word("precision", result["precision"].as<std::string>(), {"float32", "float16"}) == 1;
  options.precision = is_half ? ir::DataType::Float16 : ir::DataType::Float;
}

void read_data(const cxxopts::ParseResult& result, Options& options) {
  for (const auto& pair : pairs(result, "input")) options.inputs.push_back(pair);
  if (result.count("inputs") > 0) options.inputs_folder = result["inputs"].as<std::string>();
  options.random_seed = number<std::uint64_t>(result, "random", 0);
  read_precision(result, options);
  if (result.count("output-dir") > 0) options.output_folder = result["output-dir"].as<std::string>();
  if (result.count("expected") > 0) options.expected_folder = result["expected"].as<std::string>();
  options.repeat = number(result, "repeat", 1);
}

void read_shared(const cxxopts::ParseResult& result, const std::vector<OptionGroup>& groups,
                 Options& options) {
  options.help = result.count("help") > 0;
  options.quiet = result.count("quiet") > 0;
  options.verbose = result.count("verbose") > 0;
  if (result.count("paths") > 0) options.paths = result["paths"].as<std::vector<std::string>>();
  if (has(groups, OptionGroup::Train)) {
    options.train = read_train_flags(result);
    read_precision(result, options);
  }
  if (has(groups, OptionGroup::TrainingStep)) {
    options.trains = result.count("train") > 0;
    options.train = read_step_flags(result);
  }
  if (has(groups, OptionGroup::Data) || has(groups, OptionGroup::Info) || has(groups, OptionGroup::Train)) {
    if (result.count("report") > 0) options.report_file = result["report"].as<std::string>();
    for (const auto& [name, value] : pairs(result, "dim")) {
      options.dims[name] =
          number("--dim " + name, value, std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
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

// The file first, then the flags over it.
void read_strategy(const cxxopts::ParseResult& result, Options& options) {
  options.device = result["device"].as<std::string>();
  options.names_device = result.count("device") > 0;
  options.session_json = nlohmann::json::object();
  if (result.count("options") > 0) {
    const std::string file = result["options"].as<std::string>();
    const std::string text = read_file(file);
    options.session = read_options(text, file, options.notes);
    options.session_json = nlohmann::json::parse(text);
  }
  const nlohmann::json flags = read_session_flags(result);
  options.session = read_options(flags.dump(), "command line", options.notes, std::move(options.session));
  options.session_json.merge_patch(flags);
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
      if (result.count("device") > 0) options.device = result["device"].as<std::string>();
      options.list_ops = result.count("ops") > 0;
      options.list_supported = result.count("ops-supported") > 0;
    }
    if (has(groups, OptionGroup::Strategy)) read_strategy(result, options);
    const bool can_estimate = has(groups, OptionGroup::Clock) || has(groups, OptionGroup::Compare);
    options.estimate = can_estimate && result.count("estimate") > 0;
    if (has(groups, OptionGroup::Compare) && result.count("strategies") > 0) {
      options.strategies_file = result["strategies"].as<std::string>();
    }
    if (has(groups, OptionGroup::Clock) && result.count("trace") > 0) {
      options.trace_file = result["trace"].as<std::string>();
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
