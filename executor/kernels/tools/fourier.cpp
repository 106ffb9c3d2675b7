// Eigen's mixed-radix transform where all prime factors are small. It is quadratic in a prime factor, so
// other lengths go by Bluestein's identity k n = (k^2 + n^2 - (k - n)^2) / 2: a convolution with a chirp,
// which a power of two serves.
#include "executor/kernels/tools/fourier.h"

#include <algorithm>
#include <numbers>
#include <unsupported/Eigen/FFT>

namespace podium::kernels {
namespace {

constexpr std::int64_t kLargestDirectFactor = 31;

std::int64_t largest_prime_factor(std::int64_t number) {
  std::int64_t largest = 1;
  for (std::int64_t factor = 2; factor * factor <= number; ++factor) {
    for (; number % factor == 0; number /= factor) largest = factor;
  }
  return std::max(largest, number);
}

// Keeps its twiddle factors between calls.
void mixed_radix(Fourier::Complex* to, const Fourier::Complex* from, std::int64_t length) {
  thread_local Eigen::FFT<double> transform;
  transform.fwd(to, from, length);
}

void conjugate(Fourier::Complex* line, std::int64_t length, double scale) {
  for (std::int64_t i = 0; i < length; ++i) line[i] = std::conj(line[i]) * scale;
}

}  // namespace

Fourier::Fourier(std::int64_t length) : length_(length) {
  if (largest_prime_factor(length) <= kLargestDirectFactor) {
    work_.resize(length);
    return;
  }
  padded_ = 1;
  while (padded_ < 2 * length - 1) padded_ *= 2;
  chirp_.resize(length);
  chirp_spectrum_.resize(padded_);
  work_.resize(padded_);
  for (std::int64_t n = 0; n < length; ++n) {
    // The square modulo two turns, as large angles lose digits.
    const auto turns = static_cast<double>(n * n % (2 * length)) / static_cast<double>(length);
    chirp_[n] = std::polar(1.0, -std::numbers::pi * turns);
    work_[n] = std::conj(chirp_[n]);
    if (n > 0) work_[padded_ - n] = work_[n];
  }
  mixed_radix(chirp_spectrum_.data(), work_.data(), padded_);
}

void Fourier::forward(Complex* line) {
  if (length_ < 2) return;
  if (padded_ > 0) return forward_by_convolution(line);
  std::copy_n(line, length_, work_.data());
  mixed_radix(line, work_.data(), length_);
}

void Fourier::inverse(Complex* line) {
  conjugate(line, length_, 1);
  forward(line);
  conjugate(line, length_, 1 / static_cast<double>(length_));
}

void Fourier::forward_by_convolution(Complex* line) {
  std::vector<Complex> padded(padded_);
  for (std::size_t i = 0; i < chirp_.size(); ++i) padded[i] = line[i] * chirp_[i];
  mixed_radix(work_.data(), padded.data(), padded_);
  // The inverse transform is the forward one of the conjugate.
  for (std::size_t i = 0; i < work_.size(); ++i) work_[i] = std::conj(work_[i] * chirp_spectrum_[i]);
  mixed_radix(padded.data(), work_.data(), padded_);
  const double scale = 1 / static_cast<double>(padded_);
  for (std::size_t i = 0; i < chirp_.size(); ++i) line[i] = std::conj(padded[i]) * scale * chirp_[i];
}

}  // namespace podium::kernels
