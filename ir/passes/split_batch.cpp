// The axis of the samples starts at the inputs (the first axis, or where a recurrent op reads its batch) and
// is followed op by op: constants that hold the batch's size are fitted, the op is inferred with the smaller
// batch, and the axis of an output is the one dimension that has become 1 / slices. The op must keep samples
// apart (sample_axis.h) or be a total over them (sample_total.h). In training an output that is a mean is
// divided by the number of slices, under its name, so that slices add up.
#include "ir/passes/split_batch.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "ir/bodies.h"
#include "ir/gradients/gradient.h"
#include "ir/ops/recurrent.h"
#include "ir/passes/inherit_placement.h"
#include "ir/passes/sample_axis.h"
#include "ir/passes/sample_total.h"
#include "ir/random_draws.h"

namespace podium::ir {
namespace {

bool is_recurrent(const Op& op) {
  return op.spec->category == Category::Recurrent && op.spec->domain.empty();
}

// The first of `slices` equal parts of a tensor along an axis; undefined when the parts differ.
Tensor equal_part(const Tensor& whole, int axis, int slices) {
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= whole.dim(i);
  Dims dims = whole.dims();
  dims[axis] /= slices;
  Tensor part(whole.type(), dims);
  if (part.size() == 0 || whole.type() == DataType::String) return {};
  const std::size_t row = part.bytes() / rows;
  const auto* from = static_cast<const std::byte*>(whole.raw());
  auto* to = static_cast<std::byte*>(part.raw());
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::byte* first = from + r * slices * row;
    for (int s = 1; s < slices; ++s) {
      if (std::memcmp(first, first + s * row, row) != 0) return {};
    }
    std::memcpy(to + r * row, first, row);
  }
  return part;
}

enum class For : std::uint8_t { Inference, Training };

class Splitter {
 public:
  Splitter(const Graph& whole, int slices, const std::vector<Variable>& weights, For use)
      : whole_(whole),
        slices_(slices),
        use_(use),
        split_{.graph = whole},
        axes_(std::ssize(whole.values), kNoAxis) {
    for (const Variable& weight : weights) weights_.insert(weight.value);
  }

