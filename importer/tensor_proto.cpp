// A tensor's data come in one of three places: raw_data (little-endian bytes, taken by reference where they
// are aligned), a field of the type (int32_data, float_data, ...), or a file beside the model (location,
// offset, length). Elements below 8 bits are packed from the lowest bit on in files and take a byte each in
// memory. Sizes are checked before memory is taken, and a sparse tensor is made dense up to 1 GiB.
#include "importer/tensor_proto.h"

#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "ir/error.h"
#include "ir/number_text.h"

namespace podium::importer {

using ir::DataType;
using ir::Dims;
using ir::Tensor;

static_assert(std::endian::native == std::endian::little, "raw data are little-endian and taken as they are");

namespace {

// Element `index` of codes that follow each other from the lowest bit of the first byte; 6-bit codes cross
// bytes.
int code_at(std::span<const char> packed, std::int64_t index, int bits, bool is_signed) {
  const std::size_t first = index * bits / 8;
  unsigned word = static_cast<unsigned char>(packed[first]);
  if (first + 1 < packed.size())
    word |= static_cast<unsigned>(static_cast<unsigned char>(packed[first + 1])) << 8;
  const int code = static_cast<int>(word >> (index * bits % 8)) & ((1 << bits) - 1);
  return is_signed && code >= 1 << (bits - 1) ? code - (1 << bits) : code;
}

void unpack(std::span<const char> packed, Tensor& tensor) {
  const int bits = bit_width(tensor.type());
  const bool is_signed = ir::is_signed(tensor.type());
  auto* out = static_cast<std::int8_t*>(tensor.raw());
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    out[i] = static_cast<std::int8_t>(code_at(packed, i, bits, is_signed));
}

std::string pack(const Tensor& tensor) {
  const int bits = bit_width(tensor.type());
  std::string packed(packed_bytes(tensor.type(), tensor.dims()), '\0');
  const auto* codes = static_cast<const std::int8_t*>(tensor.raw());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const unsigned word = static_cast<unsigned>(codes[i] & ((1 << bits) - 1)) << (i * bits % 8);
    const std::size_t first = i * bits / 8;
    packed[first] = static_cast<char>(static_cast<unsigned char>(packed[first]) | (word & 0xFF));
    if (word > 0xFF) packed[first + 1] = static_cast<char>(word >> 8);
  }
  return packed;
}

// Elements that lie in memory as they do in a file, and are any bytes.
bool is_as_in_file(DataType type) { return bit_width(type) >= 8 && type != DataType::Bool; }

bool can_borrow(DataType type, const char* data) {
  return is_as_in_file(type) && reinterpret_cast<std::uintptr_t>(data) % alignment_of(type) == 0;
}

// `bytes` has the length that packed_bytes says.
Tensor from_packed(DataType type, Dims dims, std::span<const char> bytes,
                   const std::shared_ptr<const void>& owner) {
  if (owner != nullptr && !bytes.empty() && can_borrow(type, bytes.data())) {
    return Tensor::adopt(type, std::move(dims), bytes.data(), owner);
  }
  Tensor tensor(type, std::move(dims));
  if (bit_width(type) < 8) {
    unpack(bytes, tensor);
  } else if (type == DataType::Bool) {
    for (std::size_t i = 0; i < bytes.size(); ++i) tensor.data<bool>()[i] = bytes[i] != 0;
  } else if (!bytes.empty()) {
    std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  }
  return tensor;
}

// The same of bytes of a file.
Tensor from_file(DataType type, const Dims& dims, std::span<const char> bytes,
                 const std::shared_ptr<const MappedFile>& file) {
  if (bytes.size() < kStaysInFile || !is_as_in_file(type)) return from_packed(type, dims, bytes, file);
  return tensor_in_file(type, dims, bytes, file);
}

void check_length(std::uint64_t found, std::uint64_t needed, DataType type, const Dims& dims) {
  if (found == needed) return;
  throw Error("{} bytes of raw data found, {} needed for {}{}", found, needed, name_of(type),
              ir::to_string(dims));
}

// Checks the length of a field before memory for the tensor is taken.
template <class Field>
Tensor sized_as(const Field& field, std::uint64_t needed, DataType type, const Dims& dims) {
  if (std::cmp_not_equal(field.size(), needed)) {
    throw Error("{} numbers of data found, {} needed for {}{}", field.size(), needed, name_of(type),
                ir::to_string(dims));
  }
  return Tensor(type, dims);
}

template <class Stored, class Field>
Tensor from_field(const Field& field, DataType type, const Dims& dims, std::uint64_t numbers_each = 1) {
  const std::uint64_t count = ir::element_count(dims);
  Tensor tensor = sized_as(field, count * numbers_each, type, dims);
  auto* out = static_cast<Stored*>(tensor.raw());
  for (int i = 0; i < field.size(); ++i) out[i] = static_cast<Stored>(field.Get(i));
  return tensor;
}

Tensor from_packed_field(const onnx::TensorProto& proto, DataType type, const Dims& dims) {
  Tensor tensor = sized_as(proto.int32_data(), packed_bytes(type, dims), type, dims);
  std::string packed;
  packed.reserve(proto.int32_data_size());
  for (std::int32_t word : proto.int32_data()) packed += static_cast<char>(word);
  unpack(packed, tensor);
  return tensor;
}

Tensor from_fields(const onnx::TensorProto& proto, DataType type, const Dims& dims) {
  switch (type) {
    case DataType::Float:
      return from_field<float>(proto.float_data(), type, dims);
    case DataType::Double:
      return from_field<double>(proto.double_data(), type, dims);
    case DataType::Int64:
      return from_field<std::int64_t>(proto.int64_data(), type, dims);
    case DataType::Uint64:
      return from_field<std::uint64_t>(proto.uint64_data(), type, dims);
    case DataType::Uint32:
      return from_field<std::uint32_t>(proto.uint64_data(), type, dims);
    case DataType::Int32:
      return from_field<std::int32_t>(proto.int32_data(), type, dims);
    case DataType::Bool:
      return from_field<bool>(proto.int32_data(), type, dims);
    case DataType::Complex64:
      return from_field<float>(proto.float_data(), type, dims, 2);
    case DataType::Complex128:
      return from_field<double>(proto.double_data(), type, dims, 2);
    default:
      if (bit_width(type) < 8) return from_packed_field(proto, type, dims);
      if (storage_bytes(type) == 1) return from_field<std::uint8_t>(proto.int32_data(), type, dims);
      return from_field<std::uint16_t>(proto.int32_data(), type, dims);
  }
}

Tensor from_strings(const onnx::TensorProto& proto, const Dims& dims) {
  if (proto.string_data_size() != ir::element_count(dims)) {
    throw Error("{} strings found, {} needed for {}", proto.string_data_size(), ir::element_count(dims),
                ir::to_string(dims));
  }
  Tensor tensor(DataType::String, dims);
  for (int i = 0; i < proto.string_data_size(); ++i) tensor.data<std::string>()[i] = proto.string_data(i);
  return tensor;
}

Tensor from_external(const onnx::TensorProto& proto, DataType type, const Dims& dims, ExternalFiles& files) {
  if (type == DataType::String) throw Error("strings found in external data, other elements needed");
  const ExternalRange range = external_range(proto);
  const std::uint64_t needed = packed_bytes(type, dims);
  if (range.length != needed) {
    throw Error("external data '{}': length {} found, {} needed for {}{}", range.location, range.length,
                needed, name_of(type), ir::to_string(dims));
  }
  const auto file = files.open(range.location);
  return from_file(type, dims, external_bytes(*file, range), file);
}

std::uint64_t number_from(const std::string& key, const std::string& text) {
  if (const auto number = ir::number_of<std::uint64_t>(text)) return *number;
  throw Error("external data: {} is '{}', a number needed", key, text);
}

}  // namespace

