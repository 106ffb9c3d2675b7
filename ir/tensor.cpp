#include "ir/tensor.h"

#include <algorithm>
#include <new>

#include "ir/copy_elements.h"
#include "ir/machine_memory.h"

namespace podium::ir {
namespace {

constexpr std::size_t kAlignment = 64;
// A dimension beyond it is none that a tensor has, whatever stands beside it.
constexpr std::int64_t kMostDim = std::int64_t{1} << 46;

std::shared_ptr<void> allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  try {
    void* memory = ::operator new(std::max(rounded, kAlignment), std::align_val_t(kAlignment));
    return {memory, [](void* unused) { ::operator delete(unused, std::align_val_t(kAlignment)); }};
  } catch (const std::bad_alloc&) {
    throw Error("out of memory: {} bytes for one tensor", bytes);
  }
}

// The elements.
std::int64_t counted(const Dims& dims) {
  for (std::int64_t dim : dims) {
    if (dim > kMostDim) throw Error("tensor {} does not fit memory", to_string(dims));
  }
  return element_count(dims);
}

// The system would give more than the machine has, and end the process once it is written to.
std::int64_t bytes_that_fit(DataType type, const Dims& dims, std::int64_t size) {
  std::int64_t total = 0;
  if (__builtin_mul_overflow(size, storage_bytes(type), &total) || total > machine_memory()) {
    throw Error("tensor {}{} does not fit memory", name_of(type), to_string(dims));
  }
  return total;
}

}  // namespace

Tensor::Tensor(DataType type, Dims dims) : type_(type), dims_(std::move(dims)), size_(counted(dims_)) {
  IR_CHECK(type != DataType::Undefined);
  const std::int64_t total = bytes_that_fit(type, dims_, size_);
  if (type == DataType::String) {
    std::shared_ptr<std::string[]> strings(new std::string[size_]);
    data_ = strings.get();
    owner_ = std::move(strings);
    return;
  }
  auto memory = allocate(total);
  data_ = memory.get();
  owner_ = std::move(memory);
}

Tensor Tensor::view(DataType type, Dims dims, void* data) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.dims_ = std::move(dims);
  tensor.size_ = counted(tensor.dims_);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::adopt(DataType type, Dims dims, const void* data, std::shared_ptr<const void> owner) {
  Tensor tensor = view(type, std::move(dims), const_cast<void*>(data));
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::late(DataType type, Dims dims, std::shared_ptr<const NumberSource> source) {
  Tensor tensor = view(type, std::move(dims), nullptr);
  bytes_that_fit(type, tensor.dims_, tensor.size_);
  tensor.source_ = source.get();
  tensor.owner_ = std::move(source);
  return tensor;
}

Tensor Tensor::reshaped(Dims dims) const {
  Tensor result = *this;
  IR_CHECK(element_count(dims) == size_, "{} to {}", to_string(dims_), to_string(dims));
  result.dims_ = std::move(dims);
  return result;
}

Tensor Tensor::reinterpreted(DataType type) const {
  IR_CHECK(storage_bytes(type) == storage_bytes(type_) && type != DataType::String);
  Tensor result = *this;
  result.type_ = type;
  return result;
}

Tensor Tensor::clone() const {
  Tensor copy(type_, dims_);
  copy_elements(*this, 0, copy, 0, size_);
  return copy;
}

std::vector<std::int64_t> Tensor::to_ints() const {
  if (type_ == DataType::Int64) return {data<std::int64_t>(), data<std::int64_t>() + size_};
  if (type_ == DataType::Int32) return {data<std::int32_t>(), data<std::int32_t>() + size_};
  throw Error("tensor of {} found, int32 or int64 needed", name_of(type_));
}

double Tensor::to_number() const {
  if (size_ != 1) throw Error("tensor {} found, one element needed", to_string(dims_));
  switch (type_) {
    case DataType::Float:
      return *data<float>();
    case DataType::Double:
      return *data<double>();
    case DataType::Float16:
      return static_cast<float>(*data<Float16>());
    case DataType::Bfloat16:
      return static_cast<float>(*data<Bfloat16>());
    case DataType::Int8:
      return *data<std::int8_t>();
    case DataType::Int16:
      return *data<std::int16_t>();
    case DataType::Int32:
      return *data<std::int32_t>();
    case DataType::Int64:
      return static_cast<double>(*data<std::int64_t>());
    case DataType::Uint8:
      return *data<std::uint8_t>();
    case DataType::Uint16:
      return *data<std::uint16_t>();
    case DataType::Uint32:
      return *data<std::uint32_t>();
    case DataType::Uint64:
      return static_cast<double>(*data<std::uint64_t>());
    case DataType::Bool:
      return *data<bool>() ? 1 : 0;
    default:
      throw Error("tensor of {} found, a number needed", name_of(type_));
  }
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.dims() != b.dims()) return false;
  if (a.type() == DataType::String) {
    return std::equal(a.data<std::string>(), a.data<std::string>() + a.size(), b.data<std::string>());
  }
  return a.size() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace podium::ir
