#include "executor/cli/held_out.h"

#include <numeric>

#include "executor/session/host_arrays.h"
#include "ir/passes/make_training.h"

namespace podium::cli {

HeldOut::HeldOut(importer::Model model, const std::string& loss, const TensorsByName& weights,
                 std::optional<Classes> classes, const Samples& samples, const SessionOptions& options)
    : loss_(loss), classes_(std::move(classes)), samples_(samples) {
  std::vector<std::string> names;
  for (const auto& [name, weight] : weights) names.push_back(name);
  ir::take_weights(model.graph, names);
  SessionOptions settings{.seed = options.seed, .threads = options.threads};
  settings.strategy.anchors.try_emplace(loss_);
  if (classes_) settings.strategy.anchors.try_emplace(classes_->scores);
  session_.emplace(std::move(model), settings);
  for (const executor::HostTensor& input : session_->inputs()) {
    if (!weights.contains(input.name)) data_.push_back(input);
  }
  check_samples(samples_, data_);
  micro_batch_ = samples_of_micro_batch(data_.at(0), samples_.axes);
  if (samples_.count < micro_batch_) {
    throw Error("{}: {} samples found, at least the {} of a micro-batch needed",
                samples_.files.begin()->second, samples_.count, micro_batch_);
  }
  if (classes_) check_labels(*classes_, samples_);
}

const ir::Tensor& HeldOut::output(std::span<const ir::Datum> outputs, const std::string& name) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (session_->outputs()[i].name == name) return outputs[i].tensor;
  }
  IR_CHECK(false, "output {} does not come back", name);
}

Score HeldOut::evaluate(const TensorsByName& weights) {
  const std::int64_t batches = samples_.count / micro_batch_;
  std::vector<std::int64_t> rows(micro_batch_);
  Score score;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::iota(rows.begin(), rows.end(), batch * micro_batch_);
    std::map<std::string_view, ir::Datum> given(weights.begin(), weights.end());
    const std::vector<ir::Datum> taken = take_rows(samples_, rows, data_);
    for (std::size_t i = 0; i < data_.size(); ++i) given.emplace(data_[i].name, taken[i]);
    std::vector<ir::Datum> inputs;
    for (const executor::HostTensor& input : session_->inputs()) inputs.push_back(given.at(input.name));
    const auto outputs = session_->run(inputs);
    score.loss += cast(output(outputs, loss_), ir::DataType::Double).to_number();
    if (classes_) {
      score.tally.add(*classes_, output(outputs, classes_->scores), given.at(classes_->labels).tensor);
    }
  }
  score.loss /= static_cast<double>(batches);
  return score;
}

}  // namespace podium::cli
