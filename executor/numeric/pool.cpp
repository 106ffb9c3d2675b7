#include "executor/numeric/pool.h"

#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "executor/kernels/strides.h"

namespace podium::numeric {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

// What lies unused, by its size.
struct Pool::Chunks {
  std::mutex mutex;
  std::unordered_map<std::size_t, std::vector<void*>> unused;

  Chunks() = default;
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;
  ~Chunks() {
    for (auto& [bytes, memories] : unused) {
      for (void* memory : memories) std::free(memory);
    }
  }

  void* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex);
      std::vector<void*>& memories = unused[bytes];
      if (!memories.empty()) {
        void* memory = memories.back();
        memories.pop_back();
        return memory;
      }
    }
    void* memory = std::aligned_alloc(kAlignment, bytes);
    if (memory == nullptr) throw Error("out of memory: {} bytes for one tensor", bytes);
    return memory;
  }
  void give_back(std::size_t bytes, void* memory) {
    const std::lock_guard lock(mutex);
    unused[bytes].push_back(memory);
  }
};

Pool::Pool() : chunks_(std::make_shared<Chunks>()) {}

ir::Tensor Pool::take(ir::DataType type, const ir::Dims& dims) {
  if (type == ir::DataType::String) return {type, dims};
  const std::size_t bytes = static_cast<std::size_t>(ir::element_count(dims)) * ir::storage_bytes(type);
  const std::size_t rounded = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  void* memory = chunks_->take(rounded);
  const auto give_back = [chunks = chunks_, rounded](void* unused) { chunks->give_back(rounded, unused); };
  return ir::Tensor::adopt(type, dims, memory, std::shared_ptr<void>(memory, give_back));
}

ir::Tensor Pool::copy(const ir::Tensor& tensor) {
  ir::Tensor result = take(tensor.type(), tensor.dims());
  kernels::copy_elements(tensor.type(), tensor.raw(), result.raw(), tensor.size());
  return result;
}

}  // namespace podium::numeric
