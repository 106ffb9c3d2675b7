// Files that are there whole or not at all.
#pragma once

#include <string>

namespace podium::cli {

/// Writes to a temporary name beside `path`, then renames. Error when that cannot be done.
void write_file(const std::string& path, const std::string& text);
/// The whole file. Error when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace podium::cli
