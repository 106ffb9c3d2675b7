// LinearAttention: a state matrix for each head, written by keys and values and read by queries, step by
// step.
#include "executor/kernels/attention.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/tools/gemm.h"
#include "ir/ops/linear_attention.h"

namespace podium::kernels {
namespace {

using ir::LinearAttentionInput;
using ir::LinearAttentionOutput;

struct LinearPlan : ir::LinearAttentionShape {
  double scale = 1;
  bool decays = false;
  bool corrects = false;        // writes what is new, not the value itself
  std::int64_t decay_size = 0;  // 1: one factor a head
  std::int64_t beta_heads = 0;  // 1: one factor for all heads
};

template <class C>
struct LinearData {
  const C* query = nullptr;
  const C* key = nullptr;
  const C* value = nullptr;
  const C* decay = nullptr;
  const C* beta = nullptr;
  const C* erase = nullptr;
  C* output = nullptr;
  C* state = nullptr;  // [batch, kv_heads, keys, values]
};

// written = beta * (value - state^T (erase * key))
template <class C>
void correct(const LinearPlan& plan, const C* state, const C* key, const C* erase, C beta, C* written) {
  std::vector<C> retrieved(plan.values, C{0});
  for (std::int64_t i = 0; i < plan.keys; ++i) {
    const C factor = erase == nullptr ? key[i] : key[i] * erase[i];
    const C* row = state + i * plan.values;
    for (std::int64_t j = 0; j < plan.values; ++j) retrieved[j] += factor * row[j];
  }
  for (std::int64_t j = 0; j < plan.values; ++j) {
    written[j] = beta * (written[j] - retrieved[j]);
  }
}

template <class C>
void read_state(const LinearPlan& plan, const C* state, const C* query, C* output) {
  std::fill_n(output, plan.values, C{0});
  for (std::int64_t i = 0; i < plan.keys; ++i) {
    const C factor = static_cast<C>(plan.scale) * query[i];
    const C* row = state + i * plan.values;
    for (std::int64_t j = 0; j < plan.values; ++j) output[j] += factor * row[j];
  }
}

// One head of one batch element at one step; `at` counts steps over the batch.
template <class C>
void step(const LinearPlan& plan, const LinearData<C>& data, std::int64_t at, std::int64_t head, C* state,
          C* written) {
  const std::int64_t row = at * plan.kv_heads + head;
  const C* key = data.key + row * plan.keys;
  std::copy_n(data.value + row * plan.values, plan.values, written);
  if (plan.decays) {
    for (std::int64_t i = 0; i < plan.keys; ++i) {
      const C factor = fast_exp(data.decay[row * plan.decay_size + (plan.decay_size == 1 ? 0 : i)]);
      for (std::int64_t j = 0; j < plan.values; ++j) state[i * plan.values + j] *= factor;
    }
  }
  if (plan.corrects) {
    const C beta = data.beta[at * plan.beta_heads + (plan.beta_heads == 1 ? 0 : head)];
    correct(plan, state, key, data.erase == nullptr ? nullptr : data.erase + row * plan.keys, beta, written);
  }
  for (std::int64_t i = 0; i < plan.keys; ++i) {
    for (std::int64_t j = 0; j < plan.values; ++j) state[i * plan.values + j] += key[i] * written[j];
  }
  const std::int64_t group = plan.q_heads / plan.kv_heads;
  for (std::int64_t h = head * group; h < (head + 1) * group; ++h) {
    const std::int64_t q_row = at * plan.q_heads + h;
    read_state(plan, state, data.query + q_row * plan.keys, data.output + q_row * plan.values);
  }
}

template <class C>
void run_linear(const LinearPlan& plan, const RunContext& run) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < LinearAttentionInput::kCount; ++i) {
    inputs.push_back(run.has_input(i) ? as_computed<C>(run.input(i)) : Tensor());
  }
  const auto data_of = [&](std::size_t i) { return inputs[i].defined() ? inputs[i].data<C>() : nullptr; };
  Tensor output = room_for<C>(run.output(LinearAttentionOutput::kOutput));
  Tensor state(ir::data_type_of<C>, plan.state());
  if (inputs[LinearAttentionInput::kPastState].defined()) {
    std::copy_n(inputs[LinearAttentionInput::kPastState].data<C>(), state.size(), state.data<C>());
  } else {
    std::fill_n(state.data<C>(), state.size(), C{0});
  }
  const LinearData<C> data{.query = data_of(LinearAttentionInput::kQuery),
                           .key = data_of(LinearAttentionInput::kKey),
                           .value = data_of(LinearAttentionInput::kValue),
                           .decay = data_of(LinearAttentionInput::kDecay),
                           .beta = data_of(LinearAttentionInput::kBeta),
                           .erase = data_of(LinearAttentionInput::kErase),
                           .output = output.data<C>(),
                           .state = state.data<C>()};
  const std::int64_t matrix = plan.keys * plan.values;
  for_each_product(plan.batch * plan.kv_heads, 6.0 * static_cast<double>(matrix * plan.steps),
                   [&](std::int64_t i) {
                     std::vector<C> written(plan.values);
                     for (std::int64_t t = 0; t < plan.steps; ++t) {
                       step(plan, data, i / plan.kv_heads * plan.steps + t, i % plan.kv_heads,
                            data.state + i * matrix, written.data());
                     }
                   });
  store_computed<C>(output, run.output(LinearAttentionOutput::kOutput));
  if (!run.has_output(LinearAttentionOutput::kState)) return;
  if (run.output(LinearAttentionOutput::kState).type() == state.type()) {
    std::copy_n(state.data<C>(), state.size(), run.output(LinearAttentionOutput::kState).data<C>());
  } else {
    store_computed<C>(state, run.output(LinearAttentionOutput::kState));
  }
}

