#include "executor/kernels/attention_head.h"

#include "executor/kernels/tools/even_tiles.h"
#include "executor/kernels/tools/strip_products.h"
#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

// A range of rows of packed strips, as weights of their own: strips lie `inner` rows apart.
StripWeights strips_at(const float* numbers, std::int64_t inner, std::int64_t columns) {
  const Dims dims{strip_count(columns), inner, kStrip};
  return {.inner = inner,
          .columns = columns,
          .numbers = Tensor::view(DataType::Float, dims, const_cast<float*>(numbers))};
}

std::int64_t floats_of(const HeadShape& shape) {
  return floats_of_strips(shape.head, shape.positions) + floats_of_strips(shape.positions, shape.v_head);
}

// Blocks of nearly equal heights, and of whole tiles of the products.
std::int64_t rows_of_block(std::int64_t rows, std::int64_t positions) {
  static_assert(HeadBlocks::kMostRows % kMostStripRows == 0);
  constexpr std::int64_t kLeast = 2 * kMostStripRows;
  const std::int64_t kept = kKeptFloats / 2 / std::max<std::int64_t>(positions, 1);
  const EvenTiles blocks{.things = std::max<std::int64_t>(rows, 1),
                         .at_once = std::clamp(kept, kLeast, HeadBlocks::kMostRows)};
  const std::int64_t most = (blocks.things + blocks.count() - 1) / blocks.count();
  return (most + kMostStripRows - 1) / kMostStripRows * kMostStripRows;
}

std::int64_t step_of_scores(std::int64_t positions) {
  constexpr std::int64_t kLine = 16;
  return (positions + kLine - 1) / kLine * kLine + kLine;
}

}  // namespace

HeadProducts::Packing::Packing(std::int64_t inner, std::int64_t columns, const MatrixSteps& steps)
    : whole_from(columns / kStrip * kStrip * steps.column),
      whole_to(columns / kStrip * kStrip * inner),
      whole(DataType::Float, {{columns / kStrip, kStrip * steps.column, inner * kStrip},
                              {inner, steps.row, kStrip},
                              {kStrip, steps.column, 1}}),
      rest(DataType::Float, {{inner, steps.row, kStrip}, {columns % kStrip, steps.column, 1}}) {}

void HeadProducts::Packing::run(const float* from, float* to) const {
  whole.run(from, to);
  rest.run(from + whole_from, to + whole_to);
}

HeadProducts::HeadProducts(const HeadShape& shape, const MatrixSteps& k, const MatrixSteps& v)
    : shape_(shape),
      floats_of_k_(floats_of_strips(shape.head, shape.positions)),
      floats_of_v_(floats_of(shape) - floats_of_k_),
      pack_k_(shape.head, shape.positions, {k.column, k.row}),
      pack_v_(shape.positions, shape.v_head, v) {}

// What fills up the last strips takes part in products whose results nobody keeps, but must be numbers that
// are multiplied fast.
void HeadProducts::clear(float* packed) const {
  const std::int64_t last_of_k = std::min(floats_of_k_, shape_.head * kStrip);
  const std::int64_t last_of_v = std::min(floats_of_v_, shape_.positions * kStrip);
  std::fill_n(packed + floats_of_k_ - last_of_k, last_of_k, 0.0F);
  std::fill_n(packed + floats() - last_of_v, last_of_v, 0.0F);
}

void HeadProducts::pack(const float* k, const float* v, float* packed) const {
  pack_k_.run(k, packed);
  pack_v_.run(v, packed + floats_of_k_);
}

void HeadProducts::scores(const float* packed, const HeadRows<const float>& q, std::int64_t rows,
                          const PositionRange& seen, const HeadRows<float>& scores) const {
  multiply_strips(strips_at(packed, shape_.head, seen.last),
                  {.x = q.data, .row_x = q.step, .rows = rows, .y = scores.data, .row_y = scores.step},
                  {seen.first / kStrip, strip_count(seen.last)});
}

void HeadProducts::values(const float* packed, const HeadRows<const float>& scores, std::int64_t rows,
                          const PositionRange& seen, const HeadRows<float>& y) const {
  for (std::int64_t first = 0; first < shape_.v_head; first += kStrip) {
    const float* strip = packed + floats_of_k_ + first * shape_.positions + seen.first * kStrip;
    const StripWeights weights =
        strips_at(strip, seen.last - seen.first, std::min(kStrip, shape_.v_head - first));
    multiply_strips(weights,
                    {.x = scores.data + seen.first,
                     .row_x = scores.step,
                     .rows = rows,
                     .y = y.data + first,
                     .row_y = y.step},
                    {0, 1});
  }
}

HeadBlocks::HeadBlocks(std::int64_t heads, std::int64_t sharing, std::int64_t rows, const HeadShape& shape)
    : heads_(heads),
      sharing_(sharing),
      rows_(rows),
      rows_of_block_(rows_of_block(rows, shape.positions)),
      score_step_(step_of_scores(shape.positions)),
      floats_of_thread_(floats_of(shape) + rows_of_block_ * score_step_) {}

std::size_t HeadBlocks::bytes() const { return machine_threads() * floats_of_thread_ * sizeof(float); }

std::int64_t HeadBlocks::threads_for(std::int64_t units) {
  return may_use_threads() ? std::min<std::int64_t>({units, machine_threads(), omp_get_max_threads()}) : 1;
}

}  // namespace podium::kernels
