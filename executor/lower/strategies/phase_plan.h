// Which tensors move between processors and streaming memory in each execution phase (semantics,
// section 8.1).
#pragma once

#include <vector>

#include "executor/lower/draft/draft.h"
#include "executor/lower/draft/remote.h"

namespace podium::lower {

/// A tensor that is brought to a processor, or stored from it.
struct Movement {
  ir::ValueId value;
  int processor = 0;
  ir::TensorLocation location = {};
};

/// A value that comes from the host to the processor that reads it first.
struct PhaseInput {
  ir::ValueId value;
  int processor = 0;
};

/// A copy to a processor that reads the value in phase `first_use` or later.
struct PhaseCopy {
  ir::ValueId value;
  int from = 0;
  int to = 0;
  int first_use = 0;
};

struct PhaseMovements {
  std::vector<Movement> loads;         ///< that its own parts need at once
  std::vector<Movement> preloads;      ///< for the next phase
  std::vector<Movement> update_loads;  ///< that only its update needs
  std::vector<Movement> stores;
};

struct PhasePlan {
  /// Entry p + 1 is phase p; entry 0 is the virtual phase -1, in which only preloads are.
  std::vector<PhaseMovements> phases;
  /// Per part: where to what it makes, or loads from the host, goes beside the processor that has it.
  std::vector<std::vector<PhaseCopy>> copies;
  /// Per part: the model's inputs that it loads from the host, being the first that reads them.
  std::vector<std::vector<PhaseInput>> host_loads;
};

/// A remote tensor stays on a processor in the phases that use it and up to two between; a longer gap means a
/// store, where the tensor was made, and a load. A variable is stored in the last of those phases that
/// modifies it.
PhasePlan plan_phases(const Draft& draft, const Remote& remote, const std::vector<Part>& parts);

}  // namespace podium::lower
