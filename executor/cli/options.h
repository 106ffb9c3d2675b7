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
#include "executor/cli/calibrate_options.h"
#include "executor/cli/command.h"
#include "executor/cli/train_options.h"
#include "executor/report/profile.h"
#include "executor/strategy.h"
#include "ir/data_type.h"

namespace podium::cli {

/// A flag as it was typed.
struct GivenFlag {
  std::string name;
  std::vector<std::string> values = {};  ///< none of a switch
  bool is_strategy = false;              ///< it says a session option
};

/// What compare alone is told.
struct CompareOptions {
  std::string strategies_file;
  std::string save_folder;      ///< gets the options and the command of each strategy
  std::optional<int> verified;  ///< so many of the best are computed; absent: all
  std::vector<int> processors;  ///< --ipus with several numbers: a table of scaling
  bool oracle = false;          ///< values are followed op by op
  int oracle_steps = 1;         ///< so many steps
};

/// What profile alone is told.
struct ProfileOptions {
  bool is_real = false;  ///< the model is run, and the engine's ops are timed
  std::string filter;    ///< a glob on names
  int rows = 25;         ///< of a table; 0: all
  report::ProfileOrder order = report::ProfileOrder::Time;
};

struct Options {
  std::vector<std::string> paths;  ///< what is no option: models, folders of cases
  NamedFiles inputs;
  std::string inputs_folder;
  std::uint64_t random_seed = 0;
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::vector<double>> constants;  ///< inputs that are the same in every run
  std::optional<ir::DataType> precision = {};            ///< that the model's floats are cast to
  std::string output_folder;
  std::string expected_folder;
  double relative = 0;  ///< tolerances
  double absolute = 0;
  double of_largest = 0;
  std::string report_file;
  std::string trace_file;
  std::string html_file;
  std::optional<std::string> device = {};  ///< the name of a preset, or a file
  std::string options_file;
  CompareOptions compare = {};
  ProfileOptions profile = {};
  std::vector<GivenFlag> given;  ///< in the order of the rows of flags
  bool explain = false;          ///< what limits the run and what would help
  bool trains = false;           ///< compare --train
  TrainOptions train = {};
  AnnotateOptions annotate = {};
  CalibrateOptions calibrate = {};
  Strategy session = {};                                   ///< of --options FILE and the flags over it
  nlohmann::json session_json = nlohmann::json::object();  ///< the same as a file would say it
  std::vector<std::string> notes;                          ///< for stderr
  bool estimate = false;
  bool print_schedule = false;
  int threads = 0;  ///< 0: as many as the machine has processors
  std::uint64_t seed = 0;
  int repeat = 1;
  std::int64_t memory_limit = 0;  ///< in bytes; 0: none
  bool quiet = false;
  bool verbose = false;
  bool help = false;
  std::string configuration;    ///< info --configuration; "": none
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
