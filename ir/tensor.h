// A tensor's numbers: element type, dimensions and a shared block of memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/digest.h"
#include "ir/element.h"
#include "ir/error.h"
#include "ir/type.h"

namespace podium::ir {

/// Where the numbers of a tensor are that is told of before they are read: in a file, or to be computed.
class NumberSource {
 public:
  virtual ~NumberSource() = default;
  /// The numbers, made by the first call; they stay where they are as long as this lives. Several threads may
  /// call. Error where memory for them is lacking.
  virtual const void* numbers() const = 0;
  /// The same numbers, wherever they begin: in a file they need no copy for it.
  virtual const void* bytes() const { return numbers(); }
  /// Nobody is known to read them again: what the system can bring back may leave memory until somebody does.
  virtual void leave_memory() const {}
  /// Of where the numbers come from, without making them; empty where that takes as long.
  virtual std::optional<Digest> digest(Digests& /*digests*/) const { return std::nullopt; }
};

/// Row-major, without gaps. Copies share the memory: whoever writes must own the only copy (see clone).
/// 4- and 2-bit elements take one byte each; strings are std::string objects.
class Tensor {
 public:
  Tensor() = default;
  /// Memory of its own, 64-byte aligned; numbers are uninitialised, strings empty.
  /// Error when the size does not fit memory.
  Tensor(DataType type, Dims dims);
  /// Memory that somebody else owns and keeps alive.
  static Tensor view(DataType type, Dims dims, void* data);
  /// Memory kept alive by `owner`, e.g. a mapped file. It may be read-only.
  static Tensor adopt(DataType type, Dims dims, const void* data, std::shared_ptr<const void> owner);
  /// Numbers that `source` has once they are read. They are read-only. Error when the size does not fit
  /// memory.
  static Tensor late(DataType type, Dims dims, std::shared_ptr<const NumberSource> source);

  template <class T>
  static Tensor of(Dims dims, const std::vector<T>& values);
  template <class T>
  static Tensor scalar(const T& value) {
    return of<T>({}, std::vector<T>{value});
  }
  /// 1-D int64.
  static Tensor ints(const std::vector<std::int64_t>& values) {
    return of<std::int64_t>({std::ssize(values)}, values);
  }

  DataType type() const { return type_; }
  const Dims& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  std::int64_t dim(int axis) const { return dims_[axis]; }
  std::int64_t size() const { return size_; }  ///< elements
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * storage_bytes(type_); }
  bool defined() const { return type_ != DataType::Undefined; }
  /// False when somebody else keeps the memory alive (see view).
  bool keeps_memory() const { return owner_ != nullptr; }
  Type type_and_dims() const { return Type::tensor(type_, dims_); }

  const void* raw() const { return source_ == nullptr ? data_ : source_->numbers(); }
  void* raw() { return source_ == nullptr ? data_ : const_cast<void*>(source_->numbers()); }
  /// What raw() has, for one who moves bytes alone: it may begin anywhere.
  const void* raw_bytes() const { return source_ == nullptr ? data_ : source_->bytes(); }
  template <class T>
  const T* data() const {
    check_type(data_type_of<T>);
    return static_cast<const T*>(raw());
  }
  template <class T>
  T* data() {
    check_type(data_type_of<T>);
    return static_cast<T*>(raw());
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<T> values() {
    return {data<T>(), static_cast<std::size_t>(size_)};
  }

  /// A tensor that shares this memory and has other dimensions with the same number of elements.
  Tensor reshaped(Dims dims) const;
  /// A tensor that shares this memory and has another type of the same element size.
  Tensor reinterpreted(DataType type) const;
  /// A copy with memory of its own.
  Tensor clone() const;
  /// int32 or int64 elements as int64: for shapes, axes, indices.
  std::vector<std::int64_t> to_ints() const;
  /// The one element of a float or integer tensor of size 1, as double. Error otherwise.
  double to_number() const;
  /// The same for tensors that show the same memory, whose numbers need not be there yet.
  const void* memory_id() const { return source_ == nullptr ? data_ : static_cast<const void*>(source_); }
  /// What `late` was given; nullptr for any other tensor.
  const NumberSource* source() const { return source_; }

 private:
  void check_type(DataType wanted) const {
    IR_CHECK(wanted == type_, "tensor of {} read as {}", name_of(type_), name_of(wanted));
  }

  DataType type_ = DataType::Undefined;
  Dims dims_;
  std::int64_t size_ = 0;
  void* data_ = nullptr;  // without a source
  std::shared_ptr<const void> owner_;
  const NumberSource* source_ = nullptr;  // the owner, where numbers come late
};

template <class T>
Tensor Tensor::of(Dims dims, const std::vector<T>& values) {
  Tensor tensor(data_type_of<T>, std::move(dims));
  IR_CHECK(static_cast<std::size_t>(tensor.size()) == values.size());
  T* out = tensor.data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return tensor;
}

/// Same type, dims and elements (floats by bits, so NaN equals itself).
bool identical(const Tensor& a, const Tensor& b);

}  // namespace podium::ir
