// The order in which the engine runs the steps of a Program, and which steps run side by side.
#pragma once

#include <vector>

#include "executor/program.h"
#include "ir/datum.h"

namespace podium::numeric {

/// A step that is no Repeat, with the engine's record of it.
struct Node {
  const executor::Step* step = nullptr;
  std::vector<executor::Slot> writes = {};

  std::vector<const ir::Datum*> inputs = {};       ///< for a Compute, kept between runs
  std::vector<const void*> memory_of_inputs = {};  ///< for a Compute: where they were when its block last ran
  std::vector<std::int64_t> bytes = {};            ///< of the last values written: per replica and write
};

/// A wave: first its movements, one after the other, then its computes, which do not depend on each other.
struct Wave {
  std::vector<std::size_t> moves;
  std::vector<std::size_t> computes;
  /// The computes of each processor, which one thread runs one after the other, beside those of others. Empty:
  /// all computes run one after the other, each with all threads.
  std::vector<std::vector<std::size_t>> lanes = {};
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
  /// Whether the replicas do not communicate in the Repeat. Then each runs it to its end before the next one
  /// begins, so that values which an iteration hands to the next stay in the cache.
  bool replicas_apart = false;
  std::vector<executor::Slot> frees = {};  ///< after the Repeat
};

/// Makes the schedule. `program` outlives it. Computes run side by side where their work is spread evenly
/// enough for this to be faster with so many threads.
std::vector<Section> make_schedule(const executor::Program& program, int threads);

/// The block that a node runs; invalid when it computes nothing.
executor::BlockId block_of(const Node& node);

}  // namespace podium::numeric
