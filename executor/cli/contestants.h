// The candidates that a command line compares, and the way to try them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "executor/cli/options.h"
#include "executor/compare/trial.h"

namespace podium::cli {

/// Whether a candidate is only clocked, or its numbers are computed as well. Of a what-if there is the time
/// alone: no sketch, no bound. The best that is clocked, or that is a base of what-ifs, keeps its session.
enum class Trial : std::uint8_t { Clock, WhatIf, Base, Numbers };

struct Contestants {
  compare::Request request = {};  ///< that the candidates answer
  std::vector<compare::Candidate> candidates = {};
  std::vector<std::string> outputs = {};             ///< names of the model's
  std::map<std::string, std::int64_t> assumed = {};  ///< sizes of dimensions that nobody gave one
  device::Device device = {};
  /// Tries candidates on a device, one after the other.
  std::function<std::vector<report::ComparedStrategy>(const std::vector<compare::Candidate>&, Trial,
                                                      const device::Device&, const compare::Advance&)>
      attempt = {};
};

/// Of `podium compare`. The options outlive the result.
Contestants make_contestants(const Options& options);

/// Without candidates, to try what-ifs of `run` and `train`. Each input file of inference holds the
/// micro-batches of a step of `in_files`: one, unless it says otherwise.
Contestants make_trials(const Options& options, const Strategy& in_files);

}  // namespace podium::cli
