// The flags that belong to several commands, or to run and info; those of session options, of training and of
// annotate are in files of their own.
#include "executor/cli/flag_row.h"

#include <fmt/ranges.h>

#include "executor/cli/annotate_options.h"
#include "executor/cli/flag_readers.h"
#include "executor/cli/memory_limit.h"
#include "executor/cli/session_flags.h"
#include "executor/cli/train_options.h"
#include "executor/cli/usage_error.h"
#include "executor/device/presets.h"
#include "ir/number_text.h"

namespace podium::cli {
namespace {

using enum Command;

// More threads than any machine runs at once only use up memory.
constexpr int kMostThreads = 256;

constexpr Commands kAll{Run, Train, Profile, Annotate, Compare, Validate, Calibrate, Test, Info};
constexpr Commands kComputing{Run, Train, Profile, Compare, Test};
constexpr Commands kWithData{Run, Profile, Compare};

void read_precision(Options& options, const Given& given) {
  options.precision = given.word({"float32", "float16"}) == 1 ? ir::DataType::Float16 : ir::DataType::Float;
}

void read_memory_limit(Options& options, const Given& given) {
  options.memory_limit = byte_count("--memory-limit", given.text());
}

void read_dims(Options& options, const Given& given) {
  for (const auto& [name, value] : given.pairs())
    options.dims[name] = number("--dim " + name, value, std::int64_t{0});
}

std::vector<double> numbers_in(const std::string& flag, const std::string& text) {
  if (text == "true" || text == "false") return {text == "true" ? 1.0 : 0.0};
  std::vector<double> numbers;
  for (const std::string& item : items_of(text)) {
    const auto value = ir::number_of<double>(item);
    if (!value)
      throw UsageError("{}: '{}' found, true, false, a number or numbers with commas needed", flag, text);
    numbers.push_back(*value);
  }
  return numbers;
}

void read_constants(Options& options, const Given& given) {
  for (const auto& [name, value] : given.pairs())
    options.constants[name] = numbers_in("--constant " + name, value);
}

std::vector<FlagRow> general_flags() {
  return {
      {"h,help", kAll, "", "print this help", Takes::Nothing, set(&Options::help)},
      {"quiet", kAll, "", "no progress and no notes", Takes::Nothing, set(&Options::quiet)},
      {"verbose",
       {Run, Train, Compare, Test, Info},
       "",
       "more detail",
       Takes::Nothing,
       set(&Options::verbose)},
      {"memory-limit", kAll, "",
       "SIZE (512MiB, 2GB) of memory to use at most; status 3 where it is too little", Takes::Value,
       read_memory_limit},
      {"threads",
       {Run, Train, Profile, Compare, Calibrate, Test},
       "Session",
       "N threads; 0: one a processor of the machine",
       Takes::Value,
       set_number(&Options::threads, 0, kMostThreads),
       "0"},
      {"seed", kComputing, "Session", "of random ops without a seed", Takes::Value,
       set_number<std::uint64_t>(&Options::seed, 0), "0"},
  };
}

std::vector<FlagRow> data_flags() {
  constexpr const char* kData = "Data";
  return {
      {"precision",
       {Run, Train, Profile, Compare},
       kData,
       "float32, float16: cast the model's float tensors (default: as they are)",
       Takes::Value,
       read_precision},
      {"input", kWithData, kData, "NAME=FILE: an input from .npy, .pb or IDX (repeatable)", Takes::Values,
       set_pairs(&Options::inputs)},
      {"input",
       {Train},
       kData,
       "NAME=FILE: training data from .npy, .pb or IDX, leading dimension = samples (or --sample-axis), as they "
       "are, or micro-batches in the shape of the input; integers are cast to the input's type (repeatable)",
       Takes::Values,
       set_pairs(&Options::inputs)},
      {"inputs", kWithData, kData, "DIR with input_N.pb in graph order, or NAME.npy", Takes::Value,
       set_text(&Options::inputs_folder)},
      {"random", kWithData, kData, "SEED of inputs that have no file", Takes::Value,
       set_number<std::uint64_t>(&Options::random_seed, 0), "0"},
      {"dim",
       {Run, Train, Profile, Annotate, Compare, Info},
       kData,
       "NAME=N: size of a symbolic dimension; INPUT:AXIS=N: of one without a name; '*=N': of all others "
       "(repeatable)",
       Takes::Values,
       read_dims},
      {"constant",
       {Run, Train, Profile, Compare, Info},
       kData,
       "INPUT=N or N,N,...: an input that is so in every run, so that what it decides is known beforehand: the branch "
       "of an If, trips of a loop, sizes (repeatable)",
       Takes::Values,
       read_constants},
      {"output-dir",
       {Run},
       kData,
       "DIR that gets the outputs as NAME.npy",
       Takes::Value,
       set_text(&Options::output_folder)},
      {"expected",
       {Run},
       kData,
       "DIR with output_N.pb or NAME.npy to compare with, such as --output-dir of another run",
       Takes::Value,
       set_text(&Options::expected_folder)},
      {"report",
       {Run, Train, Profile, Compare, Validate, Info},
       kData,
       "FILE.json that gets the whole result",
       Takes::Value,
       set_text(&Options::report_file)},
      {"html",
       {Run, Train, Profile, Compare},
       kData,
       "FILE.html that gets a page with the whole result, to be opened in a browser; with what would help",
       Takes::Value,
       set_text(&Options::html_file)},
      {"repeat",
       {Run},
       kData,
       "N runs after one that is not timed: the median time, and those of the slowest",
       Takes::Value,
       set_number(&Options::repeat, 1),
       "1"},
      {"rtol",
       {Run, Compare, Test},
       "Comparison",
       "relative tolerance",
       Takes::Value,
       set_number(&Options::relative, 0.0),
       "1e-3"},
      {"atol",
       {Run, Compare, Test},
       "Comparison",
       "absolute tolerance",
       Takes::Value,
       set_number(&Options::absolute, 0.0),
       "1e-7"},
      {"tolerance-of-largest",
       {Run, Test},
       "Comparison",
       "tolerance as a part of the largest number of an output, beside the other two",
       Takes::Value,
       set_number(&Options::of_largest, 0.0),
       "0"},
  };
}

std::vector<FlagRow> simulation_flags() {
  return {
      {"device",
       {Run, Train, Profile, Annotate, Compare, Test},
       "Machine",
       fmt::format("NAME of a preset, NAME:nodes=N of so many machines, host (after podium calibrate), or "
                   "FILE.json (default: {})",
                   device::kDefaultPreset),
       Takes::Value,
       set_text(&Options::device)},
      {"estimate",
       {Run, Train, Compare},
       "Simulation",
       "clock only: weights are not read, nothing is computed",
       Takes::Nothing,
       set(&Options::estimate)},
      {"print-schedule",
       {Run, Train},
       "Simulation",
       "a chart of the passes of a pipeline that is placed automatically (F, I, W, B with the micro-batch)",
       Takes::Nothing,
       set(&Options::print_schedule)},
      {"trace",
       {Run, Train},
       "Simulation",
       "FILE.json that gets a timeline for Perfetto and speedscope",
       Takes::Value,
       set_text(&Options::trace_file)},
      {"strategies",
       {Compare},
       "Comparison of strategies",
       "FILE.json: a list of {\"name\", \"options\", \"annotate\"}; default: what makes sense",
       Takes::Value,
       set_text(&CompareOptions::strategies_file)},
      {"no-verify",
       {Compare},
       "Comparison of strategies",
       "clock alone, run nothing",
       Takes::Nothing,
       [](Options& options, const Given&) { options.compare.verified = 0; }},
      {"verify-only",
       {Compare},
       "Comparison of strategies",
       "N: run the N best and compare their numbers with those of one processor (default: all)",
       Takes::Value,
       [](Options& options, const Given& given) { options.compare.verified = given.number(0); }},
      {"oracle",
       {Compare},
       "Comparison of strategies",
       "each computed strategy is followed op by op: equal to the bit to one processor, equal but for the order of "
       "sums within their bounds, or the first tensor where they part",
       Takes::Nothing,
       set(&CompareOptions::oracle)},
      {"steps",
       {Compare},
       "Comparison of strategies",
       "N steps that are followed (default: 1)",
       Takes::Value,
       set_number(&CompareOptions::oracle_steps, 1),
       "",
       "oracle"},
      {"save",
       {Compare},
       "Comparison of strategies",
       "DIR that gets the options of each strategy, and commands.txt with the command that runs it",
       Takes::Value,
       set_text(&CompareOptions::save_folder)},
      {"explain",
       {Run, Train, Compare},
       "Simulation",
       "what the time goes into, what crosses between processors, and what would help, by the clock; of "
       "compare, what a sample's time is made of in each strategy",
       Takes::Nothing,
       set(&Options::explain)},
  };
}

std::vector<FlagRow> profile_flags() {
  constexpr const char* kProfile = "Profile";
  return {
      {"real",
       {Profile},
       kProfile,
       "run the model as well, on random inputs, and print what the ops of the engine take on this machine",
       Takes::Nothing,
       set(&ProfileOptions::is_real)},
      {"sort",
       {Profile},
       kProfile,
       "time, flop, bytes, name (default: time)",
       Takes::Value,
       [](Options& options, const Given& given) {
         options.profile.order =
             static_cast<report::ProfileOrder>(given.word({"time", "flop", "bytes", "name"}));
       }},
      {"filter",
       {Profile},
       kProfile,
       "GLOB on the names of ops",
       Takes::Value,
       set_text(&ProfileOptions::filter)},
      {"top",
       {Profile},
       kProfile,
       "N rows of each table; 0: all",
       Takes::Value,
       set_number(&ProfileOptions::rows, 0),
       "25"},
  };
}

std::vector<FlagRow> calibrate_flags() {
  constexpr const char* kCalibrate = "Calibration";
  constexpr double kLongest = 3600;
  return {
      {"save",
       {Calibrate},
       kCalibrate,
       "FILE.json that gets the device, in place of those that --device host reads",
       Takes::Value,
       set_text(&CalibrateOptions::file)},
      {"seconds",
       {Calibrate},
       kCalibrate,
       "N: about so long; everything is measured at least three times",
       Takes::Value,
       set_number(&CalibrateOptions::seconds, 0.0, kLongest),
       "40"},
  };
}

std::vector<FlagRow> info_flags() {
  constexpr const char* kInfo = "Info";
  return {
      {"device",
       {Info},
       kInfo,
       fmt::format("prints a device, a preset or FILE.json, as JSON; with --verbose what its fields mean. "
                   "Presets: {}",
                   fmt::join(device::preset_names(), ", ")),
       Takes::Value,
       set_text(&Options::device)},
      {"configuration",
       {Info},
       kInfo,
       "NAME of a device configuration of the model: what each device holds of the tensors it cuts",
       Takes::Value,
       set_text(&Options::configuration)},
      {"ops", {Info}, kInfo, "one line an op, with inferred types", Takes::Nothing, set(&Options::list_ops)},
      {"ops-supported",
       {Info},
       kInfo,
       "every op with its version, types and whether it has a gradient",
       Takes::Nothing,
       set(&Options::list_supported)},
      {"options-supported",
       {Info},
       kInfo,
       "every session option with its default and its flag, and what of PopART's changes nothing, and why",
       Takes::Nothing,
       set(&Options::list_options)},
  };
}

}  // namespace

const std::vector<FlagRow>& flag_rows() {
  static const std::vector<FlagRow> kRows = [] {
    std::vector<FlagRow> rows;
    for (auto make : {general_flags, data_flags, train_flags, simulation_flags, session_flags, profile_flags,
                      calibrate_flags, info_flags, annotate_flags}) {
      for (FlagRow& row : make()) rows.push_back(std::move(row));
    }
    return rows;
  }();
  return kRows;
}

}  // namespace podium::cli
