// Attributes of an op: named constants that are part of its meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/attribute_name.h"
#include "ir/tensor.h"

namespace podium::ir {

class Graph;
/// A body of a control-flow op. Shared and never changed in place: an edited body is a new one.
using Body = std::shared_ptr<const Graph>;

using IntList = std::vector<std::int64_t>;
using FloatList = std::vector<float>;
using StringList = std::vector<std::string>;

/// A T that copies share and that never changes: few attributes are tensors and types, all would have room
/// for one.
template <class T>
class Shared {
 public:
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  const T& operator*() const { return *value_; }

 private:
  std::shared_ptr<const T> value_;
};

using AttributeValue =
    std::variant<std::int64_t, float, std::string, Shared<Tensor>, Shared<Type>, Body, IntList, FloatList,
                 StringList, std::vector<Tensor>, std::vector<Type>, std::vector<Body>>;

template <class T>
inline constexpr bool kIsShared = false;
template <class T>
inline constexpr bool kIsShared<Shared<T>> = true;

/// std::visit with a Tensor and a Type as themselves.
template <class Visitor>
decltype(auto) visit_value(Visitor&& visitor, const AttributeValue& value) {
  return std::visit(
      [&]<class T>(const T& held) -> decltype(auto) {
        if constexpr (kIsShared<T>) {
          return visitor(*held);
        } else {
          return visitor(held);
        }
      },
      value);
}

/// The value where it is a T, else none.
template <class T>
const T* value_if(const AttributeValue& value) {
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, Type>) {
    const auto* shared = std::get_if<Shared<T>>(&value);
    return shared == nullptr ? nullptr : &**shared;
  } else {
    return std::get_if<T>(&value);
  }
}

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
  AttributeName name;
  AttributeValue value;
};

/// "3", "[1,2]", "\"abc\"", "float[2]{1,2}", "graph"; long lists and tensors are shortened.
std::string to_string(const AttributeValue& value);

}  // namespace podium::ir
