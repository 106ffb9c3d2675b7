#include "ir/data_type.h"

#include <array>
#include <string>

#include "ir/error.h"

namespace podium::ir {
namespace {

struct Row {
  std::string_view name;
  int bits;
  std::size_t storage;
};

constexpr std::array<Row, kDataTypeCount> kRows{{
    {"undefined", 0, 0},      {"float", 32, 4},     {"uint8", 8, 1},
    {"int8", 8, 1},           {"uint16", 16, 2},    {"int16", 16, 2},
    {"int32", 32, 4},         {"int64", 64, 8},     {"string", 0, sizeof(std::string)},
    {"bool", 8, 1},           {"float16", 16, 2},   {"double", 64, 8},
    {"uint32", 32, 4},        {"uint64", 64, 8},    {"complex64", 64, 8},
    {"complex128", 128, 16},  {"bfloat16", 16, 2},  {"float8e4m3fn", 8, 1},
    {"float8e4m3fnuz", 8, 1}, {"float8e5m2", 8, 1}, {"float8e5m2fnuz", 8, 1},
    {"uint4", 4, 1},          {"int4", 4, 1},       {"float4e2m1", 4, 1},
    {"float8e8m0", 8, 1},     {"uint2", 2, 1},      {"int2", 2, 1},
    {"float6e2m3", 6, 1},     {"float6e3m2", 6, 1},
}};

const Row& row(DataType type) {
  const auto index = static_cast<std::size_t>(type);
  IR_CHECK(index < kRows.size());
  return kRows[index];
}

constexpr TypeSet kAllSigned = kSignedInts | TypeSet{DataType::Int4, DataType::Int2};

}  // namespace

std::string_view name_of(DataType type) { return row(type).name; }

DataType data_type_named(std::string_view name) {
  for (std::size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DataType>(i);
  }
  return DataType::Undefined;
}

int bit_width(DataType type) { return row(type).bits; }
std::size_t storage_bytes(DataType type) { return row(type).storage; }

std::int64_t packed_bytes(DataType type, std::int64_t elements) {
  const std::int64_t bits = bit_width(type);
  std::int64_t bytes = 0;
  const std::int64_t rest = (elements % 8 * bits + 7) / 8;
  if (__builtin_mul_overflow(elements / 8, bits, &bytes) || __builtin_add_overflow(bytes, rest, &bytes))
    throw Error("{} elements of {} have more bytes than 63 bits can count", elements, name_of(type));
  return bytes;
}

bool is_float(DataType type) {
  return (kFloats | kFloat8s | kFloat6s | TypeSet{DataType::Float4E2M1}).contains(type);
}
bool is_signed(DataType type) { return kAllSigned.contains(type); }
bool is_integer(DataType type) {
  return (kAllSigned | kUnsignedInts | TypeSet{DataType::Uint4, DataType::Uint2}).contains(type);
}
bool is_complex(DataType type) { return kComplex.contains(type); }

}  // namespace podium::ir