void check_presence(const PrepareContext& context, std::size_t input, bool needed, const std::string& rule) {
  if (context.has_input(input) == needed) return;
  throw Error("update_rule '{}' {} {}", rule, needed ? "needs" : "has no use for",
              context.op.spec->inputs[input].name);
}

void read_rule(const PrepareContext& context, LinearPlan& plan) {
  const std::string& rule = context.get_string("update_rule");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    throw Error("update_rule is '{}', 'linear', 'gated', 'delta' or 'gated_delta' needed", rule);
  }
  plan.decays = rule == "gated" || rule == "gated_delta";
  plan.corrects = rule == "delta" || rule == "gated_delta";
  check_presence(context, LinearAttentionInput::kDecay, plan.decays, rule);
  check_presence(context, LinearAttentionInput::kBeta, plan.corrects, rule);
  if (!plan.corrects) check_presence(context, LinearAttentionInput::kErase, false, rule);
}

void check_columns(const PrepareContext& context, const LinearPlan& plan, std::size_t input,
                   std::initializer_list<std::int64_t> choices) {
  if (!context.has_input(input)) return;
  const Dims& dims = context.dims(input);
  for (std::int64_t choice : choices) {
    if (dims == Dims{plan.batch, plan.steps, choice}) return;
  }
  throw Error("{} is {}, {} needed", context.op.spec->inputs[input].name, ir::to_string(dims),
              ir::to_string(Dims{plan.batch, plan.steps, *choices.begin()}));
}

LinearPlan plan_linear(const PrepareContext& context) {
  LinearPlan plan{ir::linear_attention_shape(context)};
  const float scale = context.get_float("scale");
  plan.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(plan.keys));
  read_rule(context, plan);
  check_columns(context, plan, LinearAttentionInput::kKey, {plan.kv_heads * plan.keys});
  check_columns(context, plan, LinearAttentionInput::kValue, {plan.kv_heads * plan.values});
  check_columns(context, plan, LinearAttentionInput::kDecay, {plan.kv_heads * plan.keys, plan.kv_heads});
  check_columns(context, plan, LinearAttentionInput::kBeta, {plan.kv_heads, 1});
  check_columns(context, plan, LinearAttentionInput::kErase, {plan.kv_heads * plan.keys});
  if (plan.decays)
    plan.decay_size = context.dims(LinearAttentionInput::kDecay).back() == plan.kv_heads ? 1 : plan.keys;
  if (plan.corrects) plan.beta_heads = context.dims(LinearAttentionInput::kBeta).back();
  if (context.has_input(LinearAttentionInput::kPastState) &&
      context.dims(LinearAttentionInput::kPastState) != plan.state()) {
    throw Error("past_state is {}, {} needed", ir::to_string(context.dims(LinearAttentionInput::kPastState)),
                ir::to_string(plan.state()));
  }
  return plan;
}

}  // namespace

PreparedKernel prepare_linear_attention(PrepareContext& context) {
  const LinearPlan plan = plan_linear(context);
  const bool in_double = context.element(LinearAttentionInput::kQuery) == DataType::Double;
  return [plan, in_double](const RunContext& run) {
    in_double ? run_linear<double>(plan, run) : run_linear<float>(plan, run);
  };
}

}  // namespace podium::kernels
