// LinearClassifier and LinearRegressor; the tables of the family.
#include <Eigen/Core>
#include <memory>

#include "executor/kernels/cast.h"
#include "executor/kernels/families.h"
#include "executor/kernels/ml/ml.h"
#include "executor/kernels/ml/svm.h"
#include "ir/ops/ml.h"

namespace podium::kernels {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Scores of rows: x times the transposed coefficients, plus the intercepts.
struct LinearModel {
  Matrix coefficients;
  Eigen::RowVectorXf intercepts;

  LinearModel(const PrepareContext& context, std::int64_t rows) {
    const auto values = list_or_empty<ir::FloatList>(context, "coefficients");
    coefficients = Eigen::Map<const Matrix>(values.data(), rows, context.dims(0).back());
    const auto given = list_or_empty<ir::FloatList>(context, "intercepts");
    intercepts = Eigen::RowVectorXf::Zero(rows);
    if (given.empty()) return;
    if (std::ssize(given) != rows) {
      throw Error("there are {} intercepts, {} needed", given.size(), rows);
    }
    intercepts = Eigen::Map<const Eigen::RowVectorXf>(given.data(), rows);
  }

  Matrix scores(const Tensor& x) const {
    Tensor floats(DataType::Float, x.dims());
    convert_numbers(x, floats, 0, x.size(), {});
    const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1;
    const Eigen::Map<const Matrix> data(std::as_const(floats).data<float>(), rows, coefficients.cols());
    return (data * coefficients.transpose()).rowwise() + intercepts;
  }
};

PreparedKernel linear_regressor(PrepareContext& context) {
  const PostTransform transform = post_transform_named(context.get_string("post_transform"));
  const std::int64_t targets = context.get_int("targets");
  return [model = std::make_shared<const LinearModel>(context, targets), transform](const RunContext& run) {
    Matrix scores = model->scores(run.input(0));
    const std::size_t columns = scores.cols();
    for (std::int64_t row = 0; row < scores.rows(); ++row)
      transform_scores(transform, {scores.row(row).data(), columns});
    std::copy_n(scores.data(), scores.size(), run.output(0).data<float>());
  };
}

struct LinearClassifier {
  LinearModel model;
  ClassLabels labels;
  PostTransform transform;
};

// A single score is that of the second of two classes, or says whether the only class is meant.
void classify(const LinearClassifier& classifier, const RunContext& run) {
  Matrix scores = classifier.model.scores(run.input(0));
  if (scores.cols() == 1 && classifier.labels.size() == 2) {
    const Matrix second = scores;
    scores.resize(second.rows(), 2);
    scores << -second, second;
  }
  const std::size_t columns = scores.cols();
  const float threshold = classifier.transform == PostTransform::None ? 0.0F : 0.5F;
  for (std::int64_t row = 0; row < scores.rows(); ++row) {
    const std::span<float> values{scores.row(row).data(), columns};
    transform_scores(classifier.transform, values);
    if (!run.has_output(0)) continue;
    if (columns > 1) {
      classifier.labels.write(run.output(0), row, index_of_largest(values));
    } else {
      classifier.labels.write_yes_or_no(run.output(0), row, values[0] >= threshold);
    }
  }
  if (run.has_output(1)) std::copy_n(scores.data(), scores.size(), run.output(1).data<float>());
}

PreparedKernel linear_classifier(PrepareContext& context) {
  const std::int64_t classes = ir::ml_length(context, "coefficients") / context.dims(0).back();
  auto classifier = std::make_shared<const LinearClassifier>(
      LinearClassifier{LinearModel(context, classes), ClassLabels(context, "classlabels_ints"),
                       post_transform_named(context.get_string("post_transform"))});
  return [classifier](const RunContext& run) { classify(*classifier, run); };
}

}  // namespace

std::span<const KernelSpec> ml_linear_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "LinearClassifier", .prepare = linear_classifier, .domain = "ai.onnx.ml"},
      {.name = "LinearRegressor", .prepare = linear_regressor, .domain = "ai.onnx.ml"},
      {.name = "SVMClassifier", .prepare = svm_classifier, .domain = "ai.onnx.ml"},
      {.name = "SVMRegressor", .prepare = svm_regressor, .domain = "ai.onnx.ml"},
  };
  return kKernels;
}

}  // namespace podium::kernels
