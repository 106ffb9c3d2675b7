// Evaluates a model that is being trained on samples that it has not seen.
#pragma once

#include <optional>

#include "executor/cli/classes.h"
#include "executor/session/training_session.h"

namespace podium::cli {

struct Score {
  double loss = 0;  ///< the mean over micro-batches
  Tally tally = {};
};

class HeldOut {
 public:
  /// `model` computes `loss`; of the samples those count that fill whole micro-batches. Error when they do
  /// not fit it.
  HeldOut(importer::Model model, std::string loss, std::optional<Classes> classes, Samples samples,
          const SessionOptions& options);

  /// With these weights, on one processor.
  Score evaluate(const TensorsByName& weights) const;
  std::int64_t left_out() const { return samples_.count % micro_batch_; }

 private:
  InferenceSession session_with(const TensorsByName& weights) const;

  importer::Model model_;
  std::string loss_;
  std::optional<Classes> classes_;
  Samples samples_;
  SessionOptions options_;
  std::int64_t micro_batch_ = 1;
};

}  // namespace podium::cli
