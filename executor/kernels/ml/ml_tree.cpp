// TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor.
#include <algorithm>
#include <memory>

#include "executor/kernels/cast.h"
#include "executor/kernels/families.h"
#include "executor/kernels/ml/trees.h"

namespace podium::kernels {
namespace {

std::int64_t features_of(const PrepareContext& context) { return context.dims(0).back(); }

Aggregate aggregate_named(const std::string& name) {
  if (name == "SUM") return Aggregate::Sum;
  if (name == "AVERAGE") return Aggregate::Average;
  if (name == "MIN") return Aggregate::Min;
  if (name == "MAX") return Aggregate::Max;
  throw Error("aggregate_function is \"{}\", SUM, AVERAGE, MIN or MAX needed", name);
}

// Scores of every row, transformed, into an output of any float type.
PreparedKernel scores_kernel(Trees trees, PostTransform transform) {
  return [trees = std::make_shared<const Trees>(std::move(trees)), transform](const RunContext& run) {
    Tensor scores = trees->evaluate(run.input(0));
    Tensor& y = run.output(0);
    if (transform != PostTransform::None) {
      Tensor floats(DataType::Float, scores.dims());
      convert_numbers(scores, floats, 0, scores.size(), {});
      for (std::int64_t row = 0; row < floats.dim(0); ++row) {
        transform_scores(transform, floats.values<float>().subspan(row * trees->targets, trees->targets));
      }
      scores = floats;
    }
    convert_numbers(scores, y, 0, y.size(), {});
  };
}

PreparedKernel regressor(PrepareContext& context) {
  Trees trees = trees_of_lists(context, "target");
  trees.targets = context.get_int("n_targets");
  trees.aggregate = aggregate_named(context.get_string("aggregate_function"));
  trees.check(features_of(context));
  return scores_kernel(std::move(trees), post_transform_named(context.get_string("post_transform")));
}

PreparedKernel ensemble(PrepareContext& context) {
  Trees trees = trees_of_arrays(context);
  trees.targets = context.get_int("n_targets");
  const std::int64_t aggregate = context.get_int("aggregate_function");
  const std::int64_t transform = context.get_int("post_transform");
  if (aggregate < 0 || aggregate > 3) throw Error("aggregate_function is {}, 0 to 3 needed", aggregate);
  if (transform < 0 || transform > 4) throw Error("post_transform is {}, 0 to 4 needed", transform);
  trees.aggregate = static_cast<Aggregate>(aggregate);
  trees.check(features_of(context));
  return scores_kernel(std::move(trees), static_cast<PostTransform>(transform));
}

struct Classifier {
  Trees trees;
  ClassLabels labels;
  PostTransform transform;
  bool binary;             // all leaves add to one class
  std::size_t only_class;  // which
};

// One score says how much it is the second class, and the first is the rest.
std::array<float, 2> two_scores(float score, PostTransform transform) {
  const bool probability = transform == PostTransform::None || transform == PostTransform::Probit;
  return {probability ? 1.0F - score : -score, score};
}

void classify(const Classifier& model, const RunContext& run) {
  const Tensor sums = model.trees.evaluate(run.input(0));
  const std::int64_t targets = model.trees.targets;
  std::vector<float> scores;
  for (std::int64_t row = 0; row < sums.dim(0); ++row) {
    const double* sum = sums.data<double>() + row * targets;
    if (model.binary) {
      const auto both = two_scores(static_cast<float>(sum[model.only_class]), model.transform);
      scores.assign(both.begin(), both.end());
    } else {
      scores.assign(sum, sum + targets);
    }
    transform_scores(model.transform, scores);
    const std::size_t best = index_of_largest(scores);
    if (run.has_output(0)) {
      const bool one_label = model.binary && model.labels.size() <= 1;
      if (one_label) model.labels.write_yes_or_no(run.output(0), row, best == 1);
      if (!one_label) model.labels.write(run.output(0), row, best);
    }
    if (run.has_output(1)) {
      std::copy(scores.begin(), scores.end(), run.output(1).data<float>() + row * std::ssize(scores));
    }
  }
}

PreparedKernel classifier(PrepareContext& context) {
  const auto ids = list_or_empty<ir::IntList>(context, "class_ids");
  const auto same = [&](std::int64_t id) { return id == ids.front(); };
  ClassLabels labels(context, "classlabels_int64s");
  const bool binary = !ids.empty() && labels.size() <= 2 && std::all_of(ids.begin(), ids.end(), same);
  if (binary && ids.front() < 0) throw Error("class_ids has {}, 0 or more needed", ids.front());
  auto model = std::make_shared<Classifier>(
      Classifier{trees_of_lists(context, "class"), std::move(labels),
                 post_transform_named(context.get_string("post_transform")), binary,
                 ids.empty() ? 0 : static_cast<std::size_t>(ids.front())});
  model->trees.targets = std::max<std::size_t>(model->labels.size(), binary ? model->only_class + 1 : 1);
  model->trees.check(features_of(context));
  return [model = std::shared_ptr<const Classifier>(std::move(model))](const RunContext& run) {
    classify(*model, run);
  };
}

}  // namespace

std::span<const KernelSpec> ml_tree_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "TreeEnsemble", .prepare = ensemble, .domain = "ai.onnx.ml"},
      {.name = "TreeEnsembleClassifier", .prepare = classifier, .domain = "ai.onnx.ml"},
      {.name = "TreeEnsembleRegressor", .prepare = regressor, .domain = "ai.onnx.ml"},
  };
  return kKernels;
}

}  // namespace podium::kernels
