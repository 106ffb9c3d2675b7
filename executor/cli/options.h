// The command line: options that commands share, their help and their errors.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/cli/commands.h"
#include "executor/cli/train_options.h"
#include "executor/options.h"
#include "ir/data_type.h"
#include "ir/error.h"

namespace podium::cli {

/// The command line is wrong: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

struct Options {
  std::vector<std::string> paths;                           ///< what is no option: models, folders of cases
  std::vector<std::pair<std::string, std::string>> inputs;  ///< NAME, FILE
  std::string inputs_folder;
  std::uint64_t random_seed = 0;
  std::map<std::string, std::int64_t> dims;
  std::optional<ir::DataType> precision = {};  ///< that the model's floats are cast to
  std::string output_folder;
  std::string expected_folder;
  double relative = 1e-3;
  double absolute = 1e-7;
  std::string report_file;
  std::string trace_file;
  std::string device;           ///< the name of a preset, or a file; of info "" when none is asked for
  bool names_device = false;    ///< --device was given
  std::string strategies_file;  ///< compare --strategies
  bool trains = false;          ///< compare --train
  TrainOptions train = {};
  podium::Options session = {};                            ///< of --options FILE and the flags over it
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
};

/// Options that a command takes beside --help, --quiet and --verbose.
/// Exit status of a strategy that does not fit the memory of the device.
inline constexpr int kDoesNotFit = 3;

enum class OptionGroup : std::uint8_t {
  Data,
  Comparison,
  Strategy,
  Clock,
  Compare,
  TrainingStep,
  Session,
  Info,
  Train
};

/// UsageError for an unknown option (naming the nearest), a missing or malformed value. Error for an options
/// file that cannot be read.
Options parse(std::string_view command, const Arguments& arguments, const std::vector<OptionGroup>& groups);
/// What --help prints.
std::string help(std::string_view command, std::string_view what, const std::vector<OptionGroup>& groups);

}  // namespace podium::cli
