// Between ONNX's channels-first memory and the channels-last memory that fused convolutions work in.
#include <array>
#include <cstring>

#include "executor/kernels/fused.h"
#include "executor/kernels/onednn.h"

namespace podium::kernels {
namespace {

PreparedKernel reorder(PrepareContext& context, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const dnnl::reorder::primitive_desc primitive(onednn::cpu(), from, onednn::cpu(), to, onednn::attributes());
  context.need_scratch(primitive.scratchpad_desc().get_size());
  return [call = onednn::make_call(dnnl::reorder(primitive), primitive,
                                   {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}})](const RunContext& run) {
    (*call)(std::array<const void*, 3>{run.input(0).raw(), run.output(0).raw(), run.scratch_memory});
  };
}

}  // namespace

PreparedKernel prepare_to_channels_last(PrepareContext& context) {
  const Dims& dims = context.dims(0);
  return reorder(context, onednn::plain(dims), onednn::channels_last(dims));
}

PreparedKernel prepare_to_channels_first(PrepareContext& context) {
  const Dims& dims = context.output(0).dims;
  return reorder(context, onednn::channels_last(dims), onednn::plain(dims));
}

PreparedKernel prepare_view(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const Tensor& x = run.input(0);
    Tensor& y = run.output(0);
    if (y.raw() != x.raw() && y.bytes() > 0) std::memcpy(y.raw(), x.raw(), y.bytes());
  };
}

}  // namespace podium::kernels
