// Memory for the tensors of one processor, kept from run to run.
#pragma once

#include <memory>

#include "ir/tensor.h"

namespace podium::numeric {

/// Memory that no tensor holds any more serves the next one of the same size. Any thread may take and let go;
/// tensors may outlive the pool.
class Pool {
 public:
  Pool();
  /// A tensor whose numbers are undefined.
  ir::Tensor take(ir::DataType type, const ir::Dims& dims);
  /// A tensor with the numbers of another.
  ir::Tensor copy(const ir::Tensor& tensor);

 private:
  struct Chunks;
  std::shared_ptr<Chunks> chunks_;
};

}  // namespace podium::numeric
