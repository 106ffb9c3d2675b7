// The steps of a pipeline whose processors take their turns in orders of their own: superstep after
// superstep, with an exchange at the end of each.
#pragma once

#include <vector>

#include "executor/program.h"
#include "executor/strategy.h"

namespace podium::lower {

/// What is done for a micro-batch at a time: the steps of one processor, and what it gives to others at the
/// end of the superstep.
struct Turnout {
  /// From and to the host, which may keep all processors waiting: in a superstep the loads of all turnouts
  /// come first, and their stores right before the exchange.
  std::vector<executor::Step> loads = {};
  std::vector<executor::Step> steps = {};
  std::vector<executor::Step> stores = {};
  std::vector<executor::Transfer> exchange = {};
  /// Which micro-batch of the run its k-th is: `first + k * stride`, where copies of the model take them in
  /// turns.
  int first = 0;
  int stride = 1;
};

/// A turnout in a superstep.
struct Appearance {
  int turnout = 0;
  int micro_batch = 0;
  friend auto operator<=>(const Appearance&, const Appearance&) = default;
};

using Superstep = std::vector<Appearance>;

/// Writes the supersteps out; of those that come again for later micro-batches, the longest stretch is a
/// Repeat. More than `longest_fill` supersteps beside it are no list, which would grow with the square of the
/// stages, but Repeats in which turnouts act in some iterations. A buffer that they write gets a slot for
/// each micro-batch that it holds at once; micro-batch m has slot m modulo the slots. Every turnout meets the
/// micro-batches in ascending order.
std::vector<executor::Step> write_out(executor::Program& program, const std::vector<Turnout>& turnouts,
                                      const std::vector<Superstep>& supersteps, Exchanges exchanges,
                                      int longest_fill = 64);

}  // namespace podium::lower
