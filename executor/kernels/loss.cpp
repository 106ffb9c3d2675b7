// Losses of labels, and the search for the labels that a sequence is likeliest to be read as.
// The search over labels keeps, for each sequence, the likeliest prefixes with the logarithms of two sums: of
// the ways to read a prefix that end with a blank, and of those that end with its last label.
//
//   step of class c      prefix p of beam, last label l        becomes
//   blank                blank + label                          p, ending with a blank
//   c = l                label                                  p, ending with a label
//   c = l                blank                                  pc, ending with a label
//   c other              blank + label                          pc, ending with a label
//
// A prefix that two ways lead to is one beam with their sum. After each step the beam_width likeliest stay,
// of equal ones those whose labels come first, so that the order does not depend on anything but the numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "executor/kernels/families.h"
#include "executor/kernels/softmax.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
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

// Log-probabilities of all classes of each target, [N, C, ...], or of the target itself alone, [N].
enum class Known { AllClasses, OwnClass };

template <class T>
struct LogProbabilities {
  const T* of = nullptr;
  Known known = Known::AllClasses;
};

template <class T, class Index>
struct LossData {
  LogProbabilities<T> log_probabilities;
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
        const bool has_all = data.log_probabilities.known == Known::AllClasses;
        loss =
            -data.log_probabilities.of[has_all ? (n * op.classes + target) * op.places + place : at] * weight;
        sum += static_cast<double>(loss);
        weights += static_cast<double>(weight);
      }
      if (op.reduction == Reduction::None) data.loss[at] = loss;
    }
  }
  return {sum, weights};
}

template <class T, class Index>
void find_loss(const Loss& op, LogProbabilities<T> log_probabilities, const RunContext& run) {
  const LossData<T, Index> data{log_probabilities, run.input(1).data<Index>(),
                                run.has_input(2) ? run.input(2).data<T>() : nullptr, run.output(0).data<T>()};
  const auto [sum, weights] = add_losses(op, data);
  if (op.reduction == Reduction::None) return;
  const bool is_mean =
      op.reduction == Reduction::Mean && weights != 0;  // where all are ignored there is no loss
  *data.loss = static_cast<T>(is_mean ? sum / weights : sum);
}

template <class T>
void find_loss(const Loss& op, LogProbabilities<T> log_probabilities, const RunContext& run) {
  if (run.input(1).type() == DataType::Int32) return find_loss<T, std::int32_t>(op, log_probabilities, run);
  find_loss<T, std::int64_t>(op, log_probabilities, run);
}

PreparedKernel prepare_likelihood(PrepareContext& context) {
  const Loss op = read_loss(context);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) { find_loss<T>(op, {run.input(0).data<T>()}, run); };
  });
}

// A target that is no class gets none: it is ignored, or refused later.
template <class T, class Index>
void find_own_classes(const Loss& op, const RunContext& run, T* found) {
  constexpr std::int64_t kCost = 8;
  const T* scores = run.input(0).data<T>();
  const Index* targets = run.input(1).data<Index>();
  parallel_ranges(op.batch, op.classes * kCost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t target = targets[n];
      if (target >= 0 && target < op.classes)
        found[n] = log_softmax_element(scores + n * op.classes, op.classes, target);
    }
  });
}

// Rows of scores of which nobody asks for the probabilities.
PreparedKernel prepare_cross_entropy_of_rows(PrepareContext& context, const Loss& op) {
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    context.need_scratch(op.batch * sizeof(T));
    return [op](const RunContext& run) {
      T* own = run.scratch<T>();
      if (run.input(1).type() == DataType::Int32) {
        find_own_classes<T, std::int32_t>(op, run, own);
      } else {
        find_own_classes<T, std::int64_t>(op, run, own);
      }
      find_loss<T>(op, {own, Known::OwnClass}, run);
    };
  });
}

PreparedKernel prepare_cross_entropy(PrepareContext& context) {
  constexpr std::int64_t kManyClasses = 16;  // rows of fewer are turned
  const Loss op = read_loss(context);
  if (!context.has_output(1) && op.places == 1 && op.classes >= kManyClasses)
    return prepare_cross_entropy_of_rows(context, op);
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
      find_loss<T>(op, {log_probabilities}, run);
    };
  });
}

// The numbers of a tensor of floats.
std::vector<double> doubles_of(const Tensor& tensor) {
  if (tensor.type() == DataType::Double) {
    const auto values = tensor.values<double>();
    return {values.begin(), values.end()};
  }
  std::vector<float> numbers(static_cast<std::size_t>(tensor.size()));
  to_float(tensor, 0, tensor.size(), numbers.data());
  return {numbers.begin(), numbers.end()};
}

void write_doubles(const std::vector<double>& values, Tensor& tensor) {
  if (tensor.type() == DataType::Double) {
    std::copy(values.begin(), values.end(), tensor.data<double>());
    return;
  }
  const std::vector<float> numbers(values.begin(), values.end());
  from_float(numbers.data(), tensor, 0, tensor.size());
}

