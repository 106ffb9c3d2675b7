// The machine, as numbers: the simulator knows nothing else of it. presets.cpp says where the numbers of each
// preset come from, fields.cpp what a file may set.
#pragma once

#include <cstdint>
#include <string>

namespace podium::device {

/// Multiply-adds per cycle of one tile's matrix unit.
struct MatrixRate {
  double half_half = 64;    ///< 16-bit operands, 16-bit partial sums
  double half_single = 32;  ///< 16-bit operands, 32-bit partial sums
  double single = 16;       ///< 32-bit operands
  double quarter = 64;      ///< 8-bit operands
};

/// Which elementwise ops a device's compiler makes one kernel of, so that what passes between them never
/// leaves the registers.
enum class Fusion : std::uint8_t {
  None,   ///< each op is a kernel
  Nodes,  ///< those that write out one node of the model: its gradient, or the update of weights
  All     ///< neighbours of the model, too
};

/// Cycles of a tile to put a byte into another order, by the run of bytes that stay together.
struct Rearrangement {
  double wide = 0.44;     ///< 8 bytes or more
  double single = 3.125;  ///< 4 bytes
  double half = 5.148;    ///< 2 bytes and fewer
};

/// What people call a processor, in reports.
enum class ProcessorKind : std::uint8_t { Ipu, Gpu, Tpu, Cpu };

/// How the processors of a pod reach each other.
enum class Topology : std::uint8_t {
  AllToAll,  ///< each has a port to a switch that no two of them share
  Ladder,    ///< pairs (2k, 2k+1) are the rungs, rails go up and down
  Torus      ///< a ladder whose ends meet
};

/// Rate in one direction, and what each use of it costs beside.
struct Link {
  double bytes_per_second = 0;  ///< 0: there is none
  double latency_seconds = 0;
};

struct Device {
  std::string name;
  ProcessorKind kind = ProcessorKind::Ipu;
  int processors = 1;
  int tiles = 1472;  ///< of a processor: units that work on their own (a GPU's multiprocessors)
  double clock_hertz = 1.33e9;
  std::int64_t tile_memory_bytes = 638976;  ///< of a tile; where memory is shared, a tile's part

  MatrixRate matrix = {};
  double vector_bytes_per_cycle = 8;    ///< of a tile: one load, operation or store of so many bytes a cycle
  double exchange_bytes_per_cycle = 4;  ///< that a tile receives from the others, or from shared memory
  double copy_bytes_per_cycle = 8;      ///< inside a tile
  double phase_overhead_cycles = 600;   ///< of one compute and exchange superstep, its sync included
  double matrix_overhead_half_cycles = 1890;  ///< fixed cost of a matrix product of 16-bit operands
  double matrix_overhead_single_cycles = 1366;
  double matrix_weights_half_cycles = 650;  ///< to bring a group of 16 x 64 weights into the matrix unit
  double matrix_weights_single_cycles = 3056;
  double matrix_share = 0.9;        ///< of the matrix units' rate that a long product keeps up
  double matrix_fill = 0;           ///< shared memory: inner elements that it takes to fill a unit
  double matrix_tile_exponent = 0;  ///< shared memory: rate of a piece ~ (its area / 128 x 128) to this power
  double convolution_share = 1;     ///< of the rate of products that convolutions keep up
  /// The same of those of 3 x 3 at a stride of 1 by Winograd's way with very many channels, which takes fewer
  /// multiply-adds than are counted; 0: there is none.
  double winograd_share = 0;
  double row_convolution_share = 1;   ///< the same of those of few channels, whose vectors lie along rows
  double few_rows_share = 1;          ///< and that products of fewer rows than a piece has keep up
  double changing_weights_share = 1;  ///< and those of operands that change, once these are packed
  /// Of known weights beyond a thread's own cache, what comes while products multiply. Others are waited for.
  double ahead_share = 0;
  double attention_share = 0;         ///< of the matrix rate in one kernel of attention; 0: there is none
  double sustained_share = 1;         ///< of both rates in training: what the limit of power leaves for hours
  double rate_spread = 0;  ///< standard deviation of processors' matrix rates; the slowest sets the pace
  Rearrangement rearrangement = {};
  Fusion fusion = Fusion::Nodes;
  std::int64_t cache_bytes = 0;  ///< of the last level between the units and shared memory
  double cache_speed = 1;        ///< times the rate of shared memory
  /// Of a tile's own cache, what is in which a product uses while it computes. Of a CPU.
  std::int64_t near_cache_bytes = 0;
  double near_cache_speed = 1;  ///< times the rate of shared memory
  /// The same of what a product reads from shared memory. Kernels that store have the rate itself: before a
  /// core stores into a line it reads it.
  double read_speed = 1;
  /// Of a row, in single precision, that a kernel over shared memory keeps while it normalises the row: a
  /// longer one is read again. The default is a core's nearest cache.
  std::int64_t row_bytes = std::int64_t{32} << 10;
  double dispatch_seconds = 0;  ///< of a kernel, by the host beside the device; the slower of both decides
  double spread_seconds = 0;    ///< of a kernel, to wake all tiles where one would do; shared memory

