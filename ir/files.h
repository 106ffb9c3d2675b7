// Questions to the file system whose failures are Errors that name the file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace podium::ir {

/// The bytes of a regular file of at most 64 MiB: options, rules, devices and what else people write. Error,
/// before anything is read, for a folder, a device, a pipe or a larger file.
std::string read_small_file(const std::string& path);

/// False when there is nothing of the name. Error when that cannot be told: a closed folder, a ring of links.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
/// What is in a folder, in order of the names.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace podium::ir
