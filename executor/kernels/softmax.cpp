// Each row in three passes: the largest element, exponentials of the differences with their sum, the division
// (Log: the differences less the logarithm of the sum). With the op's axis in the middle, up to 128
// neighbouring columns are done at once, so that the inner axis is the vector. Rows shorter than a vector are
// turned into such columns.
#include "executor/kernels/softmax.h"

#include <algorithm>
#include <limits>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {
namespace {

// A tensor seen as [outer, count, inner] with the op's axis in the middle.
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;
};

AxisView view_along(const Dims& dims, std::int64_t axis) {
  AxisView view;
  const std::int64_t chosen = ir::normalized_axis(axis, std::ssize(dims));
  for (std::int64_t i = 0; i < std::ssize(dims); ++i) {
    (i < chosen ? view.outer : i == chosen ? view.count : view.inner) *= dims[i];
  }
  return view;
}

template <class T>
T largest(const T* x, std::int64_t count) {
  T most = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < count; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <class T>
T add_exponentials(const T* x, T* y, std::int64_t count, T most, T scale) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const T e = fast_exp_down((x[i] - most) * scale);
    y[i] = e;
    sum += e;
  }
  return sum;
}

// What is left of a row behind whole vectors takes as long as many of these, one element by one. A row with
// more than a few left that is not too long is copied to memory where the last vector is filled up with what
// counts for nothing; all goes there and back in vectors, the last of which overlaps the one before.
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kFewLeft = 4;
constexpr std::int64_t kPaddedRow = 512;

template <class T>
void padded_row(const T* x, T* y, std::int64_t count) {
  const std::int64_t whole = count / kLanes * kLanes;
  const std::int64_t last = count - kLanes;
  T row[kPaddedRow + kLanes];
  std::fill_n(row + whole, kLanes, -std::numeric_limits<T>::infinity());
  for (std::int64_t i = 0; i < whole; ++i) row[i] = x[i];
  for (std::int64_t i = 0; i < kLanes; ++i) row[last + i] = x[last + i];
  const std::int64_t padded = whole + kLanes;
  const T scale = T{1} / add_exponentials(row, row, padded, largest(row, padded), T{1});
  for (std::int64_t i = 0; i < whole; ++i) y[i] = row[i] * scale;
  for (std::int64_t i = 0; i < kLanes; ++i) y[last + i] = row[last + i] * scale;
}

template <class T>
void plain_row(const T* x, T* y, std::int64_t count) {
  if (count % kLanes > kFewLeft && count > kLanes && count <= kPaddedRow) return padded_row(x, y, count);
  const T scale = T{1} / add_exponentials(x, y, count, largest(x, count), T{1});
  for (std::int64_t i = 0; i < count; ++i) y[i] *= scale;
}

// log of the sum of e^(x - most).
template <class T>
T log_of_sum(const T* x, std::int64_t count, T most) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += fast_exp_down(x[i] - most);
  return fast_log(sum);
}

template <class T>
void log_row(const T* x, T* y, std::int64_t count) {
  const T most = largest(x, count);
  const T log_sum = log_of_sum(x, count, most);
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] - most - log_sum;
}

template <class T>
T log_element(const T* x, std::int64_t count, std::int64_t i) {
  const T most = largest(x, count);
  return x[i] - most - log_of_sum(x, count, most);
}

constexpr std::int64_t kSoftmaxLanes = 128;

// Up to kSoftmaxLanes neighbouring columns of a [count, inner] matrix at once, so that the inner axis is the
// vector. y may be x: no lane looks at another's element.
template <class T>
void softmax_columns(SoftmaxKind kind, const T* x, T* y, std::int64_t count, std::int64_t inner,
                     std::int64_t lanes) {
  T most[kSoftmaxLanes];
  T sum[kSoftmaxLanes];
  std::fill_n(most, lanes, -std::numeric_limits<T>::infinity());
  std::fill_n(sum, lanes, T{0});
  for (std::int64_t k = 0; k < count; ++k) {
    const T* row = x + k * inner;
#pragma omp simd
    for (std::int64_t i = 0; i < lanes; ++i) most[i] = row[i] > most[i] ? row[i] : most[i];
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const T* row = x + k * inner;
    T* out = y + k * inner;
#pragma omp simd
    for (std::int64_t i = 0; i < lanes; ++i) {
      const T shifted = row[i] - most[i];
      const T e = fast_exp_down(shifted);
      out[i] = kind == SoftmaxKind::Plain ? e : shifted;
      sum[i] += e;
    }
  }
#pragma omp simd
  for (std::int64_t i = 0; i < lanes; ++i) {
    sum[i] = kind == SoftmaxKind::Plain ? T{1} / sum[i] : fast_log(sum[i]);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    T* out = y + k * inner;
#pragma omp simd
    for (std::int64_t i = 0; i < lanes; ++i) {
      out[i] = kind == SoftmaxKind::Plain ? out[i] * sum[i] : out[i] - sum[i];
    }
  }
}

