// Discrete Fourier transforms of any length.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace podium::kernels {

/// Transforms lines of one length in place, in double, so that results in float and narrower types keep all
/// their digits. Takes O(n log n) for every n, primes too. For one thread at a time.
class Fourier {
 public:
  using Complex = std::complex<double>;

  explicit Fourier(std::int64_t length);

  /// y[k] = sum over n of exp(-2 pi i k n / length) x[n]
  void forward(Complex* line);
  /// The inverse of forward: with 1 / length.
  void inverse(Complex* line);

 private:
  void forward_by_convolution(Complex* line);

  std::int64_t length_;
  // Used only for lengths with a large prime factor:
  std::int64_t padded_ = 0;
  std::vector<Complex> chirp_;           // exp(-pi i n^2 / length)
  std::vector<Complex> chirp_spectrum_;  // the transform of its conjugate, centred at 0, over padded_
  std::vector<Complex> work_;
};

}  // namespace podium::kernels
