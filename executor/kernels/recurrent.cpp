// RNN, GRU and LSTM: the products with X for all steps at once, then step by step.
// Per direction: gates [steps x batch, gates x hidden] = X W' + biases, in one product; then for each step
// the cell's own function adds H R' and applies the activations (recurrent_cells.cpp). Floats of R', and of
// W' where that pays, lie in strips: known ones from the beginning, others for each run. Sequences that have
// ended keep their state and give zeros. Half types are widened for the whole op. Shapes and weights that
// oneDNN takes go to prepare_packed_recurrence instead.
#include "executor/kernels/recurrent.h"

#include <algorithm>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

template <class T>
using StepFunction = void (*)(const RecurrentStep<T>&);

// Biases of W and R. The GRU that resets after its product adds the bias of R to that.
template <class T>
void add_biases(const Recurrence& plan, const RecurrentData<T>& data, std::int64_t direction, T* sums) {
  const std::int64_t width = plan.width();
  const T* of_w = data.b + direction * 2 * width;
  const std::int64_t both = plan.linear_before_reset ? 2 * plan.hidden : width;
  for (std::int64_t i = 0; i < width; ++i) sums[i] = of_w[i] + (i < both ? of_w[width + i] : T{0});
}

// The products with X, and biases in every row.
template <class T>
void fill_gates(const Recurrence& plan, const RecurrentData<T>& data, std::int64_t direction, T* gates) {
  const std::int64_t width = plan.width();
  const std::int64_t rows = plan.steps * plan.batch;
  if (data.b == nullptr) {
    std::fill_n(gates, rows * width, T{0});
  } else if (rows > 0) {
    add_biases(plan, data, direction, gates);
    for (std::int64_t row = 1; row < rows; ++row) std::copy_n(gates, width, gates + row * width);
  }
  multiply({.m = rows, .n = width, .k = plan.input, .transpose_b = true}, data.x,
           data.w + direction * width * plan.input, gates, T{1}, T{1});
}

// The same with W in strips; `room`: for the biases.
void fill_gates(const Recurrence& plan, const RecurrentData<float>& data, std::int64_t direction,
                const StripWeights& w, float* room, float* gates) {
  constexpr std::int64_t kRowsAtOnce = 48;  // which stay in a second-level cache
  const std::int64_t rows = plan.steps * plan.batch;
  if (data.b != nullptr) add_biases(plan, data, direction, room);
  parallel_ranges(w.strips(), rows * w.inner * kStrip, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < rows; row += kRowsAtOnce) {
      multiply_strips(w,
                      {.x = data.x + row * w.inner,
                       .rows = std::min(kRowsAtOnce, rows - row),
                       .y = gates + row * w.columns,
                       .row_y = w.columns,
                       .bias = data.b == nullptr ? nullptr : room},
                      StripRange{begin, end});
    }
  });
}

template <class T>
void load_state(const Recurrence& plan, const T* initial, std::int64_t direction, T* state) {
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    T* to = state + b * plan.hidden;
    if (initial == nullptr) {
      std::fill_n(to, plan.hidden, T{0});
    } else {
      std::copy_n(initial + plan.state_row(direction, b) * plan.hidden, plan.hidden, to);
    }
  }
}

template <class T>
void store_state(const Recurrence& plan, const T* state, std::int64_t direction, T* to) {
  if (to == nullptr) return;
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    std::copy_n(state + b * plan.hidden, plan.hidden, to + plan.state_row(direction, b) * plan.hidden);
  }
}

// Sequences that have ended give zeros and keep the state that `kept` saved before the step.
template <class T>
void restore_ended(const Recurrence& plan, const std::int32_t* lengths, std::int64_t t, const T* kept,
                   T* state) {
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    if (t >= lengths[b]) std::copy_n(kept + b * plan.hidden, plan.hidden, state + b * plan.hidden);
  }
}

template <class T>
void store_step(const Recurrence& plan, const RecurrentData<T>& data, std::int64_t direction, std::int64_t t,
                const T* h) {
  if (data.y == nullptr) return;
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    T* to = data.y + plan.y_row(t, direction, b) * plan.hidden;
    if (data.lengths != nullptr && t >= data.lengths[b]) {
      std::fill_n(to, plan.hidden, T{0});
    } else {
      std::copy_n(h + b * plan.hidden, plan.hidden, to);
    }
  }
}

// In memory of their own, or in `memory`. The arrays are those of the direction.
RecurrentStrips strips_of_weights(const Recurrence& plan, const float* w, const float* r,
                                  float* memory = nullptr) {
  const auto packed = [&](const float* from, std::int64_t inner, std::int64_t columns) {
    const StripWeights strips = strips_of(MatrixOfFloats::transposed(from, inner, columns), memory);
    if (memory != nullptr) memory += floats_of_strips(inner, columns);
    return strips;
  };
  RecurrentStrips strips;
  const std::int64_t first = plan.first_rows();
  if (plan.has_strips_of_w()) strips.input = packed(w, plan.input, plan.width());
  strips.first = packed(r, plan.hidden, first);
  if (first < plan.width())
    strips.others = packed(r + first * plan.hidden, plan.hidden, plan.width() - first);
  return strips;
}

