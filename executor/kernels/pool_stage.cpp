#include "executor/kernels/pool_stage.h"

#include <algorithm>

namespace podium::kernels {
namespace {

// Windows that cover the axis without gap or padding go on over its end: a long run instead of many short
// ones.
void make_one_run(PoolStage& stage) {
  const bool covers =
      stage.input == stage.output * stage.stride &&
      std::all_of(stage.taps.begin(), stage.taps.end(), [&](const ir::Tap& tap) {
        return tap.begin == 0 && tap.end == stage.output && tap.shift >= 0 && tap.shift < stage.stride;
      });
  if (!covers) return;
  stage.input *= stage.outer;
  stage.output *= stage.outer;
  for (ir::Tap& tap : stage.taps) tap.end = stage.output;
  stage.outer = 1;
}

}  // namespace

std::vector<PoolStage> pool_stages(const ir::Window& window, std::int64_t planes) {
  const std::size_t rank = window.rank();
  std::vector<PoolStage> stages;
  ir::Dims sizes = window.input;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    PoolStage stage{.outer = planes,
                    .input = window.input[axis],
                    .output = window.output[axis],
                    .stride = window.strides[axis],
                    .taps = ir::taps_of(window, axis)};
    for (std::size_t i = 0; i < axis; ++i) stage.outer *= sizes[i];
    for (std::size_t i = axis + 1; i < rank; ++i) stage.inner *= sizes[i];
    sizes[axis] = window.output[axis];
    make_one_run(stage);
    stages.push_back(std::move(stage));
  }
  // A plane without axes is one number that every window sees.
  if (rank == 0) stages.push_back({.outer = planes, .taps = {{.shift = 0, .begin = 0, .end = 1}}});
  return stages;
}

std::vector<std::int64_t> seen_counts(const ir::Window& window, std::size_t axis, bool with_padding) {
  std::vector<std::int64_t> counts;
  const std::int64_t least = with_padding ? -window.pads_begin[axis] : 0;
  const std::int64_t limit = window.input[axis] + (with_padding ? window.pads_end[axis] : 0);
  for (std::int64_t o = 0; o < window.output[axis]; ++o) {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < window.kernel[axis]; ++k) {
      const std::int64_t at = o * window.strides[axis] - window.pads_begin[axis] + k * window.dilations[axis];
      if (at >= least && at < limit) ++count;
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace podium::kernels
