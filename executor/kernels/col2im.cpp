#include "executor/kernels/col2im.h"

#include <algorithm>

#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/strides.h"
#include "ir/ops/col2im.h"

namespace podium::kernels {
namespace {

using ir::Col2ImGeometry;

// Narrow floats are summed in float.
template <class T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<ir::Float16> {
  using Type = float;
};
template <>
struct SumOf<ir::Bfloat16> {
  using Type = float;
};

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

// Adds one row of columns, the places of one element of the block.
template <class T, class Sum>
class RowAdder {
 public:
  RowAdder(const Col2ImGeometry& geometry, const Dims& element)
      : geometry_(geometry),
        image_strides_(strides_of(geometry.image)),
        place_strides_(strides_of(geometry.places)) {
    for (std::size_t i = 0; i < element.size(); ++i) {
      const std::int64_t shift = element[i] * geometry.dilations[i] - geometry.pads_begin[i];
      shifts_.push_back(shift);
      first_.push_back(std::max<std::int64_t>(divided_up(-shift, geometry.strides[i]), 0));
      last_.push_back(
          std::min(geometry.places[i], divided_up(geometry.image[i] - shift, geometry.strides[i])));
    }
  }

  void add(const T* row, Sum* image, std::size_t axis = 0) const {
    const std::int64_t step = geometry_.strides[axis] * image_strides_[axis];
    const std::int64_t places = place_strides_[axis];
    Sum* target = image + shifts_[axis] * image_strides_[axis];
    const bool is_last = axis + 1 == shifts_.size();
    for (std::int64_t i = first_[axis]; i < last_[axis]; ++i) {
      if (is_last) {
        target[i * step] = static_cast<Sum>(target[i * step] + static_cast<Sum>(row[i]));
      } else {
        add(row + i * places, target + i * step, axis + 1);
      }
    }
  }

 private:
  const Col2ImGeometry& geometry_;
  Dims image_strides_;
  Dims place_strides_;
  Dims shifts_;
  Dims first_;
  Dims last_;
};

template <class T>
void run_col2im(const Col2ImGeometry& geometry, const Tensor& columns, Tensor& output) {
  using Sum = typename SumOf<T>::Type;
  const std::int64_t image_size = ir::element_count(geometry.image);
  const std::int64_t places = ir::element_count(geometry.places);
  const std::int64_t images = image_size == 0 ? 0 : output.size() / image_size;
  std::vector<Sum> sums;
  if constexpr (!std::is_same_v<T, Sum>) sums.resize(image_size);
  const T* row = columns.data<T>();
  for (std::int64_t n = 0; n < images; ++n) {
    T* result = output.data<T>() + n * image_size;
    Sum* image = nullptr;
    if constexpr (std::is_same_v<T, Sum>) {
      image = result;
    } else {
      image = sums.data();
    }
    std::fill_n(image, image_size, Sum{});
    for (StridedWalk<1> walk(geometry.block, {Dims(geometry.block.size(), 0)}); walk.more(); walk.next()) {
      RowAdder<T, Sum>(geometry, walk.index()).add(row, image);
      row += places;
    }
    if constexpr (!std::is_same_v<T, Sum>)
      std::transform(image, image + image_size, result, [](Sum x) { return T(x); });
  }
}

}  // namespace

PreparedKernel col2im(PrepareContext& context) {
  const Tensor* block = context.constant(2);
  const Tensor* image = context.constant(1);
  const ir::Op op{.spec = context.op.spec, .attributes = context.op.attributes};
  return dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                  std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        if (block != nullptr && image != nullptr) {
          const auto geometry = col2im_geometry(context, image->to_ints(), block->to_ints());
          return [geometry](const RunContext& run) { run_col2im<T>(geometry, run.input(0), run.output(0)); };
        }
        return [op](const RunContext& run) {
          const auto geometry =
              col2im_geometry(ir::TypedOp(op), run.input(1).to_ints(), run.input(2).to_ints());
          run_col2im<T>(geometry, run.input(0), run.output(0));
        };
      });
}

}  // namespace podium::kernels
