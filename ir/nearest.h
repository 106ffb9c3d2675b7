// The nearest known word to one that a user mistyped.
#pragma once

#include <string_view>
#include <vector>

namespace podium::ir {

/// The candidate with the smallest Levenshtein distance, the first of equals; "" when there is none.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace podium::ir
