// What `podium info --options-supported` shows.
#pragma once

#include <string>

namespace podium::cli {

/// A table of the session options with their flags and what holds when nobody says it, then those of PopART
/// that change nothing, with the reasons.
std::string supported_options();

}  // namespace podium::cli
