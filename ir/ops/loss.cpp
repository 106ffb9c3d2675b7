#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/totals.h"

namespace podium::ir {

namespace {

// Scores [N, C, d...] and targets [N, d...] give a loss per target, or one in all.
void infer_loss(InferContext& context) {
  const std::string& reduction = context.get_string("reduction");
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    throw Error("reduction is '{}', it must be none, mean or sum", reduction);
  }
  const DataType element = context.element(0);
  context.set_output(1, context.input(0));
  if (reduction == "none") {
    context.set_output_element(0, element);
  } else {
    context.set_output(0, element, {});
  }
  if (!context.has_rank(0)) return;
  const Dims& scores = context.dims(0);
  if (scores.size() < 2) throw Error("input has shape {}, at least [N, C] needed", to_string(scores));
  Dims expected = scores;
  expected.erase(expected.begin() + 1);
  if (context.has_rank(1)) {
    const Dims& target = context.dims(1);
    bool fits = target.size() == expected.size();
    for (std::size_t i = 0; fits && i < expected.size(); ++i) {
      fits = target[i] == expected[i] || target[i] == kUnknown || expected[i] == kUnknown;
      if (expected[i] == kUnknown) expected[i] = target[i];
    }
    if (!fits) throw Error("target has shape {}, {} needed", to_string(target), to_string(expected));
  }
  if (context.has_input(2) && context.has_rank(2)) {
    const Dims& weight = context.dims(2);
    const bool fits =
        weight.size() == 1 && (weight[0] == scores[1] || weight[0] == kUnknown || scores[1] == kUnknown);
    if (!fits) throw Error("weight has shape {}, [{}] needed", to_string(weight), scores[1]);
  }
  if (reduction == "none") context.set_output(0, element, std::move(expected));
}

std::vector<AttributeSpec> loss_attributes() {
  return {may_have("ignore_index", AttributeKind::Int), with_default("reduction", std::string("mean"))};
}

Work gather_work(const TypedOp& op) {
  const std::int64_t count = op.input(1).element_count();
  return {.flop = count < 0 ? 0 : 2.0 * static_cast<double>(count), .bytes = io_bytes(op)};
}

Work softmax_work(const TypedOp& op) {
  const std::int64_t count = op.input(0).element_count();
  return {.flop = count < 0 ? 0 : 4.0 * static_cast<double>(count), .bytes = io_bytes(op)};
}

}  // namespace

std::span<const OpSpec> loss_ops() {
  constexpr unsigned kTarget = 1U << 1;
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .samples = first_axis_of<kTarget>},
             {
                 {.name = "NegativeLogLikelihoodLoss",
                  .since = 22,
                  .gained = 12,
                  .inputs = {{"input"}, {"target", 'I'}, {"weight", 'T', Formal::Optional}},
                  .outputs = {{"loss"}},
                  .types = {{'T', kFloats}, {'I', kIndices}},
                  .attributes = loss_attributes(),
                  .infer = infer_loss,
                  .work = gather_work,
                  .total = loss_over_samples},
                 {.name = "SoftmaxCrossEntropyLoss",
                  .since = 13,
                  .gained = 12,
                  .inputs = {{"scores"}, {"labels", 'I'}, {"weights", 'T', Formal::Optional}},
                  .outputs = {{"output"}, {"log_prob", 'T', Formal::Optional}},
                  .types = {{'T', kFloats}, {'I', kIndices}},
                  .attributes = loss_attributes(),
                  .infer = infer_loss,
                  .work = softmax_work,
                  .total = loss_over_samples},
             });
  return kRows;
}

}  // namespace podium::ir
