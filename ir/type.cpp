#include "ir/type.h"

#include <algorithm>

#include "ir/error.h"

namespace podium::ir {
namespace {

Type wrap(Kind kind, Type inner) {
  Type type;
  type.kind = kind;
  type.inner = std::make_shared<const Type>(std::move(inner));
  return type;
}

std::int64_t broadcast_dim(std::int64_t a, std::int64_t b, const Dims& left, const Dims& right) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  if (a == kUnknown) return b;
  if (b == kUnknown) return a;
  throw Error("shapes {} and {} do not broadcast: {} meets {}", to_string(left), to_string(right), a, b);
}

}  // namespace

Type Type::sequence(Type inner) { return wrap(Kind::Sequence, std::move(inner)); }
Type Type::optional(Type inner) { return wrap(Kind::Optional, std::move(inner)); }
Type Type::map(DataType key, Type inner) {
  Type type = wrap(Kind::Map, std::move(inner));
  type.element = key;
  return type;
}

bool Type::is_static() const {
  return is_tensor() && element != DataType::Undefined && has_rank &&
         std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d >= 0; });
}

std::int64_t Type::element_count() const {
  if (!is_static()) return kUnknown;
  return ir::element_count(dims);
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.element != b.element || a.has_rank != b.has_rank || a.dims != b.dims)
    return false;
  if (!a.inner || !b.inner) return a.inner == b.inner;
  return *a.inner == *b.inner;
}

std::int64_t element_count(const Dims& dims) {
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t d : dims) {
    if (d < 0) throw Error("shape {} has a negative dimension", to_string(dims));
    if (d == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, d, &count)) {
      throw Error("shape {} has more elements than 63 bits can count", to_string(dims));
    }
  }
  return empty ? 0 : count;
}

std::int64_t packed_bytes(const Type& type) {
  return type.is_static() ? packed_bytes(type.element, type.element_count()) : 0;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    text += dims[i] == kUnknown ? std::string("?") : std::to_string(dims[i]);
  }
  return text + "]";
}

std::string to_string(const Type& type) {
  const std::string inner = type.inner ? to_string(*type.inner) : "";
  switch (type.kind) {
    case Kind::Tensor:
      return std::string(name_of(type.element)) + (type.has_rank ? to_string(type.dims) : "");
    case Kind::Sequence:
      return "sequence(" + inner + ")";
    case Kind::Optional:
      return "optional(" + inner + ")";
    case Kind::Map:
      return "map(" + std::string(name_of(type.element)) + "," + inner + ")";
  }
  return "";
}

Dims broadcast(const Dims& a, const Dims& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Dims result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    result[rank - 1 - i] = broadcast_dim(left, right, a, b);
  }
  return result;
}

std::int64_t normalized_axis(std::int64_t axis, std::int64_t rank, std::string_view what) {
  if (axis < -rank || axis >= rank) {
    throw Error("{} {} is outside [{}, {}] for a tensor of rank {}", what, axis, -rank, rank - 1, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace podium::ir
