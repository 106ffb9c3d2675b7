// Memory of a block's outputs, which outlives a run of the block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "executor/numeric/memory_pool.h"
#include "ir/datum.h"

namespace podium::numeric {

/// The memory of a storage that holds outputs of a block. When somebody still holds the last run's result,
/// the next run gets other memory, so nobody has to copy the result.
struct OutputMemory {
  std::size_t bytes = 0;
  std::vector<ir::Tensor*> outputs = {};
  std::vector<ir::Tensor*> others = {};  ///< they do not keep the memory
  std::shared_ptr<void> memory = {};
  std::optional<std::size_t> input = {};        ///< input of the block that may be overwritten
  std::vector<std::weak_ptr<void>> given = {};  ///< memory of earlier runs that somebody still holds

  /// `replaced` is the value that the outputs replace, if any. The outputs are written over it where an
  /// earlier run has made it and nobody else holds it. Memory from elsewhere may be the host's, and
  /// read-only.
  void renew(MemoryPool& pool, const ir::Datum* replaced) {
    const auto held_here = std::ssize(outputs) + 1;
    if (std::shared_ptr<void> taken = find(replaced)) {
      const std::ptrdiff_t held_by_us = taken == memory ? held_here + 1 : 1;
      if (is_held_by(held_by_us + 1, taken)) {
        if (taken != memory) use(std::move(taken));
        return;
      }
    }
    if (memory && is_held_by(held_here, memory)) return;
    use(pool.take(bytes));
    std::erase_if(given, [](const std::weak_ptr<void>& one) { return one.expired(); });
    given.push_back(memory);
  }

 private:
  // Whether there are `holders` and no more. What those before have read, they have read by then: a copy that
  // goes away counts down in acquire order, as use_count does not.
  static bool is_held_by(std::ptrdiff_t holders, const std::shared_ptr<void>& held) {
    if (held.use_count() != holders) return false;
    std::shared_ptr<void>(held).reset();
    return true;
  }
  std::shared_ptr<void> find(const ir::Datum* replaced) const {
    if (replaced == nullptr || !replaced->is_tensor() || !replaced->tensor.keeps_memory()) return nullptr;
    for (const std::weak_ptr<void>& one : given) {
      std::shared_ptr<void> held = one.lock();
      if (held.get() == replaced->tensor.raw()) return held;
    }
    return nullptr;
  }
  void use(std::shared_ptr<void> other) {
    memory = std::move(other);
    for (ir::Tensor* output : outputs)
      *output = ir::Tensor::adopt(output->type(), output->dims(), memory.get(), memory);
    for (ir::Tensor* view : others) *view = ir::Tensor::view(view->type(), view->dims(), memory.get());
  }
};

}  // namespace podium::numeric
