// A file that appears under its name only when it is complete.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "importer/unfinished_file.h"

namespace podium::importer {

/// Whether the process of this number has written the file and is gone.
bool is_left_behind(const std::filesystem::path& file, std::string_view number);

/// What processes that were killed have begun to write for this place.
std::vector<std::filesystem::path> unfinished_by_the_dead(const std::filesystem::path& place);

/// A file written beside its place; `commit` moves it there. Without commit nothing is left. What it replaces
/// keeps its mode and owner, a link leads to the new file, and what a killed process left unfinished there
/// goes. A device or a pipe is written to directly.
class OutputFile {
 public:
  /// Error when it cannot be created.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  void write(std::span<const char> bytes);
  /// Zeros up to a multiple of `alignment`; gives the offset reached.
  std::uint64_t align(std::uint64_t alignment);
  /// Error when something could not be written.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  std::optional<UnfinishedFile> unfinished_;
  std::ofstream stream_;
  bool committed_ = false;
};

}  // namespace podium::importer
