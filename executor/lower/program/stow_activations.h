// Activations that wait elsewhere while no block uses them (semantics, section 7.4).
#pragma once

#include <map>
#include <string>

#include "executor/program.h"
#include "ir/placement.h"

namespace podium::lower {

/// Takes the activations of these names, which wait on compute tiles while other blocks compute, to streaming
/// memory or the IO tiles: each is stored behind the step that makes it and loaded before each step that
/// reads it; a stash waits there with all its slots. Gives how many went. Comes before plan_memory.
int stow_activations(executor::Program& program, const std::map<std::string, ir::TensorLocation>& locations);

}  // namespace podium::lower
