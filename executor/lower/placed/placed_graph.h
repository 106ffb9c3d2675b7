// What lowering rewrites: a graph, what trains in it, and where each of its ops runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/box.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::lower {

struct PlacedOp {
  ir::Op op;
  ir::OpPlacement place;

  bool is_outer() const { return place.context == ir::Context::Update; }
  /// Where one of its operands is: of what a group exchanges on the member's processor.
  ir::OpPlacement place_of_input(std::size_t index) const { return place_of_member(index); }
  ir::OpPlacement place_of_output(std::size_t index) const { return place_of_member(index); }

 private:
  ir::OpPlacement place_of_member(std::size_t member) const;
};

/// An input or output of the graph is what a box of one of the model's is.
struct HostPart {
  ir::ValueId whole;  ///< no input or output of the graph where all of it moves in parts
  ir::Box box;
};

/// An op and its place come and go together, so nothing keeps two lists in step. A graph that does not train
/// is one without variables.
struct PlacedGraph {
  /// `placement` fits the graph of `training`. The attribute that tells the context of an op becomes part of
  /// its place; without variables every op runs in each micro-batch. There are as many phases as ops say.
  PlacedGraph(ir::Training of, ir::Placement placed);

  ir::Training training;
  ir::Placement placement;
  /// Of the model, which take micro-batches in turns: each has as many stages, those of the first one in
  /// front.
  int copies = 1;
  /// Of an input or output of the second copy, that of the first: they share a stream of the host.
  std::map<ir::ValueId, ir::ValueId> in_first_copy = {};
  /// Inputs and outputs of the first copy that are parts of those that the host knows.
  std::map<ir::ValueId, HostPart> host_parts = {};

  ir::Graph& graph() { return training.graph; }
  const ir::Graph& graph() const { return training.graph; }
  ir::OpPlacement& operator[](ir::OpId op) {
    return placement.ops[ir::checked_index(op.index, placement.ops.size())];
  }
  const ir::OpPlacement& operator[](ir::OpId op) const {
    return placement.ops[ir::checked_index(op.index, placement.ops.size())];
  }
  /// Whether an op runs once per update.
  bool is_outer(ir::OpId op) const { return (*this)[op].context == ir::Context::Update; }

  /// The value of the first copy that shares a stream with a value of the second one; of any other value
  /// itself.
  ir::ValueId streamed_as(ir::ValueId value) const {
    const auto found = in_first_copy.find(value);
    return found == in_first_copy.end() ? value : found->second;
  }
  /// What an input or output is to the host: itself, or what it is a part or a copy of.
  ir::ValueId known_to_host_as(ir::ValueId value) const {
    const ir::ValueId first = streamed_as(value);
    const auto part = host_parts.find(first);
    return part == host_parts.end() ? first : part->second.whole;
  }

  /// Where a value is that an op makes: of what a group exchanges on the member's processor.
  ir::OpPlacement place_of(ir::OpId maker, ir::ValueId made) const;

  /// Adds an op behind all others.
  void append(ir::Op op, const ir::OpPlacement& place);
  /// A new value of the type of `source`, which an Identity behind all other ops makes of it.
  ir::ValueId append_copy(ir::ValueId source, std::string name, const ir::OpPlacement& place);
  /// Leaves the graph without ops: who rewrites it appends what becomes of each.
  ir::IdMap<ir::OpId, PlacedOp> take_ops();
};

/// The ops of a graph from the last to the first.
std::vector<ir::OpId> backwards(const ir::Graph& graph);

/// The same place in another context.
ir::OpPlacement in_context(ir::OpPlacement place, ir::Context context);

/// The graph as ir::print has it, each op with its place: `y = Mul(x, w)  # float[2]  @ ipu 1 stage 2
/// update`. What is 0 and a micro-batch's is left out.
std::string print(const PlacedGraph& placed);

}  // namespace podium::lower
