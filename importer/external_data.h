// Files that hold the data of tensors, and tensors whose numbers stay in a file until they are read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "ir/tensor.h"

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
  /// The pages of these bytes of the file leave the process's memory; who reads them again gets them again.
  void leave_memory(std::span<const char> bytes) const;
  /// As it was when it was opened.
  const ir::FileIdentity& identity() const { return identity_; }
  /// Of the contents, which are read a part at a time: they are not all in memory at once.
  ir::Digest digest() const;

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  ir::FileIdentity identity_;
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

/// Data that are smaller are copied when they are read from the model.
inline constexpr std::size_t kStaysInFile = std::size_t{64} << 10;

/// How numbers of this type are to be aligned to be read where they lie.
std::size_t alignment_of(ir::DataType type);

/// A tensor whose data are these bytes of the file. Numbers that lie there as their type may lie are read
/// where they are; others are copied when somebody reads the first of them. The type has elements of whole
/// bytes.
ir::Tensor tensor_in_file(ir::DataType type, ir::Dims dims, std::span<const char> bytes,
                          std::shared_ptr<const MappedFile> file);

}  // namespace podium::importer
