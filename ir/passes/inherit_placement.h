// Where ops that compute gradients run: where the op is whose gradient they compute (semantics, section 1.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// The way back: stage s is followed by its gradients in stage last_stage - s, and phases alike.
struct WayBack {
  std::optional<std::int64_t> last_stage = {};
  std::optional<std::int64_t> last_phase = {};
};

/// The way back through forward ops of which `loss` makes the loss. Phases are counted by the annotations.
WayBack way_back(std::span<const Op> forward, const Op& loss);

/// Gives `grown` the processor, the tiles and the type of partial sums of the forward op, and the stage and
/// phase that mirror the forward op's on the way back. The outputs of `grown` are not recomputed.
void inherit_placement(const Op& forward, Op& grown, const WayBack& way);

/// The annotations that tell where an op runs.
std::vector<Attribute> place_of(const Op& op);
/// "_VGraph1_PStage2": a suffix for the names of things that exist once for each place.
std::string place_suffix(const std::vector<Attribute>& place);

}  // namespace podium::ir
