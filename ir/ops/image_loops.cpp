// Which axes of images run together. Windows slide along places (slide.h); channels go by groups:
//
//   x  [n, groups * in,  ..]    a loop of groups, with `in` inner elements here and `out` there
//   w  [groups * out, in, ..]   a loop of `out`, in a block for each group
//   y  [n, groups * out, ..]    a loop of `in`, over which the op adds up
//
// A Resize by a whole factor makes a block of the output of each element:
//
//   x    a        b        c        d       a loop of 4, with 3 inner elements in the output;
//   y  a0 a1 a2 b0 b1 b2 c0 c1 c2 d0 d1 d2  a part b c reads a b c d, makes a .. d and keeps b and c
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ir/ops/loop_list.h"

namespace podium::ir {
namespace {

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

/// Where a convolution has its weights and what is one number an output channel.
struct ConvolutionInputs {
  std::size_t weights = 1;
  std::vector<std::size_t> per_channel = {2};
  bool adds_up = true;  ///< parts of the sum over input channels make summands
};

ConvolutionInputs convolution_inputs(const Op& op) {
  if (op.is("QLinearConv")) return {.weights = 3, .per_channel = {4, 5, 8}, .adds_up = false};
  if (op.is("ConvInteger")) return {.weights = 1, .per_channel = {3}};
  return {};
}

// Channels, of which those of a group follow each other: whole groups, output channels of each group alike,
// and input channels of each group alike, over which the op adds up.
void add_channels(LoopList& loops, const TypedOp& op) {
  const ConvolutionInputs at = convolution_inputs(op.op);
  const bool is_transposed = op.op.is("ConvTranspose");
  const std::int64_t groups = op.get_int("group");
  const std::int64_t in = op.input(0).dims[1] / groups;
  const std::int64_t out = op.output(0).dims[1] / groups;
  const auto put_results = [&](Loop& loop, std::int64_t inner) {
    loop.outputs[0] = {.axis = 1, .inner = inner};
    for (std::size_t i : at.per_channel) {
      if (op.has_input(i) && op.input(i).element_count() != 1) loop.inputs[i] = {.axis = 0, .inner = inner};
    }
  };
  Loop whole_groups = loops.make(groups);
  whole_groups.inputs[0] = {.axis = 1, .inner = in};
  whole_groups.inputs[at.weights] = {.axis = 0, .inner = is_transposed ? in : out};
  put_results(whole_groups, out);
  loops.add(std::move(whole_groups));
  Loop outputs = loops.make(out);
  outputs.inputs[at.weights].axis = is_transposed ? 1 : 0;
  put_results(outputs, 1);
  loops.add(std::move(outputs));
  if (!at.adds_up) return;
  Loop inputs = loops.make(in, LoopResult::Summed);
  inputs.inputs[0].axis = 1;
  inputs.inputs[at.weights].axis = is_transposed ? 0 : 1;
  loops.add(std::move(inputs));
}

// Images, places and channels.
std::vector<Loop> convolution_loops(const TypedOp& op) {
  LoopList loops(op);
  loops.add(op.input(0).dims[0], {0}, {0});
  add_slides(loops, op, op.op.is("ConvTranspose") ? kToElements : kToWindows);
  add_channels(loops, op);
  return loops.take();
}

// dW of X and dY: its filters are the channels of dY, its channels those of X, group by group; images and
// places add up.
std::vector<Loop> weight_gradient_loops(const TypedOp& op) {
  LoopList loops(op);
  const std::int64_t groups = op.get_int("group");
  const std::int64_t filters = op.input(1).dims[1] / groups;
  const std::int64_t channels = op.input(0).dims[1] / groups;
  Loop whole_groups = loops.make(groups);
  whole_groups.inputs[0] = {.axis = 1, .inner = channels};
  whole_groups.inputs[1] = {.axis = 1, .inner = filters};
  whole_groups.outputs[0] = {.axis = 0, .inner = filters};
  loops.add(std::move(whole_groups));
  loops.add(filters, {kNoAxis, 1}, {0});
  loops.add(channels, {1}, {1});
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

// Places, whose total is not taken apart where it is a norm's: that is written as steps then.
std::vector<Loop> global_pool_loops(const TypedOp& op) {
  LoopList loops = planes_of(op);
  for (int axis = 2; axis < op.input(0).rank() && !op.op.is("GlobalLpPool"); ++axis) {
    loops.add(op.input(0).dims[axis], {axis}, {},
              op.op.is("GlobalMaxPool") ? LoopResult::Largest : LoopResult::Averaged);
  }
  return loops.take();
}

// How many elements beside its own block an enlargement by a whole factor reads; nothing for coordinates that
// depend on the whole axis.
struct Halo {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};

// The element that the output at this point of the input, a multiple of half a step off, is nearest to.
std::int64_t nearest_element(const std::string& mode, double point) {
  const double below = std::floor(point);
  const double ratio = point - below;
  const bool up = mode == "ceil"                ? ratio > 0
                  : mode == "round_prefer_ceil" ? ratio >= 0.5
                                                : mode != "floor" && ratio > 0.5;
  return static_cast<std::int64_t>(below) + (up ? 1 : 0);
}

std::optional<Halo> halo_of_resize(const TypedOp& op, std::int64_t factor) {
  if (factor == 0) return Halo{};
  const std::string& coordinates = op.get_string("coordinate_transformation_mode");
  if (coordinates == "align_corners" || coordinates == "tf_crop_and_resize") return std::nullopt;
  const std::string& mode = op.get_string("mode");
  Halo halo;
  const double moved = coordinates == "asymmetric" ? 0 : 0.5;
  const double back = coordinates == "tf_half_pixel_for_nn" ? 0 : moved;
  // Points lie in order: the first one reaches farthest before an element, the last one behind it.
  for (const std::int64_t i : {std::int64_t{0}, factor - 1}) {
    const double point = (static_cast<double>(i) + moved) / static_cast<double>(factor) - back;
    std::int64_t first = static_cast<std::int64_t>(std::floor(point)) - (mode == "cubic" ? 1 : 0);
    std::int64_t last = static_cast<std::int64_t>(std::ceil(point)) + (mode == "cubic" ? 1 : 0);
    if (mode == "nearest") first = last = nearest_element(op.get_string("nearest_mode"), point);
    halo.before = std::max(halo.before, -first);
    halo.behind = std::max(halo.behind, last);
  }
  return halo;
}

// Whether scales, where they are given, are whole numbers that the sizes follow from.
bool has_exact_scales(const TypedOp& op) {
  constexpr std::size_t kScales = 2;
  if (!op.has_input(kScales) || op.input(kScales).element_count() == 0)
    return op.get_string("keep_aspect_ratio_policy") == "stretch";
  const Tensor* scales = op.constant(kScales);
  if (scales == nullptr || scales->size() != op.input(0).rank()) return false;
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    const auto scale = static_cast<double>(scales->data<float>()[axis]);
    if (scale * static_cast<double>(op.input(0).dims[axis]) != static_cast<double>(op.output(0).dims[axis]))
      return false;
  }
  return true;
}

// Axes that keep their size, and those that become a whole number of times as long: each element makes so
// many, and reads its neighbours where the op mixes them.
std::vector<Loop> resize_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kRegion = 1;
  if (op.get_if<IntList>("axes") != nullptr || !has_exact_scales(op)) return {};
  if (op.has_input(kRegion) && op.input(kRegion).element_count() != 0) return {};
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    const std::int64_t from = op.input(0).dims[axis];
    const std::int64_t to = op.output(0).dims[axis];
    if (from == 0 || to % from != 0) continue;
    const std::optional<Halo> halo = from == to ? Halo{} : halo_of_resize(op, to / from);
    if (!halo) continue;
    Loop loop = loops.make(from);
    const Reach reach = halo->before + halo->behind == 0 ? Reach::Own : Reach::Seen;
    loop.inputs[0] = {.axis = axis, .reach = reach};
    loop.outputs[0] = {.axis = axis, .inner = to / from, .reach = reach};
    if (reach != Reach::Own)
      loop.slide = {.extent = 1 + halo->before + halo->behind,
                    .before = halo->before,
                    .elements = from,
                    .windows = from};
    loops.add(std::move(loop));
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

// Images and whole groups of channels.
std::vector<Loop> group_norm_loops(const TypedOp& op) {
  LoopList loops(op);
  loops.add(op.input(0).dims[0], {0}, {0});
  const std::int64_t groups = op.get_int("num_groups");
  const std::int64_t each = op.input(0).dims[1] / groups;
  Loop channels = loops.make(groups);
  channels.inputs[0] = {.axis = 1, .inner = each};
  channels.inputs[1] = channels.inputs[2] = {.axis = 0, .inner = each};
  channels.outputs[0] = {.axis = 1, .inner = each};
  loops.add(std::move(channels));
  return loops.take();
}

// All but the channels, of which each reads its neighbours.
std::vector<Loop> lrn_loops(const TypedOp& op) {
  LoopList loops(op);
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    if (axis != 1) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// Axes beside those over which the op normalises.
std::vector<Loop> mean_variance_loops(const TypedOp& op) {
  LoopList loops(op);
  std::set<std::int64_t> own;
  for (std::int64_t axis : op.get<IntList>("axes")) own.insert(normalized_axis(axis, op.input(0).rank()));
  for (int axis = 0; axis < op.input(0).rank(); ++axis) {
    if (!own.contains(axis)) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// Between the channels and the two spatial axes: a channel in each of the places of a block.
std::vector<Loop> block_loops(const TypedOp& op) {
  LoopList loops(op);
  const bool to_depth = op.op.is("SpaceToDepth");
  const std::int64_t block = op.get_int("blocksize");
  const auto add = [&](std::int64_t extent, LoopAxis deep, LoopAxis wide) {
    Loop loop = loops.make(extent);
    loop.inputs[0] = to_depth ? wide : deep;
    loop.outputs[0] = to_depth ? deep : wide;
    loops.add(std::move(loop));
  };
  const Dims& dims = to_depth ? op.output(0).dims : op.input(0).dims;
  // A gradient of DepthToSpace is a SpaceToDepth with its mode.
  const auto* mode = op.get_if<std::string>("mode");
  const bool by_channel = mode != nullptr && *mode == "CRD";
  add(dims[0], {.axis = 0}, {.axis = 0});
  add(dims[1] / (block * block), {.axis = 1, .inner = by_channel ? block * block : 1}, {.axis = 1});
  add(dims[2], {.axis = 2}, {.axis = 2, .inner = block});
  add(dims[3], {.axis = 3}, {.axis = 3, .inner = block});
  return loops.take();
}

// Images; channels of what is looked at.
std::vector<Loop> grid_sample_loops(const TypedOp& op) {
  LoopList loops(op);
  loops.add(op.output(0).dims[0], {0, 0}, {0});
  loops.add(op.output(0).dims[1], {1}, {1});
  for (int axis = 2; axis < op.output(0).rank(); ++axis)
    loops.add(op.output(0).dims[axis], {kNoAxis, axis - 1}, {axis});
  return loops.take();
}

// Regions, and channels of what they lie in.
std::vector<Loop> region_loops(const TypedOp& op) {
  LoopList loops(op);
  loops.add(op.output(0).dims[0], {kNoAxis, 0, 0}, {0});
  loops.add(op.output(0).dims[1], {1}, {1});
  return loops.take();
}

}  // namespace

const LoopRules& image_loop_rules() {
  static const LoopRules kRules = {
      {"Conv", convolution_loops},
      {"ConvTranspose", convolution_loops},
      {"ConvInteger", convolution_loops},
      {"QLinearConv", convolution_loops},
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
      {"GroupNormalization", group_norm_loops},
      {"MeanVarianceNormalization", mean_variance_loops},
      {"LRN", lrn_loops},
      {"DepthToSpace", block_loops},
      {"SpaceToDepth", block_loops},
      {"GridSample", grid_sample_loops},
      {"RoiAlign", region_loops},
  };
  return kRules;
}

}  // namespace podium::ir
