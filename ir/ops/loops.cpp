// Each rule says of a family of ops which of their axes run together. Most loops have one axis an operand; a
// reshape's come from the factors that its two shapes have in common:
//
//   [2, 12] -> [2, 3, 4]     loop of 2: axis 0 and axis 0
//                            loop of 3: axis 1 with 4 inner elements, and axis 1
//                            loop of 4: axis 1 in 3 blocks, and axis 2
#include "ir/ops/loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "ir/ops/common.h"
#include "ir/ops/einsum_equation.h"

namespace podium::ir {
namespace {

/// Collects loops of an op.
class LoopList {
 public:
  explicit LoopList(const TypedOp& op) : op_(op) {}

  /// A loop of `extent` iterations without an axis yet.
  Loop make(std::int64_t extent, LoopResult result = LoopResult::Apart) const {
    return {.extent = extent,
            .inputs = std::vector<LoopAxis>(op_.input_count()),
            .outputs = std::vector<LoopAxis>(op_.output_count()),
            .result = result};
  }
  void add(Loop loop) {
    if (loop.extent > 1) loops_.push_back(std::move(loop));
  }
  /// A loop with these axes of the first inputs and outputs, kNoAxis where it runs along none.
  void add(std::int64_t extent, std::initializer_list<int> inputs, std::initializer_list<int> outputs,
           LoopResult result = LoopResult::Apart) {
    Loop loop = make(extent, result);
    std::size_t i = 0;
    for (int axis : inputs) loop.inputs[i++].axis = axis;
    i = 0;
    for (int axis : outputs) loop.outputs[i++].axis = axis;
    add(std::move(loop));
  }
  /// A loop over the same axis of some inputs and of all outputs.
  void add_axis(int axis, std::initializer_list<std::size_t> inputs) {
    Loop loop = make(op_.input(*inputs.begin()).dims[axis]);
    for (std::size_t i : inputs) loop.inputs[i].axis = axis;
    for (LoopAxis& output : loop.outputs) output.axis = axis;
    add(std::move(loop));
  }
  std::vector<Loop> take() { return std::move(loops_); }

