// What happened while a model trained, step by step.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace podium::report {

struct TrainedStep {
  double loss = 0;
  double learning_rate = 0;
  double seconds = 0;                        ///< real time
  std::optional<double> gradient_norm = {};  ///< of the last update, before it is clipped
};

struct TrainedEpoch {
  std::int64_t steps = 0;               ///< at its end, those of the epochs before counted
  double loss = 0;                      ///< mean over its steps
  std::optional<double> accuracy = {};  ///< share of the samples
  std::optional<double> held_out_loss = {};
  std::optional<double> held_out_accuracy = {};
  double seconds = 0;            ///< real time
  double simulated_seconds = 0;  ///< 0 where no clock runs
};

struct TrainingHistory {
  std::vector<TrainedStep> steps = {};
  std::vector<TrainedEpoch> epochs = {};
};

/// `steps[]` and `epochs[]` of the JSON report (README.md in this folder). What is not finite is null.
nlohmann::json to_json(const TrainingHistory& history);

}  // namespace podium::report
