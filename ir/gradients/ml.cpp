// Ops of ai.onnx.ml whose results change smoothly with their inputs. All but a few give floats whatever they
// take.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

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

Term as_floats(Term x) { return x.cast(DataType::Float); }

// A row of zeros stays one. The largest number is meant, not the largest magnitude.
std::vector<ValueId> normalizer_outputs(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const auto& norm = attribute<std::string>(context.op, "norm");
  const ValueId last = context.ints({-1});
  const Term length = x.with(norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : "ReduceL2", last);
  const Term is_there = x.call("Abs").with("ReduceMax", last) > 0;
  return {as_floats(x / choose(is_there, length, 1))};
}

// The inverse of the error function in the approximation that PROBIT is defined with; around 0, where its
// roots have no slopes, the straight line that it touches.
Term inverse_erf(Term x) {
  constexpr double kA = 0.147;
  constexpr double kNearlyZero = 1e-3;
  const Term is_small = x.call("Abs") < kNearlyZero;
  const Term away = choose(is_small, x.like(0.5), x);
  const Term log = (1.0 - away * away).call("Log");
  const Term half = log * 0.5 + 2 * std::numbers::inv_pi / kA;
  const Term found = away.call("Sign") * ((half * half - log * (1 / kA)).call("Sqrt") - half).call("Sqrt");
  return choose(is_small, x * (1 / (2 * std::numbers::inv_sqrtpi)), found);
}

// Scores that are nearly 0 keep the weight 0; all of them do, and each becomes one half.
Term softmax_zero(Term scores) {
  constexpr double kNearlyZero = 1e-7;
  const ValueId last = scores.builder->ints({-1});
  const Term most = scores.with("ReduceMax", last);
  const Term counts = scores.call("Abs") > kNearlyZero;
  const Term weights = choose(counts, (scores - most).call("Exp"), scores * (-most).call("Exp"));
  const Term sum = weights.with("ReduceSum", last);
  const Term is_nothing = sum.with("Equal", sum.like(0));
  return choose(is_nothing, sum.like(0.5), weights / choose(is_nothing, sum.like(1), sum));
}

Term transformed(Term scores, const std::string& transform) {
  if (transform == "LOGISTIC") return scores.call("Sigmoid");
  if (transform == "SOFTMAX") return scores.call("Softmax");
  if (transform == "SOFTMAX_ZERO") return softmax_zero(scores);
  if (transform == "PROBIT") return inverse_erf(scores * 2.0 - 1.0) * std::numbers::sqrt2;
  return scores;
}

Term rows_of(GradientContext& context) {
  const std::int64_t columns = context.static_dims(context.input(0)).back();
  return as_floats(term(context, context.input(0))).with("Reshape", context.ints({-1, columns}));
}

std::size_t label_count(const GradientContext& context) {
  const auto* ints = attribute_if<IntList>(context.op, "classlabels_ints");
  const auto* strings = attribute_if<StringList>(context.op, "classlabels_strings");
  return std::max(ints == nullptr ? 0 : ints->size(), strings == nullptr ? 0 : strings->size());
}

Term with_opposite(Term scores) { return (-scores).with("Concat", scores, {{"axis", std::int64_t{-1}}}); }

// A row for each row of X; a single score of two classes is given with its opposite.
Term linear_scores(GradientContext& context) {
  const FloatList& numbers = floats(context, "coefficients");
  const std::int64_t columns = context.static_dims(context.input(0)).back();
  const std::int64_t rows = std::ssize(numbers) / std::max<std::int64_t>(columns, 1);
  const Term x = rows_of(context);
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
  if (context.static_dims(scores)[1] == 1 && label_count(context) == 2) scores = with_opposite(scores);
  return {kNoValue, transformed(scores, attribute<std::string>(context.op, "post_transform"))};
}

