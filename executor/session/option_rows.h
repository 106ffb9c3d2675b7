// The session options: a row each, with its name in files, its member, its flag and how it is described.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "executor/session/json_rows.h"
#include "executor/strategy.h"

namespace podium {

/// The options that have an effect, or contradict others. Of options_without_effect.h are the other names
/// that a file may have.
std::span<const Row<Strategy>> option_rows();

/// What a cut does, as descriptions of strategies and names of candidates say it: "tensors cut over 4, tokens too,
/// tokens shared out among 2"; empty where nothing is cut.
std::string words_of(const TensorParallelism& cut);

/// The flags of the command line that say one option each.
std::vector<BoundFlag> option_flags();

}  // namespace podium