DataType data_type_from(int number) {
  if (number <= 0 || number >= ir::kDataTypeCount)
    throw Error("element type {} is not one of ONNX's", number);
  return static_cast<DataType>(number);
}

std::uint64_t packed_bytes(DataType type, const Dims& dims) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 56;
  const std::int64_t count = ir::element_count(dims);
  if (count > kMostElements)
    throw Error("tensor {}{} does not fit memory", name_of(type), ir::to_string(dims));
  return ir::packed_bytes(type, count);
}

ExternalRange external_range(const onnx::TensorProto& proto) {
  ExternalRange range{
      .length = packed_bytes(data_type_from(proto.data_type()), {proto.dims().begin(), proto.dims().end()})};
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") range.location = entry.value();
    if (entry.key() == "offset") range.offset = number_from("offset", entry.value());
    if (entry.key() == "length") range.length = number_from("length", entry.value());
  }
  return range;
}

std::span<const char> external_bytes(const MappedFile& file, const ExternalRange& range) {
  const std::uint64_t size = file.bytes().size();
  if (range.offset > size || range.length > size - range.offset) {
    throw Error("external data '{}': the file has {} bytes, {} at offset {} needed", range.location, size,
                range.length, range.offset);
  }
  return file.bytes().subspan(range.offset, range.length);
}

