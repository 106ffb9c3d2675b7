// The report of a run: the table rows of `podium run` and the JSON of --report (fields: README.md in this
// folder).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "executor/sim/timeline.h"

namespace podium::report {

inline constexpr int kReportVersion = 2;

struct OutputFacts {
  std::string name;
  std::string type;                          ///< "float[1,10]"
  std::optional<double> largest_error = {};  ///< against what was expected
  bool agrees = true;
};

/// The session's facts about a run, beside its timeline.
struct RunReport {
  std::string model = {};
  std::string strategy = {};
  std::string device = {};
  nlohmann::json options = nlohmann::json::object();  ///< as a session's options file has them
  int micro_batches = 1;                              ///< of one replica in a step
  double samples_per_micro_batch = 1;                 ///< the leading dimension of the first input
  bool is_estimate = false;                           ///< nothing was computed
  double prepare_seconds = 0;                         ///< real time
  double run_seconds = 0;                             ///< real time; 0 of an estimate
  bool is_clocked = true;                             ///< else no clock has measured the timeline
  sim::Timeline timeline = {};
  std::vector<OutputFacts> outputs = {};
};

/// Samples of all replicas per simulated second. 0 when the step takes no time.
double samples_per_second(const RunReport& report);
/// The used share of a processor's memory on chip, or of its streaming memory where that is fuller. Above 1
/// it does not fit.
double fullness(const sim::MemoryUse& memory);
/// The processor with the largest fullness; the first of several.
std::size_t fullest_processor(const sim::Timeline& timeline);
/// The bottleneck: the use of most of the processors' time, such as "compute of ipu 2, 81%" or "waiting for
/// data, 60%"; or the memory of the fullest processor when the run does not fit.
std::string bottleneck(const sim::Timeline& timeline);
/// "ipu 1: 300.00 MiB of 897.00 MiB (weights 290.00 MiB, activations 10.00 MiB)": the largest parts of the
/// peak.
std::string memory_line(const sim::Timeline& timeline);

/// Bytes over the links of a replica by kind: "ipu3->ipu4" is of the kind "ipu->ipu".
std::map<std::string, double> bytes_by_kind(const std::vector<sim::LinkReport>& links);

nlohmann::json to_json(const RunReport& report);
/// Rows of two cells for `table`, without times where there are none.
std::vector<std::vector<std::string>> rows(const RunReport& report);

}  // namespace podium::report
