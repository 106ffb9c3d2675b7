// Finds the values of a block that share memory.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "executor/numeric/memory_plan.h"
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
struct Storages {
  std::vector<std::size_t> of;  ///< per value: the value that it shares its storage with first, or itself
  std::vector<bool> planned;    ///< per storage: of static shape and made here
  std::vector<Lifetime> lives;
  /// Storages that may take the memory of an input of the graph: no op reads the input after the storage is
  /// first written.
  std::map<std::size_t, std::size_t> taken_from;

  std::size_t operator[](ir::ValueId id) const { return of[id.index]; }
};

/// `is_static` tells for each op whether its outputs have memory before the run.
Storages find_storages(const ir::Graph& graph, const std::vector<bool>& is_static,
                       const std::vector<Rewritten>& rewritten);

}  // namespace podium::numeric
