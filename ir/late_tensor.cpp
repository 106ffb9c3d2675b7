#include "ir/late_tensor.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>

namespace podium::ir {
namespace {

class Computed : public NumberSource {
 public:
  Computed(std::function<Tensor()> make, std::function<Digest(Digests&)> digest,
           std::shared_ptr<const KnownOp> from)
      : make_(std::move(make)), digest_(std::move(digest)), from_(std::move(from)) {}

  const KnownOp* from() const { return from_.get(); }

  // An undefined tensor where they are made already.
  Tensor made_anew() const {
    std::unique_lock lock(mutex_);
    const std::function<Tensor()> make = make_;
    lock.unlock();
    return make ? make() : Tensor();
  }

  const void* numbers() const override {
    if (const void* numbers = numbers_.load(std::memory_order_acquire)) return numbers;
    const std::lock_guard lock(mutex_);
    if (make_) {
      made_ = make_();
      make_ = nullptr;
      digest_ = nullptr;
      numbers_.store(std::as_const(made_).raw(), std::memory_order_release);
    }
    return std::as_const(made_).raw();
  }

  std::optional<Digest> digest(Digests& digests) const override {
    const std::lock_guard lock(mutex_);
    return digest_ ? std::optional(digest_(digests)) : std::nullopt;
  }

 private:
  mutable std::atomic<const void*> numbers_ = nullptr;  // once they are made
  mutable std::mutex mutex_;
  mutable std::function<Tensor()> make_;
  mutable std::function<Digest(Digests&)> digest_;
  mutable Tensor made_;
  std::shared_ptr<const KnownOp> from_;
};

}  // namespace

Tensor late_tensor(const Type& type, std::function<Tensor()> make, std::function<Digest(Digests&)> digest,
                   std::shared_ptr<const KnownOp> from) {
  return Tensor::late(type.element, type.dims,
                      std::make_shared<const Computed>(std::move(make), std::move(digest), std::move(from)));
}

Tensor made_for_one(const Tensor& tensor) {
  const auto* computed = dynamic_cast<const Computed*>(tensor.source());
  const Tensor made = computed == nullptr ? Tensor() : computed->made_anew();
  return made.defined() ? made.reshaped(tensor.dims()) : tensor;
}

const KnownOp* made_by(const Tensor& tensor) {
  const auto* computed = dynamic_cast<const Computed*>(tensor.source());
  return computed == nullptr ? nullptr : computed->from();
}

namespace {

bool only_moves(const Op& op) { return op.is("Transpose") || op.is("Slice"); }

}  // namespace

DataType narrow_type(const Tensor& constant) {
  const KnownOp* made = made_by(constant);
  if (made == nullptr) return DataType::Undefined;
  if (made->op.is("DequantizeLinear")) return made->inputs[0].type();
  return only_moves(made->op) ? narrow_type(made->inputs[0]) : DataType::Undefined;
}

std::int64_t stored_bytes(const Tensor& constant) {
  const std::int64_t own = packed_bytes(constant.type_and_dims());
  const KnownOp* made = made_by(constant);
  if (made == nullptr || own == 0) return own;
  if (made->op.is("DequantizeLinear")) {
    std::int64_t bytes = 0;
    for (const Tensor& input : made->inputs) bytes += input.defined() ? stored_bytes(input) : 0;
    return std::min(own, bytes);
  }
  if (!only_moves(made->op)) return own;
  const Tensor& whole = made->inputs[0];
  const double of_whole = static_cast<double>(constant.size()) / static_cast<double>(whole.size());
  return std::min<std::int64_t>(own, std::llround(of_whole * static_cast<double>(stored_bytes(whole))));
}

std::int64_t stored_bytes(const Value& value) {
  return value.constant ? stored_bytes(*value.constant) : packed_bytes(value.type);
}

double stored_share(const Tensor& constant) {
  if (!constant.defined()) return 1;
  const auto own = static_cast<double>(packed_bytes(constant.type_and_dims()));
  return own == 0 ? 1 : static_cast<double>(stored_bytes(constant)) / own;
}

}  // namespace podium::ir
