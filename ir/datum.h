// What a value holds while a model runs: a tensor, a sequence, a map, or nothing (an empty optional).
#pragma once

#include <memory>
#include <vector>

#include "ir/tensor.h"

namespace podium::ir {

struct Datum {
  enum class Holds : std::uint8_t { Nothing, Tensor, Sequence, Map };

  Holds holds = Holds::Nothing;
  Tensor tensor = {};  ///< when it holds a tensor
  /// The items of a sequence; of a map two items, a 1-D tensor of keys and a 1-D tensor of values.
  std::shared_ptr<const std::vector<Datum>> items = {};

  Datum() = default;
  Datum(Tensor value) : holds(Holds::Tensor), tensor(std::move(value)) {}  // NOLINT: a tensor is a datum
  static Datum sequence(std::vector<Datum> items);
  static Datum map(Tensor keys, Tensor values);

  bool is_tensor() const { return holds == Holds::Tensor; }
  bool is_nothing() const { return holds == Holds::Nothing; }
};

/// The type of what is there; an empty sequence has an inner tensor of undefined type.
Type type_of(const Datum& datum);

}  // namespace podium::ir
