// The family of an op, by the table that its row is in; rules of cost hold for families.
#pragma once

#include "ir/ops/families.h"

namespace podium::sim {

inline bool is_of(ir::OpFamily family, const ir::OpSpec* spec) {
  const std::span<const ir::OpSpec> rows = family();
  return spec >= rows.data() && spec < rows.data() + rows.size();
}

}  // namespace podium::sim
