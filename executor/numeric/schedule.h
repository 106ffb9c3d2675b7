// In what order the engine does the steps of a Program, and which of them side by side.
#pragma once

#include <vector>

#include "executor/program.h"
#include "ir/datum.h"

namespace podium::numeric {

/// A step that is no Repeat, with what the engine knows of it.
struct Node {
  const executor::Step* step = nullptr;
  std::vector<executor::Slot> writes = {};

  std::vector<const ir::Datum*> inputs = {};       ///< of a Compute, kept between runs
  std::vector<const void*> memory_of_inputs = {};  ///< of a Compute: where they were when its block last ran
  std::vector<std::int64_t> bytes = {};            ///< of the last values written: per replica and write
};

/// First the movements one after the other, then the computes, which do not depend on each other.
struct Wave {
  std::vector<std::size_t> moves;
  std::vector<std::size_t> computes;
  /// The computes run side by side, a thread each; else one after the other, each with all threads.
  bool side_by_side = false;
};

/// Replicas from the first up to the end.
struct Replicas {
  int first = 0;
  int end = 1;
};

/// A straight list of steps in program order and its waves, and then a Repeat, if there is one.
struct Section {
  std::vector<Node> nodes = {};
  std::vector<Wave> waves = {};
  int count = 0;
  std::vector<Section> body = {};
  /// Replicas do not meet in the Repeat: each runs it to its end before the next one begins, so that what an
  /// iteration hands on to the next stays in the cache.
  bool replicas_apart = false;
  std::vector<executor::Slot> frees = {};  ///< after the Repeat
};

/// `program` outlives the schedule. Computes run side by side where their work is so evenly spread that this
/// is faster with so many threads.
std::vector<Section> make_schedule(const executor::Program& program, int threads);

/// The block that a node runs; invalid when it computes nothing.
executor::BlockId block_of(const Node& node);

}  // namespace podium::numeric
