// What `podium validate` holds the simulator against: published figures, each with the command that predicts
// it. docs/cost-model.md describes the format.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "executor/cli/command.h"

namespace podium::cli {

/// What of a run is published.
enum class Quantity : std::uint8_t {
  Seconds,            ///< of the whole step
  SamplesPerSecond,   ///< of all replicas
  FlopPerSecond,      ///< of the whole step, of one processor
  ComputeSeconds,     ///< in which processor 0 computes
  ComputeRate,        ///< flop per second while processor 0 computes
  CollectiveSeconds,  ///< in which processor 0 exchanges with other replicas
};

struct ValidationRow {
  std::string group;
  std::string name;
  std::string model;  ///< as podium-models takes it, "bert batch=16", or a file
  Command command = Command::Run;
  Arguments arguments;
  nlohmann::json options = nullptr;   ///< as --options takes them
  nlohmann::json annotate = nullptr;  ///< rules, as podium annotate --rules takes them
  nlohmann::json device = nullptr;    ///< the name of a preset, or as --device takes a file
  Quantity quantity = Quantity::Seconds;
  double published = 0;  ///< in the quantity's unit
};

/// Rows of a document, series spread out. Error names `where`, the series and what was needed.
std::vector<ValidationRow> read_validation_rows(const std::string& text, const std::string& where);

/// The documents that come with the program, by name.
struct ValidationFile {
  std::string_view name;
  std::string_view text;
};
const std::vector<ValidationFile>& validation_files();

}  // namespace podium::cli
