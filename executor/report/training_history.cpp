#include "executor/report/training_history.h"

namespace podium::report {
namespace {

using nlohmann::json;

void add(json& object, const char* name, const std::optional<double>& figure) {
  if (figure) object[name] = *figure;
}

}  // namespace

json to_json(const TrainingHistory& history) {
  json object{{"steps", json::array()}, {"epochs", json::array()}};
  for (const TrainedStep& step : history.steps) {
    json one{{"loss", step.loss}, {"learningRate", step.learning_rate}, {"realSeconds", step.seconds}};
    add(one, "gradientNorm", step.gradient_norm);
    object["steps"].push_back(std::move(one));
  }
  for (const TrainedEpoch& epoch : history.epochs) {
    json one{{"steps", epoch.steps},
             {"loss", epoch.loss},
             {"realSeconds", epoch.seconds},
             {"simulatedSeconds", epoch.simulated_seconds}};
    add(one, "accuracy", epoch.accuracy);
    add(one, "heldOutLoss", epoch.held_out_loss);
    add(one, "heldOutAccuracy", epoch.held_out_accuracy);
    object["epochs"].push_back(std::move(one));
  }
  return object;
}

}  // namespace podium::report
