// Memory for the tensors of one processor, kept from run to run.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "ir/tensor.h"

namespace podium::numeric {

struct FreeMemory {
  std::align_val_t alignment = std::align_val_t(64);
  void operator()(std::byte* memory) const;
};
using Arena = std::unique_ptr<std::byte, FreeMemory>;

/// Allocates memory, aligned to 64 bytes and in huge pages where it is large enough: fewer faults, and fewer
/// misses of the translation cache. Error when there is no such memory.
Arena make_arena(std::size_t bytes);

/// A pool: memory that no tensor holds any more serves the next tensor of the same size. Any thread may take
/// and release memory; tensors may outlive the pool.
class MemoryPool {
 public:
  MemoryPool();
  std::shared_ptr<void> take(std::size_t bytes);
  /// A tensor whose numbers are undefined.
  ir::Tensor take(ir::DataType type, const ir::Dims& dims);
  /// A tensor with the numbers of another.
  ir::Tensor copy(const ir::Tensor& tensor);

 private:
  struct Chunks;
  std::shared_ptr<Chunks> chunks_;
};

}  // namespace podium::numeric
