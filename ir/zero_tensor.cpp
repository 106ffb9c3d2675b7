#include "ir/zero_tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace podium::ir {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 13;

// Address ranges without memory of their own: pages that were never written read as zeros. Each range is at
// least twice as long as the one before, and all stay to the end, since tensors show them.
class ZeroPages {
 public:
  const std::byte* of(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (ranges_.empty() || ranges_.back().size() < bytes) grow(bytes);
    return ranges_.back().data();
  }
  bool contain(const void* memory) {
    const auto* at = static_cast<const std::byte*>(memory);
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(ranges_, [&](std::span<const std::byte> range) {
      return at >= range.data() && at < range.data() + range.size();
    });
  }

 private:
  void grow(std::size_t bytes) {
    const std::size_t twice = ranges_.empty() ? 0 : 2 * ranges_.back().size();
    for (const std::size_t wanted : {std::max(twice, bytes), bytes}) {
      void* pages = mmap(nullptr, wanted, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (pages == MAP_FAILED) continue;
      ranges_.emplace_back(static_cast<const std::byte*>(pages), wanted);
      return;
    }
    throw Error("out of memory: {} bytes for one tensor", bytes);
  }

  std::mutex mutex_;
  std::vector<std::span<const std::byte>> ranges_;
};

ZeroPages& pages() {
  static auto* const only = new ZeroPages;
  return *only;
}

}  // namespace

Tensor zeros(DataType element, Dims dims) {
  const std::size_t bytes = element_count(dims) * storage_bytes(element);
  if (bytes < kLarge) {
    Tensor tensor(element, std::move(dims));
    if (bytes > 0) std::memset(tensor.raw(), 0, bytes);
    return tensor;
  }
  const std::byte* memory = pages().of(bytes);
  return Tensor::adopt(element, std::move(dims), memory, {std::shared_ptr<void>(), memory});
}

bool takes_no_memory(const Tensor& tensor) {
  return tensor.bytes() >= kLarge && pages().contain(tensor.memory_id());
}

}  // namespace podium::ir
