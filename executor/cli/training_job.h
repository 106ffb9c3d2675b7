// What `podium train` trains: the model with its loss, the samples, the optimizer.
#pragma once

#include <optional>
#include <string>

#include "executor/cli/held_out.h"
#include "executor/cli/options.h"
#include "executor/cli/rate_schedule.h"

namespace podium::cli {

struct TrainingJob {
  const Options& options;
  importer::Model model = {};
  std::string loss = {};
  std::optional<Classes> classes = {};
  Samples samples = {};
  std::optional<HeldOut> held_out = {};
  ir::Optimizer optimizer = {};
  RateSchedule schedule = {};
};

/// Reads every file that the options name, adds the loss, and looks at all that can be wrong before a session
/// is made.
TrainingJob make_training_job(const Options& options);

}  // namespace podium::cli
