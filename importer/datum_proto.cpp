#include "importer/datum_proto.h"

#include <onnx/onnx-data_pb.h>

#include "importer/tensor_proto.h"

namespace podium::importer {
namespace {

using ir::Datum;
using ir::Tensor;

template <class Proto>
Proto parsed(const std::string& bytes, const char* what) {
  Proto proto;
  if (!proto.ParseFromString(bytes)) throw Error("{} bytes found that are no {}", bytes.size(), what);
  return proto;
}

const ir::Type& inner_of(const ir::Type& type) {
  static const ir::Type kNothingKnown;
  return type.inner ? *type.inner : kNothingKnown;
}

Tensor read_tensor(const onnx::TensorProto& proto, const ir::Type& type) {
  return as_declared(TensorReader().read(proto), type.element);
}

Tensor read_keys(const onnx::MapProto& proto) {
  onnx::TensorProto keys;
  keys.set_data_type(proto.key_type());
  const bool strings = proto.key_type() == static_cast<int>(ir::DataType::String);
  keys.add_dims(strings ? proto.string_keys_size() : proto.keys_size());
  for (const auto& key : proto.string_keys()) keys.add_string_data(key);
  for (std::int64_t key : proto.keys()) {
    keys.add_int64_data(key);
    keys.add_uint64_data(key);
    keys.add_int32_data(key);
  }
  return TensorReader().read(keys);
}

// One tensor of all values from a scalar each.
Tensor gather_scalars(const std::vector<Tensor>& scalars) {
  if (scalars.empty()) return Tensor(ir::DataType::Float, {0});
  Tensor all(scalars[0].type(), {std::ssize(scalars)});
  const std::size_t width = storage_bytes(all.type());
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (scalars[i].size() != 1 || scalars[i].type() != all.type()) {
      throw Error("map value {} is {}, one {} needed", i, to_string(scalars[i].type_and_dims()),
                  name_of(all.type()));
    }
    if (all.type() == ir::DataType::String) {
      all.data<std::string>()[i] = *scalars[i].data<std::string>();
    } else {
      std::copy_n(static_cast<const char*>(scalars[i].raw()), width,
                  static_cast<char*>(all.raw()) + i * width);
    }
  }
  return all;
}

Datum datum_from_map(const onnx::MapProto& proto, const ir::Type& type) {
  std::vector<Tensor> values;
  for (const auto& value : proto.values().tensor_values())
    values.push_back(read_tensor(value, inner_of(type)));
  const Tensor keys = read_keys(proto);
  if (keys.size() != std::ssize(values)) {
    throw Error("map of {} keys and {} values", keys.size(), values.size());
  }
  return Datum::map(keys, gather_scalars(values));
}

Datum datum_from_optional(const onnx::OptionalProto& proto, const ir::Type& type);

Datum datum_from_sequence(const onnx::SequenceProto& proto, const ir::Type& type) {
  const ir::Type& item = inner_of(type);
  const TensorReader reader;
  std::vector<Datum> items;
  for (const auto& tensor : proto.tensor_values()) items.emplace_back(read_tensor(tensor, item));
  for (const auto& tensor : proto.sparse_tensor_values()) items.emplace_back(reader.read(tensor));
  for (const auto& inner : proto.sequence_values()) items.push_back(datum_from_sequence(inner, item));
  for (const auto& map : proto.map_values()) items.push_back(datum_from_map(map, item));
  for (const auto& optional : proto.optional_values()) items.push_back(datum_from_optional(optional, item));
  return Datum::sequence(std::move(items));
}

Datum datum_from_optional(const onnx::OptionalProto& proto, const ir::Type& type) {
  const ir::Type& inner = inner_of(type);
  if (proto.has_tensor_value()) return read_tensor(proto.tensor_value(), inner);
  if (proto.has_sparse_tensor_value()) return TensorReader().read(proto.sparse_tensor_value());
  if (proto.has_sequence_value()) return datum_from_sequence(proto.sequence_value(), inner);
  if (proto.has_map_value()) return datum_from_map(proto.map_value(), inner);
  if (proto.has_optional_value()) return datum_from_optional(proto.optional_value(), inner);
  return {};
}

}  // namespace

Datum datum_from_bytes(const std::string& bytes, const ir::Type& type) {
  switch (type.kind) {
    case ir::Kind::Sequence:
      return datum_from_sequence(parsed<onnx::SequenceProto>(bytes, "SequenceProto"), type);
    case ir::Kind::Optional:
      return datum_from_optional(parsed<onnx::OptionalProto>(bytes, "OptionalProto"), type);
    case ir::Kind::Map:
      return datum_from_map(parsed<onnx::MapProto>(bytes, "MapProto"), type);
    case ir::Kind::Tensor:
      break;
  }
  return read_tensor(parsed<onnx::TensorProto>(bytes, "TensorProto"), type);
}

}  // namespace podium::importer
