// The model is run under every candidate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/compare/trial.h"
#include "ir/datum.h"

namespace podium::compare {

struct InferenceContest {
  Setting setting;
  std::map<std::string, ir::Datum> given = {};  ///< inputs from files, in the model's precision
  importer::Model imported = {};
  importer::Model optimized = {};
};

/// The difference of a candidate is that of its outputs to those of one processor. Error when the model
/// cannot run on one.
std::vector<report::ComparedStrategy> compare_inference(const InferenceContest& contest,
                                                        const std::vector<Candidate>& candidates,
                                                        const Advance& advance);

}  // namespace podium::compare