  BatchSplit split() {
    split_inputs();
    for (Op& op : split_.graph.ops) {
      if (std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) { return axis(id) != kNoAxis; })) {
        split_op(op);
      }
    }
    for (Op& op : graph().ops) tell_slices(op);
    for (ValueId& id : graph().outputs) {
      if (weights_.contains(id)) {
        throw Error(
            "output '{}': a variable, which comes back after a micro-batch but not after each of {} slices",
            graph()[id].name, slices_);
      }
      if (trains() && (axis(id) == kNoAxis || axis(id) == kAveraged)) id = share_of(id);
      if (axis(id) == kNoAxis) {
        throw Error("output '{}': {} found, which does not depend on the batch, a batch of slices needed",
                    graph()[id].name, to_string(graph()[id].type));
      }
      split_.output_axes.push_back(axis(id));
    }
    axes_.resize(std::ssize(graph().values), kNoAxis);
    split_.axes = std::move(axes_);
    return std::move(split_);
  }

 private:
  Graph& graph() { return split_.graph; }
  bool trains() const { return use_ == For::Training; }
  int axis(ValueId id) const { return axes_.contains(id) ? axes_[id] : kNoAxis; }

  void split_inputs() {
    const IdMap<ValueId, int> wanted = sample_axes(whole_);
    for (ValueId id : graph().inputs) {
      Value& input = graph()[id];
      if (weights_.contains(id)) {
        split_.input_axes.emplace_back();
        continue;
      }
      const int along = wanted[id];
      if (!input.type.is_static() || input.type.rank() <= along) {
        throw Error("input '{}': {} found, a known shape with a batch needed to split it into {} slices",
                    input.name, to_string(input.type), slices_);
      }
      std::int64_t& batch = input.type.dims[along];
      if (batch == 0 || batch % slices_ != 0) {
        throw Error("input '{}': a batch of {} found, a multiple of {} slices needed", input.name, batch,
                    slices_);
      }
      batch /= slices_;
      axes_[id] = along;
      split_.input_axes.emplace_back(along);
    }
  }

  void split_op(Op& op) {
    const std::string here = graph().describe(op);
    if (has_body(op)) throw Error("{}: reads the batch in a body, which cannot be split into slices", here);
    bool all_sampled = true;
    try {
      const bool has_samples =
          std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) { return axis(id) >= 0; });
      if (has_samples) fit_constants(op);
      InferContext context(graph(), op);
      op.spec->infer(context);
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        if (!op.outputs[i].valid()) continue;
        set_output(op.outputs[i], context.output_types[i]);
        all_sampled = all_sampled && axis(op.outputs[i]) != kNoAxis;
      }
    } catch (const Error& error) {
      throw error.at(here);
    }
    const TypedOp typed(whole_, whole_.ops[&op - graph().ops.data()]);
    const SampledOp sampled{typed, axes_of(op.inputs), axes_of(op.outputs)};
    if (all_sampled ? keeps_samples_apart(sampled) : set_totals(op, total_over_samples(sampled))) return;
    throw Error(
        "{}: mixes the samples of a batch or is not known to keep them apart, so it cannot be split into {} "
        "slices",
        here, slices_);
  }

  std::vector<int> axes_of(const std::vector<ValueId>& ids) const {
    std::vector<int> found;
    for (ValueId id : ids) found.push_back(axis(id));
    return found;
  }

  // A random op draws the numbers that it would draw for the whole micro-batch.
  void tell_slices(Op& op) {
    const int along = op.outputs.empty() || !op.outputs[0].valid() ? kNoAxis : axis(op.outputs[0]);
    const auto place = along >= 0 ? std::optional<std::int64_t>(along) : std::nullopt;
    edit_random_ops(op, [&](Op& one) {
      set_slices(one, {.count = slices_, .axis = &one == &op ? place : std::nullopt});
    });
  }

  bool set_totals(const Op& op, int total) {
    for (ValueId id : outputs_of(op)) {
      if (axis(id) == kNoAxis) axes_[id] = total;
    }
    return total != kNoAxis;
  }

  // A mean divided by the number of slices, under the mean's name.
  ValueId share_of(ValueId mean) {
    const OpId maker = producers(graph())[mean];
    Op share{.spec = find_op("", "Div"), .name = graph()[mean].name + "/share"};
    if (maker.valid()) share.attributes = place_of(graph()[maker]);
    const Value whole = graph()[mean];
    const ValueId count = graph().add_constant(graph().fresh_name(whole.name + "_slices"),
                                               filled(whole.type.element, {}, static_cast<double>(slices_)));
    if (maker.valid()) graph()[mean].name = graph().fresh_name(whole.name);
    const ValueId result = graph().add_value(whole.name, whole.type);
    share.inputs = {mean, count};
    share.outputs = {result};
    graph().ops.push_back(std::move(share));
    axes_.resize(std::ssize(graph().values), kNoAxis);
    axes_[result] = kSummed;
    return result;
  }

  // The axis is the one whose size is divided by the number of slices; a value without such an axis stays
  // without in a graph that trains.
  void set_output(ValueId id, const Type& type) {
    const Type& before = whole_[id].type;
    int found = kNoAxis;
    bool fits = type.is_static() && before.is_static() && type.rank() == before.rank();
    for (int i = 0; fits && i < type.rank(); ++i) {
      if (type.dims[i] == before.dims[i]) continue;
      fits = found == kNoAxis && type.dims[i] * slices_ == before.dims[i];
      found = i;
    }
    if (fits && found == kNoAxis && trains()) return;
    if (!fits || found == kNoAxis) {
      throw Error(
          "gives {} for a slice of the batch and {} for all of it, one dimension divided by {} needed",
          to_string(type), to_string(before), slices_);
    }
    graph()[id].type = type;
    axes_[id] = found;
  }

  // Constants that hold the batch's size.
  void fit_constants(Op& op) {
    if (op.is("Reshape")) {
      const Dims& to = whole_[op.outputs[0]].type.dims;
      set_ints(op, 1, to, axis_after_reshape(whole_[op.inputs[0]].type.dims, axis(op.inputs[0]), to));
    } else if (op.is("Expand") && graph().is_constant(op.inputs[1])) {
      const std::vector<std::int64_t> shape = graph()[op.inputs[1]].constant->to_ints();
      const int from_last = graph()[op.inputs[0]].type.rank() - 1 - axis(op.inputs[0]);
      set_ints(op, 1, shape, std::ssize(shape) - 1 - from_last);
    } else if (op.is("Resize") && op.inputs.size() > 3 && graph().is_constant(op.inputs[3])) {
      const std::vector<std::int64_t> sizes = graph()[op.inputs[3]].constant->to_ints();
      const bool for_all_axes = find_attribute(op, "axes") == nullptr;
      if (for_all_axes) set_ints(op, 3, sizes, axis(op.inputs[0]));
    } else if (is_recurrent(op)) {
      for (std::size_t i = RecurrentInput::kX + 1; i < op.inputs.size(); ++i) {
        if (has_recurrent_batch(i)) fit_constant(op, i, recurrent_batch_axis(op, i), batch_of(op.inputs[0]));
      }
    } else if (op.is("Concat") || is_elementwise(op)) {
      fit_operands(op);
    }
  }

  std::int64_t batch_of(ValueId id) const { return whole_[id].type.dims[axis(id)]; }

  // Constants that go with the samples element by element.
  void fit_operands(Op& op) {
    const auto sampled =
        std::find_if(op.inputs.begin(), op.inputs.end(), [&](ValueId id) { return axis(id) != kNoAxis; });
    const int from_last = whole_[*sampled].type.rank() - axis(*sampled);
    const std::int64_t batch = batch_of(*sampled);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid()) fit_constant(op, i, graph()[op.inputs[i]].type.rank() - from_last, batch);
    }
  }

  // A constant that has the batch's size on `along`, the same for every slice, becomes that of one slice.
  void fit_constant(Op& op, std::size_t input, int along, std::int64_t batch) {
    const ValueId id = op.inputs[input];
    if (!id.valid() || batch == 1 || along < 0 || !graph().is_constant(id)) return;
    const Tensor& whole = *graph()[id].constant;
    if (along >= whole.rank() || whole.dim(along) != batch) return;
    Tensor part = equal_part(whole, along, slices_);
    if (!part.defined()) {
      throw Error(
          "constant '{}' of {} differs between the {} slices of the batch, the same numbers for each needed",
          graph()[id].name, to_string(graph()[id].type), slices_);
    }
    op.inputs[input] = graph().add_constant(graph().fresh_name(graph()[id].name), std::move(part));
  }

  void set_ints(Op& op, std::size_t input, Dims dims, int along) {
    if (!graph().is_constant(op.inputs[input]) || along < 0 || dims[along] % slices_ != 0) return;
    dims[along] /= slices_;
    op.inputs[input] =
        graph().add_constant(graph().fresh_name(graph()[op.inputs[input]].name), Tensor::ints(dims));
  }

  const Graph& whole_;
  int slices_;
  For use_;
  std::set<ValueId> weights_;  ///< inputs without samples
  BatchSplit split_;
  IdMap<ValueId, int> axes_;
};

}  // namespace

