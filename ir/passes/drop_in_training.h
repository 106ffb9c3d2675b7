// Dropout of models that leave it to who runs them whether it drops.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace podium::ir {

/// Of a Dropout that drops wherever the model is trained (semantics, section 11.2): up to opset 11 it has no
/// input that says so.
inline constexpr AttributeName kDropsInTraining = "__drops_in_training";

/// Gives these ops, in bodies too, the input that makes them drop. True where there were some.
bool drop_in_training(Graph& graph);

}  // namespace podium::ir