 private:
  const TypedOp& op_;
  std::vector<Loop> loops_;
};

using Rule = std::vector<Loop> (*)(const TypedOp&);

// The axis of an operand that broadcasting aligns with an axis of the result, where it is not stretched.
int aligned_axis(const Type& operand, const Type& result, int axis) {
  const int own = axis - (result.rank() - operand.rank());
  return own >= 0 && operand.dims[own] == result.dims[axis] ? own : kNoAxis;
}

std::vector<Loop> broadcast_loops(const TypedOp& op) {
  LoopList loops(op);
  const Type& result = op.output(0);
  for (int axis = 0; axis < result.rank(); ++axis) {
    Loop loop = loops.make(result.dims[axis]);
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      // Of the second input, CastLike reads the type and Expand the shape of the result.
      const bool is_read = i != 1 || (!op.op.is("CastLike") && !op.op.is("Expand"));
      if (op.has_input(i) && is_read) loop.inputs[i].axis = aligned_axis(op.input(i), result, axis);
    }
    for (LoopAxis& output : loop.outputs) output.axis = axis;
    loops.add(std::move(loop));
  }
  return loops.take();
}

// Rows, columns, the stack of matrices, and the sum over the inner dimension.
std::vector<Loop> matrix_product_loops(const TypedOp& op) {
  LoopList loops(op);
  const Type& a = op.input(0);
  const Type& b = op.input(1);
  const Type& y = op.output(0);
  const bool has_rows = a.rank() > 1;
  const bool has_columns = b.rank() > 1;
  const int stack = y.rank() - (has_rows ? 1 : 0) - (has_columns ? 1 : 0);
  for (int axis = 0; axis < stack; ++axis) {
    const auto own = [&](const Type& operand) {
      const int at = axis - (stack - (operand.rank() - 2));
      return operand.rank() > 2 && at >= 0 && operand.dims[at] == y.dims[axis] ? at : kNoAxis;
    };
    loops.add(y.dims[axis], {own(a), own(b)}, {axis});
  }
  if (has_rows) loops.add(y.dims[stack], {a.rank() - 2}, {stack});
  if (has_columns) loops.add(y.dims.back(), {kNoAxis, b.rank() - 1}, {y.rank() - 1});
  loops.add(a.dims.back(), {a.rank() - 1, std::max(0, b.rank() - 2)}, {}, LoopResult::Summed);
  return loops.take();
}

// The zero points of MatMulInteger may be one a row or a column.
std::vector<Loop> whole_product_loops(const TypedOp& op) {
  for (std::size_t i = 2; i < op.input_count(); ++i) {
    if (op.has_input(i) && op.input(i).element_count() != 1) return {};
  }
  return matrix_product_loops(op);
}

std::vector<Loop> gemm_loops(const TypedOp& op) {
  LoopList loops(op);
  const int a_rows = op.get_int("transA") != 0 ? 1 : 0;
  const int b_columns = op.get_int("transB") != 0 ? 0 : 1;
  const auto c_axis = [&](int axis) {
    return op.has_input(2) ? aligned_axis(op.input(2), op.output(0), axis) : kNoAxis;
  };
  const auto add = [&](int output, std::size_t operand, int axis) {
    Loop loop = loops.make(op.output(0).dims[output]);
    loop.inputs[operand].axis = axis;
    if (op.has_input(2)) loop.inputs[2].axis = c_axis(output);
    loop.outputs[0].axis = output;
    loops.add(std::move(loop));
  };
  add(0, 0, a_rows);
  add(1, 1, b_columns);
  loops.add(op.input(0).dims[1 - a_rows], {1 - a_rows, 1 - b_columns}, {}, LoopResult::Summed);
  return loops.take();
}

// Each letter is a loop; one that the output lacks is summed over. A letter twice in an operand is a
// diagonal, and an axis of 1 may be stretched: such letters stay whole.
std::vector<Loop> einsum_loops(const TypedOp& op) {
  LoopList loops(op);
  std::vector<int> ranks;
  std::vector<Dims> dims;
  for (const Type& type : op.input_types) {
    ranks.push_back(type.rank());
    dims.push_back(type.dims);
  }
  const EinsumEquation equation = read_einsum(op.get_string("equation"), ranks);
  const Dims sizes = einsum_sizes(equation, dims);
  const auto find = [](const std::vector<int>& labels, int label) {
    const auto at = std::ranges::find(labels, label);
    return at == labels.end() ? kNoAxis : static_cast<int>(at - labels.begin());
  };
  std::vector<int> letters = equation.output;
  for (const std::vector<int>& labels : equation.inputs) {
    for (int label : labels) {
      if (find(letters, label) == kNoAxis) letters.push_back(label);
    }
  }
  for (int letter : letters) {
    const int out = find(equation.output, letter);
    Loop loop = loops.make(sizes[letter], out == kNoAxis ? LoopResult::Summed : LoopResult::Apart);
    loop.outputs[0].axis = out;
    bool is_plain = true;
    for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
      is_plain = is_plain && std::ranges::count(equation.inputs[i], letter) <= 1;
      const int axis = find(equation.inputs[i], letter);
      if (axis != kNoAxis && dims[i][axis] == sizes[letter]) loop.inputs[i].axis = axis;
    }
    if (is_plain) loops.add(std::move(loop));
  }
  return loops.take();
}

