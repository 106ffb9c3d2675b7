// DeformConv: every element of the kernel looks where its offset says, between elements by linear
// interpolation.
#include <cmath>
#include <memory>

#include "executor/kernels/conv.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

struct DeformConv {
  ConvShape shape;
  std::int64_t offset_groups = 1;

  std::int64_t channels() const { return shape.group * shape.in_channels; }
  std::int64_t corners() const { return std::int64_t{1} << shape.window.rank(); }
};

template <class T>
struct DeformData {
  const T* x = nullptr;
  const T* offsets = nullptr;
  const T* mask = nullptr;
  T* columns = nullptr;
};

// The elements around one point of the input and how much each counts; outside the input all is zero.
template <class T>
struct Corner {
  std::int64_t index = 0;
  T weight = 0;
};

// `at` is the point, one coordinate an axis; writes 2^rank corners.
template <class T>
void find_corners(const ir::Dims& input, const T* at, T scale, Corner<T>* corners) {
  const std::size_t rank = input.size();
  for (std::size_t corner = 0; corner < (std::size_t{1} << rank); ++corner) {
    Corner<T> result{0, scale};
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const T below = std::floor(at[axis]);
      const bool upper = (corner >> axis & 1U) != 0;
      const T place = upper ? below + T{1} : below;
      // Compared as numbers: a far offset fits no integer.
      const bool inside = place >= T{0} && place < static_cast<T>(input[axis]);
      result.weight *= inside ? (upper ? at[axis] - below : below + T{1} - at[axis]) : T{0};
      result.index = result.index * input[axis] + (inside ? static_cast<std::int64_t>(place) : 0);
    }
    corners[corner] = result;
  }
}

// The point that element `tap` of the kernel looks at for output `place`, without its offset.
std::vector<std::int64_t> point_of(const ir::Window& window, std::int64_t tap, std::int64_t place) {
  std::vector<std::int64_t> point(window.rank());
  for (std::size_t axis = window.rank(); axis-- > 0;) {
    point[axis] = place % window.output[axis] * window.strides[axis] - window.pads_begin[axis] +
                  tap % window.kernel[axis] * window.dilations[axis];
    place /= window.output[axis];
    tap /= window.kernel[axis];
  }
  return point;
}

// Rows of the column matrix for one element of the kernel and the channels of one offset group of one image.
template <class T>
void sample_tap(const DeformConv& op, const DeformData<T>& data, std::int64_t image, std::int64_t group,
                std::int64_t tap) {
  const ConvShape& shape = op.shape;
  const std::int64_t rank = shape.window.rank();
  const std::int64_t tap_index = (image * op.offset_groups + group) * shape.kernel_size + tap;
  const std::int64_t in_group = op.channels() / op.offset_groups;
  std::vector<Corner<T>> corners(op.corners() * shape.out_size);
  std::vector<T> at(rank);
  for (std::int64_t place = 0; place < shape.out_size; ++place) {
    const std::vector<std::int64_t> point = point_of(shape.window, tap, place);
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      const T offset = data.offsets[(tap_index * rank + axis) * shape.out_size + place];
      at[axis] = static_cast<T>(point[axis]) + offset;
    }
    const T scale = data.mask == nullptr ? T{1} : data.mask[tap_index * shape.out_size + place];
    find_corners(shape.window.input, at.data(), scale, corners.data() + place * op.corners());
  }
  for (std::int64_t c = group * in_group; c < (group + 1) * in_group; ++c) {
    const T* channel = data.x + (image * op.channels() + c) * shape.in_size;
    T* row = data.columns + (c * shape.kernel_size + tap) * shape.out_size;
    const Corner<T>* corner = corners.data();
    for (std::int64_t place = 0; place < shape.out_size; ++place) {
      T sum = 0;
      for (std::int64_t i = 0; i < op.corners(); ++i, ++corner) {
        sum += corner->weight * channel[corner->index];
      }
      row[place] = sum;
    }
  }
}

template <class T>
void deform_convolve(const DeformConv& op, const RunContext& run) {
  const ConvShape& shape = op.shape;
  const DeformData<T> data{run.input(0).data<T>(), run.input(2).data<T>(),
                           run.has_input(4) ? run.input(4).data<T>() : nullptr, run.scratch<T>()};
  const T* weights = run.input(1).data<T>();
  const T* bias = run.has_input(3) ? run.input(3).data<T>() : nullptr;
  T* y = run.output(0).data<T>();
  const Product product{.m = shape.out_channels, .n = shape.out_size, .k = shape.depth()};
  const std::int64_t cost = shape.out_size * (op.channels() / op.offset_groups + 8) * op.corners();
  for (std::int64_t image = 0; image < shape.batch; ++image) {
    if (shape.in_size > 0) {
      parallel_ranges(op.offset_groups * shape.kernel_size, cost, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          sample_tap(op, data, image, i / shape.kernel_size, i % shape.kernel_size);
        }
      });
    }
    for (std::int64_t group = 0; group < shape.group; ++group) {
      const std::int64_t first = group * shape.out_channels;
      T* to = y + (image * shape.group + group) * shape.out_channels * shape.out_size;
      for (std::int64_t m = 0; m < shape.out_channels; ++m) {
        std::fill_n(to + m * shape.out_size, shape.out_size, bias == nullptr ? T{0} : bias[first + m]);
      }
      multiply(product, weights + first * shape.depth(),
               data.columns + group * shape.depth() * shape.out_size, to, T{1}, T{1});
    }
  }
}

}  // namespace

PreparedKernel prepare_deform_conv(PrepareContext& context) {
  const auto op = std::make_shared<const DeformConv>(
      DeformConv{ir::conv_shape(context, 1), context.get_int("offset_group")});
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    const std::int64_t numbers = op->shape.group * op->shape.depth() * op->shape.out_size;
    context.need_scratch(numbers * sizeof(T));
    return [op](const RunContext& run) { deform_convolve<T>(*op, run); };
  });
}

}  // namespace podium::kernels
