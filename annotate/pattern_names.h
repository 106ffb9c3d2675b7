// The rewrites of PopART by name: models say which of them are not for a node (semantics, section 12.3).
#pragma once

#include <string_view>
#include <vector>

namespace podium::annotate {

const std::vector<std::string_view>& pattern_names();

}  // namespace podium::annotate
