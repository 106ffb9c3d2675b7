// LSTMGradient: the gates of all steps on the way there, then their gradients step by step on the way back.
//
//   there:  i, o, f, c' = activated gates;  c = f c + i c';  h = o tanh(c)
//   back:   dh = dY + dG(next) R
//           do = dh tanh(c);   dc += dh o (1 - tanh(c)^2)
//           di = dc c';  df = dc c(before);  dc' = dc i;  dc(before) = dc f
//           dG = di i (1 - i), do o (1 - o), df f (1 - f), dc' (1 - c'^2)
//
// The gates lie where their gradients will, which a step writes over them. Elements of the states know
// nothing of each other but through the one product of a step. A sequence that has ended hands on its states
// and gives its gates no gradient.
#include <algorithm>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/recurrent_activation.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/way_back.h"
#include "ir/ops/lstm_gradient.h"

namespace podium::kernels {
namespace {

using In = ir::LstmGradientInput;
using Out = ir::LstmGradientOutput;

template <class T>
struct LstmOperands {
  const T* flow_y = nullptr;
  const T* initial_c = nullptr;
  T* gates = nullptr;  ///< activated ones on the way there, their gradients on the way back
  T* c = nullptr;      ///< [steps, batch, hidden] behind each step, and before the first one
  T* tanh_c = nullptr;
  T* dh = nullptr;  ///< [batch, hidden]
  T* dc = nullptr;
};

// Elements [first, first + count) of the states of one sequence through all steps. What is behind step i is
// in part i + 1 of c.
template <class T>
void go_there(const WayBack& way, const LstmOperands<T>& on, std::int64_t b, std::int64_t first,
              std::int64_t count) {
  constexpr Activation kSigmoid{Activation::Function::Sigmoid};
  constexpr Activation kTanh{Activation::Function::Tanh};
  const std::int64_t at = b * way.hidden + first;
  if (on.initial_c == nullptr) {
    std::fill_n(on.c + at, count, T{0});
  } else {
    std::copy_n(on.initial_c + at, count, on.c + at);
  }
  for (std::int64_t i = 0; i < way.steps; ++i) {
    const std::int64_t t = way.step(i);
    const T* before = on.c + i * way.state() + at;
    T* c = on.c + (i + 1) * way.state() + at;
    if (way.has_ended(t, b)) {
      std::copy_n(before, count, c);
      continue;
    }
    T* gates = on.gates + (t * way.batch + b) * 4 * way.hidden + first;
    for (std::int64_t gate = 0; gate < 3; ++gate) activate(kSigmoid, 0, gates + gate * way.hidden, count);
    activate(kTanh, 0, gates + 3 * way.hidden, count);
    const T* forget = gates + 2 * way.hidden;
    const T* candidate = gates + 3 * way.hidden;
    for (std::int64_t k = 0; k < count; ++k) c[k] = forget[k] * before[k] + gates[k] * candidate[k];
    T* tanh_c = on.tanh_c + i * way.state() + at;
    std::copy_n(c, count, tanh_c);
    activate(kTanh, 0, tanh_c, count);
  }
}

// Step i of one sequence; dh becomes 0, to which the product of the step is added.
template <class T>
void go_back(const WayBack& way, const LstmOperands<T>& on, std::int64_t i, std::int64_t b) {
  const std::int64_t t = way.step(i);
  const std::int64_t hidden = way.hidden;
  T* __restrict gates = on.gates + (t * way.batch + b) * 4 * hidden;
  if (way.has_ended(t, b)) {
    std::fill_n(gates, 4 * hidden, T{0});
    return;
  }
  const T* __restrict before = on.c + i * way.state() + b * hidden;
  const T* __restrict tanh_c = on.tanh_c + i * way.state() + b * hidden;
  T* __restrict dh = on.dh + b * hidden;
  T* __restrict dc = on.dc + b * hidden;
  if (on.flow_y != nullptr) {
    const T* __restrict flow = on.flow_y + (t * way.batch + b) * hidden;
    for (std::int64_t k = 0; k < hidden; ++k) dh[k] += flow[k];
  }
  constexpr T kOne{1};
  for (std::int64_t k = 0; k < hidden; ++k) {
    const T input = gates[k];
    const T output = gates[hidden + k];
    const T forget = gates[2 * hidden + k];
    const T candidate = gates[3 * hidden + k];
    const T into_c = dc[k] + dh[k] * output * (kOne - tanh_c[k] * tanh_c[k]);
    gates[k] = into_c * candidate * input * (kOne - input);
    gates[hidden + k] = dh[k] * tanh_c[k] * output * (kOne - output);
    gates[2 * hidden + k] = into_c * before[k] * forget * (kOne - forget);
    gates[3 * hidden + k] = into_c * input * (kOne - candidate * candidate);
    dc[k] = into_c * forget;
    dh[k] = T{0};
  }
}

template <class T>
void run_back(const WayBack& way, const LstmOperands<T>& on, const StepWeights<T>& weights) {
  constexpr std::int64_t kPart = 64;  // elements of a state, of which there are more than sequences
  constexpr std::int64_t kCostThere = 200;
  constexpr std::int64_t kCostBack = 40;
  const std::int64_t parts = (way.hidden + kPart - 1) / kPart;
  parallel_ranges(way.batch * parts, way.steps * kPart * kCostThere,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      const std::int64_t first = i % parts * kPart;
                      go_there(way, on, i / parts, first, std::min(kPart, way.hidden - first));
                    }
                  });
  for (std::int64_t i = way.steps - 1; i >= 0; --i) {
    parallel_ranges(way.batch, way.hidden * kCostBack, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) go_back(way, on, i, b);
    });
    weights.multiply_by(on.gates + way.step(i) * 4 * way.state(), 4 * way.hidden, way.batch, on.dh,
                        StepWeights<T>::To::Add, i);
  }
}

