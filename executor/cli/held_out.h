// Evaluates a model that is being trained on samples that it has not seen.
#pragma once

#include <optional>
#include <vector>

#include "executor/cli/classes.h"
#include "executor/session/training_session.h"

namespace podium::cli {

struct Score {
  double loss = 0;  ///< the mean over micro-batches
  Tally tally = {};
};

/// One session for all evaluations: the weights are inputs of it.
class HeldOut {
 public:
  /// `model` computes `loss`; `weights` are those that evaluate is given. Of the samples those count that
  /// fill whole micro-batches. Error when they do not fit the model.
  HeldOut(importer::Model model, const std::string& loss, const TensorsByName& weights,
          std::optional<Classes> classes, const Samples& samples, const SessionOptions& options);

  /// With these weights, on one processor.
  Score evaluate(const TensorsByName& weights);
  std::int64_t left_out() const { return samples_.count % micro_batch_; }

 private:
  const ir::Tensor& output(std::span<const ir::Datum> outputs, const std::string& name) const;

  std::string loss_;
  std::optional<Classes> classes_;
  const Samples& samples_;
  std::optional<InferenceSession> session_;
  std::vector<executor::HostTensor> data_;  ///< the inputs that are no weights
  std::int64_t micro_batch_ = 1;
};

}  // namespace podium::cli
