// Normalisations whose scale is per channel of [N, C, ...]: batch, instance, group, and LRN across channels.
// Batch normalisation takes the moments of a channel over all images only when it trains, and mixes them into
// the running ones. Group normalisation takes them over the channels of one group of one image; instance
// normalisation is the same with a group per channel. LRN sums squares over a window of channels in stretches
// of 256 elements; its power is exp(-beta log base), by the fast forms of both.
#include <algorithm>

#include "executor/kernels/norm.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/tools/moments.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

struct Channels {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t size = 1;  // elements of one channel of one image
};

Channels channels_of(const Dims& x) {
  if (x.size() == 1) return {.batch = x[0]};
  return {x[0], x[1], count_of(x, 2, x.size())};
}

// Mean and variance of one channel over all images.
template <class T>
Moments<T> channel_moments(const T* x, const Channels& shape, std::int64_t channel) {
  const T count = static_cast<T>(shape.batch * shape.size);
  Moments<T> moments;
  const auto of_image = [&](std::int64_t n) { return x + (n * shape.channels + channel) * shape.size; };
  for (std::int64_t n = 0; n < shape.batch; ++n) moments.mean += sum_of(of_image(n), shape.size);
  moments.mean /= count;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    moments.variance += sum_of_squares(of_image(n), shape.size, moments.mean);
  }
  moments.variance /= count;
  return moments;
}

// The same of channels that have one element of each image, all of which a row has: of [begin, end).
template <class T>
void moments_of_columns(const T* x, const Channels& shape, std::int64_t begin, std::int64_t end, T* mean,
                        T* variance) {
  const T count = static_cast<T>(shape.batch);
  std::fill(mean + begin, mean + end, T{0});
  std::fill(variance + begin, variance + end, T{0});
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const T* row = x + n * shape.channels;
    for (std::int64_t c = begin; c < end; ++c) mean[c] += row[c];
  }
  for (std::int64_t c = begin; c < end; ++c) mean[c] /= count;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const T* row = x + n * shape.channels;
    for (std::int64_t c = begin; c < end; ++c) variance[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
  }
  for (std::int64_t c = begin; c < end; ++c) variance[c] /= count;
}

// Moments of all channels.
template <class T>
void find_moments(const T* x, const Channels& shape, T* mean, T* variance) {
  parallel_ranges(shape.channels, shape.batch * shape.size, [&](std::int64_t begin, std::int64_t end) {
    if (shape.size == 1) return moments_of_columns(x, shape, begin, end, mean, variance);
    for (std::int64_t c = begin; c < end; ++c) {
      const Moments<T> moments = channel_moments(x, shape, c);
      mean[c] = moments.mean;
      variance[c] = moments.variance;
    }
  });
}

struct BatchNormalization {
  Channels shape;
  float epsilon = 0;
  float momentum = 0;
  bool training = false;
};

template <class T>
void mix_running(const std::vector<T>& before, const std::vector<T>& current, float momentum,
                 Tensor& result) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    const T mixed = before[i] * static_cast<T>(momentum) + current[i] * static_cast<T>(1.0F - momentum);
    if (result.type() == DataType::Double) {
      result.data<double>()[i] = static_cast<double>(mixed);
    } else {
      result.data<float>()[i] = static_cast<float>(mixed);
    }
  }
}

template <class T>
void normalize_batch(const BatchNormalization& op, const RunContext& run) {
  const Channels& shape = op.shape;
  const T* x = run.input(0).data<T>();
  T* y = run.output(0).data<T>();
  const std::vector<T> scale = numbers_of<T>(run.input(1));
  const std::vector<T> bias = numbers_of<T>(run.input(2));
  std::vector<T> mean = numbers_of<T>(run.input(3));
  std::vector<T> variance = numbers_of<T>(run.input(4));
  if (op.training) {
    const std::vector<T> mean_before = mean;
    const std::vector<T> variance_before = variance;
    find_moments(x, shape, mean.data(), variance.data());
    if (run.has_output(1)) mix_running(mean_before, mean, op.momentum, run.output(1));
    if (run.has_output(2)) mix_running(variance_before, variance, op.momentum, run.output(2));
  }
  std::vector<T>& factors = variance;
  for (std::int64_t c = 0; c < shape.channels; ++c)
    factors[c] = scale[c] / std::sqrt(variance[c] + static_cast<T>(op.epsilon));
  if (shape.size == 1) {
    return parallel_ranges(shape.batch, shape.channels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const T* from = x + n * shape.channels;
        T* to = y + n * shape.channels;
        for (std::int64_t c = 0; c < shape.channels; ++c) to[c] = (from[c] - mean[c]) * factors[c] + bias[c];
      }
    });
  }
  parallel_ranges(shape.batch * shape.channels, shape.size, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t c = i % shape.channels;
      scale_and_shift(x + i * shape.size, y + i * shape.size, shape.size, mean[c], factors[c], bias[c]);
    }
  });
}

