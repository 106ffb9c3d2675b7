// Attention: blocks of rows of the scores of one head at a time, so that no matrix of all scores is needed.
// A block multiplies its rows of Q by the positions of K that its first to last row see, caps, masks and
// normalises each row of scores in place, and multiplies the scores by V. Heads of Q share the heads of K and
// V in groups. Blocks are independent, so threads take them in any order with the same numbers. Where there
// are more than a few rows of floats, K and V of a head are packed once for all of them (attention_head.h).
#include "executor/kernels/attention.h"

#include <algorithm>
#include <cstring>

#include "executor/kernels/attention_head.h"
#include "executor/kernels/families.h"
#include "executor/kernels/softmax.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/tools/gemm.h"
#include "ir/ops/attention.h"

namespace podium::kernels {
namespace {

constexpr std::int64_t kBlockRows = 64;

using ir::AttentionInput;
using ir::AttentionOutput;

struct AttentionPlan : ir::AttentionShape {
  std::int64_t total = 0;  // positions of the past and of K
  double scale = 1;
  double softcap = 0;
  bool is_causal = false;
  std::int64_t left = -1;  // window sizes, negative: no bound
  std::int64_t right = -1;
  std::int64_t output_mode = 0;
  std::vector<std::int64_t> places = {};  // of the rows among those of the whole op; empty: they are all

  std::int64_t group() const { return q_heads / kv_heads; }  // heads of Q with the same K and V
  HeadShape shape() const { return {.positions = total, .head = head, .v_head = v_head}; }
  HeadBlocks blocks() const { return {batch * q_heads, group(), rows, shape()}; }
};

// Which stage of the scores the last output shows.
enum : std::int64_t { kProduct = 0, kCapped = 1, kBiased = 2, kSoftmax = 3 };

// How a mask of up to four axes repeats; its last axis may be shorter than the positions.
struct Mask {
  const void* data = nullptr;
  bool is_bool = false;
  std::int64_t batch_step = 0;
  std::int64_t head_step = 0;
  std::int64_t row_step = 0;
  std::int64_t columns = 0;
};

Mask mask_of(const Tensor& tensor) {
  Mask mask{
      .data = tensor.raw(), .is_bool = tensor.type() == DataType::Bool, .columns = tensor.dims().back()};
  std::int64_t stride = mask.columns;
  std::int64_t* steps[] = {&mask.row_step, &mask.head_step, &mask.batch_step};
  for (int axis = tensor.rank() - 2, i = 0; axis >= 0; --axis, ++i) {
    *steps[i] = tensor.dim(axis) == 1 ? 0 : stride;
    stride *= tensor.dim(axis);
  }
  return mask;
}

// One run.
template <class C>
struct Attending {
  const AttentionPlan& plan;
  Heads<const C> q;
  Heads<const C> k;
  Heads<const C> v;
  Heads<C> y;
  Mask mask;
  const std::int64_t* lengths = nullptr;  // of a padded cache, per batch element
  C* shown = nullptr;                     // qk_matmul_output
  C* memory = nullptr;                    // for packed heads

