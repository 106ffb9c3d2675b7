#include "importer/tensor_proto.h"

#include <onnx/onnx-data_pb.h>

#include <cstring>

#include "ir/error.h"

namespace podium::importer {

using ir::DataType;
using ir::Dims;
using ir::Tensor;

namespace {

void unpack(const std::string& raw, Tensor& tensor) {
  const int bits = bit_width(tensor.type());
  const int per_byte = 8 / bits;
  const bool is_signed = ir::is_signed(tensor.type());
  const std::size_t needed = (static_cast<std::size_t>(tensor.size()) + static_cast<std::size_t>(per_byte) - 1) /
                             static_cast<std::size_t>(per_byte);
  if (raw.size() != needed) throw Error("{} bytes of raw data found, {} needed", raw.size(), needed);
  auto* out = static_cast<std::int8_t*>(tensor.raw());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto byte = static_cast<unsigned char>(raw[static_cast<std::size_t>(i / per_byte)]);
    int code = (byte >> (i % per_byte * bits)) & ((1 << bits) - 1);
    if (is_signed && code >= 1 << (bits - 1)) code -= 1 << bits;
    out[i] = static_cast<std::int8_t>(code);
  }
}

void copy_raw(const std::string& raw, Tensor& tensor) {
  if (bit_width(tensor.type()) < 8) return unpack(raw, tensor);
  if (raw.size() != tensor.bytes()) throw Error("{} bytes of raw data found, {} needed", raw.size(), tensor.bytes());
  if (!raw.empty()) std::memcpy(tensor.raw(), raw.data(), raw.size());
}

template <class Out, class Field>
void copy_field(const Field& field, Tensor& tensor) {
  if (field.size() != tensor.size()) throw Error("{} elements found, {} needed", field.size(), tensor.size());
  auto* out = static_cast<Out*>(tensor.raw());
  for (int i = 0; i < field.size(); ++i) out[i] = static_cast<Out>(field.Get(i));
}

void copy_packed(const onnx::TensorProto& proto, Tensor& tensor) {
  std::string raw;
  for (std::int32_t word : proto.int32_data()) raw += static_cast<char>(word);
  unpack(raw, tensor);
}

void copy_complex(const auto& field, auto* out, Tensor& tensor) {
  if (field.size() != tensor.size() * 2) throw Error("{} numbers found, {} needed", field.size(), tensor.size() * 2);
  for (int i = 0; i < field.size(); ++i) out[i] = field.Get(i);
}

void copy_fields(const onnx::TensorProto& proto, Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::Float:
      return copy_field<float>(proto.float_data(), tensor);
    case DataType::Double:
      return copy_field<double>(proto.double_data(), tensor);
    case DataType::Int64:
      return copy_field<std::int64_t>(proto.int64_data(), tensor);
    case DataType::Uint64:
      return copy_field<std::uint64_t>(proto.uint64_data(), tensor);
    case DataType::Uint32:
      return copy_field<std::uint32_t>(proto.uint64_data(), tensor);
    case DataType::Int32:
      return copy_field<std::int32_t>(proto.int32_data(), tensor);
    case DataType::Complex64:
      return copy_complex(proto.float_data(), static_cast<float*>(tensor.raw()), tensor);
    case DataType::Complex128:
      return copy_complex(proto.double_data(), static_cast<double*>(tensor.raw()), tensor);
    default:
      if (bit_width(tensor.type()) < 8) return copy_packed(proto, tensor);
      if (storage_bytes(tensor.type()) == 1) return copy_field<std::uint8_t>(proto.int32_data(), tensor);
      return copy_field<std::uint16_t>(proto.int32_data(), tensor);
  }
}

void copy_strings(const onnx::TensorProto& proto, Tensor& tensor) {
  if (proto.string_data_size() != tensor.size()) {
    throw Error("{} strings found, {} needed", proto.string_data_size(), tensor.size());
  }
  for (int i = 0; i < proto.string_data_size(); ++i) tensor.data<std::string>()[i] = proto.string_data(i);
}

DataType data_type_from(int number) {
  if (number <= 0 || number >= ir::kDataTypeCount) throw Error("element type {} is not one of ONNX's", number);
  return static_cast<DataType>(number);
}

}  // namespace

Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::string& folder) try {
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) throw Error("external data in {} not read yet", folder);
  Tensor tensor(data_type_from(proto.data_type()), Dims(proto.dims().begin(), proto.dims().end()));
  if (tensor.type() == DataType::String) {
    copy_strings(proto, tensor);
  } else if (proto.has_raw_data()) {
    copy_raw(proto.raw_data(), tensor);
  } else {
    copy_fields(proto, tensor);
  }
  return tensor;
} catch (const Error& error) {
  throw error.at(fmt::format("tensor '{}'", proto.name()));
}

ir::Type type_from_proto(const onnx::TypeProto& proto, const std::map<std::string, std::int64_t>& dims) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kSequenceType:
      return ir::Type::sequence(type_from_proto(proto.sequence_type().elem_type(), dims));
    case onnx::TypeProto::kOptionalType:
      return ir::Type::optional(type_from_proto(proto.optional_type().elem_type(), dims));
    case onnx::TypeProto::kMapType:
      return ir::Type::map(data_type_from(proto.map_type().key_type()),
                           type_from_proto(proto.map_type().value_type(), dims));
    default:
      break;
  }
  if (proto.value_case() != onnx::TypeProto::kTensorType) return {};
  ir::Type type;
  if (proto.tensor_type().elem_type() != 0) type.element = data_type_from(proto.tensor_type().elem_type());
  if (!proto.tensor_type().has_shape()) return type;
  type.has_rank = true;
  for (const auto& dim : proto.tensor_type().shape().dim()) {
    std::int64_t size = ir::kUnknown;
    if (dim.has_dim_value()) size = dim.dim_value();
    if (dim.has_dim_param()) {
      const auto bound = dims.find(dim.dim_param());
      if (bound != dims.end()) size = bound->second;
    }
    type.dims.push_back(size < 0 ? ir::kUnknown : size);
  }
  return type;
}

namespace {

template <class Proto>
Proto parsed(const std::string& bytes) {
  Proto proto;
  if (!proto.ParseFromString(bytes)) throw Error("{} bytes that are no {}", bytes.size(), proto.GetTypeName());
  return proto;
}

ir::Datum datum_from_sequence(const onnx::SequenceProto& proto) {
  std::vector<ir::Datum> items;
  for (const auto& tensor : proto.tensor_values()) items.emplace_back(tensor_from_proto(tensor));
  for (const auto& inner : proto.sequence_values()) items.push_back(datum_from_sequence(inner));
  return ir::Datum::sequence(std::move(items));
}

ir::Datum datum_from_optional(const onnx::OptionalProto& proto) {
  if (proto.has_tensor_value()) return tensor_from_proto(proto.tensor_value());
  if (proto.has_sequence_value()) return datum_from_sequence(proto.sequence_value());
  return {};
}

}  // namespace

ir::Datum datum_from_bytes(const std::string& bytes, const ir::Type& type) {
  switch (type.kind) {
    case ir::Kind::Sequence:
      return datum_from_sequence(parsed<onnx::SequenceProto>(bytes));
    case ir::Kind::Optional:
      return datum_from_optional(parsed<onnx::OptionalProto>(bytes));
    case ir::Kind::Map:
      throw Error("maps cannot be read from files");
    case ir::Kind::Tensor:
      break;
  }
  return tensor_from_proto(parsed<onnx::TensorProto>(bytes));
}

}  // namespace podium::importer
