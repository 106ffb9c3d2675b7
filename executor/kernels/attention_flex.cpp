// FlexAttention: attention whose scores and probabilities the model's own graphs may change.
#include "executor/kernels/attention.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/gemm.h"
#include "ir/ops/attention.h"

namespace podium::kernels {
namespace {

using ir::AttentionInput;
using ir::AttentionOutput;

struct FlexPlan : ir::AttentionShape {
  double scale = 1;
  BodyRunner score_mod = {};
  BodyRunner prob_mod = {};
  DataType score_type = DataType::Float;  // what each body takes
  DataType prob_type = DataType::Float;

  /// Among the heads of K and V of all batch elements: which one head `i` of those of Q reads.
  std::int64_t kv_head(std::int64_t i) const {
    return i / q_heads * kv_heads + i % q_heads / (q_heads / kv_heads);
  }
};

// What a body makes of the scores or probabilities; they go in as `type`.
template <class C>
Tensor modified(const BodyRunner& body, DataType type, const Tensor& computed, const RunContext& run) {
  if (!body) return computed;
  Tensor given = computed;
  if (type != ir::data_type_of<C>) {
    given = Tensor(type, computed.dims());
    if (type == DataType::Double) {
      given = as_computed<double>(computed);
    } else {
      store_computed<C>(computed, given);
    }
  }
  std::vector<Datum> inputs{given};
  for (std::size_t i = AttentionInput::kV + 1; i < run.inputs.size(); ++i) inputs.push_back(run.datum(i));
  const std::vector<Datum> results = body(inputs);
  if (!results.at(0).is_tensor() || results[0].tensor.dims() != computed.dims()) {
    throw Error("a body gave {}, {} needed", to_string(type_of(results[0])), ir::to_string(computed.dims()));
  }
  return as_computed<C>(results[0].tensor);
}

template <class C>
Tensor scores_of(const FlexPlan& plan, const Tensor& q, const Tensor& k) {
  const Product product{.m = plan.rows, .n = plan.added, .k = plan.head, .transpose_b = true};
  Tensor scores(ir::data_type_of<C>, plan.scores());
  for_each_product(plan.batch * plan.q_heads, product.flop(), [&](std::int64_t i) {
    const std::int64_t kv = plan.kv_head(i);
    multiply(product, q.data<C>() + i * product.m * product.k, k.data<C>() + kv * product.n * product.k,
             scores.data<C>() + i * product.m * product.n, static_cast<C>(plan.scale));
  });
  return scores;
}

template <class C>
void weigh(const FlexPlan& plan, const Tensor& probabilities, const Tensor& v, Tensor& y) {
  const Product product{.m = plan.rows, .n = plan.v_head, .k = plan.added};
  for_each_product(plan.batch * plan.q_heads, product.flop(), [&](std::int64_t i) {
    const std::int64_t kv = plan.kv_head(i);
    multiply(product, probabilities.data<C>() + i * product.m * product.k,
             v.data<C>() + kv * product.k * product.n, y.data<C>() + i * product.m * product.n);
  });
}

template <class C>
void run_flex(const FlexPlan& plan, const RunContext& run) {
  const auto computed = [&](std::size_t i) { return as_computed<C>(run.input(i)); };
  Tensor scores =
      modified<C>(plan.score_mod, plan.score_type,
                  scores_of<C>(plan, computed(AttentionInput::kQ), computed(AttentionInput::kK)), run);
  if (plan.score_mod) scores = scores.clone();
  const std::int64_t columns = plan.added;
  C* rows = scores.data<C>();
  for_each_product(columns == 0 ? 0 : scores.size() / columns, 20.0 * static_cast<double>(columns),
                   [&](std::int64_t i) { softmax_row(rows + i * columns, rows + i * columns, columns); });
  const Tensor probabilities = modified<C>(plan.prob_mod, plan.prob_type, scores, run);
  // An op with bodies finds no memory for its output.
  if (!run.outputs[AttentionOutput::kY]->is_tensor() || !run.output(AttentionOutput::kY).defined())
    run.set(AttentionOutput::kY, Tensor(run.input(AttentionInput::kQ).type(), plan.y()));
  Tensor y = room_for<C>(run.output(AttentionOutput::kY));
  weigh<C>(plan, probabilities, computed(AttentionInput::kV), y);
  store_computed<C>(y, run.output(AttentionOutput::kY));
}

// The type a body declares for its input, as the op's infer function decides it.
DataType declared_type(const PrepareContext& context, std::string_view name, DataType computed) {
  const ir::Graph& body = *context.get<ir::Body>(name);
  if (body.inputs.empty()) throw Error("{} has no input, one needed", name);
  const DataType declared = body[body.inputs[0]].type.element;
  return ir::is_float(declared) ? declared : computed;
}

}  // namespace

PreparedKernel prepare_flex_attention(PrepareContext& context) {
  FlexPlan plan{ir::attention_shape(context)};
  plan.scale = score_scale(context, plan.head);
  const bool in_double = context.element(AttentionInput::kQ) == DataType::Double;
  const DataType computed = in_double ? DataType::Double : DataType::Float;
  if (context.get_if<ir::Body>("score_mod") != nullptr) {
    plan.score_mod = context.prepare_body("score_mod");
    plan.score_type = declared_type(context, "score_mod", computed);
  }
  if (context.get_if<ir::Body>("prob_mod") != nullptr) {
    plan.prob_mod = context.prepare_body("prob_mod");
    plan.prob_type = declared_type(context, "prob_mod", computed);
  }
  return [plan = std::move(plan), in_double](const RunContext& run) {
    in_double ? run_flex<double>(plan, run) : run_flex<float>(plan, run);
  };
}

}  // namespace podium::kernels
