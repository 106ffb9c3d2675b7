// Parts that the recurrent cells share: the shape of the recurrence and the walk over its steps.
#pragma once

#include <type_traits>
#include <vector>

#include "executor/kernels/recurrent_activation.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/strip_products.h"
#include "ir/ops/recurrent.h"

namespace podium::kernels {

using ir::RecurrentInput;
using ir::RecurrentOutput;

struct Recurrence : ir::RecurrentShape {
  std::int64_t gates = 1;
  std::vector<Activation> activations = {};  ///< those of the first direction, then those of the second
  double clip = 0;
  bool input_forget = false;
  bool linear_before_reset = false;

  std::int64_t width() const { return gates * hidden; }
  bool is_reverse(std::int64_t direction) const { return direction == 1 || starts_reverse; }
  const Activation& activation(std::int64_t direction, std::size_t i) const {
    return activations[direction * activations.size() / directions + i];
  }
  /// Row of X, of the gates and, but for the directions, of Y.
  std::int64_t row(std::int64_t step, std::int64_t b) const {
    return batch_first ? b * steps + step : step * batch + b;
  }
  std::int64_t y_row(std::int64_t step, std::int64_t direction, std::int64_t b) const {
    return batch_first ? row(step, b) * directions + direction : (step * directions + direction) * batch + b;
  }
  std::int64_t state_row(std::int64_t direction, std::int64_t b) const {
    return batch_first ? b * directions + direction : direction * batch + b;
  }
  /// Rows of R that a step multiplies with its state at first; a GRU multiplies the others with another one.
  std::int64_t first_rows() const { return gates == 3 ? 2 * hidden : width(); }
  /// Whether the products with X are with strips, too: where oneDNN would pack W for few rows, or has no
  /// products of packed weights.
  bool has_strips_of_w() const {
    constexpr std::int64_t kFewRows = 128;
    return !kLibraryPacksProducts || steps * batch <= kFewRows;
  }
  /// Elements of work memory: gates of all steps, two states, room for one step, and W and R in strips.
  std::int64_t work() const {
    return (steps * batch + batch) * width() + 2 * batch * hidden +
           (has_strips_of_w() ? floats_of_strips(input, width()) : 0) +
           floats_of_strips(hidden, first_rows()) + floats_of_strips(hidden, width() - first_rows());
  }
};

/// Reads the attributes; `names`: activations that a direction needs.
Recurrence read_recurrence(const PrepareContext& context, std::int64_t gates, std::size_t activations);

/// W and R of a direction, transposed and packed; of R the rows that a step multiplies with its state at
/// first, and those that a GRU multiplies after it has reset the state.
struct RecurrentStrips {
  StripWeights input = {};  ///< of no strips where the products with X are oneDNN's
  StripWeights first = {};
  StripWeights others = {};
  const StripWeights& from(std::int64_t row) const { return row == 0 ? first : others; }
};

/// The inputs and outputs of a run in the type computed with; nullptr: left out.
template <class T>
struct RecurrentData {
  const T* x = nullptr;
  const T* w = nullptr;
  const T* r = nullptr;
  const T* b = nullptr;
  const std::int32_t* lengths = nullptr;
  const T* initial_h = nullptr;
  const T* initial_c = nullptr;
  const T* p = nullptr;
  T* y = nullptr;
  T* y_h = nullptr;
  T* y_c = nullptr;
  T* work = nullptr;
  const RecurrentStrips* strips = nullptr;  ///< one for each direction, where floats were known beforehand
};

/// One step of one direction. `gates` has the products with X and the biases; row b starts at b *
/// gate_stride.
template <class T>
struct RecurrentStep {
  const Recurrence& plan;
  std::int64_t direction = 0;
  T* gates = nullptr;
  std::int64_t gate_stride = 0;
  const T* r = nullptr;  ///< R of this direction; so are b and p
  const T* b = nullptr;
  const T* p = nullptr;
  T* h = nullptr;  ///< [batch, hidden]: before the step, then after it
  T* c = nullptr;
  T* room = nullptr;                        ///< [batch, gates * hidden]
  const RecurrentStrips* strips = nullptr;  ///< of floats
  StripOrder order = StripOrder::Forth;     ///< the other one in the next step

  /// gates[first, first + count) += h R^T for these rows of R.
  void add_recurrent(const T* state, std::int64_t first, std::int64_t count) const {
    multiply_recurrent(state, first, count, gates + first, gate_stride, T{1});
  }
  /// to = h R^T + beta to, for these rows of R.
  void multiply_recurrent(const T* state, std::int64_t first, std::int64_t count, T* to, std::int64_t row_to,
                          T beta) const {
    if constexpr (std::is_same_v<T, float>) {
      multiply_strips(
          strips->from(first),
          {.x = state, .rows = plan.batch, .y = to, .row_y = row_to, .addend = beta == 0 ? nullptr : to},
          order);
    } else {
      multiply({.m = plan.batch, .n = count, .k = plan.hidden, .transpose_b = true, .row_c = row_to}, state,
               r + first * plan.hidden, to, T{1}, beta);
    }
  }
  void activated(std::size_t i, T* x) const {
    activate(plan.activation(direction, i), plan.clip, x, plan.hidden);
  }
  template <class Row>
  void for_each_row(const Row& row) const {
    for_each_product(plan.batch, 60.0 * static_cast<double>(plan.width()), row);
  }
};

/// Prepares the recurrence by oneDNN's primitives, with weights packed once: for floats, ONNX's default
/// activations, several sequences and weights known beforehand. Empty for any other recurrence.
PreparedKernel prepare_packed_recurrence(PrepareContext& context, const Recurrence& plan);

template <class T>
void step_rnn(const RecurrentStep<T>& step);
template <class T>
void step_gru(const RecurrentStep<T>& step);
template <class T>
void step_lstm(const RecurrentStep<T>& step);

}  // namespace podium::kernels
