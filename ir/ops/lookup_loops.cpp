// Which axes run together in ops that look up, order or go step by step along some of their axes: mostly the
// other ones.
#include <algorithm>
#include <set>

#include "ir/ops/gru_gradient.h"
#include "ir/ops/loop_list.h"
#include "ir/ops/lstm_gradient.h"
#include "ir/ops/recurrent.h"
#include "ir/ops/rnn_gradient.h"

namespace podium::ir {
namespace {

// Axes of the indices, which take the place of the one that they choose from, and the data's other axes. Cut
// along the axis itself, each part picks the rows that are its own and gives zeros for the others.
std::vector<Loop> gather_loops(const TypedOp& op) {
  LoopList loops(op);
  const int own = static_cast<int>(normalized_axis(op.get_int("axis"), op.input(0).rank()));
  const int chosen = op.input(1).rank();
  for (int axis = 0; axis < op.output(0).rank(); ++axis) {
    const bool is_chosen = axis >= own && axis < own + chosen;
    const int of_data = axis < own ? axis : axis - chosen + 1;
    loops.add(op.output(0).dims[axis], {is_chosen ? kNoAxis : of_data, is_chosen ? axis - own : kNoAxis},
              {axis});
  }
  loops.add(op.input(0).dims[own], {own}, {}, LoopResult::Summed);
  return loops.take();
}

// GatherElements and ScatterElements: axes beside the attribute's along which all operands are as long.
std::vector<Loop> elements_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  const std::int64_t own = normalized_axis(op.get_int("axis"), rank);
  for (int axis = 0; axis < rank; ++axis) {
    Loop loop = loops.make(op.input(0).dims[axis]);
    bool all = axis != own;
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      all = all && op.input(i).dims[axis] == loop.extent;
      loop.inputs[i].axis = axis;
    }
    loop.outputs[0].axis = axis;
    if (all) loops.add(std::move(loop));
  }
  return loops.take();
}

// All axes of the first input but the one that the attribute names.
std::vector<Loop> beside_axis_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  const std::int64_t own = normalized_axis(op.get_int("axis"), rank);
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != own) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// All axes but the last ones, of which `count` stay together.
template <int kCount>
std::vector<Loop> but_last_loops(const TypedOp& op) {
  LoopList loops(op);
  for (int axis = 0; axis < op.input(0).rank() - kCount; ++axis) loops.add_axis(axis, {0});
  return loops.take();
}

// The same axes of the first input and of all outputs, but these.
std::vector<Loop> loops_beside(const TypedOp& op, const std::set<std::int64_t>& own) {
  LoopList loops(op);
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    if (!own.contains(axis)) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// The place of the largest or smallest element along an axis, which the result may have or not.
std::vector<Loop> choice_loops(const TypedOp& op) {
  LoopList loops(op);
  const std::int64_t own = normalized_axis(op.get_int("axis"), op.input(0).rank());
  const bool keeps = op.get_int("keepdims") != 0;
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    if (axis == own) continue;
    loops.add(op.input(0).dims[axis], {axis}, {axis < own || keeps ? axis : axis - 1});
  }
  return loops.take();
}

// Sums and products of all elements up to each, along the axis that the second input names.
std::vector<Loop> cumulative_loops(const TypedOp& op) {
  if (op.constant(1) == nullptr) return {};
  return loops_beside(op, {normalized_axis(op.constant(1)->to_ints()[0], op.input(0).rank())});
}

// Axes of which there is one copy.
std::vector<Loop> tile_loops(const TypedOp& op) {
  std::set<std::int64_t> copied;
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    if (op.input(0).dims[axis] != op.output(0).dims[axis]) copied.insert(axis);
  }
  return op.constant(1) == nullptr ? std::vector<Loop>{} : loops_beside(op, copied);
}

// The axes of the indices, around the new one.
std::vector<Loop> one_hot_loops(const TypedOp& op) {
  LoopList loops(op);
  const std::int64_t own = normalized_axis(op.get_int("axis"), op.output(0).rank());
  for (int axis = 0; axis < op.input(0).rank(); ++axis)
    loops.add(op.input(0).dims[axis], {axis}, {axis < own ? axis : axis + 1});
  return loops.take();
}

