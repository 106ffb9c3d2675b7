// Attention, FlexAttention and RotaryEmbedding: the places of their inputs and outputs and the shape of one
// op, for all that infer, run, differentiate, clock and slice it.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// Places of inputs. FlexAttention has the first three, then what its bodies capture.
struct AttentionInput {
  enum Place : std::size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };
};

struct AttentionOutput {
  enum Place : std::size_t { kY, kPresentKey, kPresentValue, kScores };
};

/// Begin and end of each range of rows of Q, among those of the whole op, that a part of an Attention has:
/// positions decide what a row sees. Absent where it has all.
inline constexpr AttributeName kQueryRanges = "__query_ranges";
/// The place of each row among those of the whole op; empty where it has all.
std::vector<std::int64_t> query_places(const TypedOp& op);
/// Whether positions decide what a row sees.
bool sees_by_position(const TypedOp& op);
/// The share of all positions that rows see, on average.
double share_seen(const TypedOp& op);

/// Of RotaryEmbedding. With position_ids the caches have a row for each position that there is, else one for
/// each element of the batch and position in it.
struct RotaryInput {
  enum Place : std::size_t { kX, kCosines, kSines, kPositions };
};

/// Sizes of one op, kUnknown where types leave them open.
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t rows = 0;   ///< positions of Q
  std::int64_t past = 0;   ///< positions in past_key, 0 without it
  std::int64_t added = 0;  ///< positions of K and V
  std::int64_t head = 0;   ///< elements of one head of Q and K
  std::int64_t v_head = 0;
  bool is_flat = false;  ///< Q, and so Y, is [batch, rows, heads * size]; else [batch, heads, rows, size]

  std::int64_t positions() const { return past == kUnknown || added == kUnknown ? kUnknown : past + added; }
  Dims y() const;
  Dims present_key() const { return {batch, kv_heads, positions(), head}; }
  Dims present_value() const { return {batch, kv_heads, positions(), v_head}; }
  Dims scores() const { return {batch, q_heads, rows, positions()}; }
};

/// How the engine computes attention, which its kernels go by and the clock of the host reckons with. Rows of
/// Q from which on K and V of a head are packed for all of them.
inline constexpr std::int64_t kPackedRows = 12;
/// Whether products that are written out become one op that goes by blocks of rows, given the dimensions of
/// their scores: no second-level cache keeps all of these, and a head has enough of them to be packed for.
bool attends_in_blocks(const Dims& scores);

/// Size of one head in the last axis of a [batch, length, heads * size] tensor; Error when there is none.
std::int64_t head_size(std::int64_t hidden, std::int64_t heads, std::string_view what);

/// Of an op whose Q, K and V have known ranks. Error when they do not fit each other.
AttentionShape attention_shape(const TypedOp& op);

}  // namespace podium::ir