template <class T>
void run_direction(const Recurrence& plan, const RecurrentData<T>& data, std::int64_t direction,
                   StepFunction<T> step_function) {
  const std::int64_t width = plan.width();
  const std::int64_t state_size = plan.batch * plan.hidden;
  T* gates = data.work;
  T* h = gates + plan.steps * plan.batch * width;
  T* c = h + state_size;
  load_state(plan, data.initial_h, direction, h);
  load_state(plan, data.initial_c, direction, c);
  RecurrentStep<T> step{.plan = plan,
                        .direction = direction,
                        .gate_stride = plan.batch_first ? plan.steps * width : width,
                        .r = data.r + direction * width * plan.hidden,
                        .b = data.b == nullptr ? nullptr : data.b + direction * 2 * width,
                        .p = data.p == nullptr ? nullptr : data.p + direction * 3 * plan.hidden,
                        .h = h,
                        .c = c,
                        .room = c + state_size};
  RecurrentStrips strips;
  if constexpr (std::is_same_v<T, float>) {
    const float* w = data.w + direction * width * plan.input;
    if (data.strips == nullptr) strips = strips_of_weights(plan, w, step.r, step.room + plan.batch * width);
    step.strips = data.strips == nullptr ? &strips : data.strips + direction;
    if (plan.has_strips_of_w()) {
      fill_gates(plan, data, direction, step.strips->input, step.room, gates);
    } else {
      fill_gates(plan, data, direction, gates);
    }
  } else {
    fill_gates(plan, data, direction, gates);
  }
  std::vector<T> kept;
  for (std::int64_t i = 0; i < plan.steps; ++i) {
    const std::int64_t t = plan.is_reverse(direction) ? plan.steps - 1 - i : i;
    step.gates = gates + plan.row(t, 0) * width;
    if (data.lengths != nullptr) kept.assign(h, h + 2 * state_size);
    step.order = i % 2 == 0 ? StripOrder::Forth : StripOrder::Back;
    step_function(step);
    if (data.lengths != nullptr) {
      restore_ended(plan, data.lengths, t, kept.data(), h);
      restore_ended(plan, data.lengths, t, kept.data() + state_size, c);
    }
    store_step(plan, data, direction, t, h);
  }
  store_state(plan, h, direction, data.y_h);
  store_state(plan, c, direction, data.y_c);
}

void check_lengths(const Recurrence& plan, const std::int32_t* lengths) {
  if (lengths == nullptr) return;
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    if (lengths[b] < 0 || lengths[b] > plan.steps) {
      throw Error("sequence_lens has {}, 0 to {} needed", lengths[b], plan.steps);
    }
  }
}

template <class T>
void run_recurrence(const Recurrence& plan, const RecurrentData<T>& data, StepFunction<T> step) {
  check_lengths(plan, data.lengths);
  // As many steps as there are of no samples, or of no numbers, leave nothing behind.
  if (plan.batch == 0 || plan.hidden == 0) return;
  for (std::int64_t direction = 0; direction < plan.directions; ++direction) {
    run_direction(plan, data, direction, step);
  }
}

// Pointers in the order of the op's inputs and outputs, in which they get memory. `in(i)` and `out(i)` give
// nullptr for an omitted one.
template <class T, class In, class Out>
RecurrentData<T> gather(const RunContext& run, const In& in, const Out& out, T* work) {
  const bool has_lengths = run.has_input(RecurrentInput::kLengths);
  return {.x = in(RecurrentInput::kX),
          .w = in(RecurrentInput::kW),
          .r = in(RecurrentInput::kR),
          .b = in(RecurrentInput::kB),
          .lengths = has_lengths ? run.input(RecurrentInput::kLengths).data<std::int32_t>() : nullptr,
          .initial_h = in(RecurrentInput::kInitialH),
          .initial_c = in(RecurrentInput::kInitialC),
          .p = in(RecurrentInput::kPeepholes),
          .y = out(RecurrentOutput::kY),
          .y_h = out(RecurrentOutput::kLastH),
          .y_c = out(RecurrentOutput::kLastC),
          .work = work};
}

// Of floats that are known beforehand; else none.
std::vector<RecurrentStrips> packed_weights(const PrepareContext& context, const Recurrence& plan) {
  const Tensor* w = context.constant(RecurrentInput::kW);
  const Tensor* r = context.constant(RecurrentInput::kR);
  std::vector<RecurrentStrips> packed;
  if (w == nullptr || r == nullptr || r->type() != DataType::Float || r->size() == 0) return packed;
  for (std::int64_t direction = 0; direction < plan.directions; ++direction) {
    const std::int64_t first = direction * plan.width();
    packed.push_back(strips_of_weights(plan, w->data<float>() + first * plan.input,
                                       r->data<float>() + first * plan.hidden));
  }
  return packed;
}

