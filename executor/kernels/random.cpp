// Kernels that draw random numbers. One generator runs through a whole tensor, so threads cannot change it.
#include <algorithm>
#include <cmath>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/random_numbers.h"

namespace podium::kernels {
namespace {

constexpr std::int64_t kChunk = 1024;

// Each number is `draw` times `scale` plus `shift`, in the precision of the output but at least in float.
template <class Draw>
void fill(Tensor& output, double scale, double shift, const Draw& draw) {
  if (output.type() == DataType::Double) {
    for (double& number : output.values<double>()) number = draw() * scale + shift;
    return;
  }
  float numbers[kChunk];
  for (std::int64_t first = 0; first < output.size(); first += kChunk) {
    const std::int64_t count = std::min(kChunk, output.size() - first);
    for (std::int64_t i = 0; i < count; ++i) {
      numbers[i] = static_cast<float>(draw()) * static_cast<float>(scale) + static_cast<float>(shift);
    }
    from_float(numbers, output, first, count);
  }
}

PreparedKernel normal(PrepareContext& context) {
  const double mean = context.get_float("mean");
  const double scale = context.get_float("scale");
  return [mean, scale, seeds = seeds_of(context)](const RunContext& run) {
    RandomNumbers random(seeds());
    fill(run.output(0), scale, mean, [&] { return random.normal(); });
  };
}

PreparedKernel uniform(PrepareContext& context) {
  const double low = context.get_float("low");
  const double high = context.get_float("high");
  return [low, high, seeds = seeds_of(context)](const RunContext& run) {
    RandomNumbers random(seeds());
    fill(run.output(0), high - low, low, [&] { return random.uniform(); });
  };
}

// Calls `use(i, number)` for every element of a tensor of floats.
template <class Use>
void for_each_number(const Tensor& tensor, const Use& use) {
  if (tensor.type() == DataType::Double) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) use(i, tensor.data<double>()[i]);
    return;
  }
  float numbers[kChunk];
  for (std::int64_t first = 0; first < tensor.size(); first += kChunk) {
    const std::int64_t count = std::min(kChunk, tensor.size() - first);
    to_float(tensor, first, count, numbers);
    for (std::int64_t i = 0; i < count; ++i) use(first + i, static_cast<double>(numbers[i]));
  }
}

PreparedKernel bernoulli(PrepareContext& context) {
  return dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                  std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>(
      context.output(0).element, [&](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        return [seeds = seeds_of(context)](const RunContext& run) {
          RandomNumbers random(seeds());
          T* out = run.output(0).data<T>();
          for_each_number(run.input(0), [&](std::int64_t i, double probability) {
            if (!(probability >= 0 && probability <= 1)) {
              throw Error("element {} is {}, a probability in [0, 1] needed", i, probability);
            }
            out[i] = T(random.happens(probability) ? 1 : 0);
          });
        };
      });
}

// Sums of the probabilities up to each class, not normalised.
std::vector<double> running_sums(std::vector<double> logarithms) {
  const double greatest = *std::max_element(logarithms.begin(), logarithms.end());
  double sum = 0;
  for (double& number : logarithms) {
    sum += std::exp(number - greatest);
    number = sum;
  }
  if (!(sum > 0)) throw Error("the probabilities of the classes have no sum");
  return logarithms;
}

template <class T>
void draw_classes(const RunContext& run, RandomNumbers& random) {
  const Tensor& input = run.input(0);
  const std::int64_t batch = input.dim(0);
  const std::int64_t classes = input.dim(1);
  const std::int64_t samples = run.output(0).dim(1);
  if (classes == 0 && batch * samples > 0) throw Error("there is no class to draw");
  std::vector<double> all(input.size());
  for_each_number(input, [&](std::int64_t i, double number) { all[i] = number; });
  T* out = run.output(0).data<T>();
  for (std::int64_t row = 0; row < batch && samples > 0; ++row) {
    const auto sums = running_sums({all.begin() + row * classes, all.begin() + (row + 1) * classes});
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto drawn = std::upper_bound(sums.begin(), sums.end() - 1, random.uniform() * sums.back());
      *out++ = static_cast<T>(drawn - sums.begin());
    }
  }
}

PreparedKernel multinomial(PrepareContext& context) {
  return dispatch<std::int32_t, std::int64_t>(context.output(0).element, [&](auto tag) -> PreparedKernel {
    return [seeds = seeds_of(context)](const RunContext& run) {
      RandomNumbers random(seeds());
      draw_classes<decltype(tag)>(run, random);
    };
  });
}

}  // namespace

std::span<const KernelSpec> random_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "RandomNormal", .prepare = normal},   {.name = "RandomNormalLike", .prepare = normal},
      {.name = "RandomUniform", .prepare = uniform}, {.name = "RandomUniformLike", .prepare = uniform},
      {.name = "Bernoulli", .prepare = bernoulli},   {.name = "Multinomial", .prepare = multinomial},
  };
  return kKernels;
}

}  // namespace podium::kernels
