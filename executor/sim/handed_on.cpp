#include "executor/sim/handed_on.h"

#include <algorithm>
#include <map>

#include "ir/infer.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::sim {
namespace {

using ir::Op;
using ir::ValueId;

constexpr std::size_t kPlaneRank = 4;

// The convolution of planes with known weights that a kernel begins with, or nullptr.
const Op* convolution_of(const ir::Graph& graph, const DeviceKernel& kernel) {
  const Op& op = *kernel.front();
  if (!op.is("Conv") || !graph.is_constant(op.inputs[1])) return nullptr;
  const ir::Type& type = graph[op.outputs[0]].type;
  return type.is_static() && type.dims.size() == kPlaneRank ? &op : nullptr;
}

bool is_depthwise(const ir::Graph& graph, const Op& op) {
  const ir::Dims& weights = graph[op.inputs[1]].type.dims;
  return weights[0] > 1 && weights[1] == 1 && ir::TypedOp(graph, op).get_int("group") == weights[0];
}

bool is_of_one_group(const ir::Graph& graph, const Op& op) {
  return ir::TypedOp(graph, op).get_int("group") == 1;
}

bool is_pointwise(const ir::Graph& graph, const Op& op) {
  return is_of_one_group(graph, op) && ir::has_one_element(ir::conv_shape(ir::TypedOp(graph, op), 1));
}

std::int64_t bytes_of_image(const ir::Type& type) {
  return ir::packed_bytes(type) / std::max<std::int64_t>(type.dims[0], 1);
}

}  // namespace

std::set<ValueId> handed_on(const ir::Graph& graph, const std::vector<DeviceKernel>& kernels) {
  const ir::IdMap<ValueId, ir::OpId> makers = ir::producers(graph);
  const ir::Consumers readers(graph);
  std::map<const Op*, const DeviceKernel*> kernel_of;
  for (const DeviceKernel& kernel : kernels) {
    for (const Op* op : kernel) kernel_of[op] = &kernel;
  }
  const auto convolution_with = [&](ir::OpId op) {
    return op.valid() ? convolution_of(graph, *kernel_of.at(&graph[op])) : nullptr;
  };
  const auto only_reader = [&](ValueId id) {
    const bool is_one =
        readers[id].size() == 1 && std::ranges::find(graph.outputs, id) == graph.outputs.end();
    return is_one ? readers[id].front() : ir::OpId();
  };
  std::set<ValueId> found;
  for (const DeviceKernel& kernel : kernels) {
    const Op* depthwise = convolution_of(graph, kernel);
    if (depthwise == nullptr || !is_depthwise(graph, *depthwise)) continue;
    const ValueId x = depthwise->inputs[0];
    const ValueId y = kernel.back()->outputs[0];
    const Op* before = only_reader(x).valid() ? convolution_with(makers[x]) : nullptr;
    const Op* behind = convolution_with(only_reader(y));
    std::vector<ValueId> between;
    if (before != nullptr && is_of_one_group(graph, *before)) between.push_back(x);
    if (behind != nullptr && behind->inputs[0] == y && is_pointwise(graph, *behind)) between.push_back(y);
    std::int64_t most = 0;
    for (ValueId id : between) most = std::max(most, bytes_of_image(graph[id].type));
    if (most >= ir::kLeastHandedOn) found.insert(between.begin(), between.end());
  }
  return found;
}

}  // namespace podium::sim
