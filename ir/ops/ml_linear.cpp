// Linear models and support vector machines.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/ml.h"

namespace podium::ir {
namespace {

constexpr TypeSet kSingleOnly{DataType::Float};

Work work_of_product(const TypedOp& op) {
  const auto coefficients =
      static_cast<double>(ml_length(op, "coefficients") + ml_length(op, "support_vectors"));
  const Type& x = op.input(0);
  const auto rows = x.is_static() && x.rank() == 2 ? static_cast<double>(x.dims[0]) : 1;
  return {.flop = 2 * rows * coefficients, .bytes = io_bytes(op)};
}

void infer_linear_classifier(InferContext& context) {
  const std::int64_t labels = infer_labels(context, "classlabels_ints");
  const std::int64_t columns = ml_columns(context);
  const std::int64_t coefficients = ml_length(context, "coefficients");
  std::int64_t scores = kUnknown;
  if (columns != kUnknown) {
    if (columns == 0 || coefficients == 0 || coefficients % columns != 0) {
      throw Error("there are {} coefficients, a multiple of {} needed", coefficients, columns);
    }
    scores = coefficients / columns;
    if (scores == 1 && labels == 2) scores = 2;
  }
  context.set_output(1, DataType::Float, {ml_rows(context), scores});
}

void infer_linear_regressor(InferContext& context) {
  const std::int64_t targets = ml_count(context, "targets");
  const std::int64_t columns = ml_columns(context);
  const std::int64_t coefficients = ml_length(context, "coefficients");
  if (const std::int64_t needed = times(columns, targets); needed != kUnknown && coefficients != needed) {
    throw Error("there are {} coefficients, {} needed", coefficients, needed);
  }
  context.set_output(0, DataType::Float, {ml_rows(context), targets});
}

// Pairs of classes have a score each unless there are probabilities; one score may be given with its
// opposite.
void infer_svm_classifier(InferContext& context) {
  const std::int64_t labels = infer_labels(context, "classlabels_ints");
  const std::int64_t classes = std::max<std::int64_t>(labels, 1);
  const bool vectors = ml_length(context, "vectors_per_class") > 0;
  const bool probabilities = vectors && ml_length(context, "prob_a") > 0;
  std::int64_t scores = vectors && !probabilities ? classes * (classes - 1) / 2 : classes;
  const bool probit = context.get_string("post_transform") == "PROBIT";
  if (scores == 1 && labels == 2 && ml_length(context, "rho") == 1 && !probit) scores = 2;
  context.set_output(1, DataType::Float, {ml_rows(context), scores});
}

void infer_svm_regressor(InferContext& context) {
  context.set_output(0, DataType::Float, {ml_rows(context), 1});
}

OpSpec classifier(std::string_view name, InferFunction infer) {
  return {.name = name,
          .domain = kMlDomain,
          .since = 1,
          .inputs = {{"X"}},
          .outputs = {{"Y", 'L'}, {"Z", 'F'}},
          .types = {{'T', kMlNumbers}, {'L', kMlLabels}, {'F', kSingleOnly}},
          .attributes = {may_have("classlabels_ints", AttributeKind::Ints),
                         may_have("classlabels_strings", AttributeKind::Strings),
                         must_have("coefficients", AttributeKind::Floats),
                         with_default("post_transform", std::string("NONE"))},
          .infer = infer,
          .work = work_of_product};
}

OpSpec regressor(std::string_view name, InferFunction infer) {
  return {.name = name,
          .domain = kMlDomain,
          .since = 1,
          .inputs = {{"X"}},
          .outputs = {{"Y", 'F'}},
          .types = {{'T', kMlNumbers}, {'F', kSingleOnly}},
          .attributes = {may_have("coefficients", AttributeKind::Floats),
                         with_default("post_transform", std::string("NONE"))},
          .infer = infer,
          .work = work_of_product};
}

OpSpec with(OpSpec spec, std::initializer_list<AttributeSpec> attributes) {
  spec.attributes.insert(spec.attributes.end(), attributes.begin(), attributes.end());
  return spec;
}

OpSpec with_kernel(OpSpec spec) {
  return with(
      std::move(spec),
      {may_have("kernel_params", AttributeKind::Floats), with_default("kernel_type", std::string("LINEAR")),
       may_have("rho", AttributeKind::Floats), may_have("support_vectors", AttributeKind::Floats)});
}

}  // namespace

std::span<const OpSpec> ml_linear_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .samples = rows_of_features},
             {
                 with(classifier("LinearClassifier", infer_linear_classifier),
                      {may_have("intercepts", AttributeKind::Floats), with_default("multi_class", 0)}),
                 with(regressor("LinearRegressor", infer_linear_regressor),
                      {may_have("intercepts", AttributeKind::Floats), with_default("targets", 1)}),
                 with(with_kernel(classifier("SVMClassifier", infer_svm_classifier)),
                      {may_have("prob_a", AttributeKind::Floats), may_have("prob_b", AttributeKind::Floats),
                       may_have("vectors_per_class", AttributeKind::Ints)}),
                 with(with_kernel(regressor("SVMRegressor", infer_svm_regressor)),
                      {with_default("n_supports", 0), with_default("one_class", 0)}),
             });
  return kRows;
}

}  // namespace podium::ir
