// A strategy as a person types it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "executor/cli/options.h"

namespace podium::cli {

struct StrategyFlags {
  std::vector<std::string> words = {};                 ///< "--ipus", "4", "--pipeline"
  nlohmann::json no_flags = nlohmann::json::object();  ///< options that only a file can say
};

/// The flags of a document of session options.
StrategyFlags flags_of(const nlohmann::json& document);

/// The words as one line for a shell.
std::string line_of(const std::vector<std::string>& words);

/// The command that runs, or trains, the command line's model under the strategy: with the options file where
/// flags alone cannot say it, and 1 for the dimensions that it was taken for. Without data to train on it is
/// an estimate.
std::string command_of(const Options& options, const nlohmann::json& document,
                       const std::string& options_file, const std::vector<std::string>& assumed);

}  // namespace podium::cli
