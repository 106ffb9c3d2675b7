// Every value may have a twin that holds it channels-last ([N, C, ...] becomes [N, ..., C]), made when the
// first op asks for it. Convolutions, pools and means and maxima over the spatial axes always compute on
// twins (ops Convolution, ByteConvolution and Pool of the domain podium), but for convolutions that are
// faster with vectors along their rows; elementwise ops, quantizing, Concat and normalisations of channels do
// where an input has one already, a shuffle of channels too (which exporters write as Reshape, Transpose,
// Reshape), and Split, Slice, Pad and Resize where a convolution reads what they give. Any other op wants its
// inputs channels-first, which puts a ToChannelsFirst in front of it unless the value is there in that form.
// Where there is one channel or one position both forms are the same bytes, and the move is a view.
#include "executor/numeric/channels_last.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "executor/kernels/tools/convert.h"
#include "executor/numeric/fold_batch_norm.h"
#include "executor/numeric/fuse_bytes.h"
#include "executor/numeric/layout_rules.h"
#include "executor/numeric/rewriter.h"
#include "ir/ops/window.h"

namespace podium::numeric {

using ir::Dims;
using ir::Op;
using ir::Tensor;
using ir::ValueId;

namespace {

Dims moved_last(Dims dims) {
  dims.push_back(dims[1]);
  dims.erase(dims.begin() + 1);
  return dims;
}

// Transposing moves no byte when there is one channel or one position.
bool is_view(const Dims& channels_first) {
  return channels_first.size() < 3 || channels_first[1] == 1 ||
         std::all_of(channels_first.begin() + 2, channels_first.end(),
                     [](std::int64_t dim) { return dim == 1; });
}

Tensor transposed(const Tensor& tensor) {
  const Dims& dims = tensor.dims();
  const std::int64_t positions =
      std::accumulate(dims.begin() + 2, dims.end(), std::int64_t{1}, std::multiplies<>());
  Tensor result(tensor.type(), moved_last(dims));
  const std::int64_t bytes = ir::storage_bytes(tensor.type());
  const auto* from = static_cast<const std::byte*>(tensor.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const std::int64_t position = i % positions;
    const std::int64_t channel = i / positions % dims[1];
    const std::int64_t image = i / positions / dims[1];
    std::memcpy(to + ((image * positions + position) * dims[1] + channel) * bytes, from + i * bytes, bytes);
  }
  return result;
}

// [N, C, ...] as [N, groups, C / groups, ...], the two exchanged, and as [N, C, ...] again.
struct Shuffle {
  std::int64_t groups = 1;
  ValueId exchanged;
  ValueId result;
};

ir::IntList with_exchanged(std::int64_t rank, std::int64_t axis) {
  ir::IntList order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[axis + 1]);
  return order;
}

// The shuffle that begins with this op.
std::optional<Shuffle> shuffle_of_channels(const Rewriter& rewriter, const Op& op) {
  if (!op.is("Reshape")) return std::nullopt;
  const auto exchange = rewriter.only_reader(op.outputs[0], "Transpose");
  const ValueId exchanged = exchange ? rewriter.op(*exchange).outputs[0] : ValueId();
  const auto joining = exchange ? rewriter.only_reader(exchanged, "Reshape") : std::nullopt;
  if (!joining || rewriter.op(*joining).inputs[0] != exchanged) return std::nullopt;
  const ValueId result = rewriter.op(*joining).outputs[0];
  const auto* order = ir::attribute_if<ir::IntList>(rewriter.op(*exchange), "perm");
  const Dims& whole = rewriter.type(op.inputs[0]).dims;
  const Dims& parts = rewriter.type(op.outputs[0]).dims;
  const bool splits = parts.size() == whole.size() + 1 && whole.size() >= 3 && parts[0] == whole[0] &&
                      parts[1] * parts[2] == whole[1] &&
                      std::equal(whole.begin() + 2, whole.end(), parts.begin() + 3);
  if (!splits || rewriter.type(result).dims != whole || order == nullptr ||
      *order != with_exchanged(std::ssize(parts), 1))
    return std::nullopt;
  return Shuffle{parts[1], exchanged, result};
}

// The values that convolutions read, also through ops that keep the layout.
ir::IdMap<ValueId, bool> read_by_convolutions(const Rewriter& rewriter) {
  const ir::Graph& graph = rewriter.graph();
  ir::IdMap<ValueId, bool> read(std::ssize(graph.values), false);
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    const bool hands_on = keeps_layout(graph, *op) || moves_by_constants(graph, *op) ||
                          is_norm_of_channels(graph, *op) || op->is("BatchNormalization");
    const bool reads =
        is_convolution(graph, *op) ||
        (hands_on && std::ranges::any_of(outputs_of(*op), [&](ValueId id) { return read[id]; }));
    if (const auto shuffle = shuffle_of_channels(rewriter, *op); shuffle && read[shuffle->result])
      read[op->inputs[0]] = true;
    for (ValueId id : inputs_of(*op)) read[id] = read[id] || reads;
  }
  return read;
}

