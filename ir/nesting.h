// How deep text nests, before a parser that calls itself for each level reads it.
#pragma once

#include <string_view>

namespace podium::ir {

/// JSON that people write nests a few levels; its parser takes itself apart by recursion.
inline constexpr int kDeepestJson = 200;

/// Error, with the line, where round, square or curly brackets outside of double quotes and of comments (from
/// # to the end of the line) nest deeper than `deepest` levels.
void check_nesting(std::string_view text, int deepest);

}  // namespace podium::ir
