// The rules of simplify, one op at a time.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// What a rule sees beside its op: the values and the ops before it.
struct SimplifyView {
  const Graph& graph;
  const std::vector<Op>& ops;
  IdMap<ValueId, std::int32_t> producers;  ///< per value the index in ops, -1 for none
  IdMap<ValueId, bool> is_input;

  /// The op before that produces the value; nullptr for an input or a constant.
  const Op* producer(ValueId id) const {
    const std::int32_t index = producers[id];
    return index < 0 ? nullptr : &ops[index];
  }
  /// The producer of one of the op's inputs if the op may read the producer's input instead. Not so where the
  /// producer alone brings a graph input to the op's place: an input arrives at one place, and readers
  /// elsewhere go through the op at that place.
  const Op* passable(const Op& op, std::size_t i = 0) const;
};

/// The value that the op's first output equals bit by bit; kNoValue when the op computes something or when
/// another output of the op is in use.
ValueId same_value(const SimplifyView& view, const Op& op);
/// Makes the op read past an op before it where the result stays the same: a transpose of a transpose, a
/// reshape of a reshape, elements or indices that were repeated for nothing.
bool shorten(const SimplifyView& view, Op& op);

/// Whether ops are annotated for the same processor, stage and phase.
bool in_same_place(const Op& a, const Op& b);

}  // namespace podium::ir
