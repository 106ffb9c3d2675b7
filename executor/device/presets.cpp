// Sources of the constants, by the mark beside them:
//   sheet    vendor data sheets and product pages (Colossus Mk1 and Mk2, M2000, Bow-2000, C600, POD128; A100)
//   tool     printed by the vendor's gc-flops, gc-iputraffictest, gc-hosttraffictest
//   poplibs  constants of the vendor's open libraries and of their model of a pod
//   study    third parties' measurements: Jia et al. 2019, halo exchanges of a lattice-Boltzmann solver
//   fit      fitted on published figures, which docs/cost-model.md lists with what is left over
//   guess    nothing is published
#include "executor/device/presets.h"

#include <algorithm>

namespace podium::device {
namespace {

constexpr double kLinkBytes = 16e9 * 0.85;  // an IPU-Link, one way, what it carries of its raw rate: poplibs
constexpr double kHop = 0.6e-6;             // small halos over one or two hops: study
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr double kCodePerTileAndOp = 64;        // guess
constexpr double kCodePerTileAndExchange = 96;  // guess

Device with_code(Device device) {
  device.code_bytes_per_op = kCodePerTileAndOp * device.tiles;
  device.exchange_code_bytes_per_step = kCodePerTileAndExchange * device.tiles;
  return device;
}

// Sources of the numbers that keep device.h's defaults: rates of matrix units and of vectors: sheet; exchange
// and copy: poplibs; overheads of phases and syncs: study; overheads of products, of collectives and of
// sharded transactions: fit; of a run: tool.
Device mk2() {
  Device device;
  device.tiles = 1472;                   // sheet
  device.clock_hertz = 1.33e9;           // sheet
  device.tile_memory_bytes = 638976;     // sheet
  device.rung = {6 * kLinkBytes, kHop};  // six links to the partner, two up, two down: sheet
  device.rail = {2 * kLinkBytes, kHop};
  device.gateway = {1.2e9, 2e-6};  // fit: steps on 2 and 4 racks, of links of 2 x 100 Gb/s; latency: guess
  device.host_load = {7.06e9, 2e-6};  // tool; latency: guess
  device.host_store = {2.93e9, 2e-6};
  device.streaming_load = {4.2e9, 9.3e-6};  // fit; the tool has 3.3 and 3.8 with 32 tiles
  device.streaming_store = {4.2e9, 9.3e-6};
  device.streaming_memory_bytes = 32 * kGiB;  // sheet: 128 GB a machine
  return with_code(device);
}

Device mk1() {
  Device device = mk2();
  device.tiles = 1216;  // sheet
  device.clock_hertz = 1.6e9;
  device.tile_memory_bytes = 262144;
  device.matrix = {32, 32, 8};
  device.rung = {96e9, kHop};  // 192 GB/s both ways inside a card: sheet
  device.rail = {32e9, kHop};  // rails of 64 GB/s both ways
  device.link_domain = 16;
  device.processors_per_host = 16;  // one server, no gateway: streaming memory is the host's
  device.gateway = {};
  device.host_load = {16 * 7.9e9, 20e-6};  // half of a card's PCIe Gen3 x16 each: sheet
  device.host_store = {16 * 7.9e9, 20e-6};
  device.streaming_load = {7.9e9, 25e-6};
  device.streaming_store = {7.9e9, 25e-6};
  return with_code(device);
}

Device bow() {
  Device device = mk2();
  device.clock_hertz = 1.85e9;  // tool
  return device;
}

Device c600() {
  Device device = mk2();
  device.clock_hertz = 1.5e9;        // study
  device.matrix.quarter = 128;       // sheet
  device.host_call_seconds = 30e-6;  // fit: small batches of the vendor's ONNX runtime
  device.link_domain = 1;
  device.processors_per_host = 1;
  device.gateway = {};
  return device;
}

// Processors with a shared memory. Tiles are multiprocessors (compute units, matrix units of a TPU), and each
// receives its share of the memory's rate. The rate of the matrix units is the sheet's; the share of it that
// long products keep up, the fill and the exponent are fitted on products of the Vidur profiles (A100, H100)
// and on the best products of the ML Engineering book (others), shares of ports on collectives of vTrain, of
// the ML Engineering book and of nccl-tests, the share of attention on figures of FlashAttention 2 and 3
// (docs/cost-model.md). Streaming memory is the host's.
struct SharedMemory {
  int units;
  double clock_hertz;
  double multiply_adds;  // of a unit and cycle, 16-bit operands: sheet
  double share;
  double fill;
  double exponent;
  double memory_bytes;
  double memory_rate;   // sheet
  double memory_share;  // of it that a stream of reads and writes reaches: study
  double cache_bytes;   // a half of the sheet's where each half of the units keeps its own copies: study
  double port;          // one way: sheet
  double ring_share;
  double switch_share;
  double network;  // a processor, one way: sheet
  double attention_share;
  double host_rate;
};

Device shared_memory(const SharedMemory& chip) {
  constexpr double kLaunch = 2.5e-6;  // study
  constexpr double kProduct = 2e-6;   // fit, with the constants of products
  Device device;
  device.kind = ProcessorKind::Gpu;
  device.tiles = chip.units;
  device.clock_hertz = chip.clock_hertz;
  device.tile_memory_bytes = static_cast<std::int64_t>(chip.memory_bytes / chip.units);
  device.matrix = {.half_half = chip.multiply_adds,
                   .half_single = chip.multiply_adds,
                   .single = chip.multiply_adds / 2,
                   .quarter = chip.multiply_adds * 2};
  device.vector_bytes_per_cycle = 256;  // 64 lanes of 32 bits
  device.exchange_bytes_per_cycle = chip.memory_rate * chip.memory_share / (chip.units * chip.clock_hertz);
  device.copy_bytes_per_cycle = 128;
  device.phase_overhead_cycles = kLaunch * chip.clock_hertz;
  device.matrix_overhead_half_cycles = kProduct * chip.clock_hertz;
  device.matrix_overhead_single_cycles = kProduct * chip.clock_hertz;
  device.matrix_weights_half_cycles = 0;
  device.matrix_weights_single_cycles = 0;
  device.matrix_share = chip.share;
  device.matrix_fill = chip.fill;
  device.matrix_tile_exponent = chip.exponent;
  device.attention_share = chip.attention_share;
  device.rate_spread = 0.015;  // study: 1 to 2 percent, 5 percent between the best and the worst of a node
  device.rearrangement = {0, 0, 0};
  device.fusion = Fusion::All;
  device.cache_bytes = static_cast<std::int64_t>(chip.cache_bytes);
  device.cache_speed = 2;   // study: 2 to 3
  device.row_bytes = 4096;  // 32 registers of the 32 threads that share an instruction: softmax of PyTorch
  device.synchronous = false;
  device.multi_tensor_kernels = true;
  device.early_collectives = true;
  device.sync_cycles = 0;
  device.global_sync_seconds = 0;
  device.topology = Topology::AllToAll;
  device.rung = {chip.port, 2.5e-6};  // latency: half of a small send's: study
  device.gateway = {chip.network, 8e-6};
  device.link_domain = 8;
  device.processors_per_host = 8;
  device.collective_overhead_seconds = 5e-6;  // fit
  device.ring_share = chip.ring_share;
  device.switch_reduction_share = chip.switch_share;
  device.network_share = 0.8;                              // fit
  device.collective_merge_bytes = std::int64_t{25} << 20;  // buckets of the frameworks: their default
  device.collective_merge_member_bytes = 2'000'000;        // those of Megatron-Core: a million numbers
  device.host_call_seconds = 20e-6;                        // guess
  device.host_load = {8 * chip.host_rate, 10e-6};
  device.host_store = {8 * chip.host_rate, 10e-6};
  device.streaming_load = {chip.host_rate, 10e-6};
  device.streaming_store = {chip.host_rate, 10e-6};
  device.sharded_transaction_seconds = 10e-6;
  device.streaming_memory_bytes = 128 * kGiB;
  return device;
}

constexpr double kMebi = 1 << 20;

Device a100_80() {
  return shared_memory(
      {108, 1.41e9, 1024, 0.79, 50, 0.16, 80e9, 2.04e12, 0.81, 20 * kMebi, 300e9, 0.76, 0, 25e9, 0.72, 25e9});
}
Device a100_40() {
  return shared_memory({108, 1.41e9, 1024, 0.79, 50, 0.16, 40e9, 1.555e12, 0.81, 20 * kMebi, 300e9, 0.76, 0,
                        25e9, 0.72, 25e9});
}
constexpr double kSustainedHopper =
    0.9;  // fit; the sheets' 700 W do not last for the clock of the peak rate

Device h100() {
  Device device = shared_memory({132, 1.83e9, 2048, 0.78, 145, 0.64, 80e9, 3.35e12, 0.87, 25 * kMebi, 450e9,
                                 0.81, 0.6, 50e9, 0.6, 55e9});
  device.sustained_share = kSustainedHopper;
  device.exchanges_beside_products = true;
  return device;
}
Device h200() {
  Device device = shared_memory({132, 1.83e9, 2048, 0.78, 145, 0.64, 141e9, 4.8e12, 0.78, 25 * kMebi, 450e9,
                                 0.81, 0.6, 50e9, 0.6, 55e9});
  device.sustained_share = kSustainedHopper;
  device.exchanges_beside_products = true;
  return device;
}
Device b200() {
  Device device = shared_memory(
      {148, 1.86e9, 4096, 0.8, 145, 0.64, 180e9, 8e12, 0.85, 63 * kMebi, 900e9, 0.81, 0.54, 50e9, 0.6, 55e9});
  device.exchanges_beside_products = true;
  return device;
}
Device gb200() {
  Device device = shared_memory({148, 2.06e9, 4096, 0.8, 145, 0.64, 186e9, 8e12, 0.85, 63 * kMebi, 900e9,
                                 0.81, 0.54, 50e9, 0.6, 200e9});
  device.exchanges_beside_products = true;
  device.link_domain = 72;  // sheet
  device.processors_per_host = 4;
  return device;
}
Device mi300x() {
  return shared_memory(
      {304, 2.1e9, 1024, 0.53, 50, 0.16, 192e9, 5.3e12, 0.81, 256 * kMebi, 448e9, 0.7, 0, 50e9, 0.4, 55e9});
}

// The torus of a slice is taken as a switch that gives each chip the rate of all its links; its units are
// those of 128 x 128, which take an operand of 128 elements to fill.
Device tpu(const SharedMemory& chip, int domain) {
  Device device = shared_memory(chip);
  device.kind = ProcessorKind::Tpu;
  device.vector_bytes_per_cycle = 4096;  // 8 x 128 lanes of 32 bits, over the units of a core: sheet
  device.collective_overhead_seconds = 2e-6;
  device.row_bytes = std::int64_t{1} << 20;  // guess: a part of the memory that a core computes in
  device.rate_spread = 0;                    // nothing is published
  device.gateway = {};
  device.link_domain = domain;
  device.processors_per_host = 4;
  return device;
}
Device tpu_v4() {
  return tpu({8, 1.05e9, 16384, 0.85, 128, 0, 32e9, 1.2e12, 0.85, 0, 270e9, 0.9, 0, 0, 0.3, 25e9}, 4096);
}
Device tpu_v5p() {
  return tpu({8, 1.75e9, 16384, 0.85, 128, 0, 96e9, 2.8e12, 0.85, 0, 540e9, 0.9, 0, 0, 0.3, 25e9}, 8960);
}

struct Row {
  std::string_view name;
  Device (*processor)();
  int processors;
  Topology topology;
};

// Up to 16 processors are a ladder, a rack of 64 is a torus; racks are joined by gateways.
constexpr Row kRows[] = {
    {"ipu-mk1", mk1, 16, Topology::Ladder},       {"ipu-m2000", mk2, 4, Topology::Ladder},
    {"ipu-pod4", mk2, 4, Topology::Ladder},       {"ipu-pod16", mk2, 16, Topology::Ladder},
    {"ipu-pod64", mk2, 64, Topology::Torus},      {"ipu-pod128", mk2, 128, Topology::Torus},
    {"ipu-pod256", mk2, 256, Topology::Torus},    {"ipu-pod512", mk2, 512, Topology::Torus},
    {"ipu-pod1024", mk2, 1024, Topology::Torus},  {"bow-2000", bow, 4, Topology::Ladder},
    {"bow-pod16", bow, 16, Topology::Ladder},     {"bow-pod64", bow, 64, Topology::Torus},
    {"bow-pod256", bow, 256, Topology::Torus},    {"bow-pod1024", bow, 1024, Topology::Torus},
    {"c600", c600, 1, Topology::Ladder},          {"gpu-node-8", a100_80, 8, Topology::AllToAll},
    {"a100-40", a100_40, 8, Topology::AllToAll},  {"a100-80", a100_80, 8, Topology::AllToAll},
    {"h100", h100, 8, Topology::AllToAll},        {"h200", h200, 8, Topology::AllToAll},
    {"b200", b200, 8, Topology::AllToAll},        {"gb200-nvl72", gb200, 72, Topology::AllToAll},
    {"mi300x", mi300x, 8, Topology::AllToAll},    {"tpu-v4", tpu_v4, 64, Topology::AllToAll},
    {"tpu-v5p", tpu_v5p, 64, Topology::AllToAll},
};

const std::vector<Device>& presets() {
  static const std::vector<Device> kPresets = [] {
    std::vector<Device> all;
    for (const Row& row : kRows) {
      Device device = row.processor();
      device.name = row.name;
      device.processors = row.processors;
      device.topology = row.topology;
      all.push_back(std::move(device));
    }
    return all;
  }();
  return kPresets;
}

}  // namespace

const Device* find_preset(std::string_view name) {
  const auto found =
      std::find_if(presets().begin(), presets().end(), [&](const Device& d) { return d.name == name; });
  return found == presets().end() ? nullptr : &*found;
}

const std::vector<std::string_view>& preset_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Row& row : kRows) names.push_back(row.name);
    return names;
  }();
  return kNames;
}

}  // namespace podium::device
