// Constants that are all zero, each type once.
#pragma once

#include <map>
#include <utility>

#include "ir/filled.h"
#include "ir/graph.h"

namespace podium::ir {

/// Makes zeros for a graph. One constant for all accumulators of a type: equal layers become equal blocks,
/// and it is in memory once.
class ZeroConstants {
 public:
  explicit ZeroConstants(Graph& graph) : graph_(graph) {}

  /// Error for an element type without gradients.
  ValueId of(DataType element, const Dims& dims) {
    ValueId& zeros = known_[{element, dims}];
    if (!zeros.valid()) zeros = graph_.add_constant(graph_.fresh_name("zeros"), filled(element, dims, 0));
    return zeros;
  }

 private:
  Graph& graph_;
  std::map<std::pair<DataType, Dims>, ValueId> known_;
};

}  // namespace podium::ir
