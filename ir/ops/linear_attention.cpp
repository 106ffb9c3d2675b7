// LinearAttention: a state matrix for each head, written by keys and values and read by queries.
#include "ir/ops/linear_attention.h"

#include "ir/ops/attention.h"
#include "ir/ops/common.h"

namespace podium::ir {
namespace {

bool has_linear_shape(const InferContext& context) {
  return context.has_rank(LinearAttentionInput::kQuery) && context.has_rank(LinearAttentionInput::kKey) &&
         context.has_rank(LinearAttentionInput::kValue);
}

void check_group(const TypedOp& op) {
  const std::int64_t q_heads = op.get_int("q_num_heads");
  const std::int64_t kv_heads = op.get_int("kv_num_heads");
  if (kv_heads <= 0 || q_heads <= 0 || q_heads % kv_heads != 0) {
    throw Error("q_num_heads is {}, a multiple of kv_num_heads {} needed", q_heads, kv_heads);
  }
}

void infer_linear_attention(InferContext& context) {
  check_group(context);
  const DataType element = context.element(LinearAttentionInput::kQuery);
  const DataType state = context.has_input(LinearAttentionInput::kPastState)
                             ? context.element(LinearAttentionInput::kPastState)
                             : element;
  if (!has_linear_shape(context)) {
    context.set_output_element(LinearAttentionOutput::kOutput, element);
    return context.set_output_element(LinearAttentionOutput::kState, state);
  }
  const LinearAttentionShape shape = linear_attention_shape(context);
  context.set_output(LinearAttentionOutput::kOutput, element, shape.output());
  context.set_output(LinearAttentionOutput::kState, state, shape.state());
}

Work linear_attention_work(const TypedOp& op) {
  const std::int64_t state = op.output(LinearAttentionOutput::kState).element_count();
  const std::int64_t steps = op.dims(LinearAttentionInput::kQuery)[1];
  if (state < 0 || steps < 0) return {.flop = 0, .bytes = io_bytes(op)};
  return {.flop = 6 * static_cast<double>(state) * static_cast<double>(steps), .bytes = io_bytes(op)};
}

}  // namespace

Dims LinearAttentionShape::output() const { return {batch, steps, times(values, q_heads)}; }

LinearAttentionShape linear_attention_shape(const TypedOp& op) {
  check_group(op);
  for (std::size_t i :
       {LinearAttentionInput::kQuery, LinearAttentionInput::kKey, LinearAttentionInput::kValue}) {
    if (op.dims(i).size() != 3)
      throw Error("{} is {}, 3 axes needed", op.op.spec->inputs[i].name, to_string(op.dims(i)));
  }
  const Dims& query = op.dims(LinearAttentionInput::kQuery);
  LinearAttentionShape shape{.batch = query[0],
                             .steps = query[1],
                             .q_heads = op.get_int("q_num_heads"),
                             .kv_heads = op.get_int("kv_num_heads")};
  shape.keys = head_size(query[2], shape.q_heads, "query");
  shape.values = head_size(op.dims(LinearAttentionInput::kValue)[2], shape.kv_heads, "value");
  if (differ(shape.keys, head_size(op.dims(LinearAttentionInput::kKey)[2], shape.kv_heads, "key")))
    throw Error("heads of query and key differ in size");
  return shape;
}

OpSpec linear_attention_row() {
  return {.name = "LinearAttention",
          .since = 27,
          .gained = 27,
          .inputs = {{"query"},
                     {"key"},
                     {"value"},
                     {"past_state", 'S', Formal::Optional},
                     {"decay", 'T', Formal::Optional},
                     {"beta", 'T', Formal::Optional},
                     {"erase_gate", 'T', Formal::Optional}},
          .outputs = {{"output"}, {"present_state", 'S', Formal::Optional}},
          .types = {{'T', kFloats}, {'S', kFloats}},
          .attributes = {with_default("chunk_size", std::int64_t{64}),
                         must_have("kv_num_heads", AttributeKind::Int),
                         must_have("q_num_heads", AttributeKind::Int), with_default("scale", 0.0F),
                         with_default("update_rule", std::string("gated_delta"))},
          .infer = infer_linear_attention,
          .work = linear_attention_work};
}

}  // namespace podium::ir
