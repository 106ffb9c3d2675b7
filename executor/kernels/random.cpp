// Kernels that draw random numbers: by the place of an element or, with a seed, by one generator that runs
// through the whole tensor (tools/random_source.h). So threads cannot change them.
#include <algorithm>
#include <cmath>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/random_source.h"

namespace podium::kernels {
namespace {

constexpr std::int64_t kChunk = 1024;

// Each number of a piece is `draw` times `scale` plus `shift`, in the precision of the output but at least in
// float.
template <class Draw>
void fill(Tensor& output, const DrawnPiece& piece, double scale, double shift, const Draw& draw) {
  const std::int64_t end = piece.first + piece.count;
  if (output.type() == DataType::Double) {
    for (std::int64_t i = piece.first; i < end; ++i) output.data<double>()[i] = draw() * scale + shift;
    return;
  }
  float numbers[kChunk];
  for (std::int64_t first = piece.first; first < end; first += kChunk) {
    const std::int64_t count = std::min(kChunk, end - first);
    for (std::int64_t i = 0; i < count; ++i) {
      numbers[i] = static_cast<float>(draw()) * static_cast<float>(scale) + static_cast<float>(shift);
    }
    from_float(numbers, output, first, count);
  }
}

RandomSource source_of(const PrepareContext& context) { return {context, context.output(0).dims}; }

PreparedKernel normal(PrepareContext& context) {
  const double mean = context.get_float("mean");
  const double scale = context.get_float("scale");
  return [mean, scale, source = source_of(context)](const RunContext& run) {
    source.for_each_piece([&](auto& numbers, const DrawnPiece& piece) {
      fill(run.output(0), piece, scale, mean, [&] { return numbers.normal(); });
    });
  };
}

PreparedKernel uniform(PrepareContext& context) {
  const double low = context.get_float("low");
  const double high = context.get_float("high");
  return [low, high, source = source_of(context)](const RunContext& run) {
    source.for_each_piece([&](auto& numbers, const DrawnPiece& piece) {
      fill(run.output(0), piece, high - low, low, [&] { return numbers.uniform(); });
    });
  };
}

// Calls `use(i, number)` for elements of a tensor of floats, in turn.
template <class Use>
void for_each_number(const Tensor& tensor, std::int64_t begin, std::int64_t end, const Use& use) {
  if (tensor.type() == DataType::Double) {
    for (std::int64_t i = begin; i < end; ++i) use(i, tensor.data<double>()[i]);
    return;
  }
  float numbers[kChunk];
  for (std::int64_t first = begin; first < end; first += kChunk) {
    const std::int64_t count = std::min(kChunk, end - first);
    to_float(tensor, first, count, numbers);
    for (std::int64_t i = 0; i < count; ++i) use(first + i, static_cast<double>(numbers[i]));
  }
}

PreparedKernel bernoulli(PrepareContext& context) {
  return dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                  std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>(
      context.output(0).element, [&](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        return [source = source_of(context)](const RunContext& run) {
          T* out = run.output(0).data<T>();
          source.for_each_piece([&](auto& numbers, const DrawnPiece& piece) {
            const auto draw = [&](std::int64_t i, double probability) {
              if (!(probability >= 0 && probability <= 1))
                throw Error("element {} is {}, a probability in [0, 1] needed", i, probability);
              out[i] = T(numbers.happens(probability) ? 1 : 0);
            };
            for_each_number(run.input(0), piece.first, piece.first + piece.count, draw);
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
void draw_classes(const RunContext& run, const RandomSource& source) {
  const Tensor& input = run.input(0);
  const std::int64_t batch = input.dim(0);
  const std::int64_t classes = input.dim(1);
  const std::int64_t samples = run.output(0).dim(1);
  if (classes == 0 && batch * samples > 0) throw Error("there is no class to draw");
  std::vector<double> all(input.size());
  for_each_number(input, 0, input.size(), [&](std::int64_t i, double number) { all[i] = number; });
  T* out = run.output(0).data<T>();
  source.for_each_piece([&](auto& numbers, const DrawnPiece& piece) {
    std::int64_t row = -1;
    std::vector<double> sums;
    for (std::int64_t i = piece.first; i < piece.first + piece.count; ++i) {
      if (i / samples != row) {
        row = i / samples;
        sums = running_sums({all.begin() + row * classes, all.begin() + (row + 1) * classes});
      }
      const auto drawn = std::upper_bound(sums.begin(), sums.end() - 1, numbers.uniform() * sums.back());
      out[i] = static_cast<T>(drawn - sums.begin());
    }
  });
}

PreparedKernel multinomial(PrepareContext& context) {
  return dispatch<std::int32_t, std::int64_t>(context.output(0).element, [&](auto tag) -> PreparedKernel {
    return [source = source_of(context)](const RunContext& run) { draw_classes<decltype(tag)>(run, source); };
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
