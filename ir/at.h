// Ids as places in a vector that has an entry for each value, op, buffer or block.
#pragma once

#include <cstddef>

#include "ir/graph.h"

namespace podium::ir {

/// The place of an id that is valid.
template <class Tag>
std::size_t at(Id<Tag> id) {
  return static_cast<std::size_t>(id.index);
}

}  // namespace podium::ir