constexpr std::int64_t kShortRow = 16;

// Up to kSoftmaxLanes rows of at most kShortRow elements. y may be x.
template <class T>
void softmax_short_rows(SoftmaxKind kind, const T* x, T* y, std::int64_t count, std::int64_t rows) {
  T columns[kShortRow * kSoftmaxLanes];
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) columns[k * rows + i] = x[i * count + k];
  }
  softmax_columns(kind, columns, columns, count, rows, rows);
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) y[i * count + k] = columns[k * rows + i];
  }
}

template <SoftmaxKind kKind>
PreparedKernel prepare_softmax(PrepareContext& context) {
  const AxisView view = view_along(context.dims(0), context.get_int("axis"));
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [view](const RunContext& run) {
      softmax_along(kKind, run.input(0).data<T>(), run.output(0).data<T>(), view.outer, view.count,
                    view.inner);
    };
  });
}

template <class T>
void hardmax_along(const T* x, T* y, const AxisView& view) {
  parallel_ranges(view.outer * view.inner, view.count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = begin; column < end; ++column) {
      const std::int64_t first = column / view.inner * view.count * view.inner + column % view.inner;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < view.count; ++k) {
        if (x[first + k * view.inner] > x[first + best * view.inner]) best = k;
      }
      for (std::int64_t k = 0; k < view.count; ++k) {
        y[first + k * view.inner] = static_cast<T>(k == best ? 1 : 0);
      }
    }
  });
}

PreparedKernel prepare_hardmax(PrepareContext& context) {
  const AxisView view = view_along(context.dims(0), context.get_int("axis"));
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [view](const RunContext& run) {
      hardmax_along(run.input(0).data<T>(), run.output(0).data<T>(), view);
    };
  });
}

}  // namespace

void softmax_row(const float* x, float* y, std::int64_t count) { plain_row(x, y, count); }
void softmax_row(const double* x, double* y, std::int64_t count) { plain_row(x, y, count); }
float largest_of_row(const float* x, std::int64_t count) { return largest(x, count); }
float exponentials_of_row(const float* x, float* y, std::int64_t count, float largest, float scale) {
  return add_exponentials(x, y, count, largest, scale);
}
void log_softmax_row(const float* x, float* y, std::int64_t count) { log_row(x, y, count); }
void log_softmax_row(const double* x, double* y, std::int64_t count) { log_row(x, y, count); }
float log_softmax_element(const float* x, std::int64_t count, std::int64_t i) {
  return log_element(x, count, i);
}
double log_softmax_element(const double* x, std::int64_t count, std::int64_t i) {
  return log_element(x, count, i);
}

template <class T>
void softmax_along(SoftmaxKind kind, const T* x, T* y, std::int64_t outer, std::int64_t count,
                   std::int64_t inner) {
  constexpr std::int64_t kCostOfExp = 8;
  if (inner == 1 && count < kShortRow) {
    const std::int64_t blocks = (outer + kSoftmaxLanes - 1) / kSoftmaxLanes;
    return parallel_ranges(blocks, count * kSoftmaxLanes * kCostOfExp,
                           [&](std::int64_t begin, std::int64_t end) {
                             for (std::int64_t block = begin; block < end; ++block) {
                               const std::int64_t row = block * kSoftmaxLanes;
                               softmax_short_rows(kind, x + row * count, y + row * count, count,
                                                  std::min(kSoftmaxLanes, outer - row));
                             }
                           });
  }
  if (inner == 1) {
    parallel_ranges(outer, count * kCostOfExp, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        kind == SoftmaxKind::Plain ? plain_row(x + row * count, y + row * count, count)
                                   : log_row(x + row * count, y + row * count, count);
      }
    });
    return;
  }
  const std::int64_t blocks = (inner + kSoftmaxLanes - 1) / kSoftmaxLanes;
  parallel_ranges(
      outer * blocks, count * kSoftmaxLanes * kCostOfExp, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = begin; block < end; ++block) {
          const std::int64_t column = block % blocks * kSoftmaxLanes;
          const std::int64_t first = block / blocks * count * inner + column;
          softmax_columns(kind, x + first, y + first, count, inner, std::min(kSoftmaxLanes, inner - column));
        }
      });
}

template void softmax_along(SoftmaxKind, const float*, float*, std::int64_t, std::int64_t, std::int64_t);
template void softmax_along(SoftmaxKind, const double*, double*, std::int64_t, std::int64_t, std::int64_t);

std::span<const KernelSpec> softmax_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Softmax", .prepare = widened<prepare_softmax<SoftmaxKind::Plain>>, .in_place = 1},
      {.name = "LogSoftmax", .prepare = widened<prepare_softmax<SoftmaxKind::Log>>, .in_place = 1},
      {.name = "Hardmax", .prepare = widened<prepare_hardmax>, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
