// A file is written under another name beside its place, NAME.part and its process in eight digits, with the
// mode and the owner of what it will replace, brought to the disk and renamed. What processes that are gone
// have left under such names goes first. A device or a pipe is written to directly.
#include "importer/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <vector>

#include "ir/error.h"
#include "ir/number_text.h"

namespace podium::importer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPart = ".part";

Error cannot_write() { return Error("cannot be written: {}", std::generic_category().message(errno)); }

// A link stays a link: the file that it leads to is the one to replace, or to make where there is none yet.
std::string place_of(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code failed;
  const fs::path there = fs::canonical(path, failed);
  if (!failed) return there.string();
  fs::path place = path;
  for (int i = 0; fs::is_symlink(place, failed); ++i) {
    const fs::path target = fs::read_symlink(place, failed);
    if (failed || i == kMostLinks) throw Error("cannot be written: its links lead nowhere");
    place = place.parent_path() / target;
  }
  return place.string();
}

// Archives in parts count with few digits, and in a container a process has few: written with as many as no
// archive counts, a name tells that it is ours.
constexpr std::size_t kDigits = 8;
// Earlier releases wrote the number as it was. Of theirs, those go that are too long for an archive's.
constexpr std::size_t kFewestDigits = 4;

std::string unfinished_name(const std::string& path) {
  return fmt::format("{}{}{:0{}}", path, kPart, ::getpid(), kDigits);
}

// A new file, as open to others as the one that it will replace.
void create(const std::string& temporary, const std::string& place) {
  struct stat before = {};
  const bool replaces = ::stat(place.c_str(), &before) == 0;
  ::unlink(temporary.c_str());  // of this process: left where a signal came at a bad moment
  constexpr mode_t kUsual = 0666;
  const mode_t mode = replaces ? before.st_mode & 07777 : kUsual;
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) throw cannot_write();
  if (replaces) {
    // Only root can give a file away: where it cannot be, it is the writer's.
    const bool is_given = ::fchown(file, before.st_uid, before.st_gid) == 0;
    ::fchmod(file, is_given ? mode : mode & 0777);
  }
  ::close(file);
}

// So that a power cut after the renaming does not leave an empty file.
void wait_for_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const bool failed = ::fsync(file) != 0 && errno != EINVAL && errno != EROFS;
  const int error = errno;
  ::close(file);
  errno = error;
  if (failed) throw cannot_write();
}

// Devices and pipes are written to directly; a file renamed to their name would replace them.
bool is_special(const std::string& path) {
  std::error_code failed;
  return fs::exists(path, failed) && !fs::is_regular_file(path, failed);
}

}  // namespace

bool is_left_behind(const fs::path& file, std::string_view number) {
  const auto process = ir::number_of<pid_t>(number);
  if (!process || *process <= 0) return false;
  struct stat status = {};
  const bool is_ours =
      ::lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  return is_ours && ::kill(*process, 0) != 0 && errno == ESRCH;
}

std::vector<fs::path> unfinished_by_the_dead(const fs::path& place) {
  const std::string begin = place.filename().string() + std::string(kPart);
  std::vector<fs::path> found;
  std::error_code failed;
  const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
  for (fs::directory_iterator at(folder, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(begin)) continue;
    const std::string_view number = std::string_view(name).substr(begin.size());
    const bool is_long = number.size() >= kFewestDigits && number.size() <= kDigits;
    if (is_long && is_left_behind(at->path(), number)) found.push_back(at->path());
  }
  return found;
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  std::error_code failed;
  if (fs::is_directory(path_, failed)) throw Error("is a directory, a file needed");
  if (!is_special(path_)) path_ = place_of(path_);
  temporary_ = is_special(path_) ? path_ : unfinished_name(path_);
  if (temporary_ != path_) {
    for (const fs::path& file : unfinished_by_the_dead(path_)) fs::remove(file, failed);
    unfinished_.emplace(temporary_);
    create(temporary_, path_);
  }
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
  std::uint64_t at = stream_.tellp();
  for (; at % alignment != 0; ++at) stream_.put('\0');
  return at;
}

// Where a write has failed before, errno is still that of it.
void OutputFile::commit() {
  if (stream_) errno = 0;
  stream_.close();
  if (!stream_) throw cannot_write();
  std::error_code failed;
  if (temporary_ != path_) wait_for_disk(temporary_);
  if (temporary_ != path_) fs::rename(temporary_, path_, failed);
  if (failed) throw Error("cannot be written: {}", failed.message());
  committed_ = true;
}

}  // namespace podium::importer
