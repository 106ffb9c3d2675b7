// What is tried of every candidate, whether the model is run or trained under it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/compare/candidates.h"
#include "executor/device/device.h"
#include "executor/report/comparison.h"
#include "importer/import.h"

namespace podium::compare {

/// What all candidates share.
struct Setting {
  std::string model;  ///< its name in reports
  device::Device device;
  std::uint64_t seed = 0;         ///< of random ops
  std::uint64_t random_seed = 0;  ///< of data that no file holds
  int threads = 0;
  int replicas = 1;       ///< of the options that candidates start from
  bool estimate = false;  ///< clock only
  bool draws = false;     ///< each timeline gets a sketch, for a page
  bool bounds = true;     ///< pipelines that train get their bounds
  /// Of candidates that are only estimated, whether the best is to keep its session, to be clocked on other
  /// devices; of two that are equal the one that comes first. Absent: none keeps it.
  std::function<bool(const Candidate&, const report::RunReport&)> keeps_best = nullptr;
  int oracle_steps = 0;  ///< that are followed op by op, where the numbers are computed
  double tolerance = 0;  ///< of the oracle: how far weights may lie apart in the end
};

/// What the device and the model say of candidates, beside the task and the base.
Request request_of(const device::Device& device, const importer::Model& model);

/// Writes the candidate's annotations, where it has some, to the model as it was imported. Error for numbers
/// that cannot be compared since the device makes its data.
void apply_annotations(importer::Model& model, const Candidate& candidate, const Setting& setting);

/// Called after each candidate, with what became of it.
using Advance = std::function<void(const report::ComparedStrategy&)>;

/// Of each candidate, in their order: what `run` adds to the facts that are known before, which are time,
/// memory and, once computed, the difference. An Error of it is the refusal. Candidates are tried side by
/// side where they are clocked alone, on as many threads as the setting says. Calls of `advance` never
/// overlap.
std::vector<report::ComparedStrategy> attempt_all(
    const std::vector<Candidate>& candidates, const Setting& setting, std::int64_t samples,
    const std::function<void(const Candidate&, report::ComparedStrategy&)>& run, const Advance& advance);

}  // namespace podium::compare
