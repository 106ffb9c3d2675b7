#include "importer/constant_node.h"

namespace podium::importer {
namespace {

struct ToTensor {
  ir::Tensor operator()(const ir::Tensor& tensor) const { return tensor; }
  ir::Tensor operator()(std::int64_t value) const { return ir::Tensor::scalar(value); }
  ir::Tensor operator()(float value) const { return ir::Tensor::scalar(value); }
  ir::Tensor operator()(const std::string& value) const { return ir::Tensor::scalar(value); }
  ir::Tensor operator()(const ir::IntList& values) const { return list(values); }
  ir::Tensor operator()(const ir::FloatList& values) const { return list(values); }
  ir::Tensor operator()(const ir::StringList& values) const { return list(values); }
  ir::Tensor operator()(const auto& /*other*/) const { throw Error("a tensor, number or text needed"); }

 private:
  template <class T>
  static ir::Tensor list(const std::vector<T>& values) {
    return ir::Tensor::of<T>({std::ssize(values)}, values);
  }
};

ir::AttributeKind kind_needed(std::string_view name) {
  using ir::AttributeKind;
  if (name == "value" || name == "sparse_value") return AttributeKind::Tensor;
  if (name == "value_int") return AttributeKind::Int;
  if (name == "value_ints") return AttributeKind::Ints;
  if (name == "value_float") return AttributeKind::Float;
  if (name == "value_floats") return AttributeKind::Floats;
  if (name == "value_string") return AttributeKind::String;
  if (name == "value_strings") return AttributeKind::Strings;
  throw Error("attribute '{}' is not one of this op's", name);
}

}  // namespace

ir::Tensor constant_from(const ir::Attribute& attribute) {
  const ir::AttributeKind needed = kind_needed(attribute.name);
  const ir::AttributeKind found = kind_of(attribute.value);
  if (found != needed) {
    throw Error("attribute '{}' is {}, {} needed", attribute.name, name_of(found), name_of(needed));
  }
  return visit_value(ToTensor{}, attribute.value);
}

}  // namespace podium::importer
