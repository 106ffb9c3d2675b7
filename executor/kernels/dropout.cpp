// Dropout: the identity, or in training a mask drawn at random.
#include <algorithm>

#include "executor/kernels/norm.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/random_source.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

constexpr double kDefaultRatio = 0.5;

double number_in(const Tensor& tensor) {
  if (tensor.size() != 1) throw Error("ratio has shape {}, one number needed", ir::to_string(tensor.dims()));
  if (tensor.type() == DataType::Double) return tensor.data<double>()[0];
  float number = 0;
  to_float(tensor, 0, 1, &number);
  return static_cast<double>(number);
}

constexpr std::int64_t kChunk = 1024;

// At most kChunk elements from `first` on.
void scale_kept(const Tensor& x, Tensor& y, const bool* mask, double scale, std::int64_t first,
                std::int64_t count) {
  if (x.type() == DataType::Double) {
    for (std::int64_t i = first; i < first + count; ++i)
      y.data<double>()[i] = mask[i] ? x.data<double>()[i] * scale : 0.0;
    return;
  }
  float numbers[kChunk];
  to_float(x, first, count, numbers);
  for (std::int64_t i = 0; i < count; ++i) {
    numbers[i] = mask[first + i] ? static_cast<float>(static_cast<double>(numbers[i]) * scale) : 0.0F;
  }
  from_float(numbers, y, first, count);
}

void pass_through(const RunContext& run) {
  const Tensor& x = run.input(0);
  if (x.raw() != run.output(0).raw()) copy_elements(x.type(), x.raw(), run.output(0).raw(), x.size());
  if (run.has_output(1)) std::fill_n(run.output(1).data<bool>(), x.size(), true);
}

void drop(const RunContext& run, const RandomSource& source, double ratio) {
  const Tensor& x = run.input(0);
  bool* mask = run.has_output(1) ? run.output(1).data<bool>() : run.scratch<bool>();
  source.for_each_piece([&](auto& numbers, const DrawnPiece& piece) {
    double drawn[kChunk];
    for (std::int64_t done = 0; done < piece.count; done += kChunk) {
      const std::int64_t first = piece.first + done;
      const std::int64_t count = std::min(kChunk, piece.count - done);
      numbers.uniform(drawn, count);
      for (std::int64_t i = 0; i < count; ++i) mask[first + i] = drawn[i] >= ratio;
      scale_kept(x, run.output(0), mask, 1.0 / (1.0 - ratio), first, count);
    }
  });
}

}  // namespace

PreparedKernel prepare_dropout(PrepareContext& context) {
  if (!context.has_output(1)) {
    context.need_scratch(context.input(0).element_count());
  }
  return [source = RandomSource(context, context.input(0).dims)](const RunContext& run) {
    const bool training = run.has_input(2) && run.input(2).size() == 1 && run.input(2).data<bool>()[0];
    if (!training) return pass_through(run);
    const double ratio = run.has_input(1) ? number_in(run.input(1)) : kDefaultRatio;
    if (!(ratio >= 0 && ratio < 1)) throw Error("ratio is {}, a number in [0, 1) needed", ratio);
    ratio == 0 ? pass_through(run) : drop(run, source, ratio);
  };
}

}  // namespace podium::kernels
