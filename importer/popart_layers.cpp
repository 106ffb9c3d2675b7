// PopART's own layers (domain ai.graphcore): normalisation, recurrence, convolutions side by side, a loss of
// sequences. Ctc adds the logarithms of probabilities of all ways to read a target out of a sequence. A
// target of S labels has 2S + 1 places, a blank around each label; a Scan over time carries the sum of all
// ways that end at each place, which come from the place itself, the one before, and the one before that
// where a blank may be left out. Longer inputs than a sequence has do not change its sums.
#include <array>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"
#include "importer/import.h"
#include "ir/passes/drop_in_training.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::AttributeName;
using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

// Both branches of an If that is decided are the callee: its branches have captures for inputs.
void call(Rewrite& node) {
  const auto callee = take_needed<ir::Body>(node, "callee");
  node.drop("num_outputs");
  std::vector<ValueId> inputs = node.node().inputs;
  if (callee->inputs.size() != inputs.size()) {
    throw Error("{} inputs found, the callee needs {}", inputs.size(), callee->inputs.size());
  }
  node.node().captures = inputs.size();
  inputs.insert(inputs.begin(), node.constant(Tensor::scalar(true)));
  node.become("If", std::move(inputs), {{"then_branch", callee}, {"else_branch", callee}});
}

// Means and inverse deviations have one number for each group of each sample.
void group_normalization(Rewrite& node) {
  const auto groups = take_needed<std::int64_t>(node, "num_groups");
  const float epsilon = node.take_or("epsilon", 1e-5F);
  const ValueId x = node.input(0);
  node.result(0, "GroupNormalization", {x, node.input(1), node.input(2)},
              {{"num_groups", groups}, {"epsilon", epsilon}});
  if (!node.has_output(1) && !node.has_output(2)) return;
  const ValueId rows = reshaped(node, x, {0, groups, -1});
  const ValueId last = node.ints({2});
  const ValueId mean = node.before("ReduceMean", {rows, last});
  node.result(1, "Reshape", {mean, node.ints({-1})});
  const ValueId centred = node.before("Sub", {rows, mean});
  const ValueId variance = node.before("ReduceMean", {node.before("Mul", {centred, centred}), last});
  const ValueId root = node.before("Sqrt", {node.before("Add", {variance, node.number_like(epsilon, x)})});
  node.result(2, "Reshape", {node.before("Reciprocal", {root}), node.ints({-1})});
}

// PopART's gates are forget, input, candidate, output; ONNX's input, output, forget, candidate.
ValueId gates_of_onnx(Rewrite& node, ValueId of_popart) {
  return node.before("Gather", {of_popart, node.ints({1, 3, 0, 2})});
}

void lstm(Rewrite& node) {
  enum : std::size_t { kInput, kWeights, kBias, kState, kLengths };
  const bool is_full = take_flag(node, "output_full_sequence", true);
  const ValueId width = dim_of(node, node.input(kInput), 2);
  const ValueId all = dim_of(node, node.input(kWeights), 1);
  const ValueId rows = transposed(node, gates_of_onnx(node, node.input(kWeights)), {0, 2, 1});
  const ValueId weights = node.before("Reshape", {rows, joined(node, {node.ints({1, -1}), all})});
  const ValueId of_input = sliced(node, weights, node.ints({0}), width, 2);
  const ValueId of_state = sliced(node, weights, width, all, 2);
  ValueId bias = ir::kNoValue;
  if (node.has_input(kBias)) {
    const ValueId one = reshaped(node, gates_of_onnx(node, node.input(kBias)), {1, -1});
    const ValueId none = node.before("Sub", {one, one});
    bias = node.before("Concat", {one, none}, {{"axis", std::int64_t{1}}});
  }
  const auto state = [&](std::int64_t i) {
    return node.has_input(kState) ? sliced(node, node.input(kState), node.ints({i}), node.ints({i + 1}), 0)
                                  : ir::kNoValue;
  };
  const ValueId lengths =
      node.has_input(kLengths) ? cast(node, node.input(kLengths), DataType::Int32) : ir::kNoValue;
  const auto hidden = node.type_of(node.input(kWeights));
  if (!hidden.has_rank || hidden.rank() != 3 || hidden.dims[2] < 0) {
    throw Error("the weights need a known shape [4, input + hidden, hidden]");
  }
  const auto out =
      node.before_all("LSTM", {node.input(kInput), of_input, of_state, bias, lengths, state(0), state(1)}, 3,
                      {{"hidden_size", hidden.dims[2]}});
  node.result(0, "Squeeze", {is_full ? out[0] : out[1], node.ints({is_full ? 1 : 0})});
  node.result(1, "Squeeze", {out[2], node.ints({0})});
}

