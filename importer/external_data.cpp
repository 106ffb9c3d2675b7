#include "importer/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "ir/error.h"

namespace podium::importer {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  // Not blocking: a named pipe without a writer is refused, not waited for.
  explicit Descriptor(const std::string& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number_ < 0) throw Error("cannot be opened: {}", reason(errno));
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(path);
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) throw Error("cannot be read: {}", reason(errno));
  if (S_ISDIR(status.st_mode)) throw Error("is a directory, a file needed");
  if (!S_ISREG(status.st_mode)) throw Error("is no regular file");
  size_ = status.st_size;
  if (size_ == 0) return;  // nothing can be mapped, nothing has to be
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (mapped == MAP_FAILED) throw Error("cannot be mapped: {}", reason(errno));
  data_ = static_cast<const char*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

std::shared_ptr<const MappedFile> ExternalFiles::open(const std::string& location) try {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  const fs::path relative(location);
  if (location.empty()) throw Error("has no name");
  if (location.find('\0') != std::string::npos) throw Error("is no file name");
  if (relative.is_absolute()) throw Error("is an absolute path, one relative to the model needed");
  std::error_code failed;
  const fs::path home = fs::weakly_canonical(fs::absolute(folder_.empty() ? "." : folder_), failed);
  const fs::path path = failed ? fs::path() : fs::weakly_canonical(home / relative, failed);
  if (failed) throw Error("cannot be opened: {}", failed.message());
  const auto [end_of_home, unused] = std::mismatch(home.begin(), home.end(), path.begin(), path.end());
  if (end_of_home != home.end()) throw Error("leads out of the model's folder");
  return files_[location] = std::make_shared<const MappedFile>(path.string());
} catch (const Error& error) {
  throw error.at(fmt::format("external data '{}'", location));
}

}  // namespace podium::importer
