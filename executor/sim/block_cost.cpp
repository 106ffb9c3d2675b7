// Kernels run one after the other; a block lasts as long as they do, or as the host takes to dispatch them.
// Ops that move parts of a cut tensor are no kernels where a collective's own kernel does their work, and of
// the kernels that update weights the first is launched for all. An output has been made when its kernel has
// ended: collectives that do not wait for the block need to know how long before its end that is.
#include "executor/sim/block_cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "executor/same_code.h"
#include "executor/sim/cache_reuse.h"
#include "executor/sim/device_kernels.h"
#include "executor/sim/handed_on.h"
#include "executor/sim/op_cost.h"
#include "ir/annotation.h"
#include "ir/error.h"
#include "ir/training.h"

namespace podium::sim {
namespace {

std::int64_t count_ops(const ir::Graph& graph) {
  auto count = std::ssize(graph.ops);
  for (const ir::Op& op : graph.ops) {
    for_each_body(op, [&](std::string_view, const ir::Graph& body) { count += count_ops(body); });
  }
  return count;
}

// Kernels of the same ops over the same types share their code, where what their nodes say of outlining is
// the same.
std::string code_of(const ir::Graph& graph, const DeviceKernel& kernel) {
  std::string code;
  for (const ir::Op* op : kernel) {
    code += op->spec->name;
    if (const auto* told = ir::find_attribute(*op, ir::kOutline)) code += to_string(*told);
    for (ir::ValueId id : inputs_of(*op)) code += to_string(graph[id].type);
    for (ir::ValueId id : outputs_of(*op)) code += to_string(graph[id].type);
  }
  return code;
}

// The movement of a cut tensor that a kernel is part of, on devices where that takes no kernels of its own.
std::optional<std::int64_t> movement_of(const DeviceKernel& kernel, const device::Device& device) {
  const auto* movement = ir::attribute_if<std::int64_t>(*kernel.front(), ir::kMovement);
  return device.multi_tensor_kernels && movement != nullptr ? std::optional(*movement) : std::nullopt;
}

// When each output of a graph has been made, while its kernels run one after the other.
class OutputTimes {
 public:
  explicit OutputTimes(const ir::Graph& graph) {
    for (ir::ValueId id : graph.outputs) made_.emplace(id, std::nullopt);
  }
  void note(const DeviceKernel& kernel, double seconds) {
    for (const ir::Op* op : kernel) {
      for (ir::ValueId id : outputs_of(*op)) {
        if (const auto output = made_.find(id); output != made_.end()) output->second = seconds;
      }
    }
  }
  /// Before the end of a block that lasts `seconds`, of which its kernels take `of_kernels` on their own.
  std::vector<double> before_end(const ir::Graph& graph, double of_kernels, double seconds) const {
    std::vector<double> early;
    for (ir::ValueId id : graph.outputs) {
      const std::optional<double>& made = made_.at(id);
      early.push_back(made && of_kernels > 0 ? std::max(0.0, 1 - *made / of_kernels) * seconds : 0);
    }
    return early;
  }

