// Attributes of an op: named constants that are part of its meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/tensor.h"

namespace podium::ir {

class Graph;
/// A body of a control-flow op. Shared and never changed in place: an edited body is a new one.
using Body = std::shared_ptr<const Graph>;

using IntList = std::vector<std::int64_t>;
using FloatList = std::vector<float>;
using StringList = std::vector<std::string>;

using AttributeValue = std::variant<std::int64_t, float, std::string, Tensor, Type, Body, IntList, FloatList,
                                    StringList, std::vector<Tensor>, std::vector<Type>, std::vector<Body>>;

/// In the order of AttributeValue's alternatives.
enum class AttributeKind : std::uint8_t {
  Int,
  Float,
  String,
  Tensor,
  Type,
  Graph,
  Ints,
  Floats,
  Strings,
  Tensors,
  Types,
  Graphs
};

std::string_view name_of(AttributeKind kind);
inline AttributeKind kind_of(const AttributeValue& value) {
  return static_cast<AttributeKind>(value.index());
}

struct Attribute {
  std::string name;
  AttributeValue value;
};

/// "3", "[1,2]", "\"abc\"", "float[2]{1,2}", "graph"; long lists and tensors are shortened.
std::string to_string(const AttributeValue& value);

}  // namespace podium::ir
