// A strategy as a person types it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "executor/cli/options.h"

namespace podium::cli {

struct StrategyFlags {
  std::vector<std::string> words = {};                 ///< "--ipus", "4", "--pipeline"
  std::vector<std::string> dropped = {};               ///< switches that are off, where defaults are said
  nlohmann::json no_flags = nlohmann::json::object();  ///< options that only a file can say
};

/// Whether options that have their default are said: in a whole strategy nobody types them, in a change they
/// are what it changes to.
enum class Defaults : std::uint8_t { Unsaid, Said };

/// The flags of a document of session options.
StrategyFlags flags_of(const nlohmann::json& document, Defaults defaults = Defaults::Unsaid);

/// The words as one line for a shell.
std::string line_of(const std::vector<std::string>& words);

/// The command that runs, or trains, the command line's model under the strategy: with the options file where
/// flags alone cannot say it, and the sizes that were taken for dimensions. Without data to train on it is an
/// estimate.
std::string command_of(const Options& options, const nlohmann::json& document, const std::string& options_file,
                       const std::map<std::string, std::int64_t>& assumed);

}  // namespace podium::cli
