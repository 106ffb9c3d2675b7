#include <algorithm>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/way_back.h"
#include "ir/ops/rnn_gradient.h"

namespace podium::kernels {
namespace {

using In = ir::RnnGradientInput;
using Out = ir::RnnGradientOutput;

template <class T>
T slope_at(ir::RnnSlope slope, T y) {
  switch (slope) {
    case ir::RnnSlope::OfTanh:
      return T{1} - y * y;
    case ir::RnnSlope::OfRelu:
      return y > T{0} ? T{1} : T{0};
    case ir::RnnSlope::OfSigmoid:
      break;
  }
  return y * (T{1} - y);
}

// gates = (dh + flow) * slope of states; dh becomes 0, to which the product of the step is added.
template <class T>
void go_back_through_step(ir::RnnSlope slope, const T* states, const T* flow, std::int64_t count, T* dh,
                          T* gates) {
  if (flow != nullptr) {
    for (std::int64_t k = 0; k < count; ++k) dh[k] += flow[k];
  }
  for (std::int64_t k = 0; k < count; ++k) {
    gates[k] = dh[k] * slope_at(slope, states[k]);
    dh[k] = T{0};
  }
}

// A sequence that has ended hands on its state and gives its gates no gradient.
template <class T>
void run_rnn_gradient(WayBack way, ir::RnnSlope slope, const RunContext& run) {
  constexpr std::int64_t kCost = 6;
  way.lengths = data_or_null<std::int32_t>(run, In::kLengths);
  T* const dh = run.scratch<T>();
  T* const gates = run.output(Out::kGates).data<T>();
  const T* const states = data_or_null<T>(run, In::kStates);
  const T* const flow_y = data_or_null<T>(run, In::kFlowY);
  copy_or_clear(run, In::kFlowH, way.state(), dh);
  if (way.state() > 0) {
    const StepWeights<T> weights(data_or_null<T>(run, In::kR), way.hidden, way.hidden, dh + way.state());
    for (std::int64_t i = way.steps - 1; i >= 0; --i) {
      const std::int64_t t = way.step(i);
      const std::int64_t first = t * way.state();
      parallel_ranges(way.batch, way.hidden * kCost, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
          const std::int64_t at = first + b * way.hidden;
          if (way.has_ended(t, b)) {
            std::fill_n(gates + at, way.hidden, T{0});
          } else {
            go_back_through_step(slope, states + at, flow_y == nullptr ? nullptr : flow_y + at, way.hidden,
                                 dh + b * way.hidden, gates + at);
          }
        }
      });
      weights.multiply_by(gates + first, way.hidden, way.batch, dh, StepWeights<T>::To::Add, i);
    }
  }
  if (run.has_output(Out::kInitialH)) std::copy_n(dh, way.state(), run.output(Out::kInitialH).data<T>());
}

}  // namespace

PreparedKernel prepare_rnn_gradient(PrepareContext& context) {
  const Dims& states = context.dims(In::kStates);
  const WayBack way = way_back_of(context, states, states[2]);
  const ir::RnnSlope slope = ir::slope_of(context.op);
  return dispatch<float, double>(context.element(In::kStates), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    context.need_scratch((way.state() + StepWeights<T>::room(way.hidden, way.hidden)) * sizeof(T));
    return [way, slope](const RunContext& run) { run_rnn_gradient<T>(way, slope, run); };
  });
}

}  // namespace podium::kernels