// Which axes a reduction with this result sums over, when the results of parts of them can be put together.
std::optional<LoopResult> total_of(const Op& op) {
  static const std::map<std::string_view, LoopResult> kTotals = {{"ReduceSum", LoopResult::Summed},
                                                                 {"ReduceSumSquare", LoopResult::Summed},
                                                                 {"ReduceL1", LoopResult::Summed},
                                                                 {"ReduceMean", LoopResult::Averaged},
                                                                 {"ReduceMax", LoopResult::Largest}};
  const auto found = kTotals.find(op.spec->name);
  return found == kTotals.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Loop> reduction_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  std::set<std::int64_t> reduced;
  if (op.has_input(1)) {
    if (op.constant(1) == nullptr) return {};
    for (std::int64_t axis : op.constant(1)->to_ints()) reduced.insert(normalized_axis(axis, rank));
  }
  if (reduced.empty() && op.get_int("noop_with_empty_axes") == 0) {
    for (int axis = 0; axis < rank; ++axis) reduced.insert(axis);
  }
  const bool keeps = op.get_int("keepdims") != 0;
  int place = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (reduced.contains(axis)) {
      place += keeps ? 1 : 0;
      continue;
    }
    loops.add(op.input(0).dims[axis], {axis}, {place++});
  }
  if (const auto total = total_of(op.op)) {
    for (std::int64_t axis : reduced) loops.add(op.input(0).dims[axis], {static_cast<int>(axis)}, {}, *total);
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

// Other axes, and the one that is split where all parts are as long: each part has the same of it then.
std::vector<Loop> split_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  const int own = static_cast<int>(normalized_axis(op.get_int("axis"), rank));
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != own) loops.add_axis(axis, {0});
  }
  const bool all_equal =
      std::ranges::all_of(op.output_types, [&](const Type& type) { return type == op.output(0); });
  if (!all_equal) return loops.take();
  Loop within = loops.make(op.output(0).dims[own]);
  within.inputs[0].axis = own;
  for (LoopAxis& output : within.outputs) output.axis = own;
  loops.add(std::move(within));
  return loops.take();
}

// Axes before the one that the attribute names; scale and bias are of those behind it.
std::vector<Loop> layer_norm_loops(const TypedOp& op) {
  LoopList loops(op);
  const std::int64_t first = normalized_axis(op.get_int("axis"), op.input(0).rank());
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    if (op.has_input(i) && op.input(i).rank() > op.input(0).rank() - first) return {};
  }
  for (int axis = 0; axis < first; ++axis) loops.add_axis(axis, {0});
  return loops.take();
}

std::vector<Loop> transpose_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  const auto* order = op.get_if<IntList>("perm");
  for (int axis = 0; axis < rank; ++axis) {
    const int from = order != nullptr ? static_cast<int>((*order)[axis]) : rank - 1 - axis;
    loops.add(op.output(0).dims[axis], {from}, {axis});
  }
  return loops.take();
}

// Walks both shapes from the front. A loop ends wherever an axis of either one does.
std::vector<Loop> reshape_loops(const TypedOp& op) {
  LoopList loops(op);
  const Dims& from = op.input(0).dims;
  const Dims& to = op.output(0).dims;
  if (op.input(0).element_count() <= 1) return {};
  int in = 0;
  int out = 0;
  // The elements of each axis that no loop has taken yet.
  std::int64_t left_in = from.empty() ? 1 : from[0];
  std::int64_t left_out = to.empty() ? 1 : to[0];
  while (in < std::ssize(from) && out < std::ssize(to)) {
    if (left_in == 1) {
      if (++in < std::ssize(from)) left_in = from[in];
      continue;
    }
    if (left_out == 1) {
      if (++out < std::ssize(to)) left_out = to[out];
      continue;
    }
    const std::int64_t extent = std::min(left_in, left_out);
    if (left_in % extent != 0 || left_out % extent != 0) break;
    left_in /= extent;
    left_out /= extent;
    Loop loop = loops.make(extent);
    loop.inputs[0] = {.axis = in, .inner = left_in};
    loop.outputs[0] = {.axis = out, .inner = left_out};
    loops.add(std::move(loop));
  }
  return loops.take();
}

