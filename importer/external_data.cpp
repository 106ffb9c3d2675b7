// A file is mapped whole and read only. Numbers of it are read where they lie, or copied by the first reader
// where they are not aligned; pages of what has been read or copied can be given back, since the file brings
// them again.
#include "importer/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "ir/error.h"

namespace podium::importer {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kOfASecond = 1'000'000'000;
  return time.tv_sec * kOfASecond + time.tv_nsec;
}

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

class NumbersInFile : public ir::NumberSource {
 public:
  NumbersInFile(std::span<const char> bytes, std::size_t alignment, std::shared_ptr<const MappedFile> file)
      : bytes_(bytes),
        is_aligned_(reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0),
        file_(std::move(file)) {}

  const void* numbers() const override {
    if (is_aligned_) return bytes_.data();
    if (const void* numbers = numbers_.load(std::memory_order_acquire)) return numbers;
    std::call_once(copied_, [&] {
      copy_ = ir::Tensor(ir::DataType::Uint8, {std::ssize(bytes_)});
      std::memcpy(copy_.raw(), bytes_.data(), bytes_.size());
      file_->leave_memory(bytes_);
      numbers_.store(copy_.raw(), std::memory_order_release);
    });
    return numbers_;
  }
  const void* bytes() const override {
    const void* copy = numbers_.load(std::memory_order_acquire);
    return copy == nullptr ? bytes_.data() : copy;
  }
  void leave_memory() const override { file_->leave_memory(bytes_); }
  std::optional<ir::Digest> digest(ir::Digests& digests) const override {
    return ir::Digester()
        .add("a part of a file")
        .add(digests.of_file(file_->identity(), [&] { return file_->digest(); }))
        .add(bytes_.data() - file_->bytes().data())
        .digest();
  }

 private:
  std::span<const char> bytes_;
  bool is_aligned_;
  std::shared_ptr<const MappedFile> file_;
  mutable std::atomic<const void*> numbers_ = nullptr;  // of the copy, once it is made
  mutable std::once_flag copied_;
  mutable ir::Tensor copy_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(path);
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) throw Error("cannot be read: {}", reason(errno));
  if (S_ISDIR(status.st_mode)) throw Error("is a directory, a file needed");
  if (!S_ISREG(status.st_mode)) throw Error("is no regular file");
  size_ = status.st_size;
  identity_ = {.device = status.st_dev,
               .inode = status.st_ino,
               .bytes = status.st_size,
               .modified = nanoseconds(status.st_mtim),
               .changed = nanoseconds(status.st_ctim)};
  if (size_ == 0) return;  // nothing can be mapped, nothing has to be
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (mapped == MAP_FAILED) throw Error("cannot be mapped: {}", reason(errno));
  data_ = static_cast<const char*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

void MappedFile::leave_memory(std::span<const char> bytes) const {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

ir::Digest MappedFile::digest() const {
  constexpr std::size_t kPart = std::size_t{8} << 20;
  ir::Digester digester;
  for (std::span<const char> left = bytes(); !left.empty();) {
    const auto part = left.first(std::min(left.size(), kPart));
    digester.add(std::as_bytes(part));
    leave_memory(part);
    left = left.subspan(part.size());
  }
  return digester.digest();
}

std::size_t alignment_of(ir::DataType type) { return std::min(ir::storage_bytes(type), alignof(double)); }

ir::Tensor tensor_in_file(ir::DataType type, ir::Dims dims, std::span<const char> bytes,
                          std::shared_ptr<const MappedFile> file) {
  return ir::Tensor::late(type, std::move(dims),
                          std::make_shared<NumbersInFile>(bytes, alignment_of(type), std::move(file)));
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