  // Positions of the first row of Q's batch element in the sequence of K.
  std::int64_t offset(std::int64_t b) const {
    return plan.past == 0 && lengths != nullptr ? lengths[b] - plan.rows : plan.past;
  }

  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;  // one behind
  };
  // What row `i` may see, but for the mask's values.
  Range visible(std::int64_t b, std::int64_t i) const {
    const std::int64_t at = (plan.places.empty() ? i : plan.places[i]) + offset(b);
    Range range{0, mask.data == nullptr ? plan.total : mask.columns};
    if (lengths != nullptr) range.last = std::min(range.last, lengths[b]);
    if (plan.is_causal) range.last = std::min(range.last, at + 1);
    if (plan.right >= 0) range.last = std::min(range.last, at + plan.right + 1);
    if (plan.left >= 0) range.first = std::max<std::int64_t>(0, at - plan.left);
    range.first = std::min(range.first, plan.total);  // a row behind all positions sees none
    range.last = std::max(range.first, range.last);
    return range;
  }
};

template <class C>
constexpr C kMasked = -std::numeric_limits<C>::infinity();

// Adds the mask to the scores of one row; false when it hides all of them.
template <class C>
bool add_mask(const Mask& mask, std::int64_t start, std::int64_t count, C* scores) {
  bool any = false;
  if (mask.is_bool) {
    const auto* from = static_cast<const std::uint8_t*>(mask.data) + start;
    for (std::int64_t j = 0; j < count; ++j) {
      scores[j] = from[j] != 0 ? scores[j] : kMasked<C>;
      any |= from[j] != 0;
    }
  } else {
    const C* from = static_cast<const C*>(mask.data) + start;
    for (std::int64_t j = 0; j < count; ++j) {
      scores[j] += from[j];
      any |= !(from[j] == kMasked<C>);
    }
  }
  return any;
}

// Scores of one row, cut to what it sees, then their softmax. `row` starts at position 0; what lies in [low,
// high) and is not seen becomes 0.
template <class C>
void finish_row(const Attending<C>& a, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t low,
                std::int64_t high, C* row) {
  const auto [first, last] = a.visible(b, i);
  C* const shown =
      a.shown == nullptr ? nullptr : a.shown + ((b * a.plan.q_heads + h) * a.plan.rows + i) * a.plan.total;
  bool any = last > first;
  if (any && a.mask.data != nullptr) {
    const std::int64_t start = b * a.mask.batch_step + h * a.mask.head_step + i * a.mask.row_step + first;
    any = add_mask(a.mask, start, last - first, row + first);
  }
  if (shown != nullptr && a.plan.output_mode == kBiased) {
    std::fill_n(shown, a.plan.total, kMasked<C>);
    std::copy(row + first, row + last, shown + first);
  }
  if (any) softmax_row(row + first, row + first, last - first);
  std::fill(row + low, row + (any ? first : high), C{0});
  if (any) std::fill(row + last, row + high, C{0});
  if (shown != nullptr && a.plan.output_mode == kSoftmax) std::copy_n(row, a.plan.total, shown);
}

template <class C>
void cap(double softcap, std::int64_t count, C* scores) {
  const C limit = static_cast<C>(softcap);
  for (std::int64_t j = 0; j < count; ++j) scores[j] = limit * fast_tanh(scores[j] / limit);
}

// A block of rows of head h of batch element b, and the positions that any of them sees.
struct Block {
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t first = 0;
  std::int64_t rows = 0;
  PositionRange seen = {};
};

// Later rows see later positions: the first row begins first and the last ends last.
template <class C>
Block block_of(const Attending<C>& a, std::int64_t head, std::int64_t first, std::int64_t rows) {
  const AttentionPlan& plan = a.plan;
  Block block{.b = head / plan.q_heads, .h = head % plan.q_heads, .first = first, .rows = rows};
  block.seen = {0, plan.total};
  if (a.shown != nullptr) return block;
  block.seen.last = a.visible(block.b, first + rows - 1).last;
  block.seen.first = std::min(a.visible(block.b, first).first, block.seen.last);
  return block;
}

// Products of a block become scores; they are `factor` times too small.
template <class C>
void finish_rows(const Attending<C>& a, const Block& block, C factor, const HeadRows<C>& scores) {
  const AttentionPlan& plan = a.plan;
  const auto [low, high] = block.seen;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    C* row = scores.data + i * scores.step;
    if (factor != 1) {
      for (std::int64_t j = low; j < high; ++j) row[j] *= factor;
    }
    C* const shown =
        a.shown == nullptr
            ? nullptr
            : a.shown + ((block.b * plan.q_heads + block.h) * plan.rows + block.first + i) * plan.total;
    if (shown != nullptr && plan.output_mode == kProduct) std::copy_n(row, plan.total, shown);
    if (plan.softcap > 0) cap(plan.softcap, high - low, row + low);
    if (shown != nullptr && plan.output_mode == kCapped) std::copy_n(row, plan.total, shown);
    finish_row(a, block.b, block.h, block.first + i, low, high, row);
  }
}

// Of a few rows, or of doubles.
template <class C>
void attend_block(const Attending<C>& a, const Block& block) {
  const AttentionPlan& plan = a.plan;
  thread_local std::vector<C> scores;
  scores.resize(block.rows * plan.total);
  const auto [low, high] = block.seen;
  const std::int64_t kv_head = block.h / plan.group();
  multiply({.m = block.rows,
            .n = high - low,
            .k = plan.head,
            .transpose_b = true,
            .row_a = a.q.row_step,
            .row_b = a.k.row_step,
            .row_c = plan.total},
           a.q.at(block.b, block.h) + block.first * a.q.row_step,
           a.k.at(block.b, kv_head) + low * a.k.row_step, scores.data() + low, static_cast<C>(plan.scale));
  finish_rows(a, block, C{1}, HeadRows<C>{scores.data(), plan.total});
  multiply({.m = block.rows,
            .n = plan.v_head,
            .k = high - low,
            .row_a = plan.total,
            .row_b = a.v.row_step,
            .row_c = a.y.row_step},
           scores.data() + low, a.v.at(block.b, kv_head) + low * a.v.row_step,
           a.y.at(block.b, block.h) + block.first * a.y.row_step);
}

