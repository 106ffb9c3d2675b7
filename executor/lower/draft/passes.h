// The passes of a pipeline's chunks: as turns, by which the graph is cut, and as blocks of their own, for who
// times them before there is an order.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/lower/draft/lowering.h"
#include "executor/lower/placed/chunks.h"
#include "executor/lower/placed/parts.h"
#include "executor/program.h"
#include "executor/schedule/families.h"

namespace podium::lower {

/// How the chunks of a pipeline and their passes are found: a list of one's own has each stage as a chunk,
/// and so has a V.
Adjacent adjacent_in(const Strategy& strategy);

/// The chunks of a placed graph. Whole backward passes are input gradients, with no weight gradients beside
/// them.
Chunks chunks_in(const PlacedGraph& placed, const Strategy& strategy, schedule::Backward backward);

/// Weight gradients become a part of whole backward passes.
void make_whole(Chunks& chunks);

/// A turn for each op, in an order in which a micro-batch can take them: there, back, then weight gradients,
/// and the update.
ir::IdMap<ir::OpId, Turn> turns_of_passes(const PlacedGraph& placed, const Variables& variables,
                                          const Chunks& chunks);
/// The pass of such a turn, of so many chunks.
ChunkPass pass_of(const Turn& turn, int chunks);

/// What a pipeline computes, without an order.
struct PassBlocks {
  /// What a processor computes in one go; `graph` is a part's.
  struct Block {
    int processor = 0;
    const ir::Graph* graph = nullptr;
  };
  struct Of {
    ChunkPass of;
    Block block;
  };
  schedule::Layout layout = {};
  schedule::Backward backward = schedule::Backward::Whole;
  std::vector<Of> passes = {};
  std::vector<Block> updates = {};
  /// Of each chunk: bytes of what its forward pass leaves for a pass of its way back, of a micro-batch, on
  /// the processor that keeps most.
  std::vector<std::int64_t> kept_bytes = {};
  /// Of each group's fullest processor: bytes of its variables on chip, which are there for the whole run.
  std::vector<std::int64_t> variable_bytes = {};
};

/// The blocks of these parts of a placed graph. `pass_of` says of the turn of a part that is no update which
/// pass it belongs to.
PassBlocks blocks_of_passes(const Lowering& lowering, const Chunks& chunks, schedule::Backward backward,
                            const std::vector<Part>& parts,
                            const std::function<ChunkPass(const Turn&)>& pass_of);

/// Shows the blocks that the strategy's schedule puts in order, before there is an order. Lockstep needs
/// none.
void show_passes(const Lowering& lowering);

/// The blocks of the parts of lockstep, whose turns are stages. The last chunk goes there and back in one
/// block, which is a forward pass here.
void show_passes_of_stages(const Lowering& lowering, const std::vector<Part>& parts);

}  // namespace podium::lower
