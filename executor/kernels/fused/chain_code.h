// Machine code for chains of arithmetic, comparisons and simple activations on floats and halves, such as an
// optimizer's equations, gradients of activations, or what stands between convolutions of halves: a vector of
// each operand is loaded once, all between the ops stays in registers, and a vector of each result is stored
// once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ir/infer.h"

namespace podium::kernels {

class ChainCode {
 public:
  /// Whether there is code for the op: its function and the types of its operands.
  static bool knows(const ir::TypedOp& op);
  /// Code for a chain's body. Values that are not in pieces have one element, the same for all others.
  /// nullptr where there is no code for an op, there are more values at a time than the
  /// processor has registers, it has no AVX2, or the system gives no memory for code.
  static std::shared_ptr<const ChainCode> of(const ir::Graph& body,
                                             const ir::IdMap<ir::ValueId, bool>& in_pieces);

  virtual ~ChainCode() = default;
  ChainCode() = default;
  ChainCode(const ChainCode&) = delete;
  ChainCode& operator=(const ChainCode&) = delete;

  /// Computes `count` elements. `operands`: the first element of each of the body's inputs, then of each of
  /// its outputs, which may be where inputs are. The bits are those of the ops' own kernels.
  virtual void run(std::span<void* const> operands, std::int64_t count) const = 0;
};

}  // namespace podium::kernels