// A part of a list that holds one part for each convolution.
IntList part_of(const IntList& list, std::size_t from, std::size_t count) {
  if (list.empty()) return {};
  if (from + count > list.size())
    throw Error("{} numbers found, {} or more needed", list.size(), from + count);
  return {list.begin() + from, list.begin() + (from + count)};
}

void refuse_other_than(Rewrite& node, std::string_view name, std::int64_t value) {
  for (const std::int64_t given : node.take_or<IntList>(name, {})) {
    if (given != value) throw Error("{} has {}, {} needed", name, given, value);
  }
}

// The inputs of all convolutions follow each other, X, W and B of each, and so do the numbers of attributes.
void multi_conv(Rewrite& node) {
  const auto given = take_needed<std::int64_t>(node, "numConvs");
  if (given < 1) throw Error("numConvs is {}, 1 or more needed", given);
  const std::size_t count = given;
  refuse_other_than(node, "inDilations", 1);
  refuse_other_than(node, "outPads", 0);
  for (const std::string_view name :
       {"planType", "perConvReservedTiles", "cycleBackOff", "enableConvDithering"})
    node.drop(name);
  const auto strides = node.take_or<IntList>("strides", {});
  const auto pads = node.take_or<IntList>("pads", {});
  const auto dilations = node.take_or<IntList>("dilations", {});
  std::size_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Type x = node.type_of(node.input(3 * i));
    const ir::Type w = node.type_of(node.input(3 * i + 1));
    if (!x.has_rank || !w.has_rank || x.rank() < 3 || w.rank() < 3 || x.dims[1] < 1 || w.dims[1] < 1) {
      throw Error("inputs {} and {} need known channels", 3 * i, 3 * i + 1);
    }
    const std::size_t axes = x.rank() - 2;
    std::vector<Attribute> attributes{{"group", x.dims[1] / w.dims[1]}};
    const auto add = [&](AttributeName name, IntList numbers) {
      if (!numbers.empty()) attributes.push_back({name, std::move(numbers)});
    };
    add("strides", part_of(strides, before, axes));
    add("pads", part_of(pads, 2 * before, 2 * axes));
    add("dilations", part_of(dilations, before, axes));
    node.result(i, "Conv", {node.input(3 * i), node.input(3 * i + 1), node.input(3 * i + 2)},
                std::move(attributes));
    before += axes;
  }
}

// One choice for all elements that the given shape is stretched over; sessions that train drop.
void shaped_dropout(Rewrite& node) {
  const ValueId shape = node.ints(take_needed<IntList>(node, "shape"));
  const ValueId ratio = node.constant(Tensor::scalar(node.take_or("ratio", 0.5F)));
  const ValueId ones = node.before("Expand", {node.number_like(1, node.input(0)), shape});
  const ir::Attribute drops{std::string(ir::kDropsInTraining), std::int64_t{1}};
  node.result(0, "Mul", {node.input(0), node.before("Dropout", {ones, ratio}, {drops})});
}

// Three colours become four channels, the last of zeros.
void normalize_image(Rewrite& node) {
  const float scale = node.take_or("scale", 1.0F);
  const ValueId offsets = node.input(1);
  const ValueId image = node.before("CastLike", {node.input(0), offsets});
  const ValueId scaled = node.before("Mul", {image, node.number_like(scale, offsets)});
  const ValueId y = node.before("Mul", {node.before("Sub", {scaled, offsets}), node.input(2)});
  const std::int64_t rank = node.axes_of(0);
  if (rank < 1) throw Error("the image is a scalar, 3 colours needed");
  IntList pads(2 * rank, 0);
  pads.back() = 1;
  node.result(0, "Pad", {y, node.ints(pads)});
}

