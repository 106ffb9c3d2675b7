#include "tests/strategies/micro_batches.h"

#include <cstring>

namespace podium::testing {

using ir::Tensor;

namespace {

template <class T, class Draw>
void fill(Tensor& tensor, Draw draw) {
  for (T& element : tensor.values<T>()) element = static_cast<T>(draw());
}

}  // namespace

Tensor random_tensor(const ir::Type& type, std::mt19937& random) {
  Tensor tensor(type.element, type.dims);
  const auto small = [&] { return random() % 2; };
  const auto unit = [&] {
    return static_cast<double>(random()) / static_cast<double>(std::mt19937::max()) * 2 - 1;
  };
  switch (type.element) {
    case ir::DataType::Int64:
      fill<std::int64_t>(tensor, small);
      break;
    case ir::DataType::Int32:
      fill<std::int32_t>(tensor, small);
      break;
    case ir::DataType::Float16:
      fill<ir::Float16>(tensor, [&] { return ir::Float16(static_cast<float>(unit())); });
      break;
    default:
      fill<float>(tensor, unit);
  }
  return tensor;
}

Tensor joined(const std::vector<Tensor>& parts, std::size_t count) {
  ir::Dims dims = parts[0].dims();
  dims.insert(dims.begin(), static_cast<std::int64_t>(count));
  Tensor all(parts[0].type(), dims);
  auto* out = static_cast<std::byte*>(all.raw());
  for (std::size_t i = 0; i < count; ++i, out += parts[0].bytes())
    std::memcpy(out, parts[i].raw(), parts[i].bytes());
  return all;
}

}  // namespace podium::testing
