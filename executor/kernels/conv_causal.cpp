// CausalConvWithState: each channel convolved with its own past, the last inputs handed on as state.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "executor/kernels/conv.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {
namespace {

struct CausalConv {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t length = 1;
  std::int64_t kernel = 1;
  bool with_silu = false;

  std::int64_t state() const { return kernel - 1; }
};

template <class T>
struct CausalData {
  const T* x = nullptr;
  const T* weights = nullptr;
  const T* bias = nullptr;
  const T* past = nullptr;
  T* y = nullptr;
  T* present = nullptr;
};

// ONNX defines the op as a function of ops in its own type, so the values between them are rounded to that
// type.
template <class Stored, class T>
void round_to(T* y, std::int64_t count) {
  if constexpr (!std::is_same_v<Stored, T>) {
    std::vector<Stored> rounded(count);
    from_float(y, rounded.data(), count);
    to_float(rounded.data(), y, count);
  }
}

// Row i is channel i % channels of image i / channels; `padded` holds its state and then its input.
template <class Stored, class T>
void convolve_row(const CausalConv& op, const CausalData<T>& data, std::int64_t i, std::vector<T>& padded) {
  const std::int64_t channel = i % op.channels;
  if (data.past == nullptr) {
    std::fill_n(padded.begin(), op.state(), T{0});
  } else {
    std::copy_n(data.past + i * op.state(), op.state(), padded.begin());
  }
  std::copy_n(data.x + i * op.length, op.length, padded.begin() + op.state());
  T* y = data.y + i * op.length;
  std::fill_n(y, op.length, T{0});
  for (std::int64_t k = 0; k < op.kernel; ++k) {
    const T weight = data.weights[channel * op.kernel + k];
    const T* from = padded.data() + k;
    for (std::int64_t t = 0; t < op.length; ++t) y[t] += weight * from[t];
  }
  round_to<Stored>(y, op.length);
  if (data.bias != nullptr) {
    for (std::int64_t t = 0; t < op.length; ++t) y[t] += data.bias[channel];
    round_to<Stored>(y, op.length);
  }
  if (op.with_silu) {
    for (std::int64_t t = 0; t < op.length; ++t) y[t] *= fast_sigmoid(y[t]);
  }
  if (data.present != nullptr) {
    std::copy_n(padded.begin() + op.length, op.state(), data.present + i * op.state());
  }
}

// `Stored` is the type of the tensors, T the one to compute in.
template <class Stored, class T>
PreparedKernel prepare_rows(PrepareContext& context) {
  const Dims& x = context.dims(0);
  const CausalConv op{x[0], x[1], x[2], context.dims(1)[2], context.get_string("activation") != "none"};
  return [op](const RunContext& run) {
    const CausalData<T> data{run.input(0).data<T>(),
                             run.input(1).data<T>(),
                             run.has_input(2) ? run.input(2).data<T>() : nullptr,
                             run.has_input(3) ? run.input(3).data<T>() : nullptr,
                             run.output(0).data<T>(),
                             run.has_output(1) ? run.output(1).data<T>() : nullptr};
    parallel_ranges(op.batch * op.channels, op.length * op.kernel, [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> padded(op.state() + op.length);
      for (std::int64_t i = begin; i < end; ++i) convolve_row<Stored>(op, data, i, padded);
    });
  };
}

}  // namespace

PreparedKernel prepare_causal_conv(PrepareContext& context) {
  using ir::Bfloat16;
  using ir::Float16;
  if (context.element(0) == DataType::Float16) return prepare_widened(context, prepare_rows<Float16, float>);
  if (context.element(0) == DataType::Bfloat16) {
    return prepare_widened(context, prepare_rows<Bfloat16, float>);
  }
  return dispatch<float, double>(
      context.element(0), [&](auto tag) { return prepare_rows<decltype(tag), decltype(tag)>(context); });
}

}  // namespace podium::kernels
