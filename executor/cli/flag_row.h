// A flag of the command line: one row.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/cli/command.h"
#include "executor/cli/flag_values.h"

namespace podium::cli {

/// What follows a flag; values: it may be repeated.
enum class Takes : std::uint8_t { Nothing, Value, Values };

struct FlagRow {
  std::string name;  ///< "report", or with a letter "o,output"
  Commands commands;
  std::string heading;  ///< of --help
  std::string help;
  Takes takes;
  std::function<void(Options&, const Given&)> read;
  std::string fallback = {};  ///< read where the flag is not given; "": nothing is
  std::string needs = {};     ///< the flag without which it says nothing, in commands that have that one
};

/// Every flag. The order is that of --help.
const std::vector<FlagRow>& flag_rows();

}  // namespace podium::cli
