#include "executor/cli/held_out.h"

#include <numeric>

#include "executor/session/host_arrays.h"

namespace podium::cli {
namespace {

const ir::Tensor& output_named(const InferenceSession& session, std::span<const ir::Datum> outputs,
                               const std::string& name) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (session.outputs()[i].name == name) return outputs[i].tensor;
  }
  IR_CHECK(false, "output {} does not come back", name);
}

}  // namespace

HeldOut::HeldOut(importer::Model model, std::string loss, std::optional<Classes> classes, Samples samples,
                 const SessionOptions& options)
    : model_(std::move(model)),
      loss_(std::move(loss)),
      classes_(std::move(classes)),
      samples_(std::move(samples)) {
  options_ = {.seed = options.seed, .threads = options.threads};
  options_.strategy.anchors.try_emplace(loss_);
  if (classes_) options_.strategy.anchors.try_emplace(classes_->scores);
  const InferenceSession session = session_with({});
  check_samples(samples_, session.inputs());
  micro_batch_ = whole_type(session.inputs()[0]).dims[0];
  if (samples_.count < micro_batch_) {
    throw Error("{}: {} samples found, at least the {} of a micro-batch needed",
                samples_.files.begin()->second, samples_.count, micro_batch_);
  }
  if (classes_) check_labels(*classes_, samples_);
}

InferenceSession HeldOut::session_with(const TensorsByName& weights) const {
  importer::Model model = model_;
  for (ir::Value& value : model.graph.values) {
    const auto found = weights.find(value.name);
    if (found != weights.end() && value.constant) value.constant = found->second;
  }
  return InferenceSession(std::move(model), options_);
}

Score HeldOut::evaluate(const TensorsByName& weights) const {
  InferenceSession session = session_with(weights);
  const std::int64_t batches = samples_.count / micro_batch_;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(micro_batch_));
  std::vector<executor::HostTensor> labels;
  for (const executor::HostTensor& input : session.inputs()) {
    if (classes_ && input.name == classes_->labels) labels.push_back(input);
  }
  Score score;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::iota(rows.begin(), rows.end(), batch * micro_batch_);
    const auto outputs = session.run(take_rows(samples_, rows, session.inputs()));
    score.loss += cast(output_named(session, outputs, loss_), ir::DataType::Double).to_number();
    if (!classes_) continue;
    score.tally.add(*classes_, output_named(session, outputs, classes_->scores),
                    take_rows(samples_, rows, labels)[0].tensor);
  }
  score.loss /= static_cast<double>(batches);
  return score;
}

}  // namespace podium::cli
