// Between ONNX's channels-first memory and the channels-last memory that fused convolutions work in.
#include <cstring>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// One transpose an image; faster than oneDNN's reorder.
PreparedKernel transpose(DataType type, std::int64_t images, std::int64_t rows, std::int64_t columns) {
  const std::vector<MoveLoop> loops{
      {images, rows * columns, rows * columns}, {columns, 1, rows}, {rows, columns, 1}};
  return [copy = StridedCopy(type, loops)](const RunContext& run) {
    copy.run(run.input(0).raw(), run.output(0).raw());
  };
}

}  // namespace

PreparedKernel prepare_to_channels_last(PrepareContext& context) {
  const Dims& dims = context.dims(0);
  return transpose(context.element(0), dims[0], dims[1], count_of(dims, 2, dims.size()));
}

PreparedKernel prepare_to_channels_first(PrepareContext& context) {
  const Dims& dims = context.output(0).dims;
  return transpose(context.element(0), dims[0], count_of(dims, 2, dims.size()), dims[1]);
}

PreparedKernel prepare_view(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const Tensor& x = run.input(0);
    Tensor& y = run.output(0);
    if (y.raw() != x.raw() && y.bytes() > 0) std::memcpy(y.raw(), x.raw(), y.bytes());
  };
}

}  // namespace podium::kernels
