#include <optional>

#include "executor/kernels/families.h"
#include "executor/kernels/softmax.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/strides.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {
namespace {

enum class Reduction { None, Mean, Sum };

struct Loss {
  std::int64_t batch = 1;
  std::int64_t classes = 1;
  std::int64_t places = 1;  // targets of one batch element
  std::optional<std::int64_t> ignored = {};
  Reduction reduction = Reduction::Mean;
};

Loss read_loss(const PrepareContext& context) {
  const Dims& scores = context.dims(0);
  Loss loss{scores[0], scores[1], count_of(scores, 2, scores.size())};
  if (const auto* index = context.get_if<std::int64_t>("ignore_index")) loss.ignored = *index;
  const std::string& reduction = context.get_string("reduction");
  loss.reduction = reduction == "none"  ? Reduction::None
                   : reduction == "sum" ? Reduction::Sum
                                        : Reduction::Mean;
  return loss;
}

template <class T, class Index>
struct LossData {
  const T* log_probabilities = nullptr;
  const Index* target = nullptr;
  const T* weight = nullptr;  // nullptr: 1 for every class
  T* loss = nullptr;
};

// The sum of the losses and of their weights; without a reduction every loss is written too.
template <class T, class Index>
std::pair<double, double> add_losses(const Loss& op, const LossData<T, Index>& data) {
  double sum = 0;
  double weights = 0;
  for (std::int64_t n = 0; n < op.batch; ++n) {
    for (std::int64_t place = 0; place < op.places; ++place) {
      const std::int64_t at = n * op.places + place;
      const std::int64_t target = data.target[at];
      T loss = 0;
      if (!op.ignored || target != *op.ignored) {
        if (target < 0 || target >= op.classes) {
          throw Error("target {} is none of {} classes", target, op.classes);
        }
        const T weight = data.weight == nullptr ? T{1} : data.weight[target];
        loss = -data.log_probabilities[(n * op.classes + target) * op.places + place] * weight;
        sum += static_cast<double>(loss);
        weights += static_cast<double>(weight);
      }
      if (op.reduction == Reduction::None) data.loss[at] = loss;
    }
  }
  return {sum, weights};
}

template <class T, class Index>
void find_loss(const Loss& op, const T* log_probabilities, const RunContext& run) {
  const LossData<T, Index> data{log_probabilities, run.input(1).data<Index>(),
                                run.has_input(2) ? run.input(2).data<T>() : nullptr, run.output(0).data<T>()};
  const auto [sum, weights] = add_losses(op, data);
  if (op.reduction == Reduction::None) return;
  const bool is_mean =
      op.reduction == Reduction::Mean && weights != 0;  // where all are ignored there is no loss
  *data.loss = static_cast<T>(is_mean ? sum / weights : sum);
}

template <class T>
void find_loss(const Loss& op, const T* log_probabilities, const RunContext& run) {
  if (run.input(1).type() == DataType::Int32) return find_loss<T, std::int32_t>(op, log_probabilities, run);
  find_loss<T, std::int64_t>(op, log_probabilities, run);
}

PreparedKernel prepare_likelihood(PrepareContext& context) {
  const Loss op = read_loss(context);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) { find_loss<T>(op, run.input(0).data<T>(), run); };
  });
}

PreparedKernel prepare_cross_entropy(PrepareContext& context) {
  const Loss op = read_loss(context);
  if (!context.has_output(1)) {
    const std::int64_t count = context.input(0).element_count();
    context.need_scratch(count * ir::storage_bytes(context.element(0)));
  }
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) {
      T* log_probabilities = run.has_output(1) ? run.output(1).data<T>() : run.scratch<T>();
      softmax_along(SoftmaxKind::Log, run.input(0).data<T>(), log_probabilities, op.batch, op.classes,
                    op.places);
      find_loss<T>(op, log_probabilities, run);
    };
  });
}

}  // namespace

std::span<const KernelSpec> loss_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "NegativeLogLikelihoodLoss", .prepare = widened<prepare_likelihood>},
      {.name = "SoftmaxCrossEntropyLoss", .prepare = widened<prepare_cross_entropy>},
  };
  return kKernels;
}

}  // namespace podium::kernels
