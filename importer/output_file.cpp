#include "importer/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "ir/error.h"

namespace podium::importer {
namespace {

namespace fs = std::filesystem;

Error cannot_write() { return Error("cannot be written: {}", std::generic_category().message(errno)); }

// A link stays a link: the file that it leads to is the one to replace.
std::string place_of(const std::string& path) {
  std::error_code failed;
  const fs::path place = fs::canonical(path, failed);
  return failed ? path : place.string();
}

// Devices and pipes are written to directly; a file renamed to their name would replace them.
bool is_special(const std::string& path) {
  std::error_code failed;
  return fs::exists(path, failed) && !fs::is_regular_file(path, failed);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  std::error_code failed;
  if (fs::is_directory(path_, failed)) throw Error("is a directory, a file needed");
  if (!is_special(path_)) path_ = place_of(path_);
  temporary_ = is_special(path_) ? path_ : fmt::format("{}.part{}", path_, ::getpid());
  if (temporary_ != path_) unfinished_.emplace(temporary_);
  errno = 0;
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) throw cannot_write();
}

OutputFile::~OutputFile() {
  if (committed_) return;
  stream_.close();
  if (temporary_ == path_) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void OutputFile::write(std::span<const char> bytes) {
  stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::uint64_t OutputFile::align(std::uint64_t alignment) {
  auto at = static_cast<std::uint64_t>(stream_.tellp());
  for (; at % alignment != 0; ++at) stream_.put('\0');
  return at;
}

// Where a write has failed before, errno is still that of it.
void OutputFile::commit() {
  if (stream_) errno = 0;
  stream_.close();
  if (!stream_) throw cannot_write();
  std::error_code failed;
  if (temporary_ != path_) fs::rename(temporary_, path_, failed);
  if (failed) throw Error("cannot be written: {}", failed.message());
  committed_ = true;
}

}  // namespace podium::importer
