// The command line of `podium annotate`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "annotate/rules.h"
#include "executor/cli/commands.h"

namespace podium::cli {

enum class AutomaticPlacement : std::uint8_t { Shard, Pipeline, Phases };

struct AnnotateOptions {
  std::string model;
  std::string output;                 ///< empty: nothing is written
  std::vector<annotate::Rule> rules;  ///< of --stage, --ipu and --phase
  std::string rules_file;
  std::optional<AutomaticPlacement> automatic;
  int ipus = 0;
  int phases = 0;  ///< 0: as many as the memory asks for
  std::string device;
  std::map<std::string, std::int64_t> dims;
  bool clear = false;
  bool list = false;
  bool quiet = false;
  bool help = false;
};

/// UsageError for what is no option, and for a command that would do nothing.
AnnotateOptions parse_annotate(const Arguments& arguments);
std::string annotate_help();

}  // namespace podium::cli
