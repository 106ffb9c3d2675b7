#include "executor/kernels/tools/body.h"

#include <algorithm>

#include "ir/copy_elements.h"

namespace podium::kernels {
namespace {

// A tensor seen as [outer, count, inner] around one axis.
struct OuterValues {
  std::int64_t outer = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;

  OuterValues(const Dims& dims, int axis) : count(dims[axis]) {
    const auto at = dims.begin() + axis;
    outer = ir::element_count(Dims(dims.begin(), at));
    inner = ir::element_count(Dims(at + 1, dims.end()));
  }
};

}  // namespace

Datum kept(const Datum& datum) {
  return datum.is_tensor() && !datum.tensor.keeps_memory() ? Datum(datum.tensor.clone()) : datum;
}

std::vector<Datum> captured(const RunContext& run, std::size_t formal_inputs) {
  std::vector<Datum> values;
  values.reserve(run.inputs.size() - formal_inputs);
  for (std::size_t i = formal_inputs; i < run.inputs.size(); ++i) values.push_back(run.datum(i));
  return values;
}

Tensor slice_at(const Tensor& tensor, int axis, std::int64_t index) {
  const OuterValues around(tensor.dims(), axis);
  Dims dims = tensor.dims();
  dims.erase(dims.begin() + axis);
  if (around.outer == 1) {
    const std::size_t offset = index * around.inner * storage_bytes(tensor.type());
    auto* memory = static_cast<std::byte*>(const_cast<void*>(tensor.raw()));
    return Tensor::view(tensor.type(), std::move(dims), memory + offset);
  }
  Tensor slice(tensor.type(), std::move(dims));
  for (std::int64_t o = 0; o < around.outer; ++o) {
    copy_elements(tensor, (o * around.count + index) * around.inner, slice, o * around.inner, around.inner);
  }
  return slice;
}

void place_at(Tensor& whole, int axis, std::int64_t index, const Tensor& part) {
  const OuterValues around(whole.dims(), axis);
  for (std::int64_t o = 0; o < around.outer; ++o) {
    copy_elements(part, o * around.inner, whole, (o * around.count + index) * around.inner, around.inner);
  }
}

Tensor empty_stack(const ir::Type& type) {
  // Of a body that inference refused, as it may never run.
  if (type.element == DataType::Undefined)
    throw Error("no iteration gave a scan output, of whose elements the body does not tell the type");
  Dims dims = type.has_rank ? type.dims : Dims{0};
  for (std::int64_t& dim : dims) dim = std::max<std::int64_t>(dim, 0);
  return {type.element, std::move(dims)};
}

}  // namespace podium::kernels