Tensor TensorReader::read(const onnx::TensorProto& proto) const try {
  const DataType type = data_type_from(proto.data_type());
  const Dims dims(proto.dims().begin(), proto.dims().end());
  const std::uint64_t needed = packed_bytes(type, dims);
  if (proto.has_segment()) throw Error("one segment of a tensor found, a whole tensor needed");
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    if (files_ == nullptr) throw Error("external data found, where there can be none");
    return from_external(proto, type, dims, *files_);
  }
  if (const auto left = left_.of.find(&proto); left != left_.of.end() && type != DataType::String) {
    check_length(left->second.size(), needed, type, dims);
    return from_file(type, dims, left->second, left_.file);
  }
  if (type == DataType::String) return from_strings(proto, dims);
  const std::string& raw = proto.raw_data();
  // Some writers leave an empty raw_data beside a filled field.
  if (raw.empty()) return from_fields(proto, type, dims);
  check_length(raw.size(), needed, type, dims);
  return from_packed(type, dims, raw, owner_);
} catch (const Error& error) {
  throw error.at(fmt::format("tensor '{}'", proto.name()));
}

namespace {

std::int64_t position_of(const std::int64_t* index, std::int64_t length, const Dims& dims) {
  std::int64_t position = 0;
  for (std::int64_t axis = 0; axis < length; ++axis) {
    const std::int64_t size = length == 1 ? ir::element_count(dims) : dims[axis];
    if (index[axis] < 0 || index[axis] >= size)
      throw Error("sparse index {} is outside [0, {})", index[axis], size);
    position = position * size + index[axis];
  }
  return position;
}

// How many indices a value of the sparse form has: one number, or one for each axis. 0 when neither fits.
std::int64_t index_length(const Tensor& indices, std::int64_t values, std::int64_t rank) {
  if (indices.dims() == Dims{values}) return 1;
  return indices.dims() == Dims{values, rank} ? rank : 0;
}

}  // namespace

Tensor TensorReader::read(const onnx::SparseTensorProto& proto) const try {
  constexpr std::uint64_t kMostDenseBytes = std::uint64_t{1} << 30;
  const Dims dims(proto.dims().begin(), proto.dims().end());
  const Tensor values = read(proto.values());
  const Tensor indices = read(proto.indices());
  const std::int64_t length = index_length(indices, values.size(), std::ssize(dims));
  if (indices.type() != DataType::Int64 || (length == 0 && values.size() > 0)) {
    throw Error("sparse indices are {}, int64[{}] or int64[{},{}] needed", to_string(indices.type_and_dims()),
                values.size(), values.size(), dims.size());
  }
  if (values.type() == DataType::String) throw Error("sparse strings found, numbers needed");
  if (packed_bytes(values.type(), dims) > kMostDenseBytes) {
    throw Error("sparse tensor {}{} is dense more than {} bytes", name_of(values.type()), ir::to_string(dims),
                kMostDenseBytes);
  }
  Tensor dense(values.type(), dims);
  std::memset(dense.raw(), 0, dense.bytes());
  const std::size_t width = storage_bytes(dense.type());
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const std::int64_t position = position_of(indices.data<std::int64_t>() + i * length, length, dims);
    std::memcpy(static_cast<char*>(dense.raw()) + position * width,
                static_cast<const char*>(values.raw()) + i * width, width);
  }
  return dense;
} catch (const Error& error) {
  throw error.at(fmt::format("sparse tensor '{}'", proto.values().name()));
}

onnx::TensorProto tensor_to_proto(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(tensor.type()));
  for (std::int64_t size : tensor.dims()) proto.add_dims(size);
  if (tensor.type() == DataType::String) {
    for (const std::string& text : tensor.values<std::string>()) proto.add_string_data(text);
  } else if (bit_width(tensor.type()) < 8) {
    proto.set_raw_data(pack(tensor));
  } else {
    proto.set_raw_data(tensor.raw(), tensor.bytes());
  }
  return proto;
}

namespace {

DataType carrier_of(DataType wanted) {
  if (wanted == DataType::Bfloat16) return DataType::Uint16;
  if (wanted == DataType::Int4 || wanted == DataType::Int2) return DataType::Int8;
  const bool in_byte = (ir::kFloat8s | ir::kFloat6s | ir::kNarrow).contains(wanted);
  return in_byte ? DataType::Uint8 : DataType::Undefined;
}

void check_codes(const Tensor& tensor, DataType wanted) {
  const int bits = bit_width(wanted);
  if (bits >= 8) return;
  const int lowest = is_signed(wanted) ? -(1 << (bits - 1)) : 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const int code = static_cast<const std::int8_t*>(tensor.raw())[i];
    if (code < lowest || code >= lowest + (1 << bits))
      throw Error("element {} is {}, {} needed", i, code, name_of(wanted));
  }
}

}  // namespace

Tensor as_declared(Tensor tensor, DataType wanted) {
  if (wanted == DataType::Undefined || tensor.type() != carrier_of(wanted)) return tensor;
  check_codes(tensor, wanted);
  return tensor.reinterpreted(wanted);
}

}  // namespace podium::importer