template <class T>
PreparedKernel recurrent_of(PrepareContext& context, Recurrence plan, StepFunction<T> step) {
  context.need_scratch(plan.work() * sizeof(T));
  std::vector<RecurrentStrips> packed = packed_weights(context, plan);
  return [=, plan = std::move(plan), packed = std::move(packed)](const RunContext& run) {
    const auto in = [&](std::size_t i) { return run.has_input(i) ? run.input(i).data<T>() : nullptr; };
    const auto out = [&](std::size_t i) { return run.has_output(i) ? run.output(i).data<T>() : nullptr; };
    RecurrentData<T> data = gather<T>(run, in, out, run.scratch<T>());
    if (!packed.empty()) data.strips = packed.data();
    run_recurrence(plan, data, step);
  };
}

std::int64_t elements(const std::vector<ir::Type>& types) {
  std::int64_t total = 0;
  for (const ir::Type& type : types) {
    if (type.is_static()) total += type.element_count();
  }
  return total;
}

PreparedKernel recurrent_in_float(PrepareContext& context, Recurrence plan, StepFunction<float> step) {
  const std::int64_t total = plan.work() + elements(context.input_types) + elements(context.output_types);
  context.need_scratch(total * sizeof(float));
  return [=, plan = std::move(plan)](const RunContext& run) {
    float* next = run.scratch<float>() + plan.work();
    const auto in = [&](std::size_t i) -> const float* {
      if (!run.has_input(i)) return nullptr;
      float* wide = next;
      next += run.input(i).size();
      to_float(run.input(i), 0, run.input(i).size(), wide);
      return wide;
    };
    std::vector<const float*> results(RecurrentOutput::kCount, nullptr);
    const auto out = [&](std::size_t i) -> float* {
      if (!run.has_output(i)) return nullptr;
      results[i] = next;
      next += run.output(i).size();
      return next - run.output(i).size();
    };
    run_recurrence(plan, gather<float>(run, in, out, run.scratch<float>()), step);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] != nullptr) from_float(results[i], run.output(i), 0, run.output(i).size());
    }
  };
}

PreparedKernel prepare_cell(PrepareContext& context, Recurrence plan, StepFunction<float> in_float,
                            StepFunction<double> in_double) {
  if (PreparedKernel packed = prepare_packed_recurrence(context, plan)) return packed;
  const DataType element = context.element(RecurrentInput::kX);
  if (element == DataType::Float) return recurrent_of<float>(context, std::move(plan), in_float);
  if (element == DataType::Double) return recurrent_of<double>(context, std::move(plan), in_double);
  return recurrent_in_float(context, std::move(plan), in_float);
}

PreparedKernel rnn(PrepareContext& context) {
  return prepare_cell(context, read_recurrence(context, 1, 1), step_rnn<float>, step_rnn<double>);
}

PreparedKernel gru(PrepareContext& context) {
  Recurrence plan = read_recurrence(context, 3, 2);
  plan.linear_before_reset = context.get_int("linear_before_reset") != 0;
  return prepare_cell(context, std::move(plan), step_gru<float>, step_gru<double>);
}

PreparedKernel lstm(PrepareContext& context) {
  Recurrence plan = read_recurrence(context, 4, 3);
  plan.input_forget = context.get_int("input_forget") != 0;
  return prepare_cell(context, std::move(plan), step_lstm<float>, step_lstm<double>);
}

}  // namespace

Recurrence read_recurrence(const PrepareContext& context, std::int64_t gates, std::size_t activations) {
  Recurrence plan{ir::recurrent_shape(context)};
  plan.gates = gates;
  if (const auto* clip = context.get_if<float>("clip")) plan.clip = *clip;
  ir::StringList names = context.get<ir::StringList>("activations");
  const std::size_t needed = activations * plan.directions;
  if (plan.directions == 2 && names.size() == activations) {
    const ir::StringList again = names;
    names.insert(names.end(), again.begin(), again.end());
  }
  if (names.size() != needed) throw Error("there are {} activations, {} needed", names.size(), needed);
  const auto* alphas = context.get_if<ir::FloatList>("activation_alpha");
  const auto* betas = context.get_if<ir::FloatList>("activation_beta");
  plan.activations = read_activations(names, alphas == nullptr ? ir::FloatList{} : *alphas,
                                      betas == nullptr ? ir::FloatList{} : *betas);
  return plan;
}

std::span<const KernelSpec> recurrent_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "RNN", .prepare = rnn}, {.name = "GRU", .prepare = gru}, {.name = "LSTM", .prepare = lstm}};
  return kKernels;
}

}  // namespace podium::kernels
