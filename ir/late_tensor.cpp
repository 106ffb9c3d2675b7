#include "ir/late_tensor.h"

#include <mutex>
#include <utility>

namespace podium::ir {
namespace {

class Computed : public NumberSource {
 public:
  Computed(std::function<Tensor()> make, std::function<Digest(Digests&)> digest)
      : make_(std::move(make)), digest_(std::move(digest)) {}

  const void* numbers() const override {
    const std::lock_guard lock(mutex_);
    if (make_) {
      made_ = make_();
      make_ = nullptr;
      digest_ = nullptr;
    }
    return made_.raw();
  }

  std::optional<Digest> digest(Digests& digests) const override {
    const std::lock_guard lock(mutex_);
    return digest_ ? std::optional(digest_(digests)) : std::nullopt;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::function<Tensor()> make_;
  mutable std::function<Digest(Digests&)> digest_;
  mutable Tensor made_;
};

}  // namespace

Tensor late_tensor(const Type& type, std::function<Tensor()> make, std::function<Digest(Digests&)> digest) {
  return Tensor::late(type.element, type.dims,
                      std::make_shared<const Computed>(std::move(make), std::move(digest)));
}

}  // namespace podium::ir