template <class T>
void run_lstm_gradient(WayBack way, const RunContext& run) {
  way.lengths = data_or_null<std::int32_t>(run, In::kLengths);
  T* const c = run.scratch<T>();
  T* const tanh_c = c + (way.steps + 1) * way.state();
  T* const dh = tanh_c + way.steps * way.state();
  const LstmOperands<T> on{.flow_y = data_or_null<T>(run, In::kFlowY),
                           .initial_c = data_or_null<T>(run, In::kInitialC),
                           .gates = run.output(Out::kGates).data<T>(),
                           .c = c,
                           .tanh_c = tanh_c,
                           .dh = dh,
                           .dc = dh + way.state()};
  const T* gates = data_or_null<T>(run, In::kGates);
  if (gates != on.gates) std::copy_n(gates, way.steps * 4 * way.state(), on.gates);
  copy_or_clear(run, In::kFlowH, way.state(), on.dh);
  copy_or_clear(run, In::kFlowC, way.state(), on.dc);
  if (way.state() > 0) {
    run_back(way, on,
             StepWeights<T>(data_or_null<T>(run, In::kR), 4 * way.hidden, way.hidden, on.dc + way.state()));
  }
  if (run.has_output(Out::kInitialH)) std::copy_n(on.dh, way.state(), run.output(Out::kInitialH).data<T>());
  if (run.has_output(Out::kInitialC)) std::copy_n(on.dc, way.state(), run.output(Out::kInitialC).data<T>());
}

}  // namespace

PreparedKernel prepare_lstm_gradient(PrepareContext& context) {
  const WayBack way = way_back_of(context, context.dims(In::kGates), context.dims(In::kR)[1]);
  return dispatch<float, double>(context.element(In::kGates), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    context.need_scratch(
        ((2 * way.steps + 3) * way.state() + StepWeights<T>::room(4 * way.hidden, way.hidden)) * sizeof(T));
    return [way](const RunContext& run) { run_lstm_gradient<T>(way, run); };
  });
}

}  // namespace podium::kernels
