// What `podium train` trains: the model with its loss, the samples, the optimizer.
#pragma once

#include <optional>
#include <string>

#include "executor/cli/classes.h"
#include "executor/cli/options.h"
#include "executor/cli/rate_schedule.h"
#include "executor/session/training_session.h"

namespace podium::cli {

struct TrainingJob {
  const Options& options;
  importer::Model model = {};
  std::string loss = {};
  std::optional<Classes> classes = {};
  Samples samples = {};
  std::optional<Samples> held_out = {};  ///< held-out data
  ir::Optimizer optimizer = {};
  RateSchedule schedule = {};
};

/// How a session trains it. Automatic loss scaling of the command line and the anchor of the scores are added
/// to the strategy; where its loss scale is automatic, that of the optimizer is where it begins.
TrainingOptions training_options(const TrainingJob& job, SessionOptions session);

/// The name of the value that is the norm of the gradients of a group of weights (Optimizer::clip_norms).
std::string name_of_norm(std::size_t group);

/// Reads every file that the options name, adds the loss, and looks at all that can be wrong before a session
/// is made. Without data only where nothing is computed, or where they are drawn (compare --train).
TrainingJob make_training_job(const Options& options);
/// The same of a model in memory, in the precision of the options; the samples come later.
TrainingJob make_training_job(const Options& options, importer::Model model);

}  // namespace podium::cli