// Axes that data and indices share, then those of the indices, then what is behind those that are chosen
// from.
std::vector<Loop> gather_nd_loops(const TypedOp& op) {
  LoopList loops(op);
  const int shared = static_cast<int>(op.get_int("batch_dims"));
  const int chosen = op.input(1).rank() - 1;
  const int depth = static_cast<int>(op.input(1).dims.back());
  for (int axis = 0; axis < chosen; ++axis)
    loops.add(op.output(0).dims[axis], {axis < shared ? axis : kNoAxis, axis}, {axis});
  for (int axis = chosen; axis < op.output(0).rank(); ++axis)
    loops.add(op.output(0).dims[axis], {axis - chosen + shared + depth}, {axis});
  return loops.take();
}

// What is behind the axes that are written to.
std::vector<Loop> scatter_nd_loops(const TypedOp& op) {
  LoopList loops(op);
  const int chosen = op.input(1).rank() - 1;
  const int depth = static_cast<int>(op.input(1).dims.back());
  for (int axis = depth; axis < op.input(0).rank(); ++axis)
    loops.add(op.input(0).dims[axis], {axis, kNoAxis, axis - depth + chosen}, {axis});
  return loops.take();
}

// Sequences, of which each has a length.
std::vector<Loop> reverse_loops(const TypedOp& op) {
  LoopList loops(op);
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    if (axis == op.get_int("time_axis")) continue;
    loops.add(op.input(0).dims[axis], {axis, axis == op.get_int("batch_axis") ? 0 : kNoAxis}, {axis});
  }
  return loops.take();
}

// Sequences; the steps of one follow each other, and gates lie behind each other in the weights.
std::vector<Loop> recurrent_loops(const TypedOp& op) {
  LoopList loops(op);
  Loop batch = loops.make(recurrent_shape(op).batch);
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.has_input(i) && has_recurrent_batch(i)) batch.inputs[i].axis = recurrent_batch_axis(op.op, i);
  }
  const bool is_first = recurrent_shape(op).batch_first;
  for (std::size_t i = 0; i < op.output_count(); ++i)
    batch.outputs[i].axis = is_first ? 0 : i == RecurrentOutput::kY ? 2 : 1;
  loops.add(std::move(batch));
  return loops.take();
}

// Sequences: all but the weights of R have their axis, behind that of the steps where there is one.
template <std::size_t kR>
std::vector<Loop> way_back_loops(const TypedOp& op) {
  LoopList loops(op);
  Loop batch = loops.make(op.dims(0)[1]);
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.has_input(i) && i != kR) batch.inputs[i].axis = op.input(i).rank() == 3 ? 1 : 0;
  }
  for (std::size_t i = 0; i < op.output_count(); ++i)
    batch.outputs[i].axis = op.output(i).rank() == 3 ? 1 : 0;
  loops.add(std::move(batch));
  return loops.take();
}

}  // namespace

const LoopRules& lookup_loop_rules() {
  static const LoopRules kRules = {
      {"Gather", gather_loops},
      {"GatherElements", elements_loops},
      {"GatherND", gather_nd_loops},
      {"ScatterElements", elements_loops},
      {"ScatterND", scatter_nd_loops},
      {"Softmax", beside_axis_loops},
      {"LogSoftmax", beside_axis_loops},
      {"Hardmax", beside_axis_loops},
      {"LpNormalization", beside_axis_loops},
      {"TopK", beside_axis_loops},
      {"ArgMax", choice_loops},
      {"ArgMin", choice_loops},
      {"CumSum", cumulative_loops},
      {"CumProd", cumulative_loops},
      {"Tile", tile_loops},
      {"OneHot", one_hot_loops},
      {"ReverseSequence", reverse_loops},
      {"RNN", recurrent_loops},
      {"GRU", recurrent_loops},
      {"LSTM", recurrent_loops},
      {"LSTMGradient", way_back_loops<LstmGradientInput::kR>},
      {"GRUGradient", way_back_loops<GruGradientInput::kR>},
      {"RNNGradient", way_back_loops<RnnGradientInput::kR>},
      {"Trilu", but_last_loops<2>},
      {"Det", but_last_loops<2>},
      {"Cofactors", but_last_loops<2>},
  };
  return kRules;
}

}  // namespace podium::ir
