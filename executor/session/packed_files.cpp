// A file is a page with a Header, then the packed bytes as the kernel reads them. It comes under its name
// when it is complete, and its bytes are held against the header's digest whenever it is mapped: they have to
// be read for the first run in any case.
//
// Weights that lie in a model's file are known by the digest of that file and their place in it. The file's
// digest is kept under the digest of its identity (inode, size, times), so that it is read once. A file that
// was changed a moment ago is read again: it might change once more within one tick of the clock of its
// times.
#include "executor/session/packed_files.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <vector>

#include "importer/external_data.h"
#include "importer/output_file.h"

namespace podium {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 4096;  // so that packed bytes begin a page
constexpr std::array<char, 16> kMagic{"podium packed 1"};
constexpr std::string_view kPacked = ".packed";
constexpr std::string_view kModel = ".model";

struct Header {
  std::array<char, 16> magic = kMagic;
  ir::Digest key = {};
  std::int64_t bytes = 0;
  ir::Digest contents = {};
};

ir::Digest digest_of(std::span<const char> bytes) {
  return ir::Digester().add(std::as_bytes(bytes)).digest();
}

std::int64_t nanoseconds_now() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Folder : public PackedFiles, public ir::Digests {
 public:
  Folder(std::string path, std::uintmax_t most_bytes) : path_(std::move(path)) {
    remove_unfinished();
    remove_longest_unused(most_bytes);
  }

  ir::Digests& digests() override { return *this; }

  std::string trouble() const override {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

  ir::Tensor get(const ir::Digest& key, std::size_t bytes, const std::function<ir::Tensor()>& make) override {
    const fs::path file = path_ / (to_string(key) + std::string(kPacked));
    if (auto found = find(file, key, bytes)) return std::move(*found);
    ir::Tensor made = make();
    try_to_write(file, [&](importer::OutputFile& output) {
      const std::span<const char> contents(static_cast<const char*>(std::as_const(made).raw()), bytes);
      const Header header{
          .key = key, .bytes = static_cast<std::int64_t>(bytes), .contents = digest_of(contents)};
      output.write({reinterpret_cast<const char*>(&header), sizeof header});
      output.align(kHeaderBytes);
      output.write(contents);
    });
    return made;
  }

  ir::Digest of_file(const ir::FileIdentity& file, const std::function<ir::Digest()>& read) override {
    const std::string name = to_string(file.digest()) + std::string(kModel);
    const std::lock_guard lock(files_mutex_);
    if (const auto known = files_.find(name); known != files_.end()) return known->second;
    if (const auto kept = read_digest(path_ / name)) return files_[name] = *kept;
    const ir::Digest digest = files_[name] = read();
    constexpr std::int64_t kMoment = 2'000'000'000;
    if (nanoseconds_now() - std::max(file.modified, file.changed) > kMoment) {
      try_to_write(path_ / name, [&](importer::OutputFile& output) {
        output.write({reinterpret_cast<const char*>(&digest), sizeof digest});
      });
    }
    return digest;
  }

 private:
  static std::optional<ir::Digest> read_digest(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    ir::Digest digest;
    if (!file.read(reinterpret_cast<char*>(&digest), sizeof digest) || file.get() != EOF) return std::nullopt;
    return digest;
  }

  static std::optional<ir::Tensor> find(const fs::path& path, const ir::Digest& key, std::size_t bytes) {
    std::shared_ptr<const importer::MappedFile> file;
    try {
      file = std::make_shared<const importer::MappedFile>(path.string());
    } catch (const Error&) {
      return std::nullopt;
    }
    if (file->bytes().size() != kHeaderBytes + bytes) return std::nullopt;
    Header header;
    std::memcpy(&header, file->bytes().data(), sizeof header);
    if (header.magic != kMagic || header.key != key || std::cmp_not_equal(header.bytes, bytes))
      return std::nullopt;
    const auto contents = file->bytes().subspan(kHeaderBytes);
    // Advice: without it pages come one after the other as they are read.
    ::madvise(const_cast<char*>(file->bytes().data()), file->bytes().size(), MADV_POPULATE_READ);
    if (digest_of(contents) != header.contents) return std::nullopt;
    note_use(path, file->identity());
    return ir::Tensor::adopt(ir::DataType::Uint8, {static_cast<std::int64_t>(bytes)}, contents.data(), file);
  }

  // The time of the last change says when a file was used last, to the hour.
  static void note_use(const fs::path& path, const ir::FileIdentity& identity) {
    constexpr std::int64_t kHour = 3'600'000'000'000;
    if (nanoseconds_now() - identity.modified < kHour) return;
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  }

  template <class Write>
  void try_to_write(const fs::path& path, const Write& write) {
    if (!trouble().empty()) return;
    try {
      importer::OutputFile output(path.string());
      write(output);
      output.commit();
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      trouble_ = error.what();
    }
  }

  // What killed processes left of files that others have finished since.
  void remove_unfinished() const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path_, ignored)) {
      const fs::path place = fs::path(entry.path()).replace_extension();
      if (place.extension() != kPacked && place.extension() != kModel) continue;
      for (const fs::path& file : importer::unfinished_by_the_dead(place)) fs::remove(file, ignored);
    }
  }

  // A mapped file that is removed stays with who has mapped it.
  void remove_longest_unused(std::uintmax_t most_bytes) const {
    struct Entry {
      fs::file_time_type used;
      std::uintmax_t bytes;
      fs::path path;
    };
    std::vector<Entry> entries;
    std::uintmax_t total = 0;
    std::error_code failed;
    for (fs::directory_iterator at(path_, failed); !failed && at != fs::directory_iterator();
         at.increment(failed)) {
      if (at->path().extension() != kPacked) continue;
      std::error_code gone;
      const Entry entry{at->last_write_time(gone), at->file_size(gone), at->path()};
      if (gone) continue;
      total += entry.bytes;
      entries.push_back(entry);
    }
    if (total <= most_bytes) return;
    std::ranges::sort(entries, {}, [](const Entry& entry) { return std::tie(entry.used, entry.path); });
    for (const Entry& entry : entries) {
      if (total <= most_bytes) break;
      fs::remove(entry.path, failed);
      total -= entry.bytes;
    }
  }

  fs::path path_;
  mutable std::mutex mutex_;
  std::string trouble_;
  std::mutex files_mutex_;
  std::map<std::string, ir::Digest> files_;
};

}  // namespace

std::shared_ptr<PackedFiles> open_packed_files(const std::string& folder, std::uintmax_t most_bytes) {
  std::error_code failed;
  const bool is_file = fs::exists(folder, failed) && !fs::is_directory(folder, failed);
  if (is_file) throw Error("cachePath '{}': a file found, a folder needed", folder);
  fs::create_directories(folder, failed);
  if (failed) throw Error("cachePath '{}': the folder cannot be made: {}", folder, failed.message());
  return std::make_shared<Folder>(folder, most_bytes);
}

}  // namespace podium
