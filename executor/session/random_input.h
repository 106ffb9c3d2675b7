// Data for inputs that nobody has data for.
#pragma once

#include <cstdint>
#include <string>

#include "executor/session/id_counts.h"
#include "ir/datum.h"

namespace podium {

/// Random values of a static tensor type: floats in [-1, 1), bools even odds, integers all that are ids where
/// `ids` counts them, else zeros and ones. The same seed and name give the same values.
ir::Datum random_input(const std::string& name, const ir::Type& type, const IdCounts& ids,
                       std::uint64_t seed);

}  // namespace podium