void attend_packed(const Attending<float>& a) {
  const AttentionPlan& plan = a.plan;
  const HeadProducts products(plan.shape(), {a.k.row_step, 1}, {a.v.row_step, 1});
  const auto pack = [&](std::int64_t head, float* packed) {
    const std::int64_t b = head / plan.q_heads;
    const std::int64_t kv_head = head % plan.q_heads / plan.group();
    products.pack(a.k.at(b, kv_head), a.v.at(b, kv_head), packed);
  };
  const HeadBlocks blocks = plan.blocks();
  blocks.run(
      products, a.memory, pack,
      [&](std::int64_t head, std::int64_t first, std::int64_t rows, const float* packed, float* memory) {
        const Block block = block_of(a, head, first, rows);
        const HeadRows<float> scores{memory, blocks.score_step()};
        products.scores(packed, {a.q.at(block.b, block.h) + first * a.q.row_step, a.q.row_step}, rows,
                        block.seen, scores);
        finish_rows(a, block, static_cast<float>(plan.scale), scores);
        products.values(packed, {scores.data, scores.step}, rows, block.seen,
                        {a.y.at(block.b, block.h) + first * a.y.row_step, a.y.row_step});
      });
}

template <class C>
void attend(const Attending<C>& a) {
  const AttentionPlan& plan = a.plan;
  if constexpr (std::is_same_v<C, float>) {
    if (plan.rows >= ir::kPackedRows) return attend_packed(a);
  }
  const std::int64_t blocks = (plan.rows + kBlockRows - 1) / kBlockRows;
  const double flop =
      2.0 * static_cast<double>(std::min(kBlockRows, plan.rows) * plan.total * (plan.head + plan.v_head));
  for_each_product(plan.batch * plan.q_heads * blocks, flop, [&](std::int64_t i) {
    const std::int64_t first = i % blocks * kBlockRows;
    attend_block(a, block_of(a, i / blocks, first, std::min(kBlockRows, plan.rows - first)));
  });
}

void check_unpadded(const Tensor& lengths, std::int64_t total) {
  for (const std::int64_t length : lengths.values<std::int64_t>()) {
    if (length < 0 || length > total)
      throw Error("nonpad_kv_seqlen has {}, from 0 to {} needed", length, total);
  }
}

// present = the past, then what is new, as [batch, heads, total, size].
void append_past(const AttentionPlan& plan, const Tensor* past, const Tensor& added, Tensor& present) {
  const std::int64_t element = ir::storage_bytes(added.type());
  const std::int64_t row = present.dim(3) * element;
  const Heads<const std::byte> from =
      heads_of(static_cast<const std::byte*>(added.raw()), added.dims(), plan.kv_heads);
  auto* to = static_cast<std::byte*>(present.raw());
  for (std::int64_t head = 0; head < plan.batch * plan.kv_heads; ++head) {
    if (past != nullptr) {
      const std::int64_t bytes = plan.past * row;
      std::memcpy(to, static_cast<const std::byte*>(past->raw()) + head * bytes, bytes);
      to += bytes;
    }
    const std::byte* rows =
        from.data +
        (head / plan.kv_heads * from.batch_step + head % plan.kv_heads * from.head_step) * element;
    for (std::int64_t i = plan.past; i < plan.total; ++i, to += row) {
      std::memcpy(to, rows + (i - plan.past) * from.row_step * element, row);
    }
  }
}

// Where K or V is, its past, and both together.
struct Cache {
  std::size_t added = 0;
  std::size_t past = 0;
  std::size_t present = 0;
};
constexpr Cache kKeys{AttentionInput::kK, AttentionInput::kPastKey, AttentionOutput::kPresentKey};
constexpr Cache kValues{AttentionInput::kV, AttentionInput::kPastValue, AttentionOutput::kPresentValue};

