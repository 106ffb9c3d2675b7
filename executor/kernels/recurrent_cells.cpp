// One step of each recurrent cell.
#include "executor/kernels/recurrent.h"

namespace podium::kernels {

template <class T>
void step_rnn(const RecurrentStep<T>& step) {
  const std::int64_t hidden = step.plan.hidden;
  step.add_recurrent(step.h, 0, hidden);
  step.for_each_row([&](std::int64_t b) {
    T* gates = step.gates + b * step.gate_stride;
    step.activated(0, gates);
    std::copy_n(gates, hidden, step.h + b * hidden);
  });
}

namespace {

// h = (1 - z) h' + z h
template <class T>
void mix(const T* z, const T* candidate, std::int64_t count, T* h) {
  for (std::int64_t i = 0; i < count; ++i) h[i] = (T{1} - z[i]) * candidate[i] + z[i] * h[i];
}

// The reset gate scales the product of the hidden state.
template <class T>
void reset_after_product(const RecurrentStep<T>& step) {
  const std::int64_t hidden = step.plan.hidden;
  step.multiply_recurrent(step.h, 2 * hidden, hidden, step.room, hidden, T{0});
  step.for_each_row([&](std::int64_t b) {
    T* gates = step.gates + b * step.gate_stride;
    step.activated(0, gates);
    step.activated(0, gates + hidden);
    const T* reset = gates + hidden;
    const T* product = step.room + b * hidden;
    T* candidate = gates + 2 * hidden;
    if (step.b == nullptr) {
      for (std::int64_t i = 0; i < hidden; ++i) candidate[i] += reset[i] * product[i];
    } else {
      const T* bias = step.b + 5 * hidden;
      for (std::int64_t i = 0; i < hidden; ++i) candidate[i] += reset[i] * (product[i] + bias[i]);
    }
  });
}

// The reset gate scales the hidden state before its product.
template <class T>
void reset_before_product(const RecurrentStep<T>& step) {
  const std::int64_t hidden = step.plan.hidden;
  step.for_each_row([&](std::int64_t b) {
    T* gates = step.gates + b * step.gate_stride;
    step.activated(0, gates);
    step.activated(0, gates + hidden);
    const T* reset = gates + hidden;
    for (std::int64_t i = 0; i < hidden; ++i) step.room[b * hidden + i] = reset[i] * step.h[b * hidden + i];
  });
  step.add_recurrent(step.room, 2 * hidden, hidden);
}

}  // namespace

template <class T>
void step_gru(const RecurrentStep<T>& step) {
  const std::int64_t hidden = step.plan.hidden;
  step.add_recurrent(step.h, 0, 2 * hidden);
  if (step.plan.linear_before_reset) {
    reset_after_product(step);
  } else {
    reset_before_product(step);
  }
  step.for_each_row([&](std::int64_t b) {
    T* gates = step.gates + b * step.gate_stride;
    step.activated(1, gates + 2 * hidden);
    mix(gates, gates + 2 * hidden, hidden, step.h + b * hidden);
  });
}

namespace {

template <class T>
void add_peephole(const T* weights, const T* c, std::int64_t count, T* gate) {
  if (weights == nullptr) return;
  for (std::int64_t i = 0; i < count; ++i) gate[i] += weights[i] * c[i];
}

// One row of the batch: gates i, o, f, c lie one after the other.
template <class T>
void step_lstm_row(const RecurrentStep<T>& step, T* gates, T* h, T* c) {
  const std::int64_t hidden = step.plan.hidden;
  const auto peephole = [&](std::int64_t i) { return step.p == nullptr ? nullptr : step.p + i * hidden; };
  T* input = gates;
  T* output = gates + hidden;
  T* forget = gates + 2 * hidden;
  T* candidate = gates + 3 * hidden;
  add_peephole(peephole(0), c, hidden, input);
  step.activated(0, input);
  if (step.plan.input_forget) {
    for (std::int64_t i = 0; i < hidden; ++i) forget[i] = T{1} - input[i];
  } else {
    add_peephole(peephole(2), c, hidden, forget);
    step.activated(0, forget);
  }
  step.activated(1, candidate);
  for (std::int64_t i = 0; i < hidden; ++i) c[i] = forget[i] * c[i] + input[i] * candidate[i];
  add_peephole(peephole(1), c, hidden, output);
  step.activated(0, output);
  std::copy_n(c, hidden, candidate);
  step.activated(2, candidate);
  for (std::int64_t i = 0; i < hidden; ++i) h[i] = output[i] * candidate[i];
}

}  // namespace

template <class T>
void step_lstm(const RecurrentStep<T>& step) {
  const std::int64_t hidden = step.plan.hidden;
  step.add_recurrent(step.h, 0, 4 * hidden);
  step.for_each_row([&](std::int64_t b) {
    step_lstm_row(step, step.gates + b * step.gate_stride, step.h + b * hidden, step.c + b * hidden);
  });
}

template void step_rnn(const RecurrentStep<float>&);
template void step_rnn(const RecurrentStep<double>&);
template void step_gru(const RecurrentStep<float>&);
template void step_gru(const RecurrentStep<double>&);
template void step_lstm(const RecurrentStep<float>&);
template void step_lstm(const RecurrentStep<double>&);

}  // namespace podium::kernels
