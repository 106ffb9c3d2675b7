// Where ops stand as far as the layout of their tensors goes. A convolution that is faster with vectors along
// its rows stays on channels-first memory. Constants count only where no run can change them: an input's
// default can change.
#include "executor/numeric/layout_rules.h"

#include <algorithm>

#include "executor/kernels/tools/gemm.h"
#include "executor/numeric/rewriter.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::numeric {

using ir::Dims;
using ir::Op;
using ir::ValueId;

namespace {

// Numbers that no run can change.
bool is_fixed(const ir::Graph& graph, ValueId id) {
  return graph.is_constant(id) &&
         std::find(graph.inputs.begin(), graph.inputs.end(), id) == graph.inputs.end();
}

// A transposed convolution in two dimensions that makes a patch of Y of each position of X, wide enough for
// vectors.
bool makes_patches(const ir::Graph& graph, const Op& op) {
  constexpr std::int64_t kVector = 16;
  if (!op.is("ConvTranspose") || !is_static_float(graph, op) || !is_fixed(graph, op.inputs[1]) ||
      (op.inputs.size() > 2 && op.inputs[2].valid() && !is_fixed(graph, op.inputs[2])))
    return false;
  const ir::ConvShape shape = ir::conv_transpose_shape(ir::TypedOp(graph, op));
  const ir::Window& window = shape.window;
  const bool is_covered = window.rank() == 2 && window.output[0] == window.input[0] * window.kernel[0] &&
                          window.output[1] == window.input[1] * window.kernel[1];
  return is_covered && shape.group == 1 && window.strides == window.kernel &&
         window.dilations == Dims{1, 1} && window.pads_begin == Dims{0, 0} &&
         window.kernel[1] * shape.out_channels >= kVector &&
         shape.batch * shape.in_channels * shape.in_size > 0;
}

// A convolution that has vectors along its channels, not along rows.
bool goes_by_channels(const ir::Graph& graph, const Op& op) {
  return op.is("Conv") && is_fixed(graph, op.inputs[1]) && graph[op.inputs[0]].type.rank() >= 3 &&
         graph[op.inputs[0]].type.rank() <= 5 &&
         !ir::pays_by_rows_among_channels_last(ir::conv_shape(ir::TypedOp(graph, op), 1));
}

bool is_elementwise(const ir::Graph& graph, const Op& op) {
  if (!op.spec->elementwise) return false;
  const int wanted = graph[op.outputs[0]].type.rank();
  return wanted >= 3 && std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
           if (!id.valid()) return true;
           const ir::Type& type = graph[id].type;
           return type.rank() == wanted || (type.rank() < wanted && is_fixed(graph, id)) ||
                  (type.element_count() == 1 && type.rank() <= 1);
         });
}

// A convolution of bytes in ONNX's terms, which becomes one of ours unless its weights or readers forbid it.
bool may_be_of_bytes(const ir::Graph& graph, const Op& op) {
  if (!op.is("QLinearConv") && !op.is("ConvInteger")) return false;
  const std::size_t weights = op.is("QLinearConv") ? 3 : 1;
  return is_fixed(graph, op.inputs[weights]) && graph[op.inputs[0]].type.is_static() &&
         kernels::has_exact_byte_products();
}

}  // namespace

bool is_narrow_float(ir::DataType type) {
  return type == ir::DataType::Float16 || type == ir::DataType::Bfloat16;
}

bool is_of_narrow_floats(const ir::Graph& graph, const Op& op) {
  const auto is_plain = [&](ValueId id) {
    const ir::Type& type = graph[id].type;
    return type.is_static() && type.element_count() > 0 &&
           (type.element == ir::DataType::Float || is_narrow_float(type.element));
  };
  const auto all = [&](const auto& values) { return std::ranges::all_of(values, is_plain); };
  const auto any = [&](const auto& values) {
    return std::ranges::any_of(values, [&](ValueId id) { return is_narrow_float(graph[id].type.element); });
  };
  return all(inputs_of(op)) && all(outputs_of(op)) && (any(inputs_of(op)) || any(outputs_of(op)));
}

