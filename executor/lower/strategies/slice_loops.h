// The computation of a phase in slices of the batch: a loop in every phase, with the slices in streaming
// memory between the phases (semantics, section 8.3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/remote.h"

namespace podium::lower {

/// A buffer in streaming memory that the rows of one type on one processor share.
struct RowBuffer {
  ir::Type type;
  int processor = 0;
  int slots = 0;  ///< the slices of every row
};

/// Where a value waits on a processor that reads it in a later phase: slice i is in slot `first` + i. A row
/// is given again once the last phase that reads it is over.
struct Row {
  ir::ValueId value;
  int buffer = 0;  ///< of the plan's
  int first = 0;
};

/// A value that is brought to a processor before the block of a part: from a row of the plan's, or from the
/// host.
struct SliceLoad {
  ir::ValueId value;
  int to = 0;
  std::optional<int> row = {};
};

/// A value that a part makes, or loads from the host, and that another processor reads in the same phase.
struct SliceCopy {
  ir::ValueId value;
  int from = 0;
  int to = 0;
};

/// A value that goes to a row on processor `to`, or from there to the host. It is on `from` before.
struct SliceStore {
  ir::ValueId value;
  int from = 0;
  int to = 0;
  std::optional<int> row = {};
};

/// What moves in a slice before the block of a part, and after it.
struct SliceMoves {
  std::vector<SliceLoad> loads;
  std::vector<SliceCopy> copies;
  std::vector<SliceStore> stores;
};

struct SlicePlan {
  std::vector<RowBuffer> buffers;
  std::vector<Row> rows;
  std::vector<SliceMoves> parts;  ///< nothing for a part that updates: it reads what the last slice has left
  std::vector<executor::BufferId> ids = {};  ///< of the buffers, once they are the Program's
};

SlicePlan plan_slices(const Draft& draft, const Remote& remote, const std::vector<Part>& parts);

/// A line for each buffer, each row and each part that moves something.
std::string to_string(const SlicePlan& plan, const ir::Graph& graph);

/// Adds the buffers of the plan to the draft's Program.
void add_buffers(Draft& draft, SlicePlan& plan);

/// Neighbouring parts of one phase, and the names of their blocks.
struct PartsOfPhase {
  std::size_t first = 0;
  std::size_t end = 0;
  const std::vector<std::string>& names;
};

/// The steps that take every slice of a micro-batch through parts of one phase. The weights are there
/// already. Loads and stores go over the IO tiles and beside the computation of the slices before and after,
/// as the IO mode says.
std::vector<executor::Step> run_slices(Draft& draft, HostIo& io, const SlicePlan& plan,
                                       std::vector<Part>& parts, const PartsOfPhase& phase);

}  // namespace podium::lower