struct BatchGradient {
  Channels shape;
  float epsilon = 0;
};

// One channel, with m the mean of X and d its deviation:
// dX = scale / d (dY - mean(dY) - (X - m) mean(dY (X - m)) / d^2).
void batch_gradient_of(const BatchGradient& op, const RunContext& run, std::int64_t channel) {
  const Channels& shape = op.shape;
  const auto count = static_cast<float>(shape.batch * shape.size);
  const float* x = run.input(0).data<float>();
  const float* flow = run.input(1).data<float>();
  const auto first_of = [&](std::int64_t n) { return (n * shape.channels + channel) * shape.size; };
  const Moments<float> moments = channel_moments(x, shape, channel);
  float sum = 0;
  float along = 0;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    sum += sum_of(flow + first_of(n), shape.size);
    along += sum_of_products(x + first_of(n), flow + first_of(n), shape.size, moments.mean);
  }
  const float inverse = 1 / std::sqrt(moments.variance + op.epsilon);
  if (run.has_output(1)) run.output(1).data<float>()[channel] = along * inverse;
  if (run.has_output(2)) run.output(2).data<float>()[channel] = sum;
  const float factor = run.input(2).data<float>()[channel] * inverse;
  const float slope = along * inverse * inverse / count;
  const float mean_flow = sum / count;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const std::int64_t first = first_of(n);
    float* to = run.output(0).data<float>() + first;
    for (std::int64_t i = 0; i < shape.size; ++i) {
      to[i] = factor * (flow[first + i] - mean_flow - (x[first + i] - moments.mean) * slope);
    }
  }
}

// The same of channels that have one element of each image: of [begin, end), row by row.
void batch_gradient_of_columns(const BatchGradient& op, const RunContext& run, std::int64_t begin,
                               std::int64_t end) {
  const Channels& shape = op.shape;
  const float* x = run.input(0).data<float>();
  const float* flow = run.input(1).data<float>();
  const float* scale = run.input(2).data<float>();
  float* to = run.output(0).data<float>();
  const auto count = static_cast<float>(shape.batch);
  std::vector<float> mean(shape.channels);
  std::vector<float> inverse(shape.channels);
  std::vector<float> sum(shape.channels, 0.0F);
  std::vector<float> along(shape.channels, 0.0F);
  moments_of_columns(x, shape, begin, end, mean.data(), inverse.data());
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const float* x_row = x + n * shape.channels;
    const float* flow_row = flow + n * shape.channels;
    for (std::int64_t c = begin; c < end; ++c) {
      sum[c] += flow_row[c];
      along[c] += flow_row[c] * (x_row[c] - mean[c]);
    }
  }
  for (std::int64_t c = begin; c < end; ++c) inverse[c] = 1 / std::sqrt(inverse[c] + op.epsilon);
  if (run.has_output(1)) {
    for (std::int64_t c = begin; c < end; ++c) run.output(1).data<float>()[c] = along[c] * inverse[c];
  }
  if (run.has_output(2))
    std::copy(sum.begin() + begin, sum.begin() + end, run.output(2).data<float>() + begin);
  for (std::int64_t c = begin; c < end; ++c) {
    along[c] *= inverse[c] * inverse[c] / count;
    sum[c] /= count;
    inverse[c] *= scale[c];
  }
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const std::int64_t row = n * shape.channels;
    for (std::int64_t c = begin; c < end; ++c)
      to[row + c] = inverse[c] * (flow[row + c] - sum[c] - (x[row + c] - mean[c]) * along[c]);
  }
}

struct GroupNormalization {
  Channels shape;
  std::int64_t groups = 1;
  float epsilon = 0;
};

