// The text that a person sees when a strategy does not fit the device's memory.
#pragma once

#include <string>

#include "executor/report/report.h"

namespace podium::report {

/// A table of the processors that overflow, fullest first: by how much, their largest tensors; then lines
/// that say what would help. Empty when everything fits.
std::string overflow(const RunReport& report);

}  // namespace podium::report
