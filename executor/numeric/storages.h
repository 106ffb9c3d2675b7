// Finds the values of a block that share memory.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "executor/numeric/arena_plan.h"
#include "ir/graph.h"

namespace podium::numeric {

/// An input and an output of a block that stand for one slot: a variable. Nobody reads the slot while the
/// block runs; afterwards it holds the output.
struct Rewritten {
  std::size_t input;
  std::size_t output;
  friend auto operator<=>(const Rewritten&, const Rewritten&) = default;
};

/// Views and in-place outputs share the storage of the input they stand for; every storage gets one lifetime.
/// A storage is named by the value that is in it first.
struct Storages {
  ir::IdMap<ir::ValueId, ir::ValueId> of;  ///< the value that one shares its storage with first, or itself
  ir::IdMap<ir::ValueId, bool> planned;    ///< a storage of static shape that is made here
  ir::IdMap<ir::ValueId, Lifetime> lives;  ///< the lifetime of a storage
  /// Storages that may take the memory of an input of the graph, given by its place: no op reads the input
  /// after the storage is first written.
  std::map<ir::ValueId, std::size_t> taken_from;

  ir::ValueId operator[](ir::ValueId id) const { return of[id]; }
};

/// `is_static` tells for each op whether its outputs have memory before the run.
Storages find_storages(const ir::Graph& graph, const ir::IdMap<ir::OpId, bool>& is_static,
                       const std::vector<Rewritten>& rewritten);

}  // namespace podium::numeric
