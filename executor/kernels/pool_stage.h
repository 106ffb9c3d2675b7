// A pool over several axes as one pass along each axis: maxima and sums do not mind the order, and k + k
// operations are fewer than k * k.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/ops/window.h"

namespace podium::kernels {

/// [outer, input, inner] to [outer, output, inner].
struct PoolStage {
  std::int64_t outer = 1;
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t inner = 1;
  std::int64_t stride = 1;
  std::vector<ir::Tap> taps = {};

  std::int64_t output_size() const { return outer * output * inner; }
};

/// The passes over `planes` planes (each: all spatial axes of one channel) that lie side by side. The
/// outermost axis goes first: it joins whole rows and leaves fewer elements for the other axes.
std::vector<PoolStage> pool_stages(const ir::Window& window, std::int64_t planes = 1);

/// Joins every element `kStride` (0: `stride`) apart into the elements of `to`, which is other memory.
template <int kStride, class T, class Join>
void join_into(T* __restrict to, const T* __restrict from, std::int64_t count, std::int64_t stride,
               const Join& join) {
  const std::int64_t step = kStride == 0 ? stride : kStride;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = join(to[i], from[i * step]);
}

/// Joins the elements of each window, starting from `empty`.
template <class T, class Join>
void run_stage(const PoolStage& stage, const T* in, T* out, T empty, const Join& join) {
  if (stage.output_size() == 0) return;
  std::fill_n(out, stage.output_size(), empty);
  for (std::int64_t outer = 0; outer < stage.outer; ++outer) {
    for (const ir::Tap& tap : stage.taps) {
      const T* from = in + (outer * stage.input + tap.begin * stage.stride + tap.shift) * stage.inner;
      T* to = out + (outer * stage.output + tap.begin) * stage.inner;
      const std::int64_t count = tap.end - tap.begin;
      if (stage.stride == 1) {
        join_into<1>(to, from, count * stage.inner, 1, join);
      } else if (stage.inner > 1) {
        for (std::int64_t o = 0; o < count; ++o) {
          join_into<1>(to + o * stage.inner, from + o * stage.stride * stage.inner, stage.inner, 1, join);
        }
      } else if (stage.stride == 2) {
        join_into<2>(to, from, count, 2, join);
      } else {
        join_into<0>(to, from, count, stage.stride, join);
      }
    }
  }
}

/// Two buffers for the results between the passes; each thread has its own.
template <class T>
class StageBuffers {
 public:
  explicit StageBuffers(const std::vector<PoolStage>& stages) {
    std::int64_t most = 0;
    for (const PoolStage& stage : stages) most = std::max(most, stage.output_size());
    for (std::vector<T>& buffer : buffers_) buffer.resize(most);
  }
  T* of_stage(std::size_t stage) { return buffers_[stage % 2].data(); }

 private:
  std::vector<T> buffers_[2];
};

/// All passes; the last one writes `out`.
template <class T, class Join>
void run_stages(const std::vector<PoolStage>& stages, StageBuffers<T>& buffers, const T* in, T* out, T empty,
                const Join& join) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    T* to = s + 1 == stages.size() ? out : buffers.of_stage(s);
    run_stage(stages[s], in, to, empty, join);
    in = to;
  }
}

}  // namespace podium::kernels
