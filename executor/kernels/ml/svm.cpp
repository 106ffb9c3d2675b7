// A model is read once into matrices; a row x is then compared with all support vectors at once (Likeness:
// linear, polynomial, radial or sigmoid). A regressor weighs these numbers. A classifier has a score for each
// pair of classes i < j, from the coefficients of both classes' vectors, and the class that wins most pairs;
// with prob_a and prob_b, scores become probabilities of pairs and these, by the iteration of Wu, Lin and
// Weng, probabilities of classes. Without support vectors the coefficients are a linear model's.
#include "executor/kernels/ml/svm.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>

#include "executor/kernels/cast.h"
#include "executor/kernels/ml/ml.h"

namespace podium::kernels {
namespace {

using ir::FloatList;
using ir::IntList;
using SvmMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;
using MapOfVector = Eigen::Map<const Vector>;

// How alike two vectors are.
class Likeness {
 public:
  explicit Likeness(const PrepareContext& context, bool linear) {
    const auto parameters = list_or_empty<FloatList>(context, "kernel_params");
    if (!parameters.empty() && parameters.size() != 3) {
      throw Error("kernel_params has {} numbers, 3 needed: gamma, coef0, degree", parameters.size());
    }
    if (!parameters.empty()) {
      gamma_ = parameters[0];
      offset_ = parameters[1];
      degree_ = parameters[2];
    }
    const std::string& name = context.get_string("kernel_type");
    if (name == "POLY")
      kind_ = Kind::Polynomial;
    else if (name == "RBF")
      kind_ = Kind::Radial;
    else if (name == "SIGMOID")
      kind_ = Kind::Sigmoid;
    else if (name != "LINEAR")
      throw Error("kernel_type is \"{}\", LINEAR, POLY, RBF or SIGMOID needed", name);
    if (linear) kind_ = Kind::Linear;
  }

  /// The kernel of x with every row of `others`.
  Vector operator()(const MapOfVector& x, const SvmMatrix& others) const {
    if (kind_ == Kind::Radial) {
      return (-gamma_ * (others.rowwise() - x.transpose()).rowwise().squaredNorm().array()).exp();
    }
    Vector product = others * x;
    if (kind_ == Kind::Linear) return product;
    const Eigen::ArrayXf shifted = product.array() * gamma_ + offset_;
    if (kind_ == Kind::Polynomial) return shifted.unaryExpr([this](float v) { return std::pow(v, degree_); });
    return shifted.tanh();
  }

 private:
  enum class Kind : std::uint8_t { Linear, Polynomial, Radial, Sigmoid };
  Kind kind_ = Kind::Linear;
  float gamma_ = 0;
  float offset_ = 0;
  float degree_ = 0;
};

SvmMatrix as_matrix(const FloatList& values, std::int64_t rows, std::string_view name) {
  const auto size = std::ssize(values);
  if (rows <= 0 || size == 0 || size % rows != 0) {
    throw Error("{} has {} numbers, a multiple of {} needed", name, size, rows);
  }
  return Eigen::Map<const SvmMatrix>(values.data(), rows, size / rows);
}

void check_columns(const SvmMatrix& vectors, const PrepareContext& context) {
  if (vectors.cols() != context.dims(0).back()) {
    throw Error("vectors have {} numbers, the input {} features", vectors.cols(), context.dims(0).back());
  }
}

// Calls body(row, vector) for each row of a tensor of numbers.
template <class Body>
void for_each_vector(const Tensor& x, const Body& body) {
  Tensor floats(DataType::Float, x.dims());
  convert_numbers(x, floats, 0, x.size(), {});
  const std::int64_t columns = x.dims().back();
  const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    body(row, MapOfVector(std::as_const(floats).data<float>() + row * columns, columns));
  }
}

struct Regressor {
  Likeness likeness;
  SvmMatrix vectors;  // in a linear model the coefficients
  Vector weights;
  float rho;
  bool one_class;
  PostTransform transform;
};

Regressor read_regressor(const PrepareContext& context) {
  const auto coefficients = list_or_empty<FloatList>(context, "coefficients");
  const auto rho = list_or_empty<FloatList>(context, "rho");
  const std::int64_t supports = context.get_int("n_supports");
  const bool linear = supports <= 0;
  Regressor model{Likeness(context, linear),
                  {},
                  Vector::Ones(1),
                  rho.empty() ? 0 : rho[0],
                  context.get_int("one_class") != 0,
                  post_transform_named(context.get_string("post_transform"))};
  model.vectors =
      linear ? as_matrix(coefficients, 1, "coefficients")
             : as_matrix(list_or_empty<FloatList>(context, "support_vectors"), supports, "support_vectors");
  check_columns(model.vectors, context);
  if (linear) return model;
  if (std::ssize(coefficients) != supports) {
    throw Error("there are {} coefficients, {} needed", coefficients.size(), supports);
  }
  model.weights = MapOfVector(coefficients.data(), supports);
  return model;
}

struct SvmClassifier {
  Likeness likeness;
  ClassLabels labels;
  PostTransform transform;
  SvmMatrix vectors;       // in a linear model a row of coefficients for each class
  SvmMatrix coefficients;  // for support vectors a row for each class but one
  IntList counts;          // support vectors of each class
  IntList starts;
  FloatList rho;
  FloatList prob_a;
  FloatList prob_b;
  std::int64_t classes;
  bool all_positive;