// Other axes, and the one along which parts of one length are joined: all have the same of it then.
std::vector<Loop> concat_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.output(0).rank();
  const int own = static_cast<int>(normalized_axis(op.get_int("axis"), rank));
  const bool all_equal =
      std::ranges::all_of(op.input_types, [&](const Type& type) { return type == op.input(0); });
  for (int axis = 0; axis < rank; ++axis) {
    if (axis == own && !all_equal) continue;
    Loop loop = loops.make(op.input(0).dims[axis]);
    for (LoopAxis& input : loop.inputs) input.axis = axis;
    loop.outputs[0].axis = axis;
    loops.add(std::move(loop));
  }
  return loops.take();
}

// Axes that a Slice leaves as they are.
std::vector<Loop> slice_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kAxes = 3;
  constexpr std::size_t kSteps = 4;
  const int rank = op.input(0).rank();
  if (op.constant(1) == nullptr) return {};
  std::set<std::int64_t> cut;
  if (!op.has_input(kAxes)) {
    for (std::int64_t i = 0; i < op.constant(1)->size(); ++i) cut.insert(i);
  } else {
    if (op.constant(kAxes) == nullptr) return {};
    for (std::int64_t axis : op.constant(kAxes)->to_ints()) cut.insert(normalized_axis(axis, rank));
  }
  if (op.has_input(kSteps) && op.constant(kSteps) == nullptr) return {};
  for (int axis = 0; axis < rank; ++axis) {
    if (!cut.contains(axis)) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// Axes that get no padding.
std::vector<Loop> pad_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kAxes = 3;
  if (op.constant(1) == nullptr || op.has_input(kAxes)) return {};
  const std::vector<std::int64_t> pads = op.constant(1)->to_ints();
  const int rank = op.input(0).rank();
  for (int axis = 0; axis < rank; ++axis) {
    if (pads[axis] == 0 && pads[axis + rank] == 0) loops.add_axis(axis, {0});
  }
  return loops.take();
}

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

// Which indices of the spatial axes of its operands an op whose windows slide takes for one of its
// iterations; nothing for an operand without such axes.
struct SlideRule {
  std::optional<Reach> first;
  std::optional<Reach> second;
  std::optional<Reach> output;
  LoopResult result = LoopResult::Apart;
};
constexpr SlideRule kToWindows{Reach::Seen, {}, Reach::Own};
constexpr SlideRule kToElements{Reach::Over, {}, Reach::Own};

// A loop for each spatial axis.
void add_slides(LoopList& loops, const TypedOp& op, const SlideRule& rule) {
  const std::vector<Slide> slides = slides_of(op);
  const bool has_windows = rule.first == Reach::Seen;
  for (std::size_t i = 0; i < slides.size(); ++i) {
    Loop loop = loops.make(has_windows ? slides[i].windows : slides[i].elements, rule.result);
    const auto put = [&](LoopAxis& at, std::optional<Reach> reach) {
      if (reach) at = {.axis = static_cast<int>(i) + 2, .reach = *reach};
    };
    put(loop.inputs[0], rule.first);
    if (loop.inputs.size() > 1) put(loop.inputs[1], rule.second);
    put(loop.outputs[0], rule.output);
    loop.slide = slides[i];
    loops.add(std::move(loop));
  }
}

bool is_one_group(const TypedOp& op) { return op.get_int("group") == 1; }

