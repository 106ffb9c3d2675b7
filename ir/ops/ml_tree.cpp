// Ensembles of decision trees.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/ml.h"

namespace podium::ir {
namespace {

// About as many comparisons a row as all nodes have levels; the data is read once.
Work work_of_trees(const TypedOp& op) { return work_per_element<16>(op); }

std::vector<AttributeSpec> node_attributes() {
  return {may_have("base_values", AttributeKind::Floats),
          may_have("base_values_as_tensor", AttributeKind::Tensor),
          may_have("nodes_falsenodeids", AttributeKind::Ints),
          may_have("nodes_featureids", AttributeKind::Ints),
          may_have("nodes_hitrates", AttributeKind::Floats),
          may_have("nodes_hitrates_as_tensor", AttributeKind::Tensor),
          may_have("nodes_missing_value_tracks_true", AttributeKind::Ints),
          may_have("nodes_modes", AttributeKind::Strings),
          may_have("nodes_nodeids", AttributeKind::Ints),
          may_have("nodes_treeids", AttributeKind::Ints),
          may_have("nodes_truenodeids", AttributeKind::Ints),
          may_have("nodes_values", AttributeKind::Floats),
          may_have("nodes_values_as_tensor", AttributeKind::Tensor),
          with_default("post_transform", std::string("NONE"))};
}

// Where all leaves add to one class, its score and the rest of it are the scores of two.
void infer_classifier(InferContext& context) {
  const std::int64_t classes = infer_labels(context, "classlabels_int64s");
  const auto* ids = context.get_if<IntList>("class_ids");
  const bool one_class = ids != nullptr && !ids->empty() && classes <= 2 &&
                         std::all_of(ids->begin(), ids->end(), [&](auto id) { return id == ids->front(); });
  const std::int64_t scores = one_class ? 2 : std::max<std::int64_t>(classes, 1);
  context.set_output(1, DataType::Float, {ml_rows(context), scores});
}

void infer_regressor(InferContext& context) {
  context.set_output(0, DataType::Float, {ml_rows(context), ml_count(context, "n_targets")});
}

void infer_ensemble(InferContext& context) {
  context.set_output(0, context.element(0), {ml_rows(context), ml_count(context, "n_targets")});
}

OpSpec classifier() {
  OpSpec spec{.name = "TreeEnsembleClassifier",
              .domain = kMlDomain,
              .since = 5,
              .inputs = {{"X"}},
              .outputs = {{"Y", 'L'}, {"Z", 'F'}},
              .types = {{'T', kMlNumbers}, {'L', kMlLabels}, {'F', TypeSet{DataType::Float}}},
              .attributes = node_attributes(),
              .infer = infer_classifier,
              .work = work_of_trees,
              .no_gradient = kFlat};
  for (const char* name : {"class_ids", "class_nodeids", "class_treeids", "classlabels_int64s"}) {
    spec.attributes.push_back(may_have(name, AttributeKind::Ints));
  }
  spec.attributes.push_back(may_have("class_weights", AttributeKind::Floats));
  spec.attributes.push_back(may_have("class_weights_as_tensor", AttributeKind::Tensor));
  spec.attributes.push_back(may_have("classlabels_strings", AttributeKind::Strings));
  return spec;
}

OpSpec regressor() {
  OpSpec spec{.name = "TreeEnsembleRegressor",
              .domain = kMlDomain,
              .since = 5,
              .inputs = {{"X"}},
              .outputs = {{"Y", 'F'}},
              .types = {{'T', kMlNumbers}, {'F', TypeSet{DataType::Float}}},
              .attributes = node_attributes(),
              .infer = infer_regressor,
              .work = work_of_trees,
              .no_gradient = kFlat};
  for (const char* name : {"target_ids", "target_nodeids", "target_treeids"}) {
    spec.attributes.push_back(may_have(name, AttributeKind::Ints));
  }
  spec.attributes.push_back(may_have("target_weights", AttributeKind::Floats));
  spec.attributes.push_back(may_have("target_weights_as_tensor", AttributeKind::Tensor));
  spec.attributes.push_back(with_default("aggregate_function", std::string("SUM")));
  spec.attributes.push_back(must_have("n_targets", AttributeKind::Int));
  return spec;
}

OpSpec ensemble() {
  OpSpec spec{.name = "TreeEnsemble",
              .domain = kMlDomain,
              .since = 5,
              .inputs = {{"X"}},
              .outputs = {{"Y"}},
              .types = {{'T', TypeSet{DataType::Float, DataType::Double, DataType::Float16}}},
              .infer = infer_ensemble,
              .work = work_of_trees,
              .no_gradient = kFlat};
  for (const char* name : {"leaf_targetids", "nodes_falseleafs", "nodes_falsenodeids", "nodes_featureids",
                           "nodes_trueleafs", "nodes_truenodeids", "tree_roots"}) {
    spec.attributes.push_back(must_have(name, AttributeKind::Ints));
  }
  for (const char* name : {"leaf_weights", "nodes_modes", "nodes_splits"}) {
    spec.attributes.push_back(must_have(name, AttributeKind::Tensor));
  }
  spec.attributes.push_back(may_have("membership_values", AttributeKind::Tensor));
  spec.attributes.push_back(may_have("nodes_hitrates", AttributeKind::Tensor));
  spec.attributes.push_back(may_have("nodes_missing_value_tracks_true", AttributeKind::Ints));
  spec.attributes.push_back(must_have("n_targets", AttributeKind::Int));
  spec.attributes.push_back(with_default("aggregate_function", 1));
  spec.attributes.push_back(with_default("post_transform", 0));
  return spec;
}

}  // namespace

std::span<const OpSpec> ml_tree_ops() {
  static const std::vector<OpSpec> kRows = family({.category = Category::Plain, .samples = rows_of_features},
                                                  {classifier(), regressor(), ensemble()});
  return kRows;
}

}  // namespace podium::ir
