// Fourier transforms (DFT, STFT), windows, and the matrix of mel filters.
// A tensor is seen as lines of real or complex points with a stride; a line is loaded into complex doubles,
// padded with zeros, transformed (Fourier) and stored. A one-sided spectrum keeps the first half; its inverse
// rebuilds the other half as conjugates first. Windows are a0 - a1 cos t + a2 cos 2t.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/fourier.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

using Complex = Fourier::Complex;

constexpr std::int64_t kWorkPerPoint = 40;  // operations, roughly, of a transform

template <class T>
double read(T value) {
  return static_cast<double>(
      static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value));
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, ir::Float16>) {
    T result;
    result.bits = ir::double_to_half(value);
    return result;
  } else if constexpr (std::is_same_v<T, ir::Bfloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

std::int64_t one_int(const RunContext& run, std::size_t i) { return run.input(i).to_ints().at(0); }

// Points of one line of a tensor [outer, count, inner, parts]: parts is 1 for real, 2 for complex numbers.
struct Line {
  std::int64_t first = 0;   // element
  std::int64_t stride = 1;  // elements from point to point
  std::int64_t count = 0;
  bool is_complex = false;
};

// Reads a line into `to`; missing elements at the end are zero.
template <class T>
void load(const T* from, const Line& line, std::span<Complex> to) {
  const std::int64_t count = std::min<std::int64_t>(line.count, std::ssize(to));
  for (std::int64_t i = 0; i < count; ++i) {
    const T* point = from + line.first + i * line.stride;
    to[i] = {read(point[0]), line.is_complex ? read(point[1]) : 0};
  }
  std::fill(to.begin() + count, to.end(), Complex());
}

template <class T>
void store(std::span<const Complex> from, const Line& line, T* to) {
  for (std::int64_t i = 0; i < line.count; ++i) {
    T* point = to + line.first + i * line.stride;
    point[0] = rounded<T>(from[i].real());
    if (line.is_complex) point[1] = rounded<T>(from[i].imag());
  }
}

// The half that a one-sided spectrum leaves out is the conjugate of the other one.
void mirror(std::span<Complex> spectrum) {
  const std::size_t count = spectrum.size();
  for (std::size_t k = count / 2 + 1; k < count; ++k) spectrum[k] = std::conj(spectrum[count - k]);
  spectrum[0] = spectrum[0].real();
  if (count % 2 == 0) spectrum[count / 2] = spectrum[count / 2].real();
}

struct Dft {
  bool inverse = false;
  bool onesided = false;

  template <class T>
  void run(const RunContext& run) const;
};

template <class T>
void Dft::run(const RunContext& run) const {
  const Tensor& x = run.input(0);
  Tensor& y = run.output(0);
  if (y.size() == 0) return;
  const std::int64_t axis = ir::normalized_axis(run.has_input(2) ? one_int(run, 2) : -2, x.rank());
  const std::int64_t inner = ir::element_count(Dims(x.dims().begin() + axis + 1, x.dims().end() - 1));
  const std::int64_t outer = ir::element_count(Dims(x.dims().begin(), x.dims().begin() + axis));
  const std::int64_t x_parts = x.dims().back();
  const std::int64_t y_parts = y.dims().back();
  const std::int64_t size = x.dims()[axis];
  const bool halves = onesided && !inverse;
  const std::int64_t points = halves ? (run.has_input(1) ? one_int(run, 1) : size) : y.dims()[axis];
  // A one-sided spectrum beyond half of the points says nothing new.
  const std::int64_t used = onesided && inverse ? std::min(size, points / 2 + 1) : size;
  const std::int64_t kept = y.dims()[axis];
  const T* from = x.data<T>();
  T* to = y.data<T>();
  parallel_ranges(outer * inner, points * kWorkPerPoint, [&](std::int64_t begin, std::int64_t end) {
    Fourier fourier(points);
    std::vector<Complex> line(points);
    for (std::int64_t l = begin; l < end; ++l) {
      const std::int64_t o = l / inner;
      const std::int64_t i = l % inner;
      load(from, {(o * size * inner + i) * x_parts, inner * x_parts, used, x_parts == 2}, line);
      if (onesided && inverse) mirror(line);
      inverse ? fourier.inverse(line.data()) : fourier.forward(line.data());
      store(line, {(o * kept * inner + i) * y_parts, inner * y_parts, kept, y_parts == 2}, to);
    }
  });
}

PreparedKernel dft(PrepareContext& context) {
  const Dft plan{.inverse = context.get_int("inverse") != 0, .onesided = context.get_int("onesided") != 0};
  return dispatch<float, double, ir::Float16, ir::Bfloat16>(
      context.element(0), [&](auto tag) -> PreparedKernel {
        return [plan](const RunContext& run) { plan.run<decltype(tag)>(run); };
      });
}

template <class T>
void run_stft(const RunContext& run) {
  const Tensor& signal = run.input(0);
  Tensor& y = run.output(0);
  const std::int64_t step = one_int(run, 1);
  const std::int64_t length = run.has_input(2) ? run.input(2).size() : one_int(run, 3);
  const T* window = run.has_input(2) ? run.input(2).data<T>() : nullptr;
  const std::int64_t parts = signal.rank() == 3 ? signal.dim(2) : 1;
  const std::int64_t frames = y.dim(1);
  const std::int64_t bins = y.dim(2);
  const T* from = signal.data<T>();
  T* to = y.data<T>();
  parallel_ranges(y.dim(0) * frames, length * kWorkPerPoint, [&](std::int64_t begin, std::int64_t end) {
    Fourier fourier(length);
    std::vector<Complex> frame(length);
    for (std::int64_t l = begin; l < end; ++l) {
      const std::int64_t first = l / frames * signal.dim(1) + l % frames * step;
      load(from, {first * parts, parts, length, parts == 2}, frame);
      for (std::size_t i = 0; window != nullptr && i < frame.size(); ++i) frame[i] *= read(window[i]);
      fourier.forward(frame.data());
      store(frame, {l * bins * 2, 2, bins, true}, to);
    }
  });
}

PreparedKernel stft(PrepareContext& context) {
  return dispatch<float, double, ir::Float16, ir::Bfloat16>(
      context.element(0), [](auto tag) -> PreparedKernel { return run_stft<decltype(tag)>; });
}

// Writes numbers computed in double as elements of any numeric type.
void store_numbers(const std::vector<double>& values, Tensor& to) {
  dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(to.type(), [&](auto tag) {
    using T = decltype(tag);
    std::transform(values.begin(), values.end(), to.data<T>(), rounded<T>);
    return true;
  });
}

// a0 - a1 cos(t) + a2 cos(2 t), t going once round over the window.
struct CosineWindow {
  double a0 = 0;
  double a1 = 0;
  double a2 = 0;
  bool periodic = true;

  void operator()(const RunContext& run) const {
    Tensor& y = run.output(0);
    const auto period = static_cast<double>(periodic ? y.size() : y.size() - 1);
    std::vector<double> values(y.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
      values[i] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
    }
    store_numbers(values, y);
  }
};

PreparedKernel hann(PrepareContext& context) {
  return CosineWindow{0.5, 0.5, 0, context.get_int("periodic") != 0};
}

PreparedKernel hamming(PrepareContext& context) {
  return CosineWindow{25.0 / 46, 21.0 / 46, 0, context.get_int("periodic") != 0};
}

PreparedKernel blackman(PrepareContext& context) {
  return CosineWindow{0.42, 0.5, 0.08, context.get_int("periodic") != 0};
}

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// One triangle a band: rises from the edge before to its own centre and falls to the edge behind.
// ONNX's own evaluator spaces the edges by 1 / (bands + 2) of the range.
void fill_mel(const RunContext& run) {
  Tensor& y = run.output(0);
  const std::int64_t spectrum = y.dim(0);
  const std::int64_t bands = y.dim(1);
  const auto points = static_cast<double>(one_int(run, 1) + 1);
  const auto rate = static_cast<double>(one_int(run, 2));
  const double low = mel_of(run.input(3).to_number());
  const double step = (mel_of(run.input(4).to_number()) - low) / static_cast<double>(bands + 2);
  if (rate < 1) throw Error("sample_rate is {}, at least 1 needed", rate);
  if (!std::isfinite(low) || !std::isfinite(step)) {
    throw Error("edges of {} and {} Hz found, above -700 Hz needed", run.input(3).to_number(),
                run.input(4).to_number());
  }
  const auto edge = [&](std::int64_t i) {
    constexpr double kFar = 1e15;  // no spectrum reaches so far, and a double still counts one by one
    const double bin = std::floor(points * hertz_of(low + static_cast<double>(i) * step) / rate);
    return static_cast<std::int64_t>(std::clamp(bin, -kFar, kFar));
  };
  std::vector<double> weights(spectrum * bands, 0.0);
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t left = edge(band);
    const std::int64_t centre = edge(band + 1);
    const std::int64_t right = edge(band + 2);
    // The bins from `first` to before `end` that the spectrum has.
    const auto set = [&](std::int64_t first, std::int64_t end, const auto& weight) {
      for (std::int64_t bin = std::max<std::int64_t>(first, 0); bin < std::min(end, spectrum); ++bin)
        weights[bin * bands + band] = weight(bin);
    };
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (left < centre)
      set(left, centre + 1, [&](std::int64_t bin) { return share(bin - left, centre - left); });
    if (left == centre) set(centre, centre + 1, [](std::int64_t) { return 1.0; });
    set(centre, right, [&](std::int64_t bin) { return share(right - bin, right - centre); });
  }
  store_numbers(weights, y);
}

PreparedKernel mel_weight_matrix(PrepareContext& /*context*/) { return fill_mel; }

}  // namespace

std::span<const KernelSpec> signal_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "DFT", .prepare = dft},
      {.name = "STFT", .prepare = stft},
      {.name = "HannWindow", .prepare = hann},
      {.name = "HammingWindow", .prepare = hamming},
      {.name = "BlackmanWindow", .prepare = blackman},
      {.name = "MelWeightMatrix", .prepare = mel_weight_matrix},
  };
  return kKernels;
}

}  // namespace podium::kernels