template <class T>
void normalize_groups(const GroupNormalization& op, const RunContext& run) {
  const std::int64_t size = op.shape.size;
  const std::int64_t in_group = op.shape.channels / op.groups;
  const T* x = run.input(0).data<T>();
  const T* scale = run.input(1).data<T>();
  const T* bias = run.input(2).data<T>();
  T* y = run.output(0).data<T>();
  parallel_ranges(op.shape.batch * op.groups, in_group * size, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = group * in_group * size;
      const Moments<T> moments = moments_of(x + first, in_group * size);
      const T factor = T{1} / std::sqrt(moments.variance + static_cast<T>(op.epsilon));
      for (std::int64_t i = 0; i < in_group; ++i) {
        const std::int64_t channel = group % op.groups * in_group + i;
        const std::int64_t at = first + i * size;
        scale_and_shift(x + at, y + at, size, moments.mean, factor * scale[channel], bias[channel]);
      }
    }
  });
}

PreparedKernel prepare_groups(const PrepareContext& context, std::int64_t groups) {
  const GroupNormalization op{channels_of(context.dims(0)), groups, context.get_float("epsilon")};
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) { normalize_groups<T>(op, run); };
  });
}

struct Lrn {
  Channels shape;
  std::int64_t before = 0;  // channels of the window below and above the one it is for
  std::int64_t after = 0;
  float factor = 0;  // alpha / size
  float beta = 0;
  float bias = 0;
};

// One channel of one image, a stretch of it that fits the cache.
template <class T>
void normalize_across(const Lrn& op, const T* image, T* y, std::int64_t channel, std::int64_t first,
                      std::int64_t count) {
  T squares[256];
  std::fill_n(squares, count, T{0});
  const std::int64_t from = std::max<std::int64_t>(0, channel - op.before);
  const std::int64_t to = std::min(op.shape.channels - 1, channel + op.after);
  for (std::int64_t c = from; c <= to; ++c) {
    const T* x = image + c * op.shape.size + first;
    for (std::int64_t i = 0; i < count; ++i) squares[i] += x[i] * x[i];
  }
  const T* x = image + channel * op.shape.size + first;
  const T beta = static_cast<T>(op.beta);
  for (std::int64_t i = 0; i < count; ++i) {
    const T base = static_cast<T>(op.bias) + static_cast<T>(op.factor) * squares[i];
    y[channel * op.shape.size + first + i] = x[i] * fast_exp(-beta * fast_log(base));
  }
}

template <class T>
void run_lrn(const Lrn& op, const RunContext& run) {
  const T* x = run.input(0).data<T>();
  T* y = run.output(0).data<T>();
  const std::int64_t image_size = op.shape.channels * op.shape.size;
  const std::int64_t cost = op.shape.size * (op.before + op.after + 16);
  parallel_ranges(op.shape.batch * op.shape.channels, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / op.shape.channels * image_size;
      for (std::int64_t first = 0; first < op.shape.size; first += 256) {
        normalize_across(op, x + image, y + image, i % op.shape.channels, first,
                         std::min<std::int64_t>(256, op.shape.size - first));
      }
    }
  });
}

}  // namespace

PreparedKernel prepare_batch_normalization(PrepareContext& context) {
  const BatchNormalization op{channels_of(context.dims(0)), context.get_float("epsilon"),
                              context.get_float("momentum"), context.get_int("training_mode") != 0};
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) { normalize_batch<T>(op, run); };
  });
}

PreparedKernel prepare_batch_normalization_gradient(PrepareContext& context) {
  const BatchGradient op{channels_of(context.dims(0)), context.get_float("epsilon")};
  return [op](const RunContext& run) {
    constexpr std::int64_t kOperations = 12;
    const std::int64_t cost = kOperations * op.shape.batch * op.shape.size;
    parallel_ranges(op.shape.channels, cost, [&](std::int64_t begin, std::int64_t end) {
      if (op.shape.size == 1) return batch_gradient_of_columns(op, run, begin, end);
      for (std::int64_t channel = begin; channel < end; ++channel) batch_gradient_of(op, run, channel);
    });
  };
}

PreparedKernel prepare_instance_normalization(PrepareContext& context) {
  return prepare_groups(context, context.dims(0)[1]);
}

PreparedKernel prepare_group_normalization(PrepareContext& context) {
  return prepare_groups(context, context.get_int("num_groups"));
}

PreparedKernel prepare_lrn(PrepareContext& context) {
  const std::int64_t size = context.get_int("size");
  const auto shape = channels_of(context.dims(0));
  const Lrn op{.shape = shape,
               .before = std::min((size - 1) / 2, shape.channels),
               .after = std::min(size / 2, shape.channels),
               .factor = context.get_float("alpha") / static_cast<float>(size),
               .beta = context.get_float("beta"),
               .bias = context.get_float("bias")};
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) { run_lrn<T>(op, run); };
  });
}

}  // namespace podium::kernels
