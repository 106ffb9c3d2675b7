// The loss scale follows how near gradients are to what float16 can hold (semantics, section 5.5).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/passes/weight_update.h"

namespace podium::ir {

/// Which float16 gradients are tracked.
enum class TrackedGradients : std::uint8_t { All, ConvAndMatMul, OfTensors };

struct AutomaticLossScaling {
  double bin_edge = 0.125;  ///< share of the largest float16 above which a number counts as large
  double threshold = 1e-7;  ///< share of large numbers above which the scale is halved; else it is doubled
  int update_period = 1;    ///< updates of weights between two of the scale
  TrackedGradients tracked = TrackedGradients::All;
  std::vector<std::string> tensors = {};  ///< for OfTensors: the tensors whose gradients are tracked
};

/// A value and the gradient that flows into it.
using Flow = std::pair<ValueId, ValueId>;

/// Error when a number is out of its range, the loss scale is constant, or `tensors` does not fit `tracked`.
void check(const AutomaticLossScaling& scaling, const Optimizer& optimizer);

/// The variable by which the loss scale is multiplied.
inline constexpr std::string_view kLossScaleFactor = "lossScaleUpdateFactor";
Term loss_scale_factor(UpdateBuilder& builder);

/// Counts the large elements of the tracked gradients of `flows` over all micro-batches and replicas and
/// updates the factor at `place`, so that the scale stays within float16. The loss scale is not to be among
/// the flows: its gradient is not one of the model. Error when no tracked gradient is a float16.
void update_loss_scale(UpdateBuilder& builder, const AutomaticLossScaling& scaling,
                       std::span<const Flow> flows, const std::vector<Attribute>& place);

}  // namespace podium::ir