// Images, places and, without groups, the channels of the output; with them whole groups stay together, so
// that channels are not cut.
std::vector<Loop> convolution_loops(const TypedOp& op) {
  LoopList loops(op);
  const int filters = op.op.is("ConvTranspose") ? 1 : 0;
  loops.add(op.input(0).dims[0], {0}, {0});
  add_slides(loops, op, op.op.is("ConvTranspose") ? kToElements : kToWindows);
  if (!is_one_group(op)) return loops.take();
  Loop channels = loops.make(op.output(0).dims[1]);
  channels.inputs[1].axis = filters;
  channels.outputs[0].axis = 1;
  constexpr std::size_t kBias = 2;
  if (op.has_input(kBias)) channels.inputs[kBias].axis = 0;
  loops.add(std::move(channels));
  if (op.has_input(kBias)) return loops.take();
  loops.add(op.input(0).dims[1], {1, 1 - filters}, {}, LoopResult::Summed);
  return loops.take();
}

// dW of X and dY: its filters are the channels of dY, its channels those of X; images and places add up.
std::vector<Loop> weight_gradient_loops(const TypedOp& op) {
  LoopList loops(op);
  if (is_one_group(op)) {
    loops.add(op.input(1).dims[1], {kNoAxis, 1}, {0});
    loops.add(op.input(0).dims[1], {1}, {1});
  }
  loops.add(op.input(0).dims[0], {0, 0}, {}, LoopResult::Summed);
  add_slides(loops, op, {Reach::Seen, Reach::Own, {}, LoopResult::Summed});
  return loops.take();
}

// Images and channels of all operands that have the rank of the first one.
LoopList planes_of(const TypedOp& op) {
  LoopList loops(op);
  for (int axis = 0; axis < std::min(2, op.input(0).rank()); ++axis) {
    Loop loop = loops.make(op.input(0).dims[axis]);
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      if (op.has_input(i) && op.input(i).rank() == op.input(0).rank()) loop.inputs[i].axis = axis;
    }
    for (LoopAxis& output : loop.outputs) output.axis = axis;
    loops.add(std::move(loop));
  }
  return loops;
}

// The places that a MaxPool may give count over all images and channels.
std::vector<Loop> pool_loops(const TypedOp& op) {
  if (op.has_output(1)) return {};
  LoopList loops = planes_of(op);
  add_slides(loops, op, kToWindows);
  return loops.take();
}

std::vector<Loop> sum_pool_gradient_loops(const TypedOp& op) {
  LoopList loops = planes_of(op);
  add_slides(loops, op, kToElements);
  return loops.take();
}

// Where the maximum of a window is can only be told by who has all of the window.
std::vector<Loop> max_pool_gradient_loops(const TypedOp& op) {
  LoopList loops = planes_of(op);
  add_slides(loops, op, {Reach::Together, Reach::Over, Reach::Together});
  return loops.take();
}

// Places, whose total is not taken apart where it is a norm's.
std::vector<Loop> global_pool_loops(const TypedOp& op) {
  LoopList loops = planes_of(op);
  for (int axis = 2; axis < op.input(0).rank() && !op.op.is("GlobalLpPool"); ++axis) {
    loops.add(op.input(0).dims[axis], {axis}, {},
              op.op.is("GlobalMaxPool") ? LoopResult::Largest : LoopResult::Averaged);
  }
  return loops.take();
}

