// The computation of a phase in slices of the batch: a loop in every phase, with the slices in streaming
// memory between the phases (semantics, section 8.3).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/remote.h"

namespace podium::lower {

/// Where a value is made, or loaded from the host, and where it goes from there.
struct SliceJourney {
  int maker = -1;           ///< a part, -1 while none is known
  std::vector<int> copies;  ///< other processors that read it in the same phase
  std::vector<int> rows;    ///< processors that read it in later phases
};

struct SlicePlan {
  ir::IdMap<ir::ValueId, SliceJourney> journeys;  ///< of the values of the graph
  /// Of a value on a processor that reads it in a later phase: the entry of slice 0, with stride 1. Values of
  /// one type share a buffer of rows x slices entries: slice i of the value in row r is entry r x slices + i.
  /// A row is given again once the last phase that reads it is over.
  std::map<std::pair<ir::ValueId, int>, executor::Slot> rows;
};

/// Parts that update run behind the slices and read what the last one has left. Adds the buffers of the rows
/// to the draft.
SlicePlan plan_slices(Draft& draft, const Remote& remote, const std::vector<Part>& parts);

/// The steps that take every slice of a micro-batch through the parts `first` to `last` - 1, which are those
/// of one phase; `names` are those of their blocks. The weights are there already. Loads and stores go over
/// the IO tiles and beside the computation of the slices before and after, as the IO mode says.
std::vector<executor::Step> run_slices(Draft& draft, HostIo& io, const SlicePlan& plan,
                                       std::vector<Part>& parts, std::size_t first, std::size_t last,
                                       const std::vector<std::string>& names);

}  // namespace podium::lower
