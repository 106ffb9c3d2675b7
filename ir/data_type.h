// The element types of ONNX tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace podium::ir {

/// Numbered as ONNX numbers them (TensorProto.DataType).
enum class DataType : std::uint8_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  Bfloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  Uint2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

inline constexpr int kDataTypeCount = 29;

/// ONNX's name in lower case: "float", "int64", "float8e4m3fn", ...
std::string_view name_of(DataType type);
/// The inverse of name_of; Undefined when there is no such name.
DataType data_type_named(std::string_view name);

/// Bits of one element as ONNX packs it (4 for int4). 0 for string.
int bit_width(DataType type);
/// Bytes of one element in a Podium tensor: 6-, 4- and 2-bit types take a whole byte, string
/// sizeof(std::string).
std::size_t storage_bytes(DataType type);
/// Bytes of so many elements packed, as files and devices hold them: 2-, 4- and 6-bit elements lie side by
/// side, the last byte is filled up. 0 for strings. Error when 63 bits cannot count them.
std::int64_t packed_bytes(DataType type, std::int64_t elements);

bool is_float(DataType type);    ///< float, double and every narrower float
bool is_integer(DataType type);  ///< int and uint of 2 to 64 bits; not bool
bool is_signed(DataType type);   ///< signed integer
bool is_complex(DataType type);

/// A set of element types, for the type constraints of an op.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<DataType> types) {
    for (DataType type : types) bits_ |= bit(type);
  }
  constexpr bool contains(DataType type) const { return (bits_ & bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr bool operator==(TypeSet, TypeSet) = default;

 private:
  static constexpr std::uint32_t bit(DataType type) {
    return std::uint32_t{1} << static_cast<unsigned>(type);
  }
  std::uint32_t bits_ = 0;
};

inline constexpr TypeSet kFloats{DataType::Float, DataType::Double, DataType::Float16, DataType::Bfloat16};
inline constexpr TypeSet kFloat8s{DataType::Float8E4M3FN, DataType::Float8E4M3FNUZ, DataType::Float8E5M2,
                                  DataType::Float8E5M2FNUZ, DataType::Float8E8M0};
inline constexpr TypeSet kSignedInts{DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64};
inline constexpr TypeSet kUnsignedInts{DataType::Uint8, DataType::Uint16, DataType::Uint32, DataType::Uint64};
inline constexpr TypeSet kInts = kSignedInts | kUnsignedInts;
inline constexpr TypeSet kNarrow{DataType::Int4, DataType::Uint4, DataType::Int2, DataType::Uint2,
                                 DataType::Float4E2M1};
inline constexpr TypeSet kNumeric = kFloats | kInts;
inline constexpr TypeSet kBool{DataType::Bool};
inline constexpr TypeSet kString{DataType::String};
inline constexpr TypeSet kComplex{DataType::Complex64, DataType::Complex128};
inline constexpr TypeSet kInt64{DataType::Int64};
inline constexpr TypeSet kIndices{DataType::Int32, DataType::Int64};
inline constexpr TypeSet kFloat6s{DataType::Float6E2M3, DataType::Float6E3M2};
inline constexpr TypeSet kAnyType = kNumeric | kFloat8s | kFloat6s | kNarrow | kBool | kString | kComplex;

}  // namespace podium::ir