// How alike each row of X is with each vector: [rows, vectors].
Term likenesses(GradientContext& context, const FloatList& vectors, std::int64_t count) {
  const Term x = rows_of(context);
  const std::int64_t columns = std::ssize(vectors) / count;
  const auto& kernel = attribute<std::string>(context.op, "kernel_type");
  const FloatList& given = floats(context, "kernel_params");
  const auto parameter = [&](std::size_t i) { return given.empty() ? 0.0 : static_cast<double>(given[i]); };
  if (kernel == "RBF") {
    const Term apart =
        x.with("Unsqueeze", context.ints({1})) - constant(context, vectors, {1, count, columns});
    const Term squares =
        (apart * apart).with("ReduceSum", context.ints({-1}), {{"keepdims", std::int64_t{0}}});
    return (squares * -parameter(0)).call("Exp");
  }
  const Term product = x.with("MatMul", constant(context, vectors, {count, columns}).call("Transpose"));
  if (kernel == "LINEAR") return product;
  const Term shifted = product * parameter(0) + parameter(1);
  return kernel == "POLY" ? shifted.with("Pow", shifted.like(parameter(2))) : shifted.call("Tanh");
}

// Without support vectors coefficients are those of a linear function.
std::vector<ValueId> svm_regressor_outputs(GradientContext& context) {
  const FloatList& coefficients = floats(context, "coefficients");
  const std::int64_t supports = attribute<std::int64_t>(context.op, "n_supports");
  const Term weights = constant(context, coefficients, {std::ssize(coefficients), 1});
  Term score =
      supports <= 0 ? rows_of(context) : likenesses(context, floats(context, "support_vectors"), supports);
  score = score.with("MatMul", weights);
  const FloatList& rho = floats(context, "rho");
  if (!rho.empty()) score = score + static_cast<double>(rho[0]);
  if (attribute<std::int64_t>(context.op, "one_class") != 0) score = score.call("Sign");
  return {transformed(score, attribute<std::string>(context.op, "post_transform"))};
}

// The coefficient of each support vector in the score of each pair of classes.
Tensor pair_weights(const FloatList& coefficients, const IntList& per_class) {
  const auto classes = std::ssize(per_class);
  std::int64_t vectors = 0;
  IntList starts;
  for (std::int64_t count : per_class) {
    starts.push_back(vectors);
    vectors += count;
  }
  const std::int64_t pairs = classes * (classes - 1) / 2;
  Tensor weights(DataType::Float, {vectors, pairs});
  std::fill_n(weights.data<float>(), weights.size(), 0.0F);
  std::int64_t pair = 0;
  const auto set = [&](std::int64_t of, std::int64_t row) {
    const std::int64_t first = starts[of];
    for (std::int64_t v = first; v < first + per_class[of]; ++v) {
      weights.data<float>()[v * pairs + pair] = coefficients.at(row * vectors + v);
    }
  };
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j, ++pair) {
      set(i, j - 1);
      set(j, i);
    }
  }
  return weights;
}

