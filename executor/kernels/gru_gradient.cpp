// GRUGradient: the gates of all steps at once, then their gradients step by step on the way back.
//
//   z, r = sigmoid(x + p);  h' = tanh(x + r p), or tanh(x + p) where p is the product with r h(before)
//   h = (1 - z) h' + z h(before)
//   back:   dh = dY + what the step behind gave
//           dz = dh (h(before) - h');  da = dh (1 - z) (1 - h'^2), of what tanh is of
//           where r scales the product p: dr = da p,  dp = da r,  dh(before) = dh z + [dz, dr, dp] R
//           where it scales h:            s = da R(h),  dr = s h(before),
//                                         dh(before) = dh z + s r + [dz, dr] R(z, r)
//   dz and dr times z (1 - z) and r (1 - r) are the gradients of the gates.
//
// The gates lie where their gradients will, which a step writes over them. A sequence that has ended hands on
// its state and gives its gates no gradient.
#include <algorithm>
#include <optional>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/recurrent_activation.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/way_back.h"
#include "ir/ops/gru_gradient.h"

namespace podium::kernels {
namespace {

using In = ir::GruGradientInput;
using Out = ir::GruGradientOutput;

enum class Resets : std::uint8_t { State, Product };

template <class T>
struct GruOperands {
  const T* of_x = nullptr;
  const T* of_h = nullptr;
  const T* states = nullptr;
  const T* flow_y = nullptr;
  T* gates = nullptr;     ///< activated ones, then their gradients
  T* products = nullptr;  ///< the gradients of the products with h; nullptr where they are those of the gates
  T* dh = nullptr;        ///< [batch, hidden]
  T* into_reset = nullptr;  ///< [batch, hidden]: s above
};

// z, r and h' of one step of one sequence.
template <class T>
void activate_gates(const WayBack& way, const GruOperands<T>& on, Resets resets, std::int64_t row) {
  constexpr Activation kSigmoid{Activation::Function::Sigmoid};
  constexpr Activation kTanh{Activation::Function::Tanh};
  const std::int64_t hidden = way.hidden;
  const T* x = on.of_x + row * 3 * hidden;
  const T* p = on.of_h + row * 3 * hidden;
  T* gates = on.gates + row * 3 * hidden;
  for (std::int64_t k = 0; k < 2 * hidden; ++k) gates[k] = x[k] + p[k];
  activate(kSigmoid, 0, gates, 2 * hidden);
  const T* r = gates + hidden;
  x += 2 * hidden;
  p += 2 * hidden;
  T* candidate = gates + 2 * hidden;
  if (resets == Resets::Product) {
    for (std::int64_t k = 0; k < hidden; ++k) candidate[k] = x[k] + r[k] * p[k];
  } else {
    for (std::int64_t k = 0; k < hidden; ++k) candidate[k] = x[k] + p[k];
  }
  activate(kTanh, 0, candidate, hidden);
}

// One step of one sequence, but for the products; where r scales h its own gradient comes later.
template <class T>
void go_back_through_gates(const WayBack& way, const GruOperands<T>& on, Resets resets, std::int64_t t,
                           std::int64_t b) {
  const std::int64_t hidden = way.hidden;
  const std::int64_t row = t * way.batch + b;
  T* __restrict z = on.gates + row * 3 * hidden;
  T* __restrict r = z + hidden;
  T* __restrict candidate = r + hidden;
  T* __restrict products = on.products == nullptr ? nullptr : on.products + row * 3 * hidden;
  if (way.has_ended(t, b)) {
    std::fill_n(z, 3 * hidden, T{0});
    if (products != nullptr) std::fill_n(products, 3 * hidden, T{0});
    return;
  }
  const T* __restrict before = on.states + row * hidden;
  const T* __restrict p = on.of_h + row * 3 * hidden + 2 * hidden;
  T* __restrict dh = on.dh + b * hidden;
  if (on.flow_y != nullptr) {
    const T* __restrict flow = on.flow_y + row * hidden;
    for (std::int64_t k = 0; k < hidden; ++k) dh[k] += flow[k];
  }
  constexpr T kOne{1};
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T into_candidate = dh[k] * (kOne - z[k]) * (kOne - candidate[k] * candidate[k]);
    const T into_z = dh[k] * (before[k] - candidate[k]) * z[k] * (kOne - z[k]);
    dh[k] *= z[k];
    z[k] = into_z;
    candidate[k] = into_candidate;
  }
  if (resets == Resets::State) return;
  for (std::int64_t k = 0; k < hidden; ++k) {
    products[k] = z[k];
    products[2 * hidden + k] = candidate[k] * r[k];
    r[k] = candidate[k] * p[k] * r[k] * (kOne - r[k]);
    products[hidden + k] = r[k];
  }
}

// The gradient of r where it scales h, whose own it adds to.
template <class T>
void go_back_through_reset(const WayBack& way, const GruOperands<T>& on, std::int64_t t, std::int64_t b) {
  if (way.has_ended(t, b)) return;
  const std::int64_t row = t * way.batch + b;
  T* __restrict r = on.gates + row * 3 * way.hidden + way.hidden;
  const T* __restrict before = on.states + row * way.hidden;
  const T* __restrict into_reset = on.into_reset + b * way.hidden;
  T* __restrict dh = on.dh + b * way.hidden;
  for (std::int64_t k = 0; k < way.hidden; ++k) {
    dh[k] += into_reset[k] * r[k];
    r[k] = into_reset[k] * before[k] * r[k] * (T{1} - r[k]);
  }
}

// R in the parts that a step multiplies by: of z, r and p together, or of z and r, and of h'.
template <class T>
struct GruWeights {
  StepWeights<T> first;
  std::optional<StepWeights<T>> candidate = std::nullopt;  ///< where r scales h

