// Recurrences by oneDNN: weights are reordered once into the layout its primitives read best.
// ONNX's weights [gates x hidden, inputs] become [inputs, gates, hidden] with the gates in oneDNN's order
// (LSTM: i f c o for ONNX's i o f c), the two biases are added up (a GRU that resets after its product keeps
// one apart), and each direction gets a primitive of its own. It applies to constant float weights and plain
// cells: no lengths, peepholes, clipping or other activations, and more sequences than strips serve.
#include <algorithm>
#include <array>

#include "executor/kernels/recurrent.h"
#include "executor/kernels/tools/onednn.h"

namespace podium::kernels {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct Direction {
  std::shared_ptr<const onednn::Call> call = {};  // x, h, c, weights, bias, y, last h, last c, scratch
  Tensor weights = {};
  Tensor recurrent_weights = {};
  Tensor bias = {};
  std::size_t scratch_bytes = 0;
};

struct PackedPlan {
  Recurrence shape;
  std::vector<Direction> directions = {};
  std::size_t scratch_bytes = 0;  // of a primitive; a direction's Y follows
};

memory::desc describe(memory::dims dims, Tag tag) { return {std::move(dims), memory::data_type::f32, tag}; }

// ONNX's gates in oneDNN's order: i, o, f, c becomes i, f, c, o; z, r, h stays.
std::vector<std::int64_t> gate_order(std::int64_t gates) {
  if (gates == 1) return {0};
  return gates == 4 ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 1, 2};
}

// [gates * hidden, inputs] as [inputs, gates, hidden].
std::vector<float> arranged(const float* from, const Recurrence& shape, std::int64_t inputs) {
  const std::vector<std::int64_t> order = gate_order(shape.gates);
  std::vector<float> to;
  to.reserve(shape.width() * inputs);
  for (std::int64_t i = 0; i < inputs; ++i) {
    for (std::int64_t gate : order) {
      for (std::int64_t j = 0; j < shape.hidden; ++j)
        to.push_back(from[(gate * shape.hidden + j) * inputs + i]);
    }
  }
  return to;
}

// Biases of W and R together; the GRU that resets after its product keeps the last one of R as a fourth.
std::vector<float> biases(const float* b, const Recurrence& shape) {
  std::vector<float> result;
  const std::int64_t hidden = shape.hidden;
  const auto at = [&](std::int64_t row) { return b == nullptr ? 0.0F : b[row]; };
  for (std::int64_t gate : gate_order(shape.gates)) {
    const bool apart = shape.linear_before_reset && gate == 2;
    for (std::int64_t j = gate * hidden; j < (gate + 1) * hidden; ++j) {
      result.push_back(at(j) + (apart ? 0.0F : at(shape.width() + j)));
    }
  }
  if (shape.linear_before_reset) {
    for (std::int64_t j = 0; j < hidden; ++j) result.push_back(at(shape.width() + 2 * hidden + j));
  }
  return result;
}

struct Wanted {
  memory::desc x, h, w, r, b, y, last_h;  // the cell state lies as the hidden one
};

Wanted wanted_layouts(const Recurrence& s, bool has_initial) {
  const memory::desc state = describe({1, 1, s.batch, s.hidden}, Tag::ldnc);
  const std::int64_t bias_gates = s.gates + (s.linear_before_reset ? 1 : 0);
  return {.x = describe({s.steps, s.batch, s.input}, Tag::tnc),
          .h = has_initial ? state : memory::desc(),
          .w = describe({1, 1, s.input, s.gates, s.hidden}, Tag::any),
          .r = describe({1, 1, s.hidden, s.gates, s.hidden}, Tag::any),
          .b = describe({1, 1, bias_gates, s.hidden}, Tag::ldgo),
          .y = describe({s.steps, s.batch, s.hidden}, Tag::tnc),
          .last_h = state};
}

Tensor packed(std::vector<float> values, const memory::desc& from, const memory::desc& to) {
  return onednn::packed(values.data(), from, to);
}

// Where the weights of one direction are.
struct Weights {
  const float* w = nullptr;
  const float* r = nullptr;
  const float* b = nullptr;
};