// One step of Ctc: `a` [B, L] sums of ways so far, `p` [B, L] logarithms of this step's probabilities, `s`
// [B, 1] whether the sequence goes on, `k` [B, L] minus infinity where a blank may not be left out, `n` [B,
// 2] minus infinity.
constexpr std::string_view kCtcStep = R"(<ir_version: 8, opset_import: ["" : 28]>
step (float[B,L] a, float[B,L] p, bool[B,U] s, float[B,L] k, float[B,V] n) => (float[B,L] next) {
  zero = Constant <value_ints = [0]> ()
  one = Constant <value_ints = [1]> ()
  last = Constant <value_ints = [-1]> ()
  second = Constant <value_ints = [-2]> ()
  first_place = Slice (n, zero, one, one)
  without_last = Slice (a, zero, last, one)
  before = Concat <axis = 1> (first_place, without_last)
  without_two = Slice (a, zero, second, one)
  two_before = Concat <axis = 1> (n, without_two)
  skipping = Add (two_before, k)
  l0 = Unsqueeze (a, zero)
  l1 = Unsqueeze (before, zero)
  l2 = Unsqueeze (skipping, zero)
  ways = Concat <axis = 0> (l0, l1, l2)
  sum = ReduceLogSumExp <keepdims = 0> (ways, zero)
  reached = Add (sum, p)
  next = Where (s, reached, a)
})";

// A score that no way has.
constexpr float kImpossible = -1e30F;

// A Scan whose body says nothing of element types, but for those of its text.
ir::Body ctc_step() {
  auto body = std::make_shared<ir::Graph>(import_text(std::string(kCtcStep)).graph);
  for (ir::Value& value : body->values) {
    if (!value.constant) value.type = {};
  }
  return body;
}

// What all parts of one Ctc read.
struct Ctc {
  ValueId scores = {};   // [T, B, C]
  ValueId places = {};   // [B, 2S + 1]: a blank, a label, a blank, ...
  ValueId lengths = {};  // [B] of inputs
  ValueId targets = {};  // [B] lengths of targets
  ValueId steps = {};    // 1-D int64 of one element, as the others
  ValueId batch = {};
  ValueId width = {};  // 2S + 1
};

Ctc ctc_of(Rewrite& node) {
  enum : std::size_t { kScores, kTargets, kLengths, kTargetLengths };
  // Sums of many steps go beyond what halves can hold.
  const DataType given = node.type_of(node.input(kScores)).element;
  const bool is_wide = given == DataType::Double || given == DataType::Float;
  Ctc ctc{.scores = is_wide ? node.input(kScores) : cast(node, node.input(kScores), DataType::Float)};
  const ValueId blank = node.constant(Tensor::scalar(node.take_or<std::int64_t>("blank", 0)));
  const ValueId labels = unsqueezed(node, cast(node, node.input(kTargets), DataType::Int64), {2});
  const ValueId blanks = node.before("Add", {node.before("Sub", {labels, labels}), blank});
  const ValueId pairs = node.before("Concat", {blanks, labels}, {{"axis", std::int64_t{2}}});
  const ValueId flat = reshaped(node, pairs, {0, -1});
  ctc.steps = dim_of(node, ctc.scores, 0);
  ctc.batch = dim_of(node, ctc.scores, 1);
  const ValueId last = node.before("Expand", {blank, joined(node, {ctc.batch, node.ints({1})})});
  ctc.places = node.before("Concat", {flat, last}, {{"axis", std::int64_t{1}}});
  ctc.width = dim_of(node, ctc.places, 1);
  ctc.lengths = cast(node, node.input(kLengths), DataType::Int64);
  ctc.targets = cast(node, node.input(kTargetLengths), DataType::Int64);
  return ctc;
}

// 0 at the places of labels that differ from the label before, where the blank between may be left out.
ValueId ctc_skips(Rewrite& node, const Ctc& ctc) {
  const ValueId two = node.ints({2});
  const ValueId later = sliced(node, ctc.places, two, ctc.width, 1);
  const ValueId earlier = sliced(node, ctc.places, node.ints({0}), node.ints({-2}), 1);
  const ValueId same = node.before("Equal", {later, earlier});  // blanks are the same as blanks, too
  const ValueId penalty = node.before(
      "Where", {same, node.number_like(kImpossible, ctc.scores), node.number_like(0, ctc.scores)});
  const ValueId pads = node.ints({0, 2, 0, 0});
  return node.before("Pad", {penalty, pads, node.number_like(kImpossible, ctc.scores)});
}

