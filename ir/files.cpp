#include "ir/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "ir/error.h"

namespace podium::ir {
namespace {

namespace fs = std::filesystem;

Error failed_at(const fs::path& path, std::string_view what, const std::error_code& reason) {
  return Error("{}: {}: {}", path.string(), what, reason.message());
}

std::error_code last_error() { return {errno, std::generic_category()}; }

fs::file_status status_of(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::status_known(status)) throw failed_at(path, "cannot be looked up", failed);
  return status;
}

// An open file that is closed with its owner.
class OpenFile {
 public:
  // Not blocking: a named pipe without a writer is refused, not waited for.
  explicit OpenFile(const std::string& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number_ < 0) throw failed_at(path, "cannot be opened", last_error());
  }
  ~OpenFile() { ::close(number_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::string read_small_file(const std::string& path) {
  constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
  const OpenFile file(path);
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) throw failed_at(path, "cannot be read", last_error());
  if (S_ISDIR(status.st_mode)) throw Error("{}: is a directory, a file needed", path);
  if (!S_ISREG(status.st_mode)) throw Error("{}: is no regular file", path);
  if (status.st_size > kMostBytes)
    throw Error("{}: has {} bytes, at most {} needed", path, status.st_size, kMostBytes);
  std::string text(status.st_size, '\0');
  std::size_t read = 0;
  while (read < text.size()) {
    const ssize_t count = ::read(file.number(), text.data() + read, text.size() - read);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw failed_at(path, "cannot be read", last_error());
    if (count == 0) break;  // it has become shorter since
    read += count;
  }
  text.resize(read);
  return text;
}

bool is_there(const fs::path& path) { return fs::exists(status_of(path)); }
bool is_folder(const fs::path& path) { return fs::is_directory(status_of(path)); }

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failed;
  fs::directory_iterator at(folder, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) entries.push_back(at->path());
  if (failed) throw failed_at(folder, "cannot be listed", failed);
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace podium::ir
