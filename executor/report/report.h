// The report of a run: the table rows of `podium run` and the JSON of --report (fields: README.md in this
// folder).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "executor/report/crossings.h"
#include "executor/report/phases.h"
#include "executor/report/profile.h"
#include "executor/report/training_history.h"
#include "executor/schedule/bounds.h"
#include "executor/sim/timeline.h"

namespace podium::report {

inline constexpr int kReportVersion = 2;

struct OutputFacts {
  std::string name;
  std::string type;                          ///< "float[1,10]"
  std::optional<double> largest_error = {};  ///< against what was expected
  bool agrees = true;
};

enum class WhatIfKind : std::uint8_t { Strategy, Device };

/// A change that was clocked.
struct WhatIf {
  WhatIfKind kind = WhatIfKind::Strategy;
  std::string change = {};   ///< flags behind those that were given; of a device, what is doubled
  std::string refusal = {};  ///< why it cannot be; the rest says nothing then
  bool fits = false;
  double samples_per_second = 0;
  double times = 0;  ///< as many samples per second as without it
};

/// What clocked it, and which machine.
struct Provenance {
  std::string program = {};                           ///< "podium 0.1.0"
  nlohmann::json machine = nlohmann::json::object();  ///< the device as a file has it
  nlohmann::json sources = nlohmann::json::object();  ///< of each of its numbers, in words
};

/// Its fields in the JSON of what it is about: `program`, `machine` and `machineSources`.
void add_provenance(const Provenance& provenance, nlohmann::json& object);

/// What only a page shows of a run.
struct RunDetails {
  Provenance provenance = {};
  std::vector<ProfiledOp> ops = {};
  std::vector<RealOp> real_ops = {};
  std::vector<PhaseWork> phases = {};  ///< of a run in phases
};

/// What tells the model's file from others.
struct ModelFile {
  std::string crc32 = {};  ///< of its bytes, as eight hexadecimal digits
  std::int64_t bytes = 0;
};

/// `crc32` and `bytes`.
nlohmann::json to_json(const ModelFile& file);

/// The session's facts about a run, beside its timeline.
struct RunReport {
  std::string model = {};
  std::optional<ModelFile> model_file = {};
  std::string strategy = {};
  std::string device = {};
  nlohmann::json options = nlohmann::json::object();  ///< as a session's options file has them
  int micro_batches = 1;                              ///< of one replica in a step
  int updates = 1;                                    ///< of weights in a step that trains
  double samples_per_micro_batch = 1;                 ///< the leading dimension of the first input
  bool is_estimate = false;                           ///< nothing was computed
  double prepare_seconds = 0;                         ///< real time
  double run_seconds = 0;                             ///< real time; 0 of an estimate
  std::vector<double> run_times = {};                 ///< real times of all runs, ascending
  bool is_clocked = true;                             ///< else no clock has measured the timeline
  sim::Timeline timeline = {};
  std::optional<schedule::Bound> bound =
      {};  ///< of a pipeline that trains: what no schedule of its kind beats
  std::vector<Crossing> crossings = {};
  std::vector<Resharding> reshardings = {};  ///< of tensors that are cut over devices, in the graph's order
  std::vector<OutputFacts> outputs = {};
  std::vector<WhatIf> what_ifs = {};  ///< the most helpful first
  std::optional<TrainingHistory> training = {};
  std::optional<RunDetails> details = {};
};

/// The value that a share of the ascending values does not exceed: the nearest rank.
double percentile(const std::vector<double>& ascending, double share);

/// Samples of all replicas per simulated second. 0 when the step takes no time.
double samples_per_second(const RunReport& report);
/// The used share of a processor's memory on chip, or of its streaming memory where that is fuller. Above 1
/// it does not fit.
double fullness(const sim::MemoryUse& memory);
/// "3.91 MiB (44%)", "1.02 KiB (<1%)": the peak of the fullest processor.
std::string memory_share(const sim::Timeline& timeline);
/// The processor with the largest fullness; the first of several.
std::size_t fullest_processor(const sim::Timeline& timeline);
/// "ipu 1: 300.00 MiB of 897.00 MiB (weights 290.00 MiB, activations 10.00 MiB)": the largest parts of the
/// peak.
std::string memory_line(const sim::Timeline& timeline);

/// "8.7% above 171.20 ms (work of ipu 3)": the time of a step against its bound. Empty without one.
std::string gap_text(const RunReport& report);

/// Bytes over the links of a replica by kind: "ipu3->ipu4" is of the kind "ipu->ipu".
std::map<std::string, double> bytes_by_kind(const std::vector<sim::LinkReport>& links);

nlohmann::json to_json(const RunReport& report);
/// Rows of two cells for `table`, without times where there are none.
std::vector<std::vector<std::string>> rows(const RunReport& report);

}  // namespace podium::report
