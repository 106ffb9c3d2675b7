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

}  // namespace podium::kernels
