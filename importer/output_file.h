// A file that appears under its name only when it is complete.
#pragma once

#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "importer/unfinished_file.h"

namespace podium::importer {

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
