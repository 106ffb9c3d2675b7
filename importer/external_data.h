// Files that hold the data of tensors outside the model's file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace podium::importer {

/// A whole file mapped into memory, read only. Pages come from the disk when they are touched.
class MappedFile {
 public:
  /// Error when the path is no file that can be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const char> bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The external files of one model, each mapped once.
class ExternalFiles {
 public:
  /// `folder` is the folder of the model's file; locations are relative to it and stay inside it.
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}

  /// Error when the location is absolute, leads out of the folder (".." or a link), or is no file.
  std::shared_ptr<const MappedFile> open(const std::string& location);

 private:
  std::string folder_;
  std::unordered_map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace podium::importer
