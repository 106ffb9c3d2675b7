// LinearAttention: the places of its inputs and outputs and the shape of one op.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

struct LinearAttentionInput {
  enum Place : std::size_t { kQuery, kKey, kValue, kPastState, kDecay, kBeta, kErase, kCount };
};

struct LinearAttentionOutput {
  enum Place : std::size_t { kOutput, kState };
};

/// Sizes of one op, kUnknown where types leave them open.
struct LinearAttentionShape {
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t keys = 0;    ///< elements of a key, rows of the state
  std::int64_t values = 0;  ///< elements of a value, columns of the state

  Dims output() const;
  Dims state() const { return {batch, kv_heads, keys, values}; }
};

/// Of an op whose query, key and value have known ranks. Error when they do not fit each other.
LinearAttentionShape linear_attention_shape(const TypedOp& op);

OpSpec linear_attention_row();

}  // namespace podium::ir