// An axis of channels-first memory among those of channels-last.
std::int64_t moved_axis(std::int64_t axis, std::int64_t rank) {
  axis = ir::normalized_axis(axis, rank);
  return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

// Numbers for each axis in turn, once or several times over.
Tensor in_channels_last_order(const Tensor& numbers, std::int64_t rank) {
  Tensor moved(numbers.type(), numbers.dims());
  const std::int64_t bytes = ir::storage_bytes(numbers.type());
  for (std::int64_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t to = i / rank * rank + moved_axis(i % rank, rank);
    std::memcpy(static_cast<std::byte*>(moved.raw()) + to * bytes,
                static_cast<const std::byte*>(numbers.raw()) + i * bytes, bytes);
  }
  return moved;
}

Tensor floats_of(const std::vector<double>& numbers) {
  Tensor floats(ir::DataType::Float, {std::ssize(numbers)});
  std::ranges::transform(numbers, floats.data<float>(),
                         [](double number) { return static_cast<float>(number); });
  return floats;
}

// Numbers of a few channels once for each element of a row of `shape`, which so has no stretched operand in
// it: chains go row by row (kernels/fused/stretched_chain.h).
Tensor along_rows(const Tensor& of_channels, const Dims& shape) {
  constexpr std::int64_t kFew = 64;
  constexpr std::int64_t kMost = 1 << 14;
  const std::int64_t channels = of_channels.size();
  const std::int64_t columns = shape[shape.size() - 2];
  if (channels == 1 || channels >= kFew || channels * columns > kMost) return of_channels;
  Tensor repeated(of_channels.type(), {columns, channels});
  for (std::int64_t i = 0; i < columns; ++i)
    std::memcpy(static_cast<std::byte*>(repeated.raw()) + i * of_channels.bytes(), of_channels.raw(),
                of_channels.bytes());
  return repeated;
}

class Pass {
 public:
  Pass(ir::Graph& graph, const Layouts& layouts)
      : graph_(graph),
        layouts_(layouts),
        rewriter_(graph),
        twins_(std::ssize(graph.values)),
        read_by_convolutions_(read_by_convolutions(rewriter_)) {
    for (const Op& op : graph.ops) {
      for (ValueId id : outputs_of(op)) twin(id).missing = true;
    }
  }

  bool run() {
    for (std::size_t i = 0; i < layouts_.inputs.size(); ++i) {
      if (layouts_.inputs[i]) take_last(graph_.inputs[i]);
    }
    const std::vector<Op> before = graph_.ops;
    for (const Op& op : before) {
      if (convert(op)) continue;
      for (ValueId id : op.inputs) want_first(id);
      keep(op);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      ValueId& output = graph_.outputs[i];
      const bool gives_last = i < layouts_.outputs.size() && layouts_.outputs[i];
      gives_last ? void(output = last(output)) : want_first(output);
    }
    graph_.ops = std::move(ops_);
    return changed_;
  }

 private:
  // For each value of the graph: the value that holds it channels-last, and whether the channels-first one
  // has no producer (yet).
  struct Twin {
    ValueId last = {};
    ValueId wide = {};  // the numbers of a narrow `last` in float
    bool missing = false;
  };

  Twin& twin(ValueId id) {
    if (!twins_.contains(id)) twins_.resize(std::ssize(graph_.values));
    return twins_[id];
  }
  const Dims& dims(ValueId id) { return graph_[id].type.dims; }
  int rank(ValueId id) { return graph_[id].type.rank(); }

  // The graph is given the channels-last form of one of its inputs.
  void take_last(ValueId& input) {
    const ValueId before = input;
    const ir::Type& type = graph_[before].type;
    const ir::Type turned = ir::Type::tensor(type.element, moved_last(type.dims));
    input = graph_.add_value(graph_.fresh_name(graph_[before].name), turned);
    twin(before) = {.last = input, .wide = {}, .missing = true};
    changed_ = true;
  }

  void keep(const Op& op) {
    for (ValueId id : outputs_of(op)) twin(id).missing = false;
    ops_.push_back(op);
  }

  // Appends an op and gives it a new output, called like `of` with a mark.
  ValueId append(Op op, ValueId of) {
    const ValueId made = graph_.add_value(graph_.fresh_name(graph_[of].name));
    op.outputs = {made};
    infer_types(graph_, op);
    ops_.push_back(std::move(op));
    return made;
  }

  Op move(std::string_view name, ValueId from, const Dims& channels_first, const Dims& shape) {
    if (is_view(channels_first)) return make_op("View", "podium", {from}, {}, {{"shape", shape}});
    return make_op(name, "podium", {from}, {});
  }

  ValueId last(ValueId id) {
    if (!is_last(id)) {
      const Dims here = dims(id);
      const ValueId made = append(move("ToChannelsLast", id, here, moved_last(here)), id);
      twin(id).last = made;
    }
    return twin(id).last;
  }

  // Channels-last, in float.
  ValueId wide(ValueId id) {
    const ValueId narrow = last(id);
    if (!twin(id).wide.valid()) {
      const ValueId made = append(make_cast(narrow, ir::DataType::Float), id);
      twin(id).wide = made;
    }
    return twin(id).wide;
  }

  void want_first(ValueId id) {
    if (!id.valid() || !twin(id).missing) return;
    Op op = move("ToChannelsFirst", twin(id).last, dims(id), dims(id));
    op.outputs = {id};
    keep(op);
  }

  // `op` gives the channels-last form of `output`.
  void give(Op op, ValueId output) {
    const ValueId made = append(std::move(op), output);
    twin(output).last = made;
    changed_ = true;
  }

  // The first `count` outputs of an op become channels-last forms of theirs.
  void give_first(Op op, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId before = op.outputs[i];
      op.outputs[i] = graph_.add_value(graph_.fresh_name(graph_[before].name));
      twin(before).last = op.outputs[i];
    }
    infer_types(graph_, op);
    ops_.push_back(std::move(op));
    changed_ = true;
  }

  // A mean without kept dims has a twin of higher rank, good only for its view.
  bool is_last(ValueId id) { return id.valid() && twin(id).last.valid() && rank(twin(id).last) == rank(id); }

  bool convert(const Op& op) {
    if (is_made(op)) return true;
    if (op.is("ReduceMean") || op.is("ReduceMax")) return convert_reduction(op);
    if (op.is("Reshape")) return convert_shuffle(op);
    if (moves_by_constants(graph_, op)) return convert_move(op);
    if (changes_each_number(graph_, op)) return convert_number(op);
    if (auto operands = byte_operands(rewriter_, op))
      return convert_byte_convolution(op, std::move(*operands));
    if (is_of_narrow_floats(graph_, op)) return convert_narrow(op);
    if (!is_static_float(graph_, op)) return false;
    if (op.is("BatchNormalization")) return convert_batch_norm(op);
    if (is_norm_of_channels(graph_, op)) return convert_group_norm(op);
    if (is_convolution(graph_, op)) return op.is("Conv") ? convert_convolution(op) : convert_patches(op);
    if (op.outputs.size() != 1 || op.inputs.empty()) return false;
    if (std::none_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) { return is_last(id); }))
      return false;
    if (!keeps_layout(graph_, op)) return false;
    if (op.is("Concat")) return convert_concat(op);
    if (op.is("GlobalAveragePool") || op.is("GlobalMaxPool")) return convert_global_pool(op);
    return is_pool(op) ? convert_pool(op) : convert_elementwise(op);
  }

  Op convolution_of(const Op& op, std::string_view name, const Dims& weights, std::vector<ValueId> inputs) {
    const ir::Window window = ir::conv_window(ir::TypedOp(graph_, op), dims(op.inputs[0]), weights);
    Op convolution = make_op(name, "podium", std::move(inputs), {},
                             {{"group", ir::attribute<std::int64_t>(op, "group")},
                              {"strides", window.strides},
                              {"pads", ir::covering_pads(window)},
                              {"dilations", window.dilations}});
    convolution.name = op.name;
    return convolution;
  }

  bool convert_convolution(const Op& op) {
    std::vector<ValueId> operands = op.inputs;
    operands[0] = last(operands[0]);
    give(convolution_of(op, "Convolution", dims(op.inputs[1]), std::move(operands)), op.outputs[0]);
    return true;
  }

  // Convolutions and pools of narrow floats compute in float and round once; elementwise ops keep the layout.
  bool convert_narrow(const Op& op) {
    if (is_narrow_convolution(graph_, op)) return convert_narrow_convolution(op);
    if (op.is("BatchNormalization")) return convert_narrow_batch_norm(op);
    const bool reads_last = std::ranges::any_of(op.inputs, [&](ValueId id) { return is_last(id); });
    if (!reads_last || !keeps_layout(graph_, op)) return false;
    if (op.is("Concat")) return convert_concat(op);
    if (op.is("GlobalAveragePool") || op.is("GlobalMaxPool")) return convert_global_pool(op);
    return is_pool(op) ? convert_pool(op) : convert_elementwise(op);
  }

  bool convert_narrow_convolution(const Op& op) {
    std::vector<ValueId> operands{wide(op.inputs[0])};
    for (std::size_t i = 1; i < op.inputs.size() && op.inputs[i].valid(); ++i) {
      operands.push_back(graph_.add_constant(graph_.fresh_name(graph_[op.inputs[i]].name),
                                             kernels::as_float(*graph_[op.inputs[i]].constant)));
    }
    const Dims weights = dims(op.inputs[1]);
    give_rounded(convolution_of(op, "Convolution", weights, std::move(operands)), op.outputs[0]);
    return true;
  }

  // A product and a sum of floats, which are rounded once.
  bool convert_narrow_batch_norm(const Op& op) {
    const auto affine = is_last(op.inputs[0]) ? known_affine(rewriter_, op) : std::nullopt;
    if (!affine) return false;
    const auto of_channels = [&](const std::vector<double>& numbers) {
      return graph_.add_constant(graph_.fresh_name("affine"),
                                 along_rows(floats_of(numbers), dims(last(op.inputs[0]))));
    };
    const ValueId x = wide(op.inputs[0]);
    const ValueId scaled = append(make_op("Mul", "", {x, of_channels(affine->scale)}, {}), op.outputs[0]);
    give_rounded(make_op("Add", "", {scaled, of_channels(affine->shift)}, {}), op.outputs[0]);
    return true;
  }

  // `op` gives the numbers of `output` in float.
  void give_rounded(Op op, ValueId output) {
    const ir::DataType type = graph_[output].type.element;
    if (type == ir::DataType::Float) return give(std::move(op), output);
    const ValueId made = append(std::move(op), output);
    give(make_cast(made, type), output);
  }

  // A ConvInteger gives the floats of the Cast behind it.
  bool convert_byte_convolution(const Op& op, std::vector<ValueId> operands) {
    const Dims weights = dims(operands[1]);
    operands[0] = last(operands[0]);
    ValueId output = op.outputs[0];
    if (op.is("ConvInteger")) output = rewriter_.op(rewriter_.only_reader(output)).outputs[0];
    give(convolution_of(op, "ByteConvolution", weights, std::move(operands)), output);
    return true;
  }

  // Its numbers have come with those of an op in front of it.
  bool is_made(const Op& op) {
    return !op.outputs.empty() && op.outputs[0].valid() && twin(op.outputs[0]).last.valid();
  }

  // On channels-last memory a shuffle exchanges the parts of the last axis.
  bool convert_shuffle(const Op& op) {
    const auto shuffle = is_last(op.inputs[0]) ? shuffle_of_channels(rewriter_, op) : std::nullopt;
    if (!shuffle) return false;
    const auto view = [](ValueId x, const Dims& shape) {
      return make_op("View", "podium", {x}, {}, {{"shape", shape}});
    };
    const ValueId x = last(op.inputs[0]);
    const Dims whole = dims(x);
    Dims parts = whole;
    parts.back() = shuffle->groups;
    parts.push_back(whole.back() / shuffle->groups);
    give(view(x, parts), op.outputs[0]);
    const ir::IntList order = with_exchanged(std::ssize(parts), std::ssize(parts) - 2);
    give(make_op("Transpose", "", {twin(op.outputs[0]).last}, {}, {{"perm", order}}), shuffle->exchanged);
    give(view(twin(shuffle->exchanged).last, whole), shuffle->result);
    return true;
  }

  // What a DynamicQuantizeLinear gives beside the bytes are single numbers.
  bool convert_number(const Op& op) {
    if (!is_last(op.inputs[0])) return false;
    Op change = op;
    change.inputs[0] = last(op.inputs[0]);
    for (std::size_t i = 1; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid()) twin(op.outputs[i]).missing = false;
    }
    give_first(std::move(change), 1);
    return true;
  }

  // A convolution of one element for each channel, which takes in the activation behind it.
  bool convert_batch_norm(const Op& op) {
    const auto affine =
        is_last(op.inputs[0]) && rank(op.inputs[0]) == 4 ? known_affine(rewriter_, op) : std::nullopt;
    if (!affine) return false;
    const auto channels = std::ssize(affine->scale);
    const auto constant = [&](const std::vector<double>& numbers, const Dims& shape) {
      return graph_.add_constant(graph_.fresh_name("affine"), floats_of(numbers).reshaped(shape));
    };
    const ValueId scale = constant(affine->scale, {channels, 1, 1, 1});
    const ValueId shift = constant(affine->shift, {channels});
    Op convolution = make_op("Convolution", "podium", {last(op.inputs[0]), scale, shift}, {},
                             {{"group", channels},
                              {"strides", Dims{1, 1}},
                              {"pads", Dims{0, 0, 0, 0}},
                              {"dilations", Dims{1, 1}}});
    convolution.name = op.name;
    give(std::move(convolution), op.outputs[0]);
    return true;
  }

  // Of an instance each channel is a group.
  bool convert_group_norm(const Op& op) {
    if (!is_last(op.inputs[0])) return false;
    const std::int64_t groups =
        op.is("GroupNormalization") ? ir::attribute<std::int64_t>(op, "num_groups") : dims(op.inputs[0])[1];
    Op norm = make_op("GroupNormalization", "podium", {last(op.inputs[0]), op.inputs[1], op.inputs[2]}, {},
                      {{"epsilon", ir::attribute<float>(op, "epsilon")}, {"num_groups", groups}});
    norm.name = op.name;
    want_first(op.inputs[1]);
    want_first(op.inputs[2]);
    give(std::move(norm), op.outputs[0]);
    return true;
  }

  bool convert_patches(const Op& op) {
    Op patches = make_op("Patches", "podium", op.inputs, {});
    patches.name = op.name;
    patches.inputs[0] = last(op.inputs[0]);
    give(std::move(patches), op.outputs[0]);
    return true;
  }

  void give_pool(const Op& op, const std::string& kind, const ir::Window& window) {
    const bool is_narrow = graph_[op.inputs[0]].type.element != ir::DataType::Float;
    const ValueId x = is_narrow ? wide(op.inputs[0]) : last(op.inputs[0]);
    Op pool = make_op("Pool", "podium", {x}, {},
                      {{"kind", kind},
                       {"kernel_shape", window.kernel},
                       {"strides", window.strides},
                       {"pads", ir::covering_pads(window)},
                       {"dilations", window.dilations}});
    pool.name = op.name;
    give_rounded(std::move(pool), op.outputs[0]);
  }

  bool convert_pool(const Op& op) {
    const bool is_max = op.is("MaxPool");
    const ir::Window window = ir::pool_window(ir::TypedOp(graph_, op), dims(op.inputs[0]));
    const bool counts_padding = !is_max && ir::attribute<std::int64_t>(op, "count_include_pad") != 0;
    give_pool(op, is_max ? "max" : counts_padding ? "average_with_padding" : "average", window);
    return true;
  }

  ir::Window whole(ValueId x) {
    const Dims spatial(dims(x).begin() + 2, dims(x).end());
    const Dims ones(spatial.size(), 1);
    const Dims zeros(spatial.size(), 0);
    return {.input = spatial,
            .kernel = spatial,
            .strides = ones,
            .dilations = ones,
            .pads_begin = zeros,
            .pads_end = zeros,
            .output = ones};
  }

  bool convert_global_pool(const Op& op) {
    give_pool(op, op.is("GlobalMaxPool") ? "max" : "average", whole(op.inputs[0]));
    return true;
  }

  // A mean or maximum over exactly the spatial axes is a pool.
  bool convert_reduction(const Op& op) {
    const Tensor* axes =
        op.inputs.size() > 1 && op.inputs[1].valid() ? rewriter_.constant(op.inputs[1]) : nullptr;
    const bool is_plane = is_last(op.inputs[0]) && graph_[op.inputs[0]].type.element == ir::DataType::Float;
    if (axes == nullptr || !is_plane) return false;
    Dims found = axes->to_ints();
    for (std::int64_t& axis : found) axis = ir::normalized_axis(axis, rank(op.inputs[0]));
    std::sort(found.begin(), found.end());
    Dims spatial(rank(op.inputs[0]) - 2);
    std::iota(spatial.begin(), spatial.end(), 2);
    if (found != spatial) return false;
    give_pool(op, op.is("ReduceMax") ? "max" : "average", whole(op.inputs[0]));
    return true;
  }

  bool convert_concat(const Op& op) {
    Op concat = op;
    for (ValueId& id : concat.inputs) id = last(id);
    move_axis(concat, rank(op.outputs[0]));
    give(std::move(concat), op.outputs[0]);
    return true;
  }

  static void move_axis(Op& op, std::int64_t all) {
    ir::set_attribute(op, "axis", moved_axis(ir::attribute<std::int64_t>(op, "axis"), all));
  }

  // A larger image that no convolution reads is better made in the form that its readers want.
  bool convert_move(const Op& op) {
    if (!is_last(op.inputs[0])) return false;
    if (std::ranges::none_of(outputs_of(op), [&](ValueId id) { return read_by_convolutions_[id]; }))
      return false;
    Op move = op;
    move.inputs[0] = last(op.inputs[0]);
    const std::int64_t all = rank(op.inputs[0]);
    if (op.is("Split")) move_axis(move, all);
    if (op.is("Slice")) move_axes(move, all);
    if (op.is("Pad")) move_pads(move, all);
    if (op.is("Resize")) move_sizes(move, all);
    give_first(std::move(move), op.outputs.size());
    return true;
  }

  // The axes of a Slice, those that it names or else the first ones, among whole numbers of one type.
  void move_axes(Op& slice, std::int64_t all) {
    constexpr std::size_t kAxes = 3;
    if (slice.inputs.size() <= kAxes) slice.inputs.resize(kAxes + 1);
    Dims axes(graph_[slice.inputs[1]].constant->size());
    std::iota(axes.begin(), axes.end(), 0);
    if (slice.inputs[kAxes].valid()) axes = graph_[slice.inputs[kAxes]].constant->to_ints();
    for (std::int64_t& axis : axes) axis = moved_axis(axis, all);
    for (std::size_t i = 1; i < slice.inputs.size(); ++i) {
      ValueId& id = slice.inputs[i];
      if (!id.valid() && i != kAxes) continue;
      const Dims numbers = i == kAxes ? axes : graph_[id].constant->to_ints();
      id = graph_.add_constant(graph_.fresh_name("indices"), Tensor::ints(numbers));
    }
  }

  // A Pad is told of the axes that it names, else of all.
  void move_pads(Op& pad, std::int64_t all) {
    constexpr std::size_t kAxes = 3;
    if (pad.inputs.size() <= kAxes || !pad.inputs[kAxes].valid()) return move_numbers(pad.inputs[1], all);
    Dims axes = graph_[pad.inputs[kAxes]].constant->to_ints();
    for (std::int64_t& axis : axes) axis = moved_axis(axis, all);
    pad.inputs[kAxes] = graph_.add_constant(graph_.fresh_name("axes"), Tensor::ints(axes));
  }

  // Numbers for each axis.
  void move_numbers(ValueId& id, std::int64_t all) {
    id = graph_.add_constant(graph_.fresh_name(graph_[id].name),
                             in_channels_last_order(*graph_[id].constant, all));
  }

  // What a Resize is told of each axis: of those in "axes", else of all.
  void move_sizes(Op& resize, std::int64_t all) {
    const auto* given = ir::find_attribute(resize, "axes");
    if (given != nullptr && !std::get<ir::IntList>(*given).empty()) {
      Dims axes = std::get<ir::IntList>(*given);
      for (std::int64_t& axis : axes) axis = moved_axis(axis, all);
      return ir::set_attribute(resize, "axes", axes);
    }
    for (std::size_t i = 1; i < resize.inputs.size(); ++i) {
      if (resize.inputs[i].valid()) move_numbers(resize.inputs[i], all);
    }
  }

  // The form of an elementwise op's input that broadcasts alike in the other layout; invalid: there is none.
  ValueId last_operand(ValueId id, const Dims& output) {
    const auto wanted_rank = std::ssize(output);
    if (graph_[id].type.element_count() == 1 && rank(id) <= 1) return id;
    if (is_last(id) || (rank(id) == wanted_rank && rewriter_.constant(id) == nullptr)) return last(id);
    const Tensor* constant = rewriter_.constant(id);
    if (constant == nullptr) return {};
    Dims expanded = constant->dims();
    expanded.insert(expanded.begin(), wanted_rank - expanded.size(), 1);
    Tensor turned = transposed(constant->reshaped(expanded));
    const bool is_of_channels = turned.size() == turned.dims().back();
    if (is_of_channels && turned.type() != ir::DataType::Float)
      turned = along_rows(turned.reshaped({turned.size()}), moved_last(output));
    return graph_.add_constant(graph_.fresh_name(graph_[id].name), std::move(turned));
  }

  bool convert_elementwise(const Op& op) {
    Op copy = op;
    for (ValueId& id : copy.inputs) {
      if (id.valid()) id = last_operand(id, dims(op.outputs[0]));
    }
    give(std::move(copy), op.outputs[0]);
    return true;
  }

  ir::Graph& graph_;
  const Layouts& layouts_;
  Rewriter rewriter_;
  ir::IdMap<ValueId, Twin> twins_;
  const ir::IdMap<ValueId, bool> read_by_convolutions_;  // of the graph as it came
  std::vector<Op> ops_;
  bool changed_ = false;
};

}  // namespace

bool channels_last(ir::Graph& graph, const Layouts& layouts) {
  const auto any = [](const std::vector<bool>& all) {
    return std::find(all.begin(), all.end(), true) != all.end();
  };
  const auto is_conv = [](const Op& op) {
    return op.is("Conv") || op.is("ConvTranspose") || op.is("QLinearConv") || op.is("ConvInteger");
  };
  const bool concerns =
      any(layouts.inputs) || any(layouts.outputs) || std::any_of(graph.ops.begin(), graph.ops.end(), is_conv);
  return concerns && Pass(graph, layouts).run();
}

}  // namespace podium::numeric