  bool synchronous = true;   ///< an exchange is a barrier of its sync group and stops its processors' compute
  double sync_cycles = 100;  ///< inside one processor
  double global_sync_seconds = 0.45e-6;  ///< between processors

  Topology topology = Topology::Ladder;
  Link rung = {};               ///< to the partner of the pair; of AllToAll: a processor's port
  Link rail = {};               ///< to the neighbour pair, on the same side
  int link_domain = 64;         ///< processors that rungs and rails tie together; beyond them gateways do
  int processors_per_host = 4;  ///< that share one gateway: a machine
  /// From a machine to its like in the next domain; of AllToAll: from a processor to the network.
  Link gateway = {};
  /// Whether a kernel goes over many tensors: devices add up and put together what they exchange of a cut
  /// tensor in the kernel that moves it, and one updates all weights.
  bool multi_tensor_kernels = false;
  /// Whether a reduction beside computes begins when its operand is made, not when the block that makes it
  /// has ended: gradients meet while earlier layers still go backward.
  bool early_collectives = false;
  /// Whether gathers and reduce-scatters of a cut tensor go piece by piece beside the products that read or
  /// make it.
  bool exchanges_beside_products = false;
  double collective_overhead_seconds = 0.13e-3;  ///< of replicas' all-reduce, beside its transfers; else half
  std::int64_t collective_merge_bytes = 0;       ///< up to which collectives in a row are one; 0: none are
  std::int64_t collective_merge_member_bytes = 0;  ///< for each that takes part, where that makes more
  double ring_share = 1;              ///< AllToAll: of the rate of the ports that a ring keeps up
  double switch_reduction_share = 0;  ///< of it where the switch adds up; 0: it cannot
  double network_share = 1;           ///< of the network's rate

  double host_call_seconds = 128e-6;  ///< of one run
  Link host_load = {};                ///< from the host to a gateway, all its processors together
  Link host_store = {};               ///< from a gateway to the host
  Link streaming_load = {};           ///< from the gateway's memory, per processor; latency of a transaction
  Link streaming_store = {};
  double sharded_transaction_seconds = 9.3e-6;  ///< latency of a transaction with a sharded tensor
  std::int64_t transaction_bytes = std::int64_t{128} << 20;  ///< more is cut into several
  std::int64_t streaming_memory_bytes = 0;                   ///< per processor

  double code_bytes_per_op = 0;             ///< estimate, per op and processor
  double exchange_code_bytes_per_step = 0;  ///< estimate, per exchange step and processor

  std::int64_t memory_bytes() const { return tiles * tile_memory_bytes; }
};

}  // namespace podium::device