  bool linear() const { return counts.empty(); }
};

void read_vectors(SvmClassifier& model, const PrepareContext& context, const FloatList& coefficients) {
  const auto vectors = list_or_empty<FloatList>(context, "support_vectors");
  std::int64_t total = 0;
  for (std::int64_t count : model.counts) {
    // A vector has one number or more.
    const std::int64_t most = std::ssize(vectors) - total;
    if (count < 0 || count > most) throw Error("vectors_per_class has {}, 0 to {} needed", count, most);
    model.starts.push_back(total);
    total += count;
  }
  if (std::ssize(model.counts) != model.classes || model.classes < 2) {
    throw Error("vectors_per_class has {} numbers for {} classes", model.counts.size(), model.classes);
  }
  model.vectors = as_matrix(vectors, total, "support_vectors");
  const auto size = std::ssize(coefficients);
  if (size != total * (model.classes - 1)) {
    throw Error("there are {} coefficients, {} needed", size, total * (model.classes - 1));
  }
  model.coefficients = Eigen::Map<const SvmMatrix>(coefficients.data(), model.classes - 1, total);
}

SvmClassifier read_classifier(const PrepareContext& context) {
  const auto counts = list_or_empty<IntList>(context, "vectors_per_class");
  const auto coefficients = list_or_empty<FloatList>(context, "coefficients");
  if (coefficients.empty()) throw Error("there are no coefficients");
  ClassLabels labels(context, "classlabels_ints");
  const auto classes = std::max<std::int64_t>(labels.size(), 1);
  SvmClassifier model{Likeness(context, counts.empty()),
                      std::move(labels),
                      post_transform_named(context.get_string("post_transform")),
                      {},
                      {},
                      counts,
                      {},
                      list_or_empty<FloatList>(context, "rho"),
                      list_or_empty<FloatList>(context, "prob_a"),
                      list_or_empty<FloatList>(context, "prob_b"),
                      classes,
                      *std::min_element(coefficients.begin(), coefficients.end()) >= 0};
  if (model.linear()) {
    model.vectors = as_matrix(coefficients, classes, "coefficients");
  } else {
    read_vectors(model, context, coefficients);
  }
  check_columns(model.vectors, context);
  const std::size_t pairs = model.linear() ? 1 : classes * (classes - 1) / 2;
  if (model.rho.size() < pairs) throw Error("rho has {} numbers, {} needed", model.rho.size(), pairs);
  const bool probabilities = !model.linear() && !model.prob_a.empty();
  if (probabilities && (model.prob_a.size() < pairs || model.prob_b.size() < pairs)) {
    throw Error("prob_a has {} numbers and prob_b {}, {} needed", model.prob_a.size(), model.prob_b.size(),
                pairs);
  }
  return model;
}

// A score for each pair of classes, and how many pairs each class wins.
void score_pairs(const SvmClassifier& model, const MapOfVector& x, std::vector<float>& scores,
                 std::vector<float>& votes) {
  const Vector likeness = model.likeness(x, model.vectors);
  votes.assign(model.classes, 0.0F);
  const auto part = [&](std::int64_t row, std::size_t of) {
    const auto start = model.starts[of];
    const auto count = model.counts[of];
    return model.coefficients.row(row).segment(start, count).dot(likeness.segment(start, count));
  };
  for (std::size_t i = 0; i < votes.size(); ++i) {
    for (std::size_t j = i + 1; j < votes.size(); ++j) {
      const float score = model.rho[scores.size()] + part(j - 1, i) + part(i, j);
      scores.push_back(score);
      votes[score > 0 ? i : j] += 1;
    }
  }
}

// Probabilities of classes from probabilities of pairs of classes, by the iteration of Wu, Lin and Weng.
std::vector<float> couple(const SvmMatrix& pairs) {
  const auto count = pairs.rows();
  SvmMatrix q = -(pairs.transpose().cwiseProduct(pairs));
  for (Eigen::Index t = 0; t < count; ++t) q(t, t) = pairs.col(t).squaredNorm();
  Vector p = Vector::Constant(count, 1.0F / static_cast<float>(count));
  const float close_enough = 0.005F / static_cast<float>(count);
  for (Eigen::Index round = 0; round < std::max<Eigen::Index>(100, count); ++round) {
    Vector qp = q * p;
    float pqp = p.dot(qp);
    if ((qp.array() - pqp).abs().maxCoeff() < close_enough) break;
    for (Eigen::Index t = 0; t < count; ++t) {
      const float step = (pqp - qp(t)) / q(t, t);
      p(t) += step;
      pqp = (pqp + step * (step * q(t, t) + 2 * qp(t))) / ((1 + step) * (1 + step));
      qp = (qp + step * q.row(t).transpose()) / (1 + step);
      p /= 1 + step;
    }
  }
  return {p.data(), p.data() + count};
}

std::vector<float> probabilities(const SvmClassifier& model, const std::vector<float>& scores) {
  SvmMatrix pairs = SvmMatrix::Zero(model.classes, model.classes);
  std::size_t at = 0;
  for (Eigen::Index i = 0; i < model.classes; ++i) {
    for (Eigen::Index j = i + 1; j < model.classes; ++j, ++at) {
      const float value = scores[at] * model.prob_a[at] + model.prob_b[at];
      pairs(i, j) = std::clamp(1.0F / (1.0F + std::exp(value)), 1e-7F, 1.0F - 1e-7F);
      pairs(j, i) = 1.0F - pairs(i, j);
    }
  }
  return couple(pairs);
}

// Writes the label of a row. Where one function tells two classes apart, the sign or the probability decides.
void write_label(const SvmClassifier& model, Tensor& labels, std::int64_t row,
                 const std::vector<float>& decisive, bool has_probabilities) {
  const std::size_t best = index_of_largest(decisive);
  if (model.rho.size() != 1) return model.labels.write(labels, row, best);
  if (model.labels.size() != 2) return model.labels.write_yes_or_no(labels, row, decisive[best] > 0);
  const bool second = !has_probabilities && model.all_positive && decisive[best] >= 0.5F;
  model.labels.write(labels, row, second ? 1 : best);
}

void classify_by_vectors(const SvmClassifier& model, const RunContext& run) {
  for_each_vector(run.input(0), [&](std::int64_t row, const MapOfVector& x) {
    std::vector<float> scores;
    std::vector<float> votes;
    const bool has_probabilities = !model.linear() && !model.prob_a.empty();
    if (model.linear()) {
      const Vector likeness = model.likeness(x, model.vectors);
      for (float value : likeness) scores.push_back(value + model.rho[0]);
    } else {
      score_pairs(model, x, scores, votes);
      if (has_probabilities) scores = probabilities(model, scores);
    }
    if (run.has_output(0)) {
      write_label(model, run.output(0), row, votes.empty() ? scores : votes, has_probabilities);
    }
    if (!run.has_output(1)) return;
    const std::int64_t columns = run.output(1).dim(1);
    if (columns == 2 && scores.size() == 1) scores.insert(scores.begin(), -scores[0]);
    transform_scores(model.transform, scores);
    std::copy_n(scores.begin(), columns, run.output(1).data<float>() + row * columns);
  });
}

}  // namespace

PreparedKernel svm_regressor(PrepareContext& context) {
  return [model = std::make_shared<const Regressor>(read_regressor(context))](const RunContext& run) {
    float* y = run.output(0).data<float>();
    for_each_vector(run.input(0), [&](std::int64_t row, const MapOfVector& x) {
      float score = model->weights.dot(model->likeness(x, model->vectors)) + model->rho;
      if (model->one_class) score = score > 0 ? 1.0F : -1.0F;
      transform_scores(model->transform, {&score, 1});
      y[row] = score;
    });
  };
}

PreparedKernel svm_classifier(PrepareContext& context) {
  return [model = std::make_shared<const SvmClassifier>(read_classifier(context))](const RunContext& run) {
    classify_by_vectors(*model, run);
  };
}

}  // namespace podium::kernels
