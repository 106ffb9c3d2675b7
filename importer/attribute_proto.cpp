#include "importer/attribute_proto.h"

#include "importer/type_proto.h"
#include "ir/error.h"

namespace podium::importer {

using onnx::AttributeProto;

AttributeProto::AttributeType type_of(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.has_g()) return AttributeProto::GRAPH;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  if (proto.tensors_size() > 0) return AttributeProto::TENSORS;
  if (proto.graphs_size() > 0) return AttributeProto::GRAPHS;
  throw Error("attribute '{}' has no type and no value", proto.name());
}

namespace {

template <class Protos>
std::vector<ir::Tensor> read_tensors(const Protos& protos, const TensorReader& reader) {
  std::vector<ir::Tensor> tensors;
  for (const auto& proto : protos) tensors.push_back(reader.read(proto));
  return tensors;
}

}  // namespace

ir::AttributeValue attribute_from_proto(const AttributeProto& proto, const TensorReader& tensors,
                                        const std::map<std::string, std::int64_t>& dims) try {
  switch (type_of(proto)) {
    case AttributeProto::INT:
      return proto.i();
    case AttributeProto::FLOAT:
      return proto.f();
    case AttributeProto::STRING:
      return proto.s();
    case AttributeProto::TENSOR:
      return tensors.read(proto.t());
    case AttributeProto::SPARSE_TENSOR:
      return tensors.read(proto.sparse_tensor());
    case AttributeProto::TYPE_PROTO:
      return type_from_proto(proto.tp(), dims);
    case AttributeProto::INTS:
      return ir::IntList(proto.ints().begin(), proto.ints().end());
    case AttributeProto::FLOATS:
      return ir::FloatList(proto.floats().begin(), proto.floats().end());
    case AttributeProto::STRINGS:
      return ir::StringList(proto.strings().begin(), proto.strings().end());
    case AttributeProto::TENSORS:
      return read_tensors(proto.tensors(), tensors);
    case AttributeProto::SPARSE_TENSORS:
      return read_tensors(proto.sparse_tensors(), tensors);
    case AttributeProto::TYPE_PROTOS: {
      std::vector<ir::Type> types;
      for (const auto& type : proto.type_protos()) types.push_back(type_from_proto(type, dims));
      return types;
    }
    default:
      throw Error("a graph found, a value needed");
  }
} catch (const Error& error) {
  throw error.at(fmt::format("attribute '{}'", proto.name()));
}

namespace {

struct Writer {
  AttributeProto& proto;

  void operator()(std::int64_t value) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const ir::Tensor& value) const {
    proto.set_type(AttributeProto::TENSOR);
    *proto.mutable_t() = tensor_to_proto(value, "");
  }
  void operator()(const ir::Type& value) const {
    proto.set_type(AttributeProto::TYPE_PROTO);
    *proto.mutable_tp() = type_to_proto(value);
  }
  void operator()(const ir::IntList& values) const {
    proto.set_type(AttributeProto::INTS);
    for (std::int64_t value : values) proto.add_ints(value);
  }
  void operator()(const ir::FloatList& values) const {
    proto.set_type(AttributeProto::FLOATS);
    for (float value : values) proto.add_floats(value);
  }
  void operator()(const ir::StringList& values) const {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const std::vector<ir::Tensor>& values) const {
    proto.set_type(AttributeProto::TENSORS);
    for (const ir::Tensor& value : values) *proto.add_tensors() = tensor_to_proto(value, "");
  }
  void operator()(const std::vector<ir::Type>& values) const {
    proto.set_type(AttributeProto::TYPE_PROTOS);
    for (const ir::Type& value : values) *proto.add_type_protos() = type_to_proto(value);
  }
  void operator()(const ir::Body& /*body*/) const { IR_CHECK(false, "a body is no plain attribute"); }
  void operator()(const std::vector<ir::Body>& /*bodies*/) const {
    IR_CHECK(false, "a body is no plain attribute");
  }
};

}  // namespace

AttributeProto attribute_to_proto(const ir::Attribute& attribute) {
  AttributeProto proto;
  proto.set_name(std::string(attribute.name.text()));
  visit_value(Writer{proto}, attribute.value);
  return proto;
}

}  // namespace podium::importer
