// Files that are there whole or not at all.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace podium::cli {

/// Writes beside `path`, then renames; a device is written to as it is. Error when that cannot be done.
void write_file(const std::string& path, const std::string& text);
/// The same for what `write` puts out piece by piece.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);
/// Error when write_file could not put a file there: better known before hours of work than after.
void check_can_write(const std::string& path);

}  // namespace podium::cli
