// Cuts a placed graph into the parts that become blocks.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/placement.h"

namespace podium::lower {

/// What ops run for, in the order in which they run where they come together.
enum class Work : std::uint8_t {
  MicroBatch,  ///< forward and backward
  Late,        ///< gives variables their values for the next micro-batch
  Update,      ///< what happens once per update
  Exchange     ///< between replicas, see split_collectives
};

/// Whether processors of a replica meet in an op, behind what they compute in the section.
enum class Meeting : std::uint8_t { None, OfGroup };

/// What ops are cut by: those of one turn run together as far as their order allows, and lower turns come
/// first. A strategy sets what it knows.
struct Turn {
  int phase = 0;
  int stage = 0;  ///< of the pipeline; of a block that exchanges, how often it has done so before
  Work work = Work::MicroBatch;
  int section = 0;  ///< of the micro-batch, or of the update (see cut_update)
  Meeting meeting = Meeting::None;
  int processor = 0;                         ///< of several that meet the first
  ir::TileSet tiles = ir::TileSet::Compute;  ///< in split_tile_sets alone
  friend auto operator<=>(const Turn&, const Turn&) = default;
};

/// "phase 1, stage 2, update, ipu 4": what is not 0, and what ops run for where that is no
/// micro-batch.
std::string to_string(const Turn& turn);

/// A constant that the graph of a part holds.
struct PartWeight {
  ir::ValueId whole;  ///< in the whole graph
  ir::ValueId local;  ///< in the part's
};

/// Ops of the whole graph that run together, as a graph of their own.
struct Part {
  Turn turn;
  ir::Graph graph;  ///< its inputs are `reads`, its outputs `writes`, under the names of the whole graph
  std::vector<ir::ValueId> reads;   ///< values of the whole graph, host inputs included
  std::vector<ir::ValueId> writes;  ///< that other parts or the host read
  std::vector<PartWeight> weights;
};

struct PartOptions {
  /// Ops of one turn are one part, which needs an order of turns without a way back (InternalError
  /// otherwise).
  bool whole_turns = false;
  /// Constants for which it holds become reads.
  std::function<bool(ir::ValueId)> streamed = {};
  /// Ops for which it holds are in the part that reads them, where that is a later one of their turn: what they
  /// are made of crosses then, which may be less, and they stand beside what else reads it.
  std::function<bool(ir::OpId)> may_wait = {};
  /// Of the ops of a turn that can run, the one with the highest priority goes first, of equal ones the first
  /// in the graph. Without the function all are equal.
  std::function<float(ir::OpId)> priority = {};
};

/// The processor of a part that reads, or makes, a value: where processors meet, that of the value's member.
int reader_of(const Part& part, std::size_t read);
int maker_of(const Part& part, std::size_t write);
/// Of each value that the part makes.
std::vector<int> makers_of(const Part& part);

/// Parts in an order in which they can run, each as large as that order allows: in a topological order that
/// stays in a turn as long as it can, and then goes to the lowest turn that is ready. With whole turns, parts
/// come by turn. A value of `graph` without data (data_left_out) counts as a constant. Outputs of the graph
/// are made by ops (see give_outputs_an_op).
std::vector<Part> make_parts(const ir::Graph& graph, const ir::IdMap<ir::OpId, Turn>& turns,
                             const PartOptions& options = {});

}  // namespace podium::lower
