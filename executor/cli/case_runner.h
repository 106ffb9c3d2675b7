// Runs one ONNX test case: a folder with model.onnx and test_data_set_*/.
#pragma once

#include <string>

#include "executor/compare/results.h"
#include "executor/session/session.h"

namespace podium::cli {

enum class Outcome : std::uint8_t { Passed, Failed, Skipped };

struct CaseResult {
  Outcome outcome = Outcome::Passed;
  std::string reason = {};  ///< of a failure or a skip; of a pass, what was corrected (see errata.h)
  std::string output = {};  ///< of a failure: the one that differs; "" of a case that cannot run
  compare::Comparison comparison = {};  ///< of that output
  std::string unsplit = {};  ///< why the case ran on one processor although a strategy was asked for
};

/// Skipped only when a result depends on numbers drawn at random, so that the expected ones were drawn too.
/// A model that cannot be split as the strategy asks runs on one processor; every other refusal is a failure. Every micro-batch of every replica
/// gets the case's inputs and must give its outputs.
CaseResult run_case(const std::string& folder, const compare::Tolerance& tolerance,
                    const SessionOptions& session);

}  // namespace podium::cli
