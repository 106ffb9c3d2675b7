// What is known of a value before it is computed: its kind, element type and dimensions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/data_type.h"

namespace podium::ir {

using Dims = std::vector<std::int64_t>;

/// A dimension that only data decides.
inline constexpr std::int64_t kUnknown = -1;

enum class Kind : std::uint8_t { Tensor, Sequence, Optional, Map };

struct Type {
  Kind kind = Kind::Tensor;
  DataType element = DataType::Undefined;  ///< of a tensor's elements; of a map's keys
  bool has_rank = false;                   ///< a tensor's dims are meaningful
  Dims dims = {};                          ///< each a number or kUnknown
  std::shared_ptr<const Type> inner = {};  ///< the contents of a sequence, optional or map

  static Type tensor(DataType element) { return {.kind = Kind::Tensor, .element = element}; }
  static Type tensor(DataType element, Dims dims) {
    return {.kind = Kind::Tensor, .element = element, .has_rank = true, .dims = std::move(dims)};
  }
  static Type sequence(Type inner);
  static Type optional(Type inner);
  static Type map(DataType key, Type inner);

  bool is_tensor() const { return kind == Kind::Tensor; }
  /// A tensor whose element type and every dimension is known.
  bool is_static() const;
  int rank() const { return static_cast<int>(dims.size()); }
  /// Product of the dimensions; kUnknown when one is unknown. Error when it does not fit 63 bits.
  std::int64_t element_count() const;
};

bool operator==(const Type& a, const Type& b);

/// Product of dims; 1 for a scalar. Error when a dimension is negative or the product overflows.
std::int64_t element_count(const Dims& dims);

/// Bytes of a value of this type, packed (data_type.h). 0 where they are not known before the run, for
/// strings, and for what is no tensor.
std::int64_t packed_bytes(const Type& type);

/// "float[2,?,3]", "sequence(float[2])", "float" for an unknown rank.
std::string to_string(const Type& type);
/// "[2,?,3]"
std::string to_string(const Dims& dims);

/// NumPy's broadcast: shapes align at the right and a 1 stretches; [2,1] with [3] gives [2,3]. An unknown
/// dimension with 1 or unknown gives unknown, with any other number that number. Error when the shapes do not
/// fit.
Dims broadcast(const Dims& a, const Dims& b);

/// axis in [-rank, rank) to [0, rank); Error names `what` otherwise.
std::int64_t normalized_axis(std::int64_t axis, std::int64_t rank, std::string_view what = "axis");

}  // namespace podium::ir
