// Tensors that are computed from others once somebody reads them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// A tensor of fewer bytes is not worth being late.
inline constexpr std::size_t kLateBytes = std::size_t{64} << 10;

/// An op and the tensors that it was given; undefined: left out.
struct KnownOp {
  Op op;
  std::vector<Tensor> inputs;
};

/// A tensor of this type with the numbers of the one that `make` gives, which is asked when they are read
/// first. `digest` is of all that they follow from, and asked before that at most. Both are let go of then,
/// with what they hold; `from` stays known. Error when the size does not fit memory.
Tensor late_tensor(const Type& type, std::function<Tensor()> make, std::function<Digest(Digests&)> digest,
                   std::shared_ptr<const KnownOp> from = nullptr);

/// Such a tensor's numbers, made for the caller alone where nobody has read them yet: they go with what this
/// gives. Any other tensor as it is.
Tensor made_for_one(const Tensor& tensor);

/// The `from` of such a tensor; nullptr for any other.
const KnownOp* made_by(const Tensor& tensor);

/// The type of the numbers that a DequantizeLinear makes a constant of, also of a part of it or in another
/// order; Undefined for any other.
DataType narrow_type(const Tensor& constant);

/// The bytes that a constant takes as its model has it: of one that a DequantizeLinear makes, those of its
/// narrow numbers and their scales, also of a part of it, or in another shape or order. Small ones count as
/// what they are.
std::int64_t stored_bytes(const Tensor& constant);
/// Of any value; without data, the bytes of its type.
std::int64_t stored_bytes(const Value& value);
/// Of a constant, divided by the bytes of its type; 1 for a tensor without data.
double stored_share(const Tensor& constant);

}  // namespace podium::ir