IdMap<ValueId, int> sample_axes(const Graph& graph) {
  IdMap<ValueId, int> axes(std::ssize(graph.values), 0);
  for (const Op& op : graph.ops) {
    if (!is_recurrent(op)) continue;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && has_recurrent_batch(i)) axes[op.inputs[i]] = recurrent_batch_axis(op, i);
    }
  }
  return axes;
}

BatchSplit split_batch(const Graph& graph, int slices, const std::vector<Variable>& weights) {
  return Splitter(graph, slices, weights, For::Inference).split();
}

BatchSplit split_to_train(const Graph& graph, int slices, const std::vector<Variable>& weights) {
  return Splitter(graph, slices, weights, For::Training).split();
}

void set_slices(Training& training, const BatchSplit& split, int slices) {
  const Graph& graph = training.graph;
  const auto samples_of = [](int axis) { return axis >= 0 ? std::optional(axis) : std::nullopt; };
  // What the training has added comes behind the values of the forward graph.
  const auto is_forward = [&](ValueId id) { return split.axes.contains(id); };
  training.slices = slices;
  for (ValueId id : graph.inputs) {
    training.input_axes.push_back(is_forward(id) ? samples_of(split.axes[id]) : std::nullopt);
  }
  std::set<std::size_t> updates;
  for (const Update& update : training.updates) updates.insert(update.output);
  training.output_axes.resize(graph.outputs.size());
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (updates.contains(i)) continue;
    const ValueId output = graph.outputs[i];
    const auto gradient = training.gradients.find(output);
    const bool is_gradient = gradient != training.gradients.end();
    const ValueId samples = is_gradient ? gradient->second : output;
    // The gradient of what is the same for all samples adds up over them, and so does a total.
    const bool known =
        is_forward(samples) && (split.axes[samples] >= 0 || (split.axes[samples] == kNoAxis) == is_gradient);
    if (!known) {
      throw Error(
          "output '{}': it is not known how what {} slices of a micro-batch make of it is put together",
          graph[output].name, slices);
    }
    training.output_axes[i] = samples_of(split.axes[samples]);
  }
}

}  // namespace podium::ir
