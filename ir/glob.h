// Names that stand for several: '*', '?', '[...]'.
#pragma once

#include <string>

namespace podium::ir {

bool has_wildcard(const std::string& pattern);
/// Whether the glob matches the whole text. '*' matches '/' too.
bool matches(const std::string& glob, const std::string& text);

}  // namespace podium::ir
