#include "executor/kernels/attention.h"
#include "executor/kernels/tools/convert.h"

namespace podium::kernels {

template <>
Tensor as_computed<float>(const Tensor& tensor) {
  return as_float(tensor);
}

template <>
Tensor as_computed<double>(const Tensor& tensor) {
  if (tensor.type() == DataType::Double) return tensor;
  const Tensor narrow = as_float(tensor);
  Tensor result(DataType::Double, tensor.dims());
  std::copy_n(narrow.data<float>(), narrow.size(), result.data<double>());
  return result;
}

template <class C>
Tensor room_for(const Tensor& output) {
  return output.type() == ir::data_type_of<C> ? output : Tensor(ir::data_type_of<C>, output.dims());
}

template <>
void store_computed<float>(const Tensor& computed, Tensor& output) {
  if (computed.raw() != output.raw()) from_float(computed.data<float>(), output, 0, output.size());
}

template <>
void store_computed<double>(const Tensor& computed, Tensor& output) {
  if (computed.raw() == output.raw()) return;
  const std::vector<float> narrow(computed.data<double>(), computed.data<double>() + computed.size());
  from_float(narrow.data(), output, 0, output.size());
}

template Tensor room_for<float>(const Tensor&);
template Tensor room_for<double>(const Tensor&);

double score_scale(const PrepareContext& context, std::int64_t head_size) {
  const auto* scale = context.get_if<float>("scale");
  return scale != nullptr ? *scale : 1 / std::sqrt(static_cast<double>(head_size));
}

}  // namespace podium::kernels
