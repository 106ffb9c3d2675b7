// The session options: a row each, with its name in files, its member, its flag and how it is described.
#pragma once

#include <span>
#include <vector>

#include "executor/session/json_rows.h"
#include "executor/strategy.h"

namespace podium {

/// The options that have an effect, or contradict others. Of options_without_effect.h are the other names
/// that a file may have.
std::span<const Row<Strategy>> option_rows();

/// The flags of the command line that say one option each.
std::vector<BoundFlag> option_flags();

}  // namespace podium