std::vector<std::int64_t> lengths_of(const Tensor& tensor) {
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                  std::uint32_t, std::uint64_t>(tensor.type(), [&](auto tag) {
    const auto values = tensor.values<decltype(tag)>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  });
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double larger = std::max(a, b);
  return larger == kNever ? kNever : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

using Reading = std::vector<std::uint32_t>;

struct Ways {
  double blank = kNever;
  double label = kNever;
  double all() const { return log_sum(blank, label); }
};

struct Beam {
  Reading labels;
  Ways ways;
};

struct CtcSearch {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t classes = 0;
  std::uint32_t blank = 0;
  std::size_t width = 1;

  // The beams of one sequence, the likeliest first; `scores` are its rows of classes, `batch` rows apart.
  std::vector<Beam> search(const double* scores, std::int64_t length) const {
    std::vector<Beam> beams{{{}, {.blank = 0}}};
    for (std::int64_t t = 0; t < length; ++t) beams = step(beams, scores + t * batch * classes);
    return beams;
  }

 private:
  std::vector<Beam> step(const std::vector<Beam>& beams, const double* scores) const {
    std::map<Reading, Ways> next;
    for (const auto& [labels, ways] : beams) {
      const double all = ways.all();
      Ways& same = next[labels];
      same.blank = log_sum(same.blank, all + scores[blank]);
      if (!labels.empty()) same.label = log_sum(same.label, ways.label + scores[labels.back()]);
      for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(classes); ++c) {
        if (c == blank) continue;
        Reading longer = labels;
        longer.push_back(c);
        double& ending = next[std::move(longer)].label;
        const bool repeats = !labels.empty() && labels.back() == c;
        ending = log_sum(ending, (repeats ? ways.blank : all) + scores[c]);
      }
    }
    return likeliest(next);
  }

  // The map's order is that of the labels, which a stable sort keeps.
  std::vector<Beam> likeliest(const std::map<Reading, Ways>& found) const {
    struct Likely {
      double probability;
      std::map<Reading, Ways>::const_iterator beam;
    };
    std::vector<Likely> ranked;
    for (auto beam = found.begin(); beam != found.end(); ++beam) {
      const double probability = beam->second.all();
      if (probability != kNever) ranked.push_back({probability, beam});
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Likely& a, const Likely& b) { return a.probability > b.probability; });
    if (ranked.size() > width) ranked.resize(width);
    std::vector<Beam> kept;
    for (const Likely& one : ranked) kept.push_back({one.beam->first, one.beam->second});
    return kept;
  }
};

// Where there are fewer ways to read a sequence than paths, the others have probability 0 and no label.
void write_paths(const std::vector<Beam>& beams, std::size_t paths, std::size_t first, std::int64_t steps,
                 std::vector<double>& probabilities, const RunContext& run) {
  for (std::size_t p = 0; p < paths; ++p) {
    const bool is_there = p < beams.size();
    probabilities[first + p] = is_there ? beams[p].ways.all() : kNever;
    const Reading labels = is_there ? beams[p].labels : Reading{};
    if (run.has_output(1)) {
      run.output(1).data<std::uint32_t>()[first + p] = static_cast<std::uint32_t>(labels.size());
    }
    if (!run.has_output(2)) continue;
    std::uint32_t* row = run.output(2).data<std::uint32_t>() + (first + p) * static_cast<std::size_t>(steps);
    std::fill_n(std::copy(labels.begin(), labels.end(), row), steps - std::ssize(labels), 0U);
  }
}

PreparedKernel ctc_beam_search(PrepareContext& context) {
  const Dims dims = context.dims(0);
  const CtcSearch search{.steps = dims[0],
                         .batch = dims[1],
                         .classes = dims[2],
                         .blank = static_cast<std::uint32_t>(context.get_int("blank")),
                         .width = static_cast<std::size_t>(context.get_int("beam_width"))};
  const auto paths = static_cast<std::size_t>(context.get_int("top_paths"));
  return [search, paths](const RunContext& run) {
    const std::vector<double> scores = doubles_of(run.input(0));
    const std::vector<std::int64_t> lengths = lengths_of(run.input(1));
    std::vector<double> probabilities(static_cast<std::size_t>(search.batch) * paths);
    for (std::int64_t b = 0; b < search.batch; ++b) {
      if (lengths[b] < 0 || lengths[b] > search.steps) {
        throw Error("data_lengths has {} at {}, 0 to {} needed", lengths[b], b, search.steps);
      }
      write_paths(search.search(scores.data() + b * search.classes, lengths[b]), paths,
                  static_cast<std::size_t>(b) * paths, search.steps, probabilities, run);
    }
    if (run.has_output(0)) write_doubles(probabilities, run.output(0));
  };
}

}  // namespace

std::span<const KernelSpec> loss_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "CtcBeamSearchDecoder", .prepare = ctc_beam_search, .domain = "ai.graphcore"},
      {.name = "NegativeLogLikelihoodLoss", .prepare = widened<prepare_likelihood>},
      {.name = "SoftmaxCrossEntropyLoss", .prepare = widened<prepare_cross_entropy>},
  };
  return kKernels;
}

}  // namespace podium::kernels
