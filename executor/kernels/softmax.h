// Softmax of rows, for every kernel that needs one inside.
#pragma once

#include <cstdint>

namespace podium::kernels {

/// y[i] = exp(x[i]) / sum over j of exp(x[j]), without overflow; y may be x.
void softmax_row(const float* x, float* y, std::int64_t count);
void softmax_row(const double* x, double* y, std::int64_t count);
/// The two steps of it before the division. The largest of x, but for NaN.
float largest_of_row(const float* x, std::int64_t count);
/// y[i] = exp(scale * (x[i] - largest)), and the sum of these; y may be x.
float exponentials_of_row(const float* x, float* y, std::int64_t count, float largest, float scale = 1);
/// y[i] = log of the softmax of x.
void log_softmax_row(const float* x, float* y, std::int64_t count);
void log_softmax_row(const double* x, double* y, std::int64_t count);
/// One element of it.
float log_softmax_element(const float* x, std::int64_t count, std::int64_t i);
double log_softmax_element(const double* x, std::int64_t count, std::int64_t i);

/// Softmax along the middle axis of [outer, count, inner].
enum class SoftmaxKind { Plain, Log };
template <class T>
void softmax_along(SoftmaxKind kind, const T* x, T* y, std::int64_t outer, std::int64_t count,
                   std::int64_t inner);

extern template void softmax_along(SoftmaxKind, const float*, float*, std::int64_t, std::int64_t,
                                   std::int64_t);
extern template void softmax_along(SoftmaxKind, const double*, double*, std::int64_t, std::int64_t,
                                   std::int64_t);

}  // namespace podium::kernels
