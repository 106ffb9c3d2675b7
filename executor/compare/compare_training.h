// A step of training under every candidate.
#pragma once

#include <functional>
#include <vector>

#include "executor/compare/trial.h"
#include "executor/session/samples.h"
#include "executor/session/training_session.h"

namespace podium::compare {

struct TrainingContest {
  Setting setting;
  importer::Model model;
  Samples samples;  ///< those that no file holds are drawn
  /// The loss, the optimizer and what else is asked for, for such a session.
  std::function<TrainingOptions(SessionOptions)> options;
};

/// Every candidate trains from the same weights on the same samples for one step; the difference is that of
/// the weights after it to those after the same updates on one processor.
std::vector<report::ComparedStrategy> compare_training(TrainingContest contest,
                                                       const std::vector<Candidate>& candidates,
                                                       const Advance& advance);

}  // namespace podium::compare
