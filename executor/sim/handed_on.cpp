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

struct Neighbours {
  std::map<ValueId, const DeviceKernel*> maker = {};
  std::map<ValueId, std::vector<const DeviceKernel*>> readers = {};

  explicit Neighbours(const ir::Graph& graph, const std::vector<DeviceKernel>& kernels) {
    for (const DeviceKernel& kernel : kernels) {
      for (const Op* op : kernel) {
        for (ValueId id : inputs_of(*op)) readers[id].push_back(&kernel);
        for (ValueId id : outputs_of(*op)) maker[id] = &kernel;
      }
    }
    for (ValueId id : graph.outputs) readers[id].push_back(nullptr);
  }
};

}  // namespace

std::set<ValueId> handed_on(const ir::Graph& graph, const std::vector<DeviceKernel>& kernels) {
  std::set<ValueId> found;
  const Neighbours neighbours(graph, kernels);
  const auto has_one_reader = [&](ValueId id) {
    const auto readers = neighbours.readers.find(id);
    return readers != neighbours.readers.end() && readers->second.size() == 1;
  };
  for (const DeviceKernel& kernel : kernels) {
    const Op* depthwise = convolution_of(graph, kernel);
    if (depthwise == nullptr || !is_depthwise(graph, *depthwise)) continue;
    const ValueId x = depthwise->inputs[0];
    const ValueId y = kernel.back()->outputs[0];
    std::vector<ValueId> between;
    const auto before = neighbours.maker.find(x);
    if (before != neighbours.maker.end() && has_one_reader(x)) {
      const Op* conv = convolution_of(graph, *before->second);
      if (conv != nullptr && is_of_one_group(graph, *conv)) between.push_back(x);
    }
    if (has_one_reader(y)) {
      const DeviceKernel* behind = neighbours.readers.at(y).front();
      const Op* conv = behind == nullptr ? nullptr : convolution_of(graph, *behind);
      if (conv != nullptr && conv->inputs[0] == y && is_pointwise(graph, *conv)) between.push_back(y);
    }
    std::int64_t most = 0;
    for (ValueId id : between) most = std::max(most, bytes_of_image(graph[id].type));
    if (most >= ir::kLeastHandedOn) found.insert(between.begin(), between.end());
  }
  return found;
}

}  // namespace podium::sim
