// What a command line says, for all commands, and its help.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/cli/annotate_options.h"
#include "executor/cli/command.h"
#include "executor/cli/train_options.h"
#include "executor/strategy.h"
#include "ir/data_type.h"

namespace podium::cli {

struct Options {
  std::vector<std::string> paths;  ///< what is no option: models, folders of cases
  NamedFiles inputs;
  std::string inputs_folder;
  std::uint64_t random_seed = 0;
  std::map<std::string, std::int64_t> dims;
  std::optional<ir::DataType> precision = {};  ///< that the model's floats are cast to
  std::string output_folder;
  std::string expected_folder;
  double relative = 0;  ///< tolerances
  double absolute = 0;
  double of_largest = 0;
  std::string report_file;
  std::string trace_file;
  std::optional<std::string> device = {};  ///< the name of a preset, or a file
  std::string options_file;
  std::string strategies_file;  ///< compare --strategies
  bool trains = false;          ///< compare --train
  TrainOptions train = {};
  AnnotateOptions annotate = {};
  Strategy session = {};                                   ///< of --options FILE and the flags over it
  nlohmann::json session_json = nlohmann::json::object();  ///< the same as a file would say it
  std::vector<std::string> notes;                          ///< for stderr
  bool estimate = false;
  int threads = 0;  ///< 0: as many as the machine has processors
  std::uint64_t seed = 0;
  int repeat = 1;
  bool quiet = false;
  bool verbose = false;
  bool help = false;
  bool list_ops = false;        ///< info --ops
  bool list_supported = false;  ///< info --ops-supported
  bool list_options = false;    ///< info --options-supported
};

/// UsageError for an unknown option (naming the nearest), a missing or malformed value, and a flag without
/// the one that it needs. Error for an options file that cannot be read. With --help nothing else is read.
Options parse(Command command, const Arguments& arguments);
/// What --help prints.
std::string help(Command command);

}  // namespace podium::cli
