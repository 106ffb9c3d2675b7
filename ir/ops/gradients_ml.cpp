// Ops of ai.onnx.ml whose results change smoothly with their inputs. All but a few give floats whatever they
// take.
#include <algorithm>
#include <cmath>

#include "ir/ops/gradient_terms.h"
#include "ir/ops/gradients_expanded.h"

namespace podium::ir {
namespace {

const FloatList& floats(const GradientContext& context, std::string_view name) {
  static const FloatList kNone;
  const auto* given = attribute_if<FloatList>(context.op, name);
  return given == nullptr ? kNone : *given;
}

Term constant(GradientContext& context, const FloatList& numbers, Dims dims) {
  return term(context, context.builder.constant(Tensor::of<float>(std::move(dims), numbers)));
}

Term as_floats(Term x) { return x.call("Cast", {{"to", static_cast<std::int64_t>(DataType::Float)}}); }

// A row of zeros stays one. The largest number is meant, not the largest magnitude.
std::vector<ValueId> normalizer_outputs(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const auto& norm = attribute<std::string>(context.op, "norm");
  const ValueId last = context.ints({-1});
  const Term length = x.with(norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : "ReduceL2", last);
  const Term is_there = x.call("Abs").with("ReduceMax", last) > 0;
  return {as_floats(x / choose(is_there, length, 1))};
}

Term transformed(Term scores, const std::string& transform) {
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return scores.call("Sigmoid");
  if (transform == "SOFTMAX") return scores.call("Softmax");
  throw Error("the gradient of post_transform \"{}\" is not known", transform);
}

// A row for each row of X; a single score of two classes is given with its opposite.
Term linear_scores(GradientContext& context) {
  const FloatList& numbers = floats(context, "coefficients");
  const std::int64_t columns = context.static_dims(context.input(0)).back();
  const std::int64_t rows = std::ssize(numbers) / std::max<std::int64_t>(columns, 1);
  const Term x = as_floats(term(context, context.input(0))).with("Reshape", context.ints({-1, columns}));
  Term scores = x.with("MatMul", constant(context, numbers, {rows, columns}).call("Transpose"));
  const FloatList& intercepts = floats(context, "intercepts");
  if (!intercepts.empty()) scores = scores + constant(context, intercepts, {rows});
  return scores;
}

std::vector<ValueId> regressor_outputs(GradientContext& context) {
  return {transformed(linear_scores(context), attribute<std::string>(context.op, "post_transform"))};
}

std::vector<ValueId> classifier_outputs(GradientContext& context) {
  Term scores = linear_scores(context);
  const auto* ints = attribute_if<IntList>(context.op, "classlabels_ints");
  const auto* strings = attribute_if<StringList>(context.op, "classlabels_strings");
  const std::size_t labels =
      std::max(ints == nullptr ? 0 : ints->size(), strings == nullptr ? 0 : strings->size());
  if (context.static_dims(scores)[1] == 1 && labels == 2) {
    scores = (-scores).with("Concat", scores, {{"axis", std::int64_t{-1}}});
  }
  return {kNoValue, transformed(scores, attribute<std::string>(context.op, "post_transform"))};
}

}  // namespace

void normalizer_gradient(GradientContext& context) { differentiate_expansion(context, normalizer_outputs); }
void linear_regressor_gradient(GradientContext& context) {
  differentiate_expansion(context, regressor_outputs);
}
void linear_classifier_gradient(GradientContext& context) {
  differentiate_expansion(context, classifier_outputs);
}

// y = (x - offset) * scale.
void scaler_gradient(GradientContext& context) {
  const FloatList& scale = floats(context, "scale");
  Term flow = flow_of(context);
  if (!scale.empty()) flow = flow * constant(context, scale, {std::ssize(scale)});
  context.set(0, flow.with("CastLike", context.input(0)));
}

// Nothing flows to what was replaced.
void imputer_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const double replaced = static_cast<double>(attribute<float>(context.op, "replaced_value_float"));
  const Term is_replaced = std::isnan(replaced) ? x.call("IsNaN") : x.with("Equal", x.like(replaced));
  const Term flow = flow_of(context);
  context.set(0, choose(is_replaced, flow.like(0), flow));
}

// Each input has its columns, cut off or filled up.
void feature_vectorizer_gradient(GradientContext& context) {
  const auto* given = attribute_if<IntList>(context.op, "inputdimensions");
  const ValueId along = context.ints({1});
  std::int64_t start = 0;
  for (std::size_t i = 0; i < context.op.inputs.size(); ++i) {
    const ValueId x = context.input(i);
    const Dims dims = context.static_dims(x);
    const std::int64_t own = dims.size() == 2 ? dims[1] : 1;
    const std::int64_t wanted = given == nullptr ? own : (*given)[i];
    const std::int64_t taken = std::min(own, wanted);
    const std::vector<ValueId> cut{context.output_gradient(), context.ints({start}),
                                   context.ints({start + taken}), along};
    const Term columns =
        term(context, context.call("Slice", cut)).with("Pad", context.ints({0, 0, 0, own - taken}));
    if (context.wants(i)) context.set(i, context.call("CastLike", {context.reshape_like(columns, x), x}));
    start += wanted;
  }
}

void refuse_gradient(GradientContext& context) {
  throw Error("no gradient: {}", context.op.spec->no_gradient);
}

}  // namespace podium::ir
