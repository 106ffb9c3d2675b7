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

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.part{}", path_, ::getpid())) {
  if (fs::is_directory(path_)) throw Error("is a directory, a file needed");
  errno = 0;
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) throw cannot_write();
}

OutputFile::~OutputFile() {
  if (committed_) return;
  stream_.close();
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

void OutputFile::commit() {
  errno = 0;
  stream_.close();
  if (!stream_) throw cannot_write();
  std::error_code failed;
  fs::rename(temporary_, path_, failed);
  if (failed) throw Error("cannot be written: {}", failed.message());
  committed_ = true;
}

}  // namespace podium::importer
