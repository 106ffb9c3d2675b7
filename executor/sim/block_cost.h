// How long a block takes on one processor: the sum of its kernels, or of their dispatch by the host.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "executor/device/device.h"
#include "executor/program.h"
#include "executor/strategy.h"

namespace podium::sim {

/// A kernel of a block, on its own.
struct KernelTime {
  std::vector<std::int32_t> ops;  ///< places in the block's graph
  double seconds = 0;
  double flop = 0;
  double ideal_seconds = 0;  ///< of the flop at the peak rate for their types
};

struct BlockCost {
  double seconds = 0;  ///< the longer of these two, less what the host is ahead (run_ahead.h)
  double flop = 0;
  double matrix_flop = 0;                  ///< the part in matrix units
  double ideal_seconds = 0;                ///< of the flop at the peak rate for their types
  std::int64_t ops = 0;                    ///< bodies of control-flow ops counted once
  std::int64_t temporary_bytes = 0;        ///< estimate: what its largest kernel copies on chip, see OpCost
  std::int64_t code_bytes = 0;             ///< estimate: equal kernels share their code
  std::vector<double> early_seconds = {};  ///< of each output: how long before the block's end it is made
  double kernel_seconds = 0;               ///< of its kernels, one after the other
  double dispatch_seconds = 0;             ///< of the host, which dispatches them
  std::vector<KernelTime> kernels = {};    ///< those that take time, in their order
};

/// The cost of a block of this graph. Kernels share their code where it is outlined. Error names an op whose
/// size only a run tells.
BlockCost block_cost(const ir::Graph& graph, const device::Device& device, int tiles,
                     Outlining outlining = Outlining::On);

/// The costs of blocks on a device. Blocks that are equal but for names and places, as those of repeated
/// layers and of the devices of a group are, are thought out once. Their graphs outlive it.
class BlockCosts {
 public:
  BlockCosts(const device::Device& device, Outlining outlining) : device_(device), outlining_(outlining) {}
  /// What `block_cost` gives; valid as long as this is.
  const BlockCost& of(const ir::Graph& graph, int tiles);

 private:
  struct Seen {
    const ir::Graph* graph = nullptr;
    int tiles = 0;
    std::vector<std::size_t> alike;  ///< by op, see ops_alike
    BlockCost cost;
  };
  const device::Device& device_;
  Outlining outlining_;
  std::unordered_multimap<std::size_t, Seen> seen_;
};

/// The seconds of one op of a graph, for placement by cost: 0 where only a run tells the sizes, and where
/// only a run tells how often a body runs, those of one time.
double op_seconds(const ir::Graph& graph, const ir::Op& op, const device::Device& device, int tiles);

/// The seconds of a byte from one processor to the next, over the slower kind of link; 0 where there is none.
double seconds_per_byte(const device::Device& device);

}  // namespace podium::sim
