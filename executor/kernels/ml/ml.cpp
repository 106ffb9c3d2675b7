#include "executor/kernels/ml/ml.h"

#include <algorithm>
#include <cmath>

namespace podium::kernels {
namespace {

float logistic(float x) {
  const float y = 1.0F / (1.0F + std::exp(-std::fabs(x)));
  return x < 0 ? 1.0F - y : y;
}

// Winitzki's approximation, the one that ai.onnx.ml's transform is defined with.
float inverse_erf(float x) {
  constexpr float kA = 0.147F;
  const float rest = (1.0F - x) * (1.0F + x);
  if (rest == 0) return 0;
  const float log = std::log(rest);
  const float half = 2.0F / (static_cast<float>(M_PI) * kA) + 0.5F * log;
  return std::copysign(std::sqrt(std::sqrt(half * half - log / kA) - half), x);
}

// `zero`: scores that are (nearly) zero keep the weight zero. All weights zero: every score becomes one half.
void softmax(std::span<float> scores, bool zero) {
  constexpr float kNearlyZero = 1e-7F;
  const float largest = *std::max_element(scores.begin(), scores.end());
  float sum = 0;
  for (float& score : scores) {
    const bool counts = !zero || std::fabs(score) > kNearlyZero;
    score = counts ? std::exp(score - largest) : score * std::exp(-largest);
    sum += score;
  }
  for (float& score : scores) score = sum == 0 ? 0.5F : score / sum;
}

}  // namespace

PostTransform post_transform_named(const std::string& name) {
  if (name == "NONE") return PostTransform::None;
  if (name == "SOFTMAX") return PostTransform::Softmax;
  if (name == "LOGISTIC") return PostTransform::Logistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::SoftmaxZero;
  if (name == "PROBIT") return PostTransform::Probit;
  throw Error("post_transform is \"{}\", NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT needed", name);
}

void transform_scores(PostTransform transform, std::span<float> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::None:
      return;
    case PostTransform::Softmax:
      return softmax(scores, false);
    case PostTransform::SoftmaxZero:
      return softmax(scores, true);
    case PostTransform::Logistic:
      std::transform(scores.begin(), scores.end(), scores.begin(), logistic);
      return;
    case PostTransform::Probit:
      for (float& score : scores) score = 1.41421356F * inverse_erf(2.0F * score - 1.0F);
      return;
  }
}

std::size_t index_of_largest(std::span<const float> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

ClassLabels::ClassLabels(const PrepareContext& context, std::string_view ints_name)
    : ints_(list_or_empty<ir::IntList>(context, ints_name)),
      strings_(list_or_empty<ir::StringList>(context, "classlabels_strings")) {}

void ClassLabels::write(Tensor& labels, std::int64_t row, std::size_t index) const {
  if (!strings_.empty()) {
    if (index >= strings_.size()) throw Error("class {} has no label, there are {}", index, strings_.size());
    labels.data<std::string>()[row] = strings_[index];
    return;
  }
  if (!ints_.empty() && index >= ints_.size())
    throw Error("class {} has no label, there are {}", index, ints_.size());
  labels.data<std::int64_t>()[row] = ints_.empty() ? static_cast<std::int64_t>(index) : ints_[index];
}

void ClassLabels::write_yes_or_no(Tensor& labels, std::int64_t row, bool yes) const {
  if (!strings_.empty()) {
    labels.data<std::string>()[row] = yes ? strings_[0] : std::string();
  } else {
    labels.data<std::int64_t>()[row] = !yes ? 0 : ints_.empty() ? 1 : ints_[0];
  }
}

}  // namespace podium::kernels