template <class Primitive, class Description>
Direction finished(const Description& made, const Wanted& d, const Recurrence& s, const Weights& from,
                   const memory::desc& c, const memory::desc& last_c) {
  const auto plain = [&](std::int64_t inputs) {
    return describe({1, 1, inputs, s.gates, s.hidden}, Tag::ldigo);
  };
  Direction direction;
  direction.weights = packed(arranged(from.w, s, s.input), plain(s.input), made.weights_layer_desc());
  direction.recurrent_weights =
      packed(arranged(from.r, s, s.hidden), plain(s.hidden), made.weights_iter_desc());
  direction.bias = packed(biases(from.b, s), d.b, d.b);
  direction.scratch_bytes = made.scratchpad_desc().get_size();
  direction.call = onednn::make_call(Primitive(made), made,
                                     {{DNNL_ARG_SRC_LAYER, d.x},
                                      {DNNL_ARG_SRC_ITER, d.h},
                                      {DNNL_ARG_SRC_ITER_C, c},
                                      {DNNL_ARG_WEIGHTS_LAYER, made.weights_layer_desc()},
                                      {DNNL_ARG_WEIGHTS_ITER, made.weights_iter_desc()},
                                      {DNNL_ARG_BIAS, d.b},
                                      {DNNL_ARG_DST_LAYER, d.y},
                                      {DNNL_ARG_DST_ITER, d.last_h},
                                      {DNNL_ARG_DST_ITER_C, last_c}});
  return direction;
}

Direction make_direction(const Recurrence& s, bool reverse, bool has_initial, const Weights& from) {
  constexpr auto kForward = dnnl::prop_kind::forward_inference;
  const auto way = reverse ? dnnl::rnn_direction::unidirectional_right2left
                           : dnnl::rnn_direction::unidirectional_left2right;
  const Wanted d = wanted_layouts(s, has_initial);
  const dnnl::primitive_attr attributes = onednn::attributes();
  if (s.gates == 4) {
    const dnnl::lstm_forward::primitive_desc made(
        {kForward, way, d.x, d.h, d.h, d.w, d.r, d.b, d.y, d.last_h, d.last_h}, attributes, onednn::cpu());
    return finished<dnnl::lstm_forward>(made, d, s, from, d.h, d.last_h);
  }
  if (s.gates == 1) {
    const auto function = s.activation(0, 0).function == Activation::Function::Relu
                              ? dnnl::algorithm::eltwise_relu
                              : dnnl::algorithm::eltwise_tanh;
    const dnnl::vanilla_rnn_forward::primitive_desc made(
        {kForward, function, way, d.x, d.h, d.w, d.r, d.b, d.y, d.last_h}, attributes, onednn::cpu());
    return finished<dnnl::vanilla_rnn_forward>(made, d, s, from, {}, {});
  }
  if (s.linear_before_reset) {
    const dnnl::lbr_gru_forward::primitive_desc made({kForward, way, d.x, d.h, d.w, d.r, d.b, d.y, d.last_h},
                                                     attributes, onednn::cpu());
    return finished<dnnl::lbr_gru_forward>(made, d, s, from, {}, {});
  }
  const dnnl::gru_forward::primitive_desc made({kForward, way, d.x, d.h, d.w, d.r, d.b, d.y, d.last_h},
                                               attributes, onednn::cpu());
  return finished<dnnl::gru_forward>(made, d, s, from, {}, {});
}

