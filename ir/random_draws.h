// What a random op draws: the numbers of a stream for the elements of a tensor, or of its part of a larger
// one (semantics, section 11.3). Passes that number, cut, slice or copy an op say so here; its kernel reads
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/box.h"
#include "ir/graph.h"

namespace podium::ir {

/// The elements of a whole tensor that an op draws.
struct DrawnBox {
  Dims whole;
  Box ranges;

  bool operator==(const DrawnBox&) const = default;
};

/// The op runs once for each slice of a micro-batch, which are parts along `axis`, or, without an axis, draw
/// the same numbers.
struct DrawnSlices {
  std::int64_t count = 1;
  std::optional<std::int64_t> axis = {};

  bool operator==(const DrawnSlices&) const = default;
};

/// The op is one of several copies that take the micro-batches in turns.
struct DrawnTurn {
  std::int64_t copies = 1;
  std::int64_t copy = 0;

  bool operator==(const DrawnTurn&) const = default;
};

struct Draws {
  std::optional<std::int64_t> stream = {};  ///< absent: of an op that no session has numbered
  std::optional<DrawnBox> box = {};         ///< absent: all elements of the op's output
  DrawnSlices slices = {};
  DrawnTurn turn = {};
};

Draws draws_of(const Op& op);
/// Whether the op, or one in its bodies, draws without a stream: where it ran twice it would draw other
/// numbers.
bool draws_in_turn(const Op& op);
/// Calls `edit` for the op, if it is random, and for the random ops of its bodies.
void edit_random_ops(Op& op, const std::function<void(Op&)>& edit);

void set_stream(Op& op, std::int64_t stream);
void set_box(Op& op, const DrawnBox& box);
void set_slices(Op& op, const DrawnSlices& slices);
void set_turn(Op& op, const DrawnTurn& turn);

}  // namespace podium::ir