// K (or V) with its past, wherever that is: in the output for it, in memory of its own, or K itself.
Tensor with_past(const RunContext& run, const AttentionPlan& plan, const Cache& cache, const Dims& dims) {
  const Tensor& added = run.input(cache.added);
  if (!run.has_output(cache.present) && !run.has_input(cache.past)) return added;
  Tensor present = run.has_output(cache.present) ? run.output(cache.present) : Tensor(added.type(), dims);
  append_past(plan, run.has_input(cache.past) ? &run.input(cache.past) : nullptr, added, present);
  return present;
}

template <class C>
void run_attention(const AttentionPlan& plan, const RunContext& run) {
  const Tensor q = as_computed<C>(run.input(AttentionInput::kQ));
  const Tensor k = as_computed<C>(with_past(run, plan, kKeys, plan.present_key()));
  const Tensor v = as_computed<C>(with_past(run, plan, kValues, plan.present_value()));
  Tensor y = room_for<C>(run.output(AttentionOutput::kY));
  const bool shows = run.has_output(AttentionOutput::kScores);
  Tensor shown = shows ? room_for<C>(run.output(AttentionOutput::kScores)) : Tensor();
  Tensor mask;
  if (run.has_input(AttentionInput::kMask)) {
    const Tensor& given = run.input(AttentionInput::kMask);
    mask = given.type() == DataType::Bool ? given : as_computed<C>(given);
  }
  const bool has_lengths = run.has_input(AttentionInput::kLengths);
  if (has_lengths) check_unpadded(run.input(AttentionInput::kLengths), plan.total);
  Attending<C> attending{
      .plan = plan,
      .q = heads_of(q.data<C>(), q.dims(), plan.q_heads),
      .k = heads_of(k.data<C>(), k.dims(), plan.kv_heads),
      .v = heads_of(v.data<C>(), v.dims(), plan.kv_heads),
      .y = heads_of(y.data<C>(), y.dims(), plan.q_heads),
      .mask = mask.defined() ? mask_of(mask) : Mask{},
      .lengths = has_lengths ? run.input(AttentionInput::kLengths).data<std::int64_t>() : nullptr,
      .shown = shows ? shown.data<C>() : nullptr,
      .memory = run.scratch<C>(),
  };
  attend(attending);
  store_computed<C>(y, run.output(AttentionOutput::kY));
  if (shows) store_computed<C>(shown, run.output(AttentionOutput::kScores));
}

AttentionPlan plan_attention(const PrepareContext& context) {
  AttentionPlan plan{ir::attention_shape(context)};
  plan.total = plan.positions();
  plan.scale = score_scale(context, plan.head);
  plan.softcap = context.get_float("softcap");
  plan.is_causal = context.get_int("is_causal") != 0;
  plan.places = ir::query_places(context);
  IR_CHECK(plan.places.empty() || std::ssize(plan.places) == plan.rows);
  // A window that is wider than all there is sees all.
  const std::int64_t widest = plan.total + (plan.places.empty() ? plan.rows : plan.places.back() + 1);
  plan.left = std::min(context.get_int("left_window_size"), widest);
  plan.right = std::min(context.get_int("right_window_size"), widest);
  plan.output_mode = context.get_int("qk_matmul_output_mode");
  return plan;
}

PreparedKernel attention(PrepareContext& context) {
  const AttentionPlan plan = plan_attention(context);
  if (plan.output_mode < kProduct || plan.output_mode > kSoftmax) {
    throw Error("qk_matmul_output_mode is {}, 0 to 3 needed", plan.output_mode);
  }
  const bool in_double = context.element(AttentionInput::kQ) == DataType::Double ||
                         context.element(AttentionInput::kV) == DataType::Double;
  if (!in_double && plan.rows >= ir::kPackedRows) context.need_scratch(plan.blocks().bytes());
  return [plan, in_double](const RunContext& run) {
    in_double ? run_attention<double>(plan, run) : run_attention<float>(plan, run);
  };
}

}  // namespace

std::span<const KernelSpec> attention_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Attention", .prepare = attention},
      {.name = "FlexAttention", .prepare = prepare_flex_attention, .domain = "ai.onnx.preview"},
      {.name = "LinearAttention", .prepare = prepare_linear_attention},
      {.name = "RotaryEmbedding", .prepare = prepare_rotary_embedding},
  };
  return kKernels;
}

}  // namespace podium::kernels