// A Resize by scales of 1, or to the size that is there.
std::vector<Loop> resize_loops(const TypedOp& op) {
  LoopList loops(op);
  if (op.get_if<IntList>("axes") != nullptr) return {};
  constexpr std::size_t kRegion = 1;
  constexpr std::size_t kSizes = 3;
  if ((op.has_input(kRegion) && op.input(kRegion).element_count() != 0) || op.has_input(kSizes)) return {};
  for (int axis = 0; axis < std::min(2, op.input(0).rank()); ++axis) {
    if (op.input(0).dims[axis] == op.output(0).dims[axis]) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// With the statistics of training images stay together; else each image and each place is its own.
std::vector<Loop> batch_norm_loops(const TypedOp& op) {
  LoopList loops(op);
  const bool trains = op.get_int("training_mode") != 0;
  if (op.input(0).rank() < 2) return {};
  Loop channels = loops.make(op.input(0).dims[1]);
  channels.inputs[0].axis = 1;
  for (std::size_t i = 1; i < op.input_count(); ++i) channels.inputs[i].axis = 0;
  channels.outputs[0].axis = 1;
  for (std::size_t i = 1; i < op.output_count(); ++i) channels.outputs[i].axis = 0;
  loops.add(std::move(channels));
  for (int axis = 0; !trains && axis < op.input(0).rank(); ++axis) {
    if (axis != 1) loops.add_axis(axis, {0});
  }
  return loops.take();
}

std::vector<Loop> instance_norm_loops(const TypedOp& op) {
  LoopList loops(op);
  loops.add(op.input(0).dims[0], {0}, {0});
  loops.add(op.input(0).dims[1], {1, 0, 0}, {1});
  return loops.take();
}

// Scales of one number leave all axes; those of an axis run with it.
std::vector<Loop> quantized_loops(const TypedOp& op) {
  LoopList loops(op);
  const Type& x = op.input(0);
  const Type& scale = op.input(1);
  const bool is_one = scale.element_count() == 1;
  if (!is_one && (scale.rank() != 1 || op.get_int("block_size") != 0)) return {};
  const std::int64_t own = is_one ? -1 : normalized_axis(op.get_int("axis"), x.rank());
  for (int axis = 0; axis < x.rank(); ++axis) {
    Loop loop = loops.make(x.dims[axis]);
    loop.inputs[0].axis = axis;
    for (std::size_t i = 1; axis == own && i < op.input_count(); ++i) loop.inputs[i].axis = 0;
    loop.outputs[0].axis = axis;
    loops.add(std::move(loop));
  }
  return loops.take();
}

// A loss for each label, or their sum; a mean where every label counts as much.
std::vector<Loop> class_loss_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kWeights = 2;
  const std::string& reduction = op.get_string("reduction");
  const bool all_count = !op.has_input(kWeights) && op.get_if<std::int64_t>("ignore_index") == nullptr;
  if (reduction == "mean" && !all_count) return {};
  for (int axis = 0; axis < op.input(1).rank(); ++axis) {
    Loop loop = loops.make(op.input(1).dims[axis], reduction == "none"  ? LoopResult::Apart
                                                   : reduction == "sum" ? LoopResult::Summed
                                                                        : LoopResult::Averaged);
    const int of_scores = axis == 0 ? 0 : axis + 1;
    loop.inputs[0].axis = of_scores;
    loop.inputs[1].axis = axis;
    if (reduction == "none") loop.outputs[0].axis = axis;
    // The logarithms of the probabilities come beside, which a sum of losses cannot give.
    if (op.has_output(1)) return {};
    loops.add(std::move(loop));
  }
  return loops.take();
}

// Heads of [batch, heads, sequence, features] that share keys stay together.
std::vector<Loop> attention_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kMask = 3;
  constexpr int kHeadsRank = 4;
  const Type& q = op.input(0);
  const Type& k = op.input(1);
  if (q.rank() != kHeadsRank) return {};
  for (std::size_t i = kMask + 1; i < op.input_count(); ++i) {
    if (op.has_input(i)) return {};
  }
  for (std::size_t i = 1; i < op.output_count(); ++i) {
    if (op.has_output(i)) return {};
  }
  const auto add = [&](int axis) {
    Loop loop = loops.make(k.dims[axis]);
    loop.inputs[0] = {.axis = axis, .inner = q.dims[axis] / k.dims[axis]};
    loop.inputs[1].axis = axis;
    loop.inputs[2].axis = axis;
    if (op.has_input(kMask)) {
      const Type& mask = op.input(kMask);
      const int own = axis - (kHeadsRank - mask.rank());
      if (own >= 0 && mask.dims[own] != 1)
        loop.inputs[kMask] = {.axis = own, .inner = mask.dims[own] / k.dims[axis]};
    }
    loop.outputs[0] = {.axis = axis, .inner = q.dims[axis] / k.dims[axis]};
    loops.add(std::move(loop));
  };
  add(0);
  add(1);
  return loops.take();
}

