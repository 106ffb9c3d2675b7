// What `podium --version` prints.
#pragma once

#include <string>

namespace podium::cli {

std::string version_text();

}  // namespace podium::cli