// Probabilities of classes from scores of pairs of classes. The op iterates to the p whose sum is 1 and whose
// product with Q is the same in each row (Wu, Lin and Weng). By Cramer's rule p are the cofactors of the last
// row of Q with a border of ones, divided by their sum.
Term coupled(GradientContext& context, Term scores, std::int64_t classes) {
  const auto first = [&](const FloatList& numbers) {
    const std::int64_t pairs = classes * (classes - 1) / 2;
    return constant(context, FloatList(numbers.begin(), numbers.begin() + pairs), {pairs});
  };
  const Term beats = -(scores * first(floats(context, "prob_a")) + first(floats(context, "prob_b")));
  constexpr double kLeast = 1e-7;
  const Term p = beats.call("Sigmoid");
  const Term won = term(context, context.call("Clip", {p, p.like(kLeast), p.like(1 - kLeast)}));
  FloatList upper;  // [pairs, classes * classes]: where the probability that i beats j is, i < j
  FloatList lower;
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j) {
      for (std::int64_t at = 0; at < classes * classes; ++at) {
        upper.push_back(at == i * classes + j ? 1 : 0);
        lower.push_back(at == j * classes + i ? 1 : 0);
      }
    }
  }
  const Dims places{std::ssize(upper) / (classes * classes), classes * classes};
  const Term pairs = (won.with("MatMul", constant(context, upper, places)) +
                      (1.0 - won).with("MatMul", constant(context, lower, places)))
                         .with("Reshape", context.ints({-1, classes, classes}));
  FloatList diagonal;
  FloatList border;
  for (std::int64_t i = 0; i <= classes; ++i) {
    for (std::int64_t j = 0; j <= classes; ++j) {
      if (i < classes && j < classes) diagonal.push_back(i == j ? 1 : 0);
      border.push_back((i == classes) != (j == classes) ? 1 : 0);
    }
  }
  const Term q =
      (pairs * pairs).with("ReduceSum", context.ints({1})) * constant(context, diagonal, {classes, classes}) -
      pairs * pairs.call("Transpose", {{"perm", IntList{0, 2, 1}}});
  const Term bordered =
      q.with("Pad", context.ints({0, 0, 0, 0, 1, 1})) + constant(context, border, {classes + 1, classes + 1});
  const Term all = term(context, context.builder.ops("podium", "Cofactors", {bordered}, 1)[0]);
  const std::vector<ValueId> last{all, context.ints({classes, 0}), context.ints({classes + 1, classes}),
                                  context.ints({1, 2})};
  const Term row = term(context, context.call("Slice", last)).with("Squeeze", context.ints({1}));
  return row / row.with("ReduceSum", context.ints({-1}));
}

std::vector<ValueId> svm_classifier_outputs(GradientContext& context) {
  const FloatList& coefficients = floats(context, "coefficients");
  const FloatList& rho = floats(context, "rho");
  const auto* per_class = attribute_if<IntList>(context.op, "vectors_per_class");
  const auto& transform = attribute<std::string>(context.op, "post_transform");
  const std::size_t labels = label_count(context);
  const bool is_linear = per_class == nullptr || per_class->empty();
  Term scores = rows_of(context);
  if (is_linear) {
    const auto classes = std::max<std::int64_t>(labels, 1);
    const Dims dims{classes, std::ssize(coefficients) / classes};
    scores = scores.with("MatMul", constant(context, coefficients, dims).call("Transpose")) +
             static_cast<double>(rho.at(0));
  } else {
    const Tensor weights = pair_weights(coefficients, *per_class);
    const FloatList shifts(rho.begin(), rho.begin() + weights.dim(1));
    scores = likenesses(context, floats(context, "support_vectors"), weights.dim(0))
                 .with("MatMul", context.builder.constant(weights)) +
             constant(context, shifts, {weights.dim(1)});
    if (!floats(context, "prob_a").empty()) scores = coupled(context, scores, std::ssize(*per_class));
  }
  const bool is_one = context.static_dims(scores)[1] == 1;
  if (is_one && labels == 2 && rho.size() == 1 && transform != "PROBIT") scores = with_opposite(scores);
  return {kNoValue, transformed(scores, transform)};
}

void svm_classifier_gradient(GradientContext& context) {
  differentiate_expansion(context, svm_classifier_outputs);
}
void svm_regressor_gradient(GradientContext& context) {
  differentiate_expansion(context, svm_regressor_outputs);
}
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

// A replaced element has no gradient.
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

}  // namespace

std::span<const GradientRow> ml_gradients() {
  static constexpr GradientRow kRows[]{
      {"FeatureVectorizer", feature_vectorizer_gradient, "ai.onnx.ml"},
      {"Imputer", imputer_gradient, "ai.onnx.ml"},
      {"Normalizer", normalizer_gradient, "ai.onnx.ml"},
      {"Scaler", scaler_gradient, "ai.onnx.ml"},
      {"LinearClassifier", linear_classifier_gradient, "ai.onnx.ml"},
      {"LinearRegressor", linear_regressor_gradient, "ai.onnx.ml"},
      {"SVMClassifier", svm_classifier_gradient, "ai.onnx.ml"},
      {"SVMRegressor", svm_regressor_gradient, "ai.onnx.ml"},
  };
  return kRows;
}

}  // namespace podium::ir