bool is_narrow_convolution(const ir::Graph& graph, const Op& op) {
  return op.is("Conv") && is_of_narrow_floats(graph, op) && goes_by_channels(graph, op) &&
         (op.inputs.size() < 3 || !op.inputs[2].valid() || is_fixed(graph, op.inputs[2]));
}

bool is_pool(const Op& op) {
  if (op.is("GlobalAveragePool") || op.is("GlobalMaxPool") || op.is("MaxPool")) return true;
  // ONNX never counts elements beyond the given padding; oneDNN would.
  return op.is("AveragePool") && (ir::attribute<std::int64_t>(op, "count_include_pad") == 0 ||
                                  ir::attribute<std::int64_t>(op, "ceil_mode") == 0);
}

bool changes_each_number(const ir::Graph& graph, const Op& op) {
  if (op.is("DynamicQuantizeLinear")) {
    const ir::Type& x = graph[op.inputs[0]].type;
    return op.outputs[0].valid() && x.is_static() && x.rank() >= 3 && x.element_count() > 0;
  }
  const bool quantizes = op.is("QuantizeLinear");
  if (!quantizes && !op.is("DequantizeLinear")) return false;
  constexpr ir::TypeSet kBytes{ir::DataType::Int8, ir::DataType::Uint8};
  const ir::Type& from = graph[op.inputs[0]].type;
  const ir::Type& to = graph[op.outputs[0]].type;
  const ir::Type& scale = graph[op.inputs[1]].type;
  return from.is_static() && from.rank() >= 3 && from.element_count() > 0 && scale.is_static() &&
         scale.rank() <= 1 && scale.element_count() == 1 &&
         (quantizes ? from : to).element == ir::DataType::Float &&
         kBytes.contains((quantizes ? to : from).element);
}

bool moves_by_constants(const ir::Graph& graph, const Op& op) {
  if (!op.is("Split") && !op.is("Slice") && !op.is("Pad") && !op.is("Resize")) return false;
  const auto is_plane = [&](ValueId id) {
    const ir::Type& type = graph[id].type;
    return (type.element == ir::DataType::Float || is_narrow_float(type.element)) && type.is_static() &&
           type.rank() >= 3 && type.element_count() > 0;
  };
  return is_plane(op.inputs[0]) && std::ranges::all_of(outputs_of(op), is_plane) &&
         std::all_of(op.inputs.begin() + 1, op.inputs.end(),
                     [&](ValueId id) { return !id.valid() || is_fixed(graph, id); });
}

bool is_norm_of_channels(const ir::Graph& graph, const Op& op) {
  constexpr std::int64_t kVector = 16;
  return (op.is("InstanceNormalization") || op.is("GroupNormalization")) && is_static_float(graph, op) &&
         graph[op.inputs[0]].type.rank() >= 3 && graph[op.inputs[0]].type.dims[1] >= kVector;
}

bool is_convolution(const ir::Graph& graph, const Op& op) {
  if (makes_patches(graph, op) || may_be_of_bytes(graph, op) || is_narrow_convolution(graph, op)) return true;
  return op.is("Conv") && is_static_float(graph, op) && goes_by_channels(graph, op) &&
         !ir::pays_by_planes_among_channels_last(ir::conv_shape(ir::TypedOp(graph, op), 1));
}

bool keeps_layout(const ir::Graph& graph, const Op& op) {
  if (op.inputs.empty() || !op.spec->domain.empty()) return false;
  if (changes_each_number(graph, op)) return true;
  if (op.outputs.size() != 1) return false;
  return (is_static_float(graph, op) || is_of_narrow_floats(graph, op)) &&
         (op.is("Concat") || is_pool(op) || is_elementwise(graph, op));
}

}  // namespace podium::numeric
