// Parts that the kernels of ai.onnx.ml share: transforms of scores and labels of classes.
#pragma once

#include <span>
#include <string>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

enum class PostTransform : std::uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };

/// The transform of an attribute: "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT". Error for another
/// name.
PostTransform post_transform_named(const std::string& name);
/// Transforms the scores of one row.
void transform_scores(PostTransform transform, std::span<float> scores);

/// The number of the largest score, the first of equal ones.
std::size_t index_of_largest(std::span<const float> scores);

/// The labels of an op whose output 0 has one label per row, integers or strings.
class ClassLabels {
 public:
  ClassLabels(const PrepareContext& context, std::string_view ints_name);

  std::size_t size() const { return strings_.empty() ? ints_.size() : strings_.size(); }
  /// Writes the label of class `index` for a row of the output; without labels, the index.
  void write(Tensor& labels, std::int64_t row, std::size_t index) const;
  /// Writes a label for a row where a single label stands for "yes"; "no" is 0 or an empty string.
  void write_yes_or_no(Tensor& labels, std::int64_t row, bool yes) const;

 private:
  ir::IntList ints_;
  ir::StringList strings_;
};

/// The values of an attribute that may be absent.
template <class List>
List list_or_empty(const ir::TypedOp& op, std::string_view name) {
  const List* list = op.get_if<List>(name);
  return list == nullptr ? List{} : *list;
}

}  // namespace podium::kernels
