// Mean and variance of runs of numbers, and numbers of either float type as the wanted one.
#pragma once

#include <cmath>
#include <vector>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

template <class T>
struct Moments {
  T mean = 0;
  T variance = 0;  ///< of the whole population
};

template <class T>
T sum_of(const T* x, std::int64_t count) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  return sum;
}

template <class T>
T sum_of_squares(const T* x, std::int64_t count, T center) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += (x[i] - center) * (x[i] - center);
  return sum;
}

/// The sum of (x[i] - center) * y[i].
template <class T>
T sum_of_products(const T* x, const T* y, std::int64_t count, T center) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += (x[i] - center) * y[i];
  return sum;
}

/// Computes the moments in two passes, so that a large mean costs no digits of the variance.
template <class T>
Moments<T> moments_of(const T* x, std::int64_t count) {
  const T mean = sum_of(x, count) / static_cast<T>(count);
  return {mean, sum_of_squares(x, count, mean) / static_cast<T>(count)};
}

/// y[i] = (x[i] - mean) * factor + bias
template <class T>
void scale_and_shift(const T* x, T* y, std::int64_t count, T mean, T factor, T bias) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor + bias;
}

/// A float or double tensor as Ts.
template <class T>
std::vector<T> numbers_of(const Tensor& tensor) {
  std::vector<T> numbers(tensor.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] =
        static_cast<T>(tensor.type() == DataType::Double ? tensor.data<double>()[i]
                                                         : static_cast<double>(tensor.data<float>()[i]));
  }
  return numbers;
}

}  // namespace podium::kernels
