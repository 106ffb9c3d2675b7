// What lies between the ops of a session's graph, as a run makes it under the session's strategy.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "annotate/partition.h"
#include "ir/training.h"

namespace podium {

/// A graph of which a session gives the values that ops make, each as an output of its name: in whatever
/// parts the strategy holds a value, for every micro-batch and replica it comes back whole, with parts joined
/// and summands added up. What an update makes comes once per update.
struct Watched {
  ir::Training whole = {};               ///< before its tensors are cut over devices
  std::vector<annotate::Cut> cuts = {};  ///< of its ops, in their order; empty where no tensor is cut
  /// Of what an update reads of accumulators, and of gradients that replicas reduce: what it reads, with the
  /// other sign.
  std::map<ir::ValueId, ir::ValueId> negatives = {};
  int devices = 1;                             ///< of a group that tensors are cut over
  std::map<std::string, ir::Tensor> fed = {};  ///< what the session gave inputs of its own in the last run
};

/// Makes outputs of what ops make, apart from ir::accumulated_values, strings, and what has a size that only
/// data decides. What an update reads of a reduced value gets an op of the update that turns its sign: no
/// pass takes it away, and it loses no bit.
Watched watch(ir::Training& training);

}  // namespace podium
