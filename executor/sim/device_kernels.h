// Which ops of a block a device's compiler makes one kernel of, and what such a kernel costs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "executor/device/device.h"
#include "executor/sim/attention_scores.h"
#include "executor/sim/op_cost.h"

namespace podium::sim {

/// The ops of a kernel, in the order of the graph.
using DeviceKernel = std::vector<const ir::Op*>;

/// Every op is in one kernel; kernels are in the order of their last ops. Elementwise ops that follow each
/// other over tensors of one size, scalars among them, are one kernel as device::Fusion says; where all are
/// fused, also with the product before them. Where tiles share memory, reductions end kernels. A kernel runs
/// at one time: what it reads of others is made before it begins.
std::vector<DeviceKernel> device_kernels(const ir::Graph& graph, const device::Device& device);

/// Whether the kernel updates a weight: plain arithmetic outside of all differentiation.
bool is_update(const DeviceKernel& kernel);

/// Bytes of a kernel that caches serve.
struct CachedBytes {
  std::int64_t all = 0;
  std::int64_t near = 0;  ///< of them the tiles' own
};

/// The costs of a graph's kernels. Graph and device outlive it.
class KernelCosts {
 public:
  KernelCosts(const ir::Graph& graph, const device::Device& device, int tiles);

  /// Of a kernel of one op this is the op's. One of several goes over its tensors once: it loads what comes
  /// from outside, stores what is read outside, and computes what each op computes. Error names an op whose
  /// size only a run tells. Where waking tiles takes time (Device::spread_seconds) the kernel runs on one
  /// tile if that is faster. Ops on the scores of attention belong to its kernel, where the device has one.
  /// What only brings its operands and results into another form is its own, too. A transposition that only
  /// products read is theirs where tiles share memory and all is fused, and there what is put behind an input
  /// that nothing else reads, as new keys behind those of the past, is all that is written. On a CPU no more
  /// than `cached` bytes of the kernel come from its caches (sim/cache_reuse.h); elsewhere all that fits
  /// does.
  OpCost operator()(const DeviceKernel& kernel, const std::optional<CachedBytes>& cached = {}) const;

 private:
  const ir::Graph& graph_;
  const device::Device& device_;
  int tiles_;
  OpCost on(int tiles, const DeviceKernel& kernel, const std::optional<CachedBytes>& cached) const;
  const AttentionScores::Kernel* attention_of(const ir::Op& op) const;
  OpCost attention_part(const ir::Op& op, const AttentionScores::Kernel& kernel, int tiles) const;
  bool is_read_as_it_lies(const ir::Op& op) const;
  bool appends(const ir::Op& op) const;

  std::map<ir::ValueId, int> readers_;  ///< of each value, the graph's outputs among them
  std::set<ir::ValueId> inputs_;
  AttentionScores scores_;
  std::set<ir::ValueId> orders_for_products_;  ///< read by nothing else
  std::set<ir::ValueId> for_byte_products_;    ///< read by nothing else
};

}  // namespace podium::sim
