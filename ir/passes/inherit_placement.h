// Where ops that compute gradients run: where the op is whose gradient they compute (semantics, section 1.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// The way back: stage s is followed by its gradients in stage last_stage - s, and phases alike.
struct WayBack {
  std::optional<std::int64_t> last_stage = {};
  std::optional<std::int64_t> last_phase = {};
};

/// Of a graph whose loss comes from the op `loss`. Phases are as many as annotations name.
WayBack way_back(const Graph& graph, const Op& loss);

/// The forward op's processor and tiles, its stage and phase on the way back; what it makes is kept.
void inherit_placement(const Op& forward, Op& grown, const WayBack& way);

/// The annotations that tell where an op runs.
std::vector<Attribute> place_of(const Op& op);
/// "_VGraph1_PStage2": for names of what each place has one of.
std::string place_suffix(const std::vector<Attribute>& place);

}  // namespace podium::ir
