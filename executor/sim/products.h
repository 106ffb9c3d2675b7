// The matrix products that an op consists of, from its types alone.
#pragma once

#include <vector>

#include "executor/sim/matrix_plan.h"
#include "ir/infer.h"

namespace podium::sim {

struct RepeatedProduct {
  Product product;
  double times = 1;  ///< one after the other
};

/// Of matrix products, convolutions (as products with their windows spread out), recurrent cells and
/// attention. Empty for an op that is none of these or is no plain product. All sizes are known.
std::vector<RepeatedProduct> products_of(const ir::TypedOp& op);

/// Whether matrix units multiply elements of this type: floats of at most 32 bits and integers of at most 8.
bool has_matrix_unit(ir::DataType type);

}  // namespace podium::sim
