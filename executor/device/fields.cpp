// One table: the name that files give a number, its unit, what it means, the member that holds it and the
// range that makes sense. Reader, writer and help go over it, so a new number of a device is a member and a
// row. The order is that of printed devices: the processor, links between processors, host and streaming
// memory.
#include "executor/device/fields.h"

namespace podium::device {
namespace {

// A member, or a member of a member.
template <auto Outer>
auto& member(Device& device) {
  return device.*Outer;
}

template <auto Outer, auto Inner>
auto& member(Device& device) {
  return device.*Outer.*Inner;
}

template <auto... Path>
auto access() {
  return &member<Path...>;
}

constexpr double kMiB = 1 << 20;
constexpr double kTiB = kMiB * kMiB;

std::vector<Field> processor_fields() {
  using D = Device;
  return {
      {"processorKind", "", "ipu, gpu, tpu or cpu: what reports call a processor", access<&D::kind>()},
      {"processors", "", "of the whole pod", access<&D::processors>(), 1, 1 << 20},
      {"tiles", "", "of a processor", access<&D::tiles>(), 1, 1 << 20},
      {"clockHertz", "Hz", "of a tile", access<&D::clock_hertz>(), 1e6, 1e11},
      {"tileMemoryBytes", "bytes", "of a tile", access<&D::tile_memory_bytes>(), 1024, kTiB},
      {"matrixHalfHalf", "multiply-adds/cycle", "of a tile, 16-bit operands and sums",
       access<&D::matrix, &MatrixRate::half_half>(), 1e-3, 1e6},
      {"matrixHalfSingle", "multiply-adds/cycle", "of a tile, 16-bit operands, 32-bit sums",
       access<&D::matrix, &MatrixRate::half_single>(), 1e-3, 1e6},
      {"matrixSingle", "multiply-adds/cycle", "of a tile, 32-bit operands",
       access<&D::matrix, &MatrixRate::single>(), 1e-3, 1e6},
      {"matrixQuarter", "multiply-adds/cycle", "of a tile, 8-bit operands",
       access<&D::matrix, &MatrixRate::quarter>(), 1e-3, 1e6},
      {"vectorBytesPerCycle", "bytes/cycle", "of a tile: one load, operation or store",
       access<&D::vector_bytes_per_cycle>(), 1, 1e5},
      {"exchangeBytesPerCycle", "bytes/cycle", "that a tile receives from the others or from shared memory",
       access<&D::exchange_bytes_per_cycle>(), 1e-3, 1e5},
      {"copyBytesPerCycle", "bytes/cycle", "inside a tile", access<&D::copy_bytes_per_cycle>(), 1e-3, 1e5},
      {"phaseOverheadCycles", "cycles", "of a compute and exchange superstep",
       access<&D::phase_overhead_cycles>(), 0, 1e7},
      {"matrixOverheadHalfCycles", "cycles", "fixed cost of a product of 16-bit operands",
       access<&D::matrix_overhead_half_cycles>(), 0, 1e7},
      {"matrixOverheadSingleCycles", "cycles", "fixed cost of a product of 32-bit operands",
       access<&D::matrix_overhead_single_cycles>(), 0, 1e7},
      {"matrixWeightsHalfCycles", "cycles",
       "to load 16 x 64 weights of 16 bits; where memory is shared, to pack those that change",
       access<&D::matrix_weights_half_cycles>(), 0, 1e7},
      {"matrixWeightsSingleCycles", "cycles",
       "to load 16 x 64 weights of 32 bits; where memory is shared, to pack those that change",
       access<&D::matrix_weights_single_cycles>(), 0, 1e7},
      {"matrixShare", "", "of the matrix units' rate that a long product keeps up",
       access<&D::matrix_share>(), 1e-3, 1},
      {"matrixFill", "", "inner elements that it takes to fill a unit, where memory is shared",
       access<&D::matrix_fill>(), 0, 1e5},
      {"matrixTileExponent", "",
       "the rate of a piece goes with its area to this power, where memory is shared",
       access<&D::matrix_tile_exponent>(), 0, 4},
      {"convolutionShare", "", "of the rate of products that convolutions keep up",
       access<&D::convolution_share>(), 1e-3, 10},
      {"winogradShare", "",
       "the same of those of 3 x 3 with very many channels, where there is Winograd's way; 0: there is none",
       access<&D::winograd_share>(), 0, 10},
      {"rowConvolutionShare", "", "the same of those of few channels, whose vectors lie along rows",
       access<&D::row_convolution_share>(), 1e-3, 10},
      {"fewRowsShare", "", "of the rate of products that those of few rows keep up, where memory is shared",
       access<&D::few_rows_share>(), 1e-3, 10},
      {"changingWeightsShare", "", "and those of operands that change between runs, once these are packed",
       access<&D::changing_weights_share>(), 1e-3, 10},
      {"aheadShare", "", "of known weights beyond a thread's own cache, what comes while products multiply",
       access<&D::ahead_share>(), 0, 1},
      {"attentionShare", "", "of the matrix rate in one kernel of attention; 0: there is none",
       access<&D::attention_share>(), 0, 1},
      {"sustainedShare", "", "of the matrix rate in training, which the limit of power leaves",
       access<&D::sustained_share>(), 1e-3, 1},
      {"rateSpread", "", "standard deviation of the matrix rates of processors that wait for each other",
       access<&D::rate_spread>(), 0, 0.2},
      {"rearrangeWideCyclesPerByte", "cycles/byte", "of a tile, runs of 8 bytes or more",
       access<&D::rearrangement, &Rearrangement::wide>(), 0, 1e3},
      {"rearrangeSingleCyclesPerByte", "cycles/byte", "of a tile, elements of 32 bits",
       access<&D::rearrangement, &Rearrangement::single>(), 0, 1e3},
      {"rearrangeHalfCyclesPerByte", "cycles/byte", "of a tile, elements of 16 bits",
       access<&D::rearrangement, &Rearrangement::half>(), 0, 1e3},
      {"fusion", "", "none, nodes or all: which elementwise ops are one kernel", access<&D::fusion>()},
      {"cacheBytes", "bytes", "of the last level before shared memory that a kernel finds again",
       access<&D::cache_bytes>(), 0, kTiB},
      {"cacheSpeed", "", "times the rate of shared memory", access<&D::cache_speed>(), 1, 1000},
      {"nearCacheBytes", "bytes", "of a tile's own cache, which a product uses while it computes; of a CPU",
       access<&D::near_cache_bytes>(), 0, kTiB},
      {"nearCacheSpeed", "", "times the rate of shared memory", access<&D::near_cache_speed>(), 1, 1000},
      {"readSpeed", "", "times the rate of shared memory, of what a product reads", access<&D::read_speed>(),
       1, 1000},
      {"rowBytes", "bytes",
       "of a row, in single precision, that a kernel keeps while it normalises it, where memory is shared",
       access<&D::row_bytes>(), 0, kTiB},
      {"dispatchSeconds", "s", "of a kernel, by the host beside the device", access<&D::dispatch_seconds>(),
       0, 1},
      {"spreadSeconds", "s",
       "to wake the other tiles for a kernel, where memory is shared; what is done sooner on one stays there",
       access<&D::spread_seconds>(), 0, 1},
  };
}

std::vector<Field> link_fields() {
  using D = Device;
  return {
      {"synchronous", "", "whether an exchange is a barrier of its sync group", access<&D::synchronous>()},
      {"syncCycles", "cycles", "inside one processor", access<&D::sync_cycles>(), 0, 1e7},
      {"globalSyncSeconds", "s", "between processors", access<&D::global_sync_seconds>(), 0, 1},
      {"topology", "", "allToAll, ladder or torus", access<&D::topology>()},
      {"rungBytesPerSecond", "bytes/s", "one way, to the partner of the pair or to the switch",
       access<&D::rung, &Link::bytes_per_second>(), 0, 1e15},
      {"rungLatencySeconds", "s", "of a hop", access<&D::rung, &Link::latency_seconds>(), 0, 1},
      {"railBytesPerSecond", "bytes/s", "one way, to the neighbour pair",
       access<&D::rail, &Link::bytes_per_second>(), 0, 1e15},
      {"railLatencySeconds", "s", "of a hop", access<&D::rail, &Link::latency_seconds>(), 0, 1},
      {"linkDomain", "", "processors that rungs and rails tie together", access<&D::link_domain>(), 1,
       1 << 20},
      {"processorsPerHost", "", "that share one gateway", access<&D::processors_per_host>(), 1, 1 << 20},
      {"gatewayBytesPerSecond", "bytes/s",
       "one way, from a machine to its like in the next domain; allToAll: from a processor",
       access<&D::gateway, &Link::bytes_per_second>(), 0, 1e15},
      {"gatewayLatencySeconds", "s", "of a hop", access<&D::gateway, &Link::latency_seconds>(), 0, 1},
      {"collectiveOverheadSeconds", "s", "of one collective, beside its transfers",
       access<&D::collective_overhead_seconds>(), 0, 10},
      {"collectiveMergeBytes", "bytes", "up to which collectives in a row are one; 0: none are",
       access<&D::collective_merge_bytes>(), 0, kTiB},
      {"collectiveMergeMemberBytes", "bytes",
       "for each member of a collective, up to which those in a row are one, where that makes more",
       access<&D::collective_merge_member_bytes>(), 0, kTiB},
      {"earlyCollectives", "",
       "whether a collective begins when its operand is made, while the block that makes it computes on",
       access<&D::early_collectives>()},
      {"exchangesBesideProducts", "",
       "whether gathers and reduce-scatters of a cut tensor go piece by piece beside the products that read "
       "or make it",
       access<&D::exchanges_beside_products>()},
      {"multiTensorKernels", "",
       "whether a kernel goes over many tensors: it moves, adds up and joins parts of cut ones, or updates "
       "all weights",
       access<&D::multi_tensor_kernels>()},
      {"ringShare", "", "of the ports' rate that a ring keeps up, allToAll", access<&D::ring_share>(), 1e-3,
       1},
      {"switchReductionShare", "", "of the ports' rate where the switch adds up; 0: it cannot",
       access<&D::switch_reduction_share>(), 0, 1},
      {"networkShare", "", "of the gateways' rate that collectives keep up, allToAll",
       access<&D::network_share>(), 1e-3, 1},
  };
}

std::vector<Field> memory_fields() {
  using D = Device;
  return {
      {"hostCallSeconds", "s", "of one run", access<&D::host_call_seconds>(), 0, 100},
      {"hostLoadBytesPerSecond", "bytes/s", "from the host to a gateway",
       access<&D::host_load, &Link::bytes_per_second>(), 1, 1e15},
      {"hostLoadLatencySeconds", "s", "of a transfer", access<&D::host_load, &Link::latency_seconds>(), 0, 1},
      {"hostStoreBytesPerSecond", "bytes/s", "from a gateway to the host",
       access<&D::host_store, &Link::bytes_per_second>(), 1, 1e15},
      {"hostStoreLatencySeconds", "s", "of a transfer", access<&D::host_store, &Link::latency_seconds>(), 0,
       1},
      {"streamingLoadBytesPerSecond", "bytes/s", "from streaming memory to a processor",
       access<&D::streaming_load, &Link::bytes_per_second>(), 0, 1e15},
      {"streamingLoadLatencySeconds", "s", "of a transaction",
       access<&D::streaming_load, &Link::latency_seconds>(), 0, 1},
      {"streamingStoreBytesPerSecond", "bytes/s", "from a processor to streaming memory",
       access<&D::streaming_store, &Link::bytes_per_second>(), 0, 1e15},
      {"streamingStoreLatencySeconds", "s", "of a transaction",
       access<&D::streaming_store, &Link::latency_seconds>(), 0, 1},
      {"shardedTransactionSeconds", "s", "latency of a transaction with a sharded tensor",
       access<&D::sharded_transaction_seconds>(), 0, 1},
      {"transactionBytes", "bytes", "the most that one transaction moves", access<&D::transaction_bytes>(), 1,
       kTiB},
      {"streamingMemoryBytes", "bytes", "of a processor", access<&D::streaming_memory_bytes>(), 0,
       1024 * kTiB},
      {"codeBytesPerOp", "bytes", "estimate, per processor", access<&D::code_bytes_per_op>(), 0, 1e9},
      {"exchangeCodeBytesPerStep", "bytes", "estimate, per processor",
       access<&D::exchange_code_bytes_per_step>(), 0, 1e9},
  };
}

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> all = processor_fields();
    for (const std::vector<Field>& more : {link_fields(), memory_fields()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return kFields;
}

std::string_view name_of(Topology topology) {
  switch (topology) {
    case Topology::AllToAll:
      return "allToAll";
    case Topology::Ladder:
      return "ladder";
    case Topology::Torus:
      return "torus";
  }
  return {};
}

std::string_view name_of(Fusion fusion) {
  switch (fusion) {
    case Fusion::None:
      return "none";
    case Fusion::Nodes:
      return "nodes";
    case Fusion::All:
      return "all";
  }
  return {};
}

std::string_view name_of(ProcessorKind kind) {
  switch (kind) {
    case ProcessorKind::Ipu:
      return "ipu";
    case ProcessorKind::Gpu:
      return "gpu";
    case ProcessorKind::Tpu:
      return "tpu";
    case ProcessorKind::Cpu:
      return "cpu";
  }
  return {};
}

}  // namespace podium::device
