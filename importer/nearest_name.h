// The name that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace podium::importer {

/// The candidate that is fewest edits away from `name` (upper and lower case count as equal); empty when none
/// is near: more than a third of its letters would have to change.
std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace podium::importer
