// Where a loss that is no number comes from.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "executor/cli/training_data.h"
#include "executor/session/training_session.h"

namespace podium::cli {

/// The first tensor that holds NaN or infinity when the model, given its weights, runs on the samples at
/// `rows`, one micro-batch: a weight, an input, or else in the order of the nodes. Nothing when all are
/// finite.
std::optional<std::string> first_infinite(importer::Model model, const TensorsByName& weights,
                                          const Samples& samples, std::span<const std::int64_t> rows,
                                          const SessionOptions& options);

}  // namespace podium::cli