// [B, 2S + 1]: the logarithm of the sum of all ways that end at each place.
ValueId ctc_sums(Rewrite& node, const Ctc& ctc) {
  const ValueId shape = joined(node, {ctc.steps, ctc.batch, ctc.width});
  const ValueId places = node.before("Expand", {ctc.places, shape});
  const ValueId scores = node.before("GatherElements", {ctc.scores, places}, {{"axis", std::int64_t{2}}});
  const ValueId step = unsqueezed(node, counting(node, ctc.steps), {1});
  const ValueId goes_on = unsqueezed(node, node.before("Less", {step, ctc.lengths}), {2});
  const ValueId impossible = node.number_like(kImpossible, ctc.scores);
  const ValueId is_first = node.before("Equal", {counting(node, ctc.width), node.ints({0})});
  const ValueId row = node.before("Where", {is_first, node.number_like(0, ctc.scores), impossible});
  const ValueId start = node.before("Expand", {row, joined(node, {ctc.batch, ctc.width})});
  const ValueId edge = node.before("Expand", {impossible, joined(node, {ctc.batch, node.ints({2})})});
  const ValueId skips = ctc_skips(node, ctc);
  const ValueId sums = node.before("Scan", {start, scores, goes_on, skips, edge},
                                   {{"body", ctc_step()}, {"num_scan_inputs", std::int64_t{2}}});
  node.graph().ops.back().captures = 2;  // skips and edge
  return sums;
}

void ctc(Rewrite& node) {
  const auto reduction = node.take_or<std::string>("reduction", "Mean");
  const auto asked = node.take_or<std::int64_t>("outDataType", 0);
  node.leave_out(1);  // the derivative, which differentiation makes
  const Ctc ctc = ctc_of(node);
  const ValueId sums = ctc_sums(node, ctc);
  const ValueId end = unsqueezed(node, node.before("Add", {ctc.targets, ctc.targets}), {1});
  const ValueId ends = node.before(
      "Concat", {end, node.before("Max", {node.before("Sub", {end, node.ints({1})}), node.ints({0})})},
      {{"axis", std::int64_t{1}}});
  const ValueId two = node.before("GatherElements", {sums, ends}, {{"axis", std::int64_t{1}}});
  // Without a label both ends are the same.
  const ValueId is_empty = unsqueezed(node, node.before("Equal", {ctc.targets, node.ints({0})}), {1});
  const ValueId is_second = node.before("Equal", {node.ints({0, 1}), node.ints({1})});
  const ValueId counts_twice = node.before("And", {is_empty, is_second});
  const ValueId ways = node.before("Where", {counts_twice, node.number_like(kImpossible, ctc.scores), two});
  const ValueId likelihood =
      node.before("ReduceLogSumExp", {ways, node.ints({1})}, {{"keepdims", std::int64_t{0}}});
  const ValueId wide = node.before("Neg", {likelihood});
  const ValueId losses = asked == 0 ? node.before("CastLike", {wide, node.input(0)})
                                    : node.before("Cast", {wide}, {{"to", asked}});
  if (reduction == "None") return node.result(0, "Identity", {losses});
  if (reduction == "Sum") return node.result(0, "ReduceSum", {losses}, {{"keepdims", std::int64_t{0}}});
  if (reduction != "Mean") throw Error("reduction is '{}', Sum, Mean or None needed", reduction);
  const ValueId lengths = node.before("Max", {ctc.targets, node.ints({1})});
  const ValueId shares = node.before("Div", {losses, node.before("CastLike", {lengths, losses})});
  node.result(0, "ReduceMean", {shares}, {{"keepdims", std::int64_t{0}}});
}

// The sum over bases of basis * input * weights of the basis's kernel.
void spline_weighting(Rewrite& node) {
  enum : std::size_t { kInput, kWeights, kBasis, kIndex };
  const ValueId kernels = node.before("Gather", {node.input(kWeights), node.input(kIndex)});
  const ValueId basis = unsqueezed(node, node.input(kBasis), {2, 3});
  const ValueId weights = node.before("ReduceSum", {node.before("Mul", {kernels, basis}), node.ints({1})},
                                      {{"keepdims", std::int64_t{0}}});
  const ValueId row = unsqueezed(node, node.input(kInput), {1});
  node.result(0, "Squeeze", {node.before("MatMul", {row, weights}), node.ints({1})});
}

// Coefficients of 1, v, v^2 and v^3 in the pieces of a B-spline, a column a piece: [4, degree + 1].
Tensor spline_pieces(std::int64_t degree) {
  constexpr float kSixth = 1.0F / 6;
  static const std::vector<std::vector<float>> kPieces{
      {1, 0, 0, 0},
      {1, 0, -1, 1, 0, 0, 0, 0},
      {0.5F, 0.5F, 0, -1, 1, 0, 0.5F, -1, 0.5F, 0, 0, 0},
      {kSixth, 4 * kSixth, kSixth, 0, -0.5F, 0, 0.5F, 0, 0.5F, -1, 0.5F, 0, -kSixth, 0.5F, -0.5F, kSixth}};
  return Tensor::of({4, degree + 1}, kPieces[degree]);
}

