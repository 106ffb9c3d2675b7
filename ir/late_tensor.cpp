#include "ir/late_tensor.h"

#include <atomic>
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

const KnownOp* made_by(const Tensor& tensor) {
  const auto* computed = dynamic_cast<const Computed*>(tensor.source());
  return computed == nullptr ? nullptr : computed->from();
}

}  // namespace podium::ir
