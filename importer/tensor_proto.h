// TensorProto to Tensor and back.
#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "importer/external_data.h"
#include "ir/tensor.h"

namespace podium::importer {

/// The raw data of tensors that were not read with the model they belong to, but left in its file.
struct DataLeftInFile {
  std::shared_ptr<const MappedFile> file = {};
  std::unordered_map<const onnx::TensorProto*, std::span<const char>> of = {};
};

/// Reads tensors whose protos belong to one message. The length of the data is compared with the shape before
/// memory is allocated.
class TensorReader {
 public:
  TensorReader() = default;
  /// `owner` keeps the protos alive: a tensor whose raw data lie aligned in one borrows them. Absent: data
  /// are copied. `files`: where external data lie; absent: there can be none. `left`: of the same message.
  TensorReader(std::shared_ptr<const void> owner, std::shared_ptr<ExternalFiles> files,
               DataLeftInFile left = {})
      : owner_(std::move(owner)), files_(std::move(files)), left_(std::move(left)) {}

  ir::Tensor read(const onnx::TensorProto& proto) const;
  /// Makes a sparse tensor dense: elements that it does not list are zeros (empty strings).
  ir::Tensor read(const onnx::SparseTensorProto& proto) const;

 private:
  std::shared_ptr<const void> owner_;
  std::shared_ptr<ExternalFiles> files_;
  DataLeftInFile left_;
};

/// Where a tensor's external data lie.
struct ExternalRange {
  std::string location = {};
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
/// Reads where a proto's external data lie; without a length, as many bytes as the shape needs. Error for
/// keys that are no numbers.
ExternalRange external_range(const onnx::TensorProto& proto);
/// Error when the file is too short.
std::span<const char> external_bytes(const MappedFile& file, const ExternalRange& range);

/// Bytes that a tensor of this type and shape takes in ONNX's packed form. Error when they cannot be counted.
std::uint64_t packed_bytes(ir::DataType type, const ir::Dims& dims);

/// 1..28 as ONNX numbers element types; Error otherwise.
ir::DataType data_type_from(int number);

/// Everything in raw_data (elements narrower than a byte packed), strings in string_data.
onnx::TensorProto tensor_to_proto(const ir::Tensor& tensor, const std::string& name);

/// A file format without bfloat16 and 8-bit or smaller floats and integers carries their bits in integers:
/// gives uint16 as bfloat16 (float8 from uint8, int4 from int8, ...) when that is the wanted type, else the
/// tensor as it is.
ir::Tensor as_declared(ir::Tensor tensor, ir::DataType wanted);

}  // namespace podium::importer