// Of one axis of the points: the value of a piece of the spline for each base, and the kernel's place on the
// axis.
struct SplineAxis {
  ValueId values = {};
  ValueId kernel = {};
};

// `place` is [points, 1], `pieces` one piece for each base.
SplineAxis spline_axis(Rewrite& node, ValueId place, ValueId size, ValueId table, ValueId pieces) {
  const ValueId whole = node.before("Floor", {place});
  const ValueId v = node.before("Sub", {place, whole});
  const ValueId square = node.before("Mul", {v, v});
  const ValueId one = node.before("Add", {node.before("Sub", {v, v}), node.number_like(1, place)});
  const ValueId powers =
      node.before("Concat", {one, v, square, node.before("Mul", {square, v})}, {{"axis", std::int64_t{1}}});
  const ValueId all = node.before("MatMul", {powers, table});
  const ValueId first = cast(node, whole, DataType::Int64);
  return {.values = node.before("Gather", {all, pieces}, {{"axis", std::int64_t{1}}}),
          .kernel = node.before("Mod", {node.before("Add", {first, pieces}), size})};
}

std::int64_t axes_of_points(Rewrite& node) {
  const ir::Type points = node.type_of(node.input(0));
  if (!points.has_rank || points.rank() != 2 || points.dims[1] < 1 || points.dims[1] > 8) {
    throw Error("the points need a known number of axes, [points, 1 to 8]");
  }
  return points.dims[1];
}

// For each of the (degree + 1)^D bases of a point the product of one piece an axis, and the kernel it weighs.
void spline_basis(Rewrite& node) {
  enum : std::size_t { kPoints, kSizes, kIsOpen };
  const auto degree = node.take_or<std::int64_t>("degree", 0);
  if (degree < 0 || degree > 3) throw Error("degree is {}, 0 to 3 needed", degree);
  const std::int64_t axes = axes_of_points(node);
  std::int64_t bases = 1;
  for (std::int64_t i = 0; i < axes; ++i) bases *= degree + 1;
  const ValueId sizes = cast(node, node.input(kSizes), DataType::Int64);
  const ValueId opened =
      node.before("Mul", {cast(node, node.input(kIsOpen), DataType::Int64), node.ints({degree})});
  const ValueId span = node.before("CastLike", {node.before("Sub", {sizes, opened}), node.input(kPoints)});
  const ValueId places = node.before("Mul", {node.input(kPoints), span});
  const ValueId table = node.before("CastLike", {node.constant(spline_pieces(degree)), places});
  SplineAxis all;
  ValueId step = node.ints({1});
  for (std::int64_t axis = 0, repeat = 1; axis < axes; ++axis, repeat *= degree + 1) {
    IntList pieces;
    for (std::int64_t s = 0; s < bases; ++s) pieces.push_back(s / repeat % (degree + 1));
    const ValueId place = sliced(node, places, node.ints({axis}), node.ints({axis + 1}), 1);
    const ValueId size = sliced(node, sizes, node.ints({axis}), node.ints({axis + 1}), 0);
    const SplineAxis one = spline_axis(node, place, size, table, node.ints(pieces));
    const ValueId kernel = node.before("Mul", {one.kernel, step});
    all.values = axis == 0 ? one.values : node.before("Mul", {all.values, one.values});
    all.kernel = axis == 0 ? kernel : node.before("Add", {all.kernel, kernel});
    step = node.before("Mul", {step, size});
  }
  node.result(0, "Identity", {all.values});
  node.result(1, "Cast", {all.kernel}, {{"to", std::int64_t{static_cast<int>(DataType::Int32)}}});
}

}  // namespace

std::span<const ForeignOp> popart_layers() {
  static constexpr std::array kTable{
      popart_op("Call", call, 0, kAnyNumber, kAnyNumber),
      popart_op("Ctc", ctc, 0b1111, 4, 2),
      popart_op("GroupNormalization", group_normalization, 7, 3, 3),
      popart_op("LSTM", lstm, 3, 5, 2),
      popart_op("MultiConv", multi_conv, 3, kAnyNumber, kAnyNumber),
      popart_op("NormalizeImage", normalize_image, 7, 3),
      popart_op("ShapedDropout", shaped_dropout, 1, 1),
      popart_op("SplineBasis", spline_basis, 7, 3, 2),
      popart_op("SplineWeighting", spline_weighting, 0b1111, 4),
  };
  return kTable;
}

}  // namespace podium::importer
