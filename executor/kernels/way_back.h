// What the ops that go back through the steps of a recurrence share: LSTMGradient, GRUGradient, RNNGradient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/strip_products.h"
#include "ir/ops/recurrent.h"

namespace podium::kernels {

/// The steps of one direction.
struct WayBack {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  bool is_reverse = false;
  const std::int32_t* lengths = nullptr;  ///< nullptr: all sequences go on to the end

  std::int64_t state() const { return batch * hidden; }
  /// The step that the direction reads as number i.
  std::int64_t step(std::int64_t i) const { return is_reverse ? steps - 1 - i : i; }
  bool has_ended(std::int64_t t, std::int64_t b) const { return lengths != nullptr && t >= lengths[b]; }
};

/// The way that the op's direction takes back over tensors [steps, batch, ...].
inline WayBack way_back_of(const PrepareContext& context, const Dims& dims, std::int64_t hidden) {
  return {.steps = dims[0],
          .batch = dims[1],
          .hidden = hidden,
          .is_reverse = ir::reads_last_step_first(context.op)};
}

/// Rows of R, by which each step multiplies the gradients of its gates. Floats are packed once for all steps,
/// in `room` of floats_of_strips(rows, columns).
template <class T>
class StepWeights {
 public:
  static std::int64_t room(std::int64_t rows, std::int64_t columns) {
    return std::is_same_v<T, float> ? floats_of_strips(rows, columns) : 0;
  }

  StepWeights(const T* r, std::int64_t rows, std::int64_t columns, T* room)
      : r_(r), rows_(rows), columns_(columns) {
    if constexpr (std::is_same_v<T, float>)
      strips_ = strips_of(MatrixOfFloats::plain(r, rows, columns), room);
  }

  enum class To : std::uint8_t { Set, Add };

  /// to = x R, or to += x R: x [batch, rows] with `row_x` elements from one row to the next. `i`: the step.
  void multiply_by(const T* x, std::int64_t row_x, std::int64_t batch, T* to, To how, std::int64_t i) const {
    if constexpr (std::is_same_v<T, float>) {
      multiply_strips(strips_,
                      {.x = x,
                       .row_x = row_x,
                       .rows = batch,
                       .y = to,
                       .row_y = columns_,
                       .addend = how == To::Add ? to : nullptr},
                      i % 2 == 0 ? StripOrder::Forth : StripOrder::Back);
    } else {
      multiply({.m = batch, .n = columns_, .k = rows_, .row_a = row_x}, x, r_, to, T{1},
               how == To::Add ? T{1} : T{0});
    }
  }

 private:
  const T* r_;
  std::int64_t rows_;
  std::int64_t columns_;
  StripWeights strips_ = {};
};

/// `count` elements of an input, or zeros where it is not there.
template <class T>
void copy_or_clear(const RunContext& run, std::size_t input, std::int64_t count, T* to) {
  if (run.has_input(input)) {
    std::copy_n(run.input(input).data<T>(), count, to);
  } else {
    std::fill_n(to, count, T{0});
  }
}

/// The data of an input; nullptr: left out.
template <class T>
const T* data_or_null(const RunContext& run, std::size_t input) {
  return run.has_input(input) ? run.input(input).data<T>() : nullptr;
}

}  // namespace podium::kernels
