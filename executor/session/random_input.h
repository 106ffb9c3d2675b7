// Data for inputs that nobody has data for.
#pragma once

#include <cstdint>
#include <string>

#include "ir/datum.h"

namespace podium {

/// Random values of a static tensor type: floats in [-1, 1), integers small and not negative, bools even
/// odds. The same seed and name give the same values.
ir::Datum random_input(const std::string& name, const ir::Type& type, std::uint64_t seed);

}  // namespace podium