// All axes but the last ones, of which `count` stay together.
template <int kCount>
std::vector<Loop> but_last_loops(const TypedOp& op) {
  LoopList loops(op);
  for (int axis = 0; axis < op.input(0).rank() - kCount; ++axis) loops.add_axis(axis, {0});
  return loops.take();
}

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> kRules = {
      {"MatMul", matrix_product_loops},
      {"MatMulInteger", whole_product_loops},
      {"Gemm", gemm_loops},
      {"Einsum", einsum_loops},
      {"ReduceSum", reduction_loops},
      {"ReduceMean", reduction_loops},
      {"ReduceMax", reduction_loops},
      {"ReduceMin", reduction_loops},
      {"ReduceProd", reduction_loops},
      {"ReduceL1", reduction_loops},
      {"ReduceL2", reduction_loops},
      {"ReduceSumSquare", reduction_loops},
      {"ReduceLogSum", reduction_loops},
      {"ReduceLogSumExp", reduction_loops},
      {"Softmax", beside_axis_loops},
      {"LogSoftmax", beside_axis_loops},
      {"Hardmax", beside_axis_loops},
      {"Split", split_loops},
      {"TopK", beside_axis_loops},
      {"LpNormalization", beside_axis_loops},
      {"LayerNormalization", layer_norm_loops},
      {"RMSNormalization", layer_norm_loops},
      {"Transpose", transpose_loops},
      {"Reshape", reshape_loops},
      {"Flatten", reshape_loops},
      {"Squeeze", reshape_loops},
      {"Unsqueeze", reshape_loops},
      {"Expand", broadcast_loops},
      {"Concat", concat_loops},
      {"Slice", slice_loops},
      {"Pad", pad_loops},
      {"Gather", gather_loops},
      {"GatherElements", elements_loops},
      {"ScatterElements", elements_loops},
      {"Conv", convolution_loops},
      {"ConvTranspose", convolution_loops},
      {"ConvWeightGradient", weight_gradient_loops},
      {"MaxPool", pool_loops},
      {"AveragePool", pool_loops},
      {"LpPool", pool_loops},
      {"GlobalAveragePool", global_pool_loops},
      {"GlobalMaxPool", global_pool_loops},
      {"GlobalLpPool", global_pool_loops},
      {"SumPoolGradient", sum_pool_gradient_loops},
      {"MaxPoolGradient", max_pool_gradient_loops},
      {"Resize", resize_loops},
      {"BatchNormalization", batch_norm_loops},
      {"InstanceNormalization", instance_norm_loops},
      {"QuantizeLinear", quantized_loops},
      {"DequantizeLinear", quantized_loops},
      {"SoftmaxCrossEntropyLoss", class_loss_loops},
      {"NegativeLogLikelihoodLoss", class_loss_loops},
      {"Attention", attention_loops},
      {"Trilu", but_last_loops<2>},
      {"Dropout", broadcast_loops},
      {"RandomNormalLike", broadcast_loops},
      {"RandomUniformLike", broadcast_loops},
      {"Bernoulli", broadcast_loops},
  };
  return kRules;
}

bool is_static(const std::vector<Type>& types) {
  return std::ranges::all_of(
      types, [](const Type& type) { return type.is_static() || type.element == DataType::Undefined; });
}

}  // namespace

std::vector<Loop> loops_of(const TypedOp& op) {
  if (op.op.captures > 0 || op.op.outputs.empty()) return {};
  if (!is_static(op.input_types) || !is_static(op.output_types)) return {};
  if (op.op.spec->elementwise) return broadcast_loops(op);
  const auto rule = rules().find(op.op.spec->name);
  return rule == rules().end() ? std::vector<Loop>{} : rule->second(op);
}

}  // namespace podium::ir
