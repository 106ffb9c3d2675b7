// The nearest known word to one that a user mistyped.
#pragma once

#include <string_view>
#include <vector>

namespace podium::ir {

/// The candidate that is fewest edits away (upper and lower case count as equal), the first of equals; ""
/// when there is none.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);
/// The same, but "" when more than a third of the word's letters would have to change.
std::string_view nearest_if_near(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace podium::ir
