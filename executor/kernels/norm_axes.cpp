// Normalisations along chosen axes without a scale: LpNormalization and MeanVarianceNormalization.
// Lp sees the tensor as [outer, count, inner]: row by row along the last axis, else 128 neighbouring columns
// at once, so that memory is read in order. MeanVariance takes any set of axes: the tensor as rows of its
// last axis, with a table that says to which group (elements that share a mean) each row belongs; means and
// variances are two passes in double.
#include <algorithm>

#include "executor/kernels/norm.h"
#include "executor/kernels/reduce_core.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/moments.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

struct LpNormalization {
  std::int64_t outer = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;
  bool squares = true;  // p is 2, not 1
};

constexpr std::int64_t kLanes = 128;

// Neighbouring columns of a [count, inner] matrix; a column of zeros stays one.
template <class T>
void normalize_columns(const LpNormalization& op, const T* x, T* y, std::int64_t lanes) {
  T norms[kLanes];
  std::fill_n(norms, lanes, T{0});
  for (std::int64_t k = 0; k < op.count; ++k) {
    const T* row = x + k * op.inner;
    for (std::int64_t i = 0; i < lanes; ++i) norms[i] += op.squares ? row[i] * row[i] : std::fabs(row[i]);
  }
  for (std::int64_t i = 0; i < lanes; ++i) {
    const T norm = op.squares ? std::sqrt(norms[i]) : norms[i];
    norms[i] = norm == T{0} ? T{1} : norm;
  }
  for (std::int64_t k = 0; k < op.count; ++k) {
    for (std::int64_t i = 0; i < lanes; ++i) y[k * op.inner + i] = x[k * op.inner + i] / norms[i];
  }
}

template <class T>
void normalize_row(const LpNormalization& op, const T* x, T* y) {
  const double sum = op.squares ? std::sqrt(reduce_run<Adding<T, Squared>>(x, op.count))
                                : reduce_run<Adding<T, Magnitude>>(x, op.count);
  const T norm = sum == 0 ? T{1} : static_cast<T>(sum);
  for (std::int64_t i = 0; i < op.count; ++i) y[i] = x[i] / norm;
}

template <class T>
void normalize_lp(const LpNormalization& op, const T* x, T* y) {
  if (op.inner == 1) {
    return parallel_ranges(op.outer, op.count * 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        normalize_row(op, x + row * op.count, y + row * op.count);
    });
  }
  const std::int64_t blocks = (op.inner + kLanes - 1) / kLanes;
  parallel_ranges(op.outer * blocks, op.count * std::min(kLanes, op.inner) * 2,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t block = begin; block < end; ++block) {
                      const std::int64_t column = block % blocks * kLanes;
                      const std::int64_t first = block / blocks * op.count * op.inner + column;
                      normalize_columns(op, x + first, y + first, std::min(kLanes, op.inner - column));
                    }
                  });
}

// The tensor as rows of its last axis; each row belongs to a run of groups, the elements that share a mean.
struct MeanVariance {
  std::vector<std::int64_t> group_of_row;
  std::int64_t columns = 1;
  bool reduces_last = false;
  std::int64_t groups = 1;
  std::int64_t group_size = 1;
};

MeanVariance read_groups(const PrepareContext& context) {
  Dims x = context.dims(0);
  if (x.empty()) x.push_back(1);
  const auto rank = std::ssize(x);
  std::vector<bool> reduced(x.size(), false);
  for (std::int64_t axis : context.get<ir::IntList>("axes")) {
    reduced[ir::normalized_axis(axis, rank)] = true;
  }
  MeanVariance op{.group_of_row = {}, .columns = x.back(), .reduces_last = reduced.back()};
  Dims strides(x.size(), 0);
  for (std::size_t i = x.size(); i-- > 0;) {
    if (!reduced[i]) strides[i] = op.groups;
    (reduced[i] ? op.group_size : op.groups) *= x[i];
  }
  x.pop_back();
  strides.pop_back();
  for (StridedWalk<1> walk(x, {strides}); walk.more(); walk.next()) op.group_of_row.push_back(walk.offset(0));
  return op;
}

// The mean of f(x, center of its group) over every group.
template <class T, class Function>
std::vector<double> reduce_groups(const MeanVariance& op, const T* x, const std::vector<double>& center,
                                  const Function& f) {
  std::vector<double> sums(op.groups, 0);
  for (std::size_t row = 0; row < op.group_of_row.size(); ++row) {
    const T* from = x + row * op.columns;
    double* sum = sums.data() + op.group_of_row[row];
    const double* mean = center.data() + op.group_of_row[row];
    if (op.reduces_last) {
      double total = 0;
#pragma omp simd reduction(+ : total)
      for (std::int64_t i = 0; i < op.columns; ++i) total += f(static_cast<double>(from[i]), *mean);
      *sum += total;
    } else {
      for (std::int64_t i = 0; i < op.columns; ++i) sum[i] += f(static_cast<double>(from[i]), mean[i]);
    }
  }
  for (double& sum : sums) sum /= static_cast<double>(op.group_size);
  return sums;
}

template <class T>
void normalize_mean_variance(const MeanVariance& op, const T* x, T* y) {
  constexpr double kEpsilon = 1e-9;  // of the op's definition: added to the deviation
  const std::vector<double> zeros(op.groups, 0);
  const auto mean = reduce_groups(op, x, zeros, [](double number, double) { return number; });
  const auto variance = reduce_groups(
      op, x, mean, [](double number, double center) { return (number - center) * (number - center); });
  std::vector<double> factor;
  for (double number : variance) factor.push_back(1 / (std::sqrt(number) + kEpsilon));
  const auto rows = std::ssize(op.group_of_row);
  parallel_ranges(rows, op.columns * 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t group = op.group_of_row[row];
      const std::int64_t first = row * op.columns;
      for (std::int64_t i = 0; i < op.columns; ++i) {
        const std::int64_t at = op.reduces_last ? group : group + i;
        y[first + i] = static_cast<T>((static_cast<double>(x[first + i]) - mean[at]) * factor[at]);
      }
    }
  });
}

}  // namespace

PreparedKernel prepare_lp_normalization(PrepareContext& context) {
  const Dims& x = context.dims(0);
  const std::int64_t p = context.get_int("p");
  if (p != 1 && p != 2) throw Error("p is {}, 1 or 2 needed", p);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), std::ssize(x));
  const LpNormalization op{count_of(x, 0, axis), x[axis], count_of(x, axis + 1, x.size()), p == 2};
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) { normalize_lp(op, run.input(0).data<T>(), run.output(0).data<T>()); };
  });
}

PreparedKernel prepare_mean_variance_normalization(PrepareContext& context) {
  const MeanVariance op = read_groups(context);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) {
      normalize_mean_variance(op, run.input(0).data<T>(), run.output(0).data<T>());
    };
  });
}

}  // namespace podium::kernels
