#include "executor/numeric/memory_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "executor/kernels/tools/strides.h"

namespace podium::numeric {
namespace {

constexpr std::size_t kPoolAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Memory of so many bytes begins at a multiple of these, and is one.
std::size_t unit_of(std::size_t bytes) { return bytes >= kHugePage ? kHugePage : kPoolAlignment; }

}  // namespace

void FreeMemory::operator()(std::byte* memory) const { ::operator delete(memory, alignment); }

Arena make_arena(std::size_t bytes) {
  const std::size_t unit = unit_of(bytes);
  const std::size_t rounded = std::max((bytes + unit - 1) / unit * unit, unit);
  const FreeMemory free{std::align_val_t(unit)};
  Arena arena(nullptr, free);
  try {
    arena.reset(static_cast<std::byte*>(::operator new(rounded, free.alignment)));
  } catch (const std::bad_alloc&) {
    throw Error("out of memory: {} bytes", bytes);
  }
  if (unit == kHugePage) madvise(arena.get(), rounded, MADV_HUGEPAGE);  // advice: nothing depends on it
  return arena;
}

// Unused memory, by its size.
struct MemoryPool::Chunks {
  std::mutex mutex;
  std::unordered_map<std::size_t, std::vector<Arena>> unused;

  Arena take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex);
      std::vector<Arena>& memories = unused[bytes];
      if (!memories.empty()) {
        Arena memory = std::move(memories.back());
        memories.pop_back();
        return memory;
      }
    }
    return make_arena(bytes);
  }
  void give_back(std::size_t bytes, Arena memory) {
    const std::lock_guard lock(mutex);
    unused[bytes].push_back(std::move(memory));
  }
};

MemoryPool::MemoryPool() : chunks_(std::make_shared<Chunks>()) {}

ir::Tensor MemoryPool::take(ir::DataType type, const ir::Dims& dims) {
  if (type == ir::DataType::String) return {type, dims};
  const std::size_t bytes = ir::element_count(dims) * ir::storage_bytes(type);
  std::shared_ptr<void> memory = take(bytes);
  void* data = memory.get();
  return ir::Tensor::adopt(type, dims, data, std::move(memory));
}

std::shared_ptr<void> MemoryPool::take(std::size_t bytes) {
  const std::size_t rounded =
      std::max((bytes + kPoolAlignment - 1) / kPoolAlignment * kPoolAlignment, kPoolAlignment);
  const auto give_back = [chunks = chunks_, rounded](std::byte* unused) {
    chunks->give_back(rounded, Arena(unused, FreeMemory{std::align_val_t(unit_of(rounded))}));
  };
  return {chunks_->take(rounded).release(), give_back};
}

ir::Tensor MemoryPool::copy(const ir::Tensor& tensor) {
  ir::Tensor result = take(tensor.type(), tensor.dims());
  kernels::copy_elements(tensor.type(), tensor.raw(), result.raw(), tensor.size());
  return result;
}

}  // namespace podium::numeric