void run_packed(const PackedPlan& plan, const RunContext& run) {
  const Recurrence& s = plan.shape;
  const std::int64_t state = s.batch * s.hidden;
  const bool is_single = s.directions == 1;
  auto* const rows = reinterpret_cast<float*>(run.scratch<std::byte>() + plan.scratch_bytes);
  float* const unused = rows + s.steps * state;
  const auto initial = [&](std::size_t i) { return run.has_input(i) ? run.input(i).data<float>() : nullptr; };
  const auto result = [&](std::size_t i, float* other) {
    return run.has_output(i) ? run.output(i).data<float>() : other;
  };
  for (std::int64_t i = 0; i < s.directions; ++i) {
    const Direction& direction = plan.directions[i];
    const std::int64_t at = i * state;
    const float* h = initial(RecurrentInput::kInitialH);
    const float* c = initial(RecurrentInput::kInitialC);
    // Where an output is left out, scratch memory stands for each direction's part of it.
    const std::array<const void*, 10> pointers{run.input(RecurrentInput::kX).raw(),
                                               h == nullptr ? nullptr : h + at,
                                               c == nullptr ? nullptr : c + at,
                                               direction.weights.raw(),
                                               direction.recurrent_weights.raw(),
                                               direction.bias.raw(),
                                               is_single ? result(RecurrentOutput::kY, rows) : rows,
                                               result(RecurrentOutput::kLastH, unused) + at,
                                               result(RecurrentOutput::kLastC, unused + 2 * state) + at,
                                               run.scratch<std::byte>()};
    (*direction.call)(pointers);
    if (is_single || !run.has_output(RecurrentOutput::kY)) continue;
    float* y = run.output(RecurrentOutput::kY).data<float>() + at;
    for (std::int64_t t = 0; t < s.steps; ++t) std::copy_n(rows + t * state, state, y + t * 2 * state);
  }
}

bool has_default_activations(const Recurrence& shape) {
  using Function = Activation::Function;
  const auto& found = shape.activations;
  if (shape.gates == 1) {
    const Function first = found[0].function;
    const bool is_known = first == Function::Tanh || first == Function::Relu;
    return is_known &&
           std::all_of(found.begin(), found.end(), [&](const Activation& a) { return a.function == first; });
  }
  const std::size_t each = found.size() / shape.directions;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].function != (i % each == 0 ? Function::Sigmoid : Function::Tanh)) return false;
  }
  return true;
}

bool applies(const PrepareContext& context, const Recurrence& shape) {
  // For a few sequences a product is one pass over the weights, which strips serve better.
  if (!kLibraryPacksProducts || shape.batch <= kMostFloatRows) return false;
  const bool is_lstm = shape.gates == 4;
  const auto known = [&](std::size_t i) { return !context.has_input(i) || context.constant(i) != nullptr; };
  const bool known_weights =
      known(RecurrentInput::kW) && known(RecurrentInput::kR) && known(RecurrentInput::kB);
  const bool one_state_is_missing =
      context.has_input(RecurrentInput::kInitialH) != context.has_input(RecurrentInput::kInitialC);
  if (context.element(RecurrentInput::kX) != DataType::Float || !known_weights) return false;
  if (context.has_input(RecurrentInput::kLengths) || context.has_input(RecurrentInput::kPeepholes))
    return false;
  if (is_lstm && one_state_is_missing) return false;
  return shape.clip <= 0 && !shape.input_forget && !shape.batch_first && has_default_activations(shape) &&
         shape.steps * shape.batch * shape.input * shape.hidden > 0;
}

}  // namespace

PreparedKernel prepare_packed_recurrence(PrepareContext& context, const Recurrence& shape) {
  if (!applies(context, shape)) return {};
  PackedPlan plan{.shape = shape};
  const auto floats = [&](std::size_t input, std::int64_t at) {
    return context.has_input(input) ? context.constant(input)->data<float>() + at : nullptr;
  };
  for (std::int64_t i = 0; i < shape.directions; ++i) {
    const Weights weights{.w = floats(RecurrentInput::kW, i * shape.width() * shape.input),
                          .r = floats(RecurrentInput::kR, i * shape.width() * shape.hidden),
                          .b = floats(RecurrentInput::kB, i * 2 * shape.width())};
    const bool has_initial = context.has_input(RecurrentInput::kInitialH);
    plan.directions.push_back(make_direction(shape, shape.is_reverse(i), has_initial, weights));
    plan.scratch_bytes = std::max(plan.scratch_bytes, plan.directions.back().scratch_bytes);
  }
  plan.scratch_bytes = (plan.scratch_bytes + 63) / 64 * 64;
  const std::int64_t rows = (shape.steps + 4) * shape.batch * shape.hidden;
  context.need_scratch(plan.scratch_bytes + rows * sizeof(float));
  return [plan = std::move(plan)](const RunContext& run) { run_packed(plan, run); };
}

}  // namespace podium::kernels
