// RNN, GRU and LSTM: the places of their inputs and outputs and the shape of one op.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// Places of inputs; only an LSTM has a cell state and peepholes.
struct RecurrentInput {
  enum Place : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };
};

struct RecurrentOutput {
  enum Place : std::size_t { kY, kLastH, kLastC, kCount };
};

/// Sizes of one op, kUnknown where types leave them open.
struct RecurrentShape {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input = 0;  ///< elements of one step of one sequence
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  bool starts_reverse = false;  ///< the only direction is the reverse one
  bool batch_first = false;     ///< X, Y and states have the axis of sequences first

  Dims y() const;
  Dims state() const;
};

/// Error for a layout or a direction that there is not.
RecurrentShape recurrent_shape(const TypedOp& op);

/// The axis of sequences in an input that has one: X, the lengths and the initial states.
int recurrent_batch_axis(const Op& op, std::size_t input);
bool has_recurrent_batch(std::size_t input);

/// Whether an op that goes back through one direction begins with the first step, since the direction reads
/// the last one first.
bool reads_last_step_first(const Op& gradient);

}  // namespace podium::ir
