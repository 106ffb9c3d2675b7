// What follows from the options and the placement for everything that lowers a graph, said once.
#pragma once

#include "executor/lower/placed/placed_graph.h"
#include "executor/lower/placed/stages.h"
#include "executor/strategy.h"

namespace podium::lower {

struct Facts {
  bool in_phases = false;    ///< the phases of the placement run one after the other
  bool in_stages = false;    ///< the stages of the placement are a pipeline
  bool in_orders = false;    ///< they follow a schedule that lists orders, not lockstep cycles
  int copies = 1;            ///< of the model, as the schedule has them
  bool accumulates = false;  ///< the gradients of several micro-batches make one update
  bool updates_in_stages =
      false;            ///< each stage of the pipeline updates what it computes with, see pipelined
  bool trains = false;  ///< there are variables, though perhaps nothing updates them
  int slices = 1;       ///< of a micro-batch, one after the other (batch serialisation)

  /// A run is so many batches, each of so many cycles (of a slice, a micro-batch or, in phases, all of what
  /// makes one update), each with so many slices inside every phase. What happens once per update comes
  /// behind the cycles of a batch.
  int batches = 1;
  int cycles = 1;
  int slices_in_phase = 1;

  Stages stages = {};  ///< of the pipeline
};

/// Ops that lowering adds run where others do, so this stays true of the graph.
Facts find_facts(const PlacedGraph& placed, const Strategy& strategy);

}  // namespace podium::lower
