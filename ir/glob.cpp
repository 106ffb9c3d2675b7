#include "ir/glob.h"

#include <fnmatch.h>

namespace podium::ir {

bool has_wildcard(const std::string& pattern) { return pattern.find_first_of("*?[") != std::string::npos; }

bool matches(const std::string& glob, const std::string& text) {
  return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

}  // namespace podium::ir
