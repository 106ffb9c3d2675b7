// What a run gave: compared with what was expected, shown and saved.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "executor/cli/options.h"
#include "executor/compare/results.h"
#include "executor/session/session.h"
#include "importer/read_tensor.h"

namespace podium::cli {

struct OutputResult {
  std::string name;
  ir::Type type;
  bool compared = false;
  compare::Comparison comparison = {};
  std::string preview = {};  ///< its first values, with --verbose
};

/// Error when an output is of another element type than the model declares.
void check_element_types(const InferenceSession& session, const importer::Signature& signature);

/// Compares with --expected and saves to --output-dir. Error for a file that is missing or an output that
/// cannot be saved; then none is.
std::vector<OutputResult> collect(const Options& options, const importer::Signature& signature,
                                  const InferenceSession& session, std::span<const ir::Datum> outputs);

/// A line, and a second one with the preview.
std::string print(const OutputResult& output);

}  // namespace podium::cli