  static std::int64_t room(std::int64_t hidden, Resets resets) {
    return resets == Resets::Product
               ? StepWeights<T>::room(3 * hidden, hidden)
               : StepWeights<T>::room(2 * hidden, hidden) + StepWeights<T>::room(hidden, hidden);
  }
};

template <class T>
GruWeights<T> weights_of(const T* r, std::int64_t hidden, Resets resets, T* room) {
  if (resets == Resets::Product) return {StepWeights<T>(r, 3 * hidden, hidden, room)};
  T* const more = room + StepWeights<T>::room(2 * hidden, hidden);
  return {StepWeights<T>(r, 2 * hidden, hidden, room),
          StepWeights<T>(r + 2 * hidden * hidden, hidden, hidden, more)};
}

template <class T>
void go_back_through_steps(const WayBack& way, const GruOperands<T>& on, Resets resets,
                           const GruWeights<T>& weights) {
  using To = typename StepWeights<T>::To;
  constexpr std::int64_t kCostThere = 150;
  constexpr std::int64_t kCostBack = 30;
  const std::int64_t width = 3 * way.hidden;
  parallel_ranges(way.steps * way.batch, way.hidden * kCostThere, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) activate_gates(way, on, resets, row);
  });
  const auto for_each_sequence = [&](const auto& one) {
    parallel_ranges(way.batch, way.hidden * kCostBack, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) one(b);
    });
  };
  for (std::int64_t i = way.steps - 1; i >= 0; --i) {
    const std::int64_t t = way.step(i);
    for_each_sequence([&](std::int64_t b) { go_back_through_gates(way, on, resets, t, b); });
    const T* gates = on.gates + t * way.batch * width;
    if (resets == Resets::Product) {
      weights.first.multiply_by(on.products + t * way.batch * width, width, way.batch, on.dh, To::Add, i);
      continue;
    }
    weights.candidate->multiply_by(gates + 2 * way.hidden, width, way.batch, on.into_reset, To::Set, i);
    for_each_sequence([&](std::int64_t b) { go_back_through_reset(way, on, t, b); });
    weights.first.multiply_by(gates, width, way.batch, on.dh, To::Add, i);
  }
}

template <class T>
void run_gru_gradient(WayBack way, Resets resets, const RunContext& run) {
  way.lengths = data_or_null<std::int32_t>(run, In::kLengths);
  T* const dh = run.scratch<T>();
  const GruOperands<T> on{
      .of_x = data_or_null<T>(run, In::kGates),
      .of_h = data_or_null<T>(run, In::kProducts),
      .states = data_or_null<T>(run, In::kStates),
      .flow_y = data_or_null<T>(run, In::kFlowY),
      .gates = run.output(Out::kGates).data<T>(),
      .products = resets == Resets::Product ? run.output(Out::kProducts).data<T>() : nullptr,
      .dh = dh,
      .into_reset = dh + way.state()};
  copy_or_clear(run, In::kFlowH, way.state(), on.dh);
  if (way.state() > 0) {
    go_back_through_steps(way, on, resets,
                          weights_of(data_or_null<T>(run, In::kR), way.hidden, resets, dh + 2 * way.state()));
  }
  if (resets == Resets::State && run.has_output(Out::kProducts))
    std::copy_n(on.gates, way.steps * way.state() * 3, run.output(Out::kProducts).data<T>());
  if (run.has_output(Out::kInitialH)) std::copy_n(on.dh, way.state(), run.output(Out::kInitialH).data<T>());
}

}  // namespace

PreparedKernel prepare_gru_gradient(PrepareContext& context) {
  const Dims& states = context.dims(In::kStates);
  const WayBack way = way_back_of(context, states, states[2]);
  const Resets resets = ir::resets_after_product(context.op) ? Resets::Product : Resets::State;
  return dispatch<float, double>(context.element(In::kGates), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    context.need_scratch((2 * way.state() + GruWeights<T>::room(way.hidden, resets)) * sizeof(T));
    return [way, resets](const RunContext& run) { run_gru_gradient<T>(way, resets, run); };
  });
}

}  // namespace podium::kernels
