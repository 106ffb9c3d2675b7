#include "importer/type_proto.h"

#include "importer/tensor_proto.h"

namespace podium::importer {
namespace {

using Symbols = std::map<std::string, std::int64_t>;

template <class TensorType>
ir::Type tensor_type(const TensorType& proto, const Symbols& symbols) {
  ir::Type type;
  if (proto.elem_type() != 0) type.element = data_type_from(proto.elem_type());
  if (!proto.has_shape()) return type;
  type.has_rank = true;
  for (const auto& dim : proto.shape().dim()) {
    std::int64_t size = dim.has_dim_value() ? dim.dim_value() : ir::kUnknown;
    if (dim.has_dim_param()) {
      const auto bound = symbols.find(dim.dim_param());
      if (bound != symbols.end()) size = bound->second;
    }
    type.dims.push_back(size < 0 ? ir::kUnknown : size);
  }
  return type;
}

}  // namespace

ir::Type type_from_proto(const onnx::TypeProto& proto, const Symbols& dims) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return tensor_type(proto.tensor_type(), dims);
    case onnx::TypeProto::kSparseTensorType:
      return tensor_type(proto.sparse_tensor_type(), dims);
    case onnx::TypeProto::kSequenceType:
      return ir::Type::sequence(type_from_proto(proto.sequence_type().elem_type(), dims));
    case onnx::TypeProto::kOptionalType:
      return ir::Type::optional(type_from_proto(proto.optional_type().elem_type(), dims));
    case onnx::TypeProto::kMapType:
      return ir::Type::map(data_type_from(proto.map_type().key_type()),
                           type_from_proto(proto.map_type().value_type(), dims));
    default:
      return {};
  }
}

onnx::TypeProto type_to_proto(const ir::Type& type) {
  onnx::TypeProto proto;
  switch (type.kind) {
    case ir::Kind::Tensor: {
      auto& tensor = *proto.mutable_tensor_type();
      tensor.set_elem_type(static_cast<int>(type.element));
      if (!type.has_rank) break;
      auto& shape = *tensor.mutable_shape();
      for (std::int64_t size : type.dims) {
        auto& dim = *shape.add_dim();
        if (size != ir::kUnknown) dim.set_dim_value(size);
      }
      break;
    }
    case ir::Kind::Sequence:
      *proto.mutable_sequence_type()->mutable_elem_type() = type_to_proto(*type.inner);
      break;
    case ir::Kind::Optional:
      *proto.mutable_optional_type()->mutable_elem_type() = type_to_proto(*type.inner);
      break;
    case ir::Kind::Map:
      proto.mutable_map_type()->set_key_type(static_cast<int>(type.element));
      *proto.mutable_map_type()->mutable_value_type() = type_to_proto(*type.inner);
      break;
  }
  return proto;
}

}  // namespace podium::importer
