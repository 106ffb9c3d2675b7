// Memory that outlives a run of a block.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "executor/numeric/pool.h"

namespace podium::numeric {

/// Of a storage in which outputs of a block are. When somebody still holds what the last run has made, the
/// next one gets other memory, so nobody has to copy it.
struct OutputMemory {
  std::size_t bytes = 0;
  std::vector<ir::Tensor*> outputs = {};
  std::vector<ir::Tensor*> others = {};  ///< they do not keep the memory
  std::shared_ptr<void> memory = {};

  void renew(Pool& pool) {
    const auto held_here = static_cast<std::ptrdiff_t>(outputs.size()) + 1;
    if (memory && memory.use_count() == held_here) {
      std::atomic_thread_fence(std::memory_order_acquire);  // what others have read, they have read before
      return;
    }
    memory = pool.take(bytes);
    for (ir::Tensor* output : outputs) {
      *output = ir::Tensor::adopt(output->type(), output->dims(), memory.get(), memory);
    }
    for (ir::Tensor* other : others) *other = ir::Tensor::view(other->type(), other->dims(), memory.get());
  }
};

}  // namespace podium::numeric
