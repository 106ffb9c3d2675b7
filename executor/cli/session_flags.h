// The flags that are shorthands for session options.
#pragma once

#include <vector>

#include "executor/cli/flag_row.h"

namespace podium::cli {

/// Of these rows alone.
inline constexpr const char* kStrategyHeading = "Strategy";

/// They write what they say into Options::session_json, as an options file would say it.
std::vector<FlagRow> session_flags();

}  // namespace podium::cli