 private:
  std::map<ir::ValueId, std::optional<double>> made_;
};

KernelTime time_of(const ir::Graph& graph, const DeviceKernel& kernel, const OpCost& cost) {
  KernelTime time{.ops = {}, .seconds = cost.seconds, .flop = cost.flop, .ideal_seconds = cost.ideal_seconds};
  for (const ir::Op* op : kernel) time.ops.push_back(static_cast<std::int32_t>(op - graph.ops.data()));
  return time;
}

// What else than its code the cost of a block depends on: which ops are of one node, and of one movement. By
// op, the first that is alike in the one and in the other.
std::vector<std::size_t> ops_alike(const ir::Graph& graph) {
  std::unordered_map<std::string_view, std::size_t> nodes;
  std::unordered_map<std::int64_t, std::size_t> movements;
  std::vector<std::size_t> alike;
  alike.reserve(2 * graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    const auto* movement = ir::attribute_if<std::int64_t>(op, ir::kMovement);
    alike.push_back(op.name.empty() ? graph.ops.size() : nodes.emplace(op.name, i).first->second);
    alike.push_back(movement == nullptr ? graph.ops.size() : movements.emplace(*movement, i).first->second);
  }
  return alike;
}

// Of each kernel; of none but the host's.
std::vector<std::optional<CachedBytes>> found_in_caches(const ir::Graph& graph,
                                                        const std::vector<DeviceKernel>& kernels,
                                                        const device::Device& device, int tiles) {
  std::vector<std::optional<CachedBytes>> found(kernels.size());
  if (!is_host(device)) return found;
  const std::int64_t near_bytes = device.near_cache_bytes * tiles;
  const std::set<ir::ValueId> kept = handed_on(graph, kernels);
  const std::vector<std::int64_t> all =
      cached_bytes(graph, kernels, std::max(device.cache_bytes, near_bytes), kept);
  const std::vector<std::int64_t> near = cached_bytes(graph, kernels, near_bytes, kept);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = CachedBytes{.all = all[i], .near = near[i]};
  return found;
}

}  // namespace

const BlockCost& BlockCosts::of(const ir::Graph& graph, int tiles) {
  const std::size_t hash = executor::hash_of_code(graph);
  std::vector<std::size_t> alike = ops_alike(graph);
  const auto [begin, end] = seen_.equal_range(hash);
  const auto equal = std::find_if(begin, end, [&](const auto& entry) {
    const Seen& seen = entry.second;
    return seen.tiles == tiles && seen.alike == alike && executor::same_code(*seen.graph, graph);
  });
  if (equal != end) return equal->second.cost;
  BlockCost cost = block_cost(graph, device_, tiles, outlining_);
  return seen_.emplace(hash, Seen{&graph, tiles, std::move(alike), std::move(cost)})->second.cost;
}

BlockCost block_cost(const ir::Graph& graph, const device::Device& device, int tiles, Outlining outlining) {
  BlockCost cost;
  const KernelCosts price(graph, device, tiles);
  std::set<std::string> codes;
  std::int64_t of_bodies = 0;
  double dispatched = 0;
  double temporary = 0;
  std::int64_t kernel_count = 0;
  std::set<std::int64_t> movements;
  bool has_update = false;
  OutputTimes outputs(graph);
  const std::vector<DeviceKernel> kernels = device_kernels(graph, device);
  const auto cached = found_in_caches(graph, kernels, device, tiles);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const DeviceKernel& kernel = kernels[i];
    if (const auto movement = movement_of(kernel, device)) {
      if (movements.insert(*movement).second) dispatched += device.dispatch_seconds;
      outputs.note(kernel, cost.seconds);
      continue;
    }
    OpCost one = price(kernel, cached[i]);
    // Where kernels go over many tensors, all updates are one.
    const bool is_of_updates = device.multi_tensor_kernels && is_update(kernel);
    const bool is_launched = one.seconds > 0 && !(has_update && is_of_updates);
    if (!is_launched)
      one.seconds = std::max(0.0, one.seconds - device.phase_overhead_cycles / device.clock_hertz);
    has_update = has_update || is_of_updates;
    cost.seconds += one.seconds;
    outputs.note(kernel, cost.seconds);
    cost.flop += one.flop;
    cost.matrix_flop += one.matrix_flop;
    cost.ideal_seconds += one.ideal_seconds;
    temporary = std::max(temporary, one.temporary_bytes);
    if (is_launched) dispatched += device.dispatch_seconds;
    codes.insert(code_of(graph, kernel));
    if (one.seconds > 0) cost.kernels.push_back(time_of(graph, kernel, one));
    ++kernel_count;
    for (const ir::Op* op : kernel) {
      for_each_body(*op, [&](std::string_view, const ir::Graph& body) { of_bodies += count_ops(body); });
    }
  }
  cost.kernel_seconds = cost.seconds;
  cost.dispatch_seconds = dispatched;
  cost.seconds = std::max(cost.kernel_seconds, cost.dispatch_seconds);
  cost.early_seconds = outputs.before_end(graph, cost.kernel_seconds, cost.seconds);
  cost.temporary_bytes = std::llround(temporary);
  cost.ops = count_ops(graph);
  cost.code_bytes = std::llround(
      static_cast<double>((outlining == Outlining::On ? std::ssize(codes) : kernel_count) + of_bodies) *
      device.code_bytes_per_op);
  return cost;
}

double op_seconds(const ir::Graph& graph, const ir::Op& op, const device::Device& device, int tiles) {
  try {
    return op_cost(ir::TypedOp(graph, op), device, tiles).seconds;
  } catch (const Error&) {
    double seconds = 0;
    for_each_body(op, [&](std::string_view, const ir::Graph& body) {
      for (const ir::Op& inner : body.ops) seconds += op_seconds(body, inner, device, tiles);
    });
    return seconds;
  }
}

double seconds_per_byte(const device::Device& device) {
  double seconds = 0;
  for (const device::Link& link : {device.rung, device.rail}) {
    if (link.bytes_per_second > 0) seconds = std::max(seconds, 1 / link.bytes_per_second);
  }
  return seconds;
}

}  // namespace podium::sim
