// Sources of the constants, by the mark beside them:
//   sheet    vendor data sheets and product pages (Colossus Mk1 and Mk2, M2000, Bow-2000, C600, POD128; A100)
//   tool     printed by the vendor's gc-flops, gc-iputraffictest, gc-hosttraffictest
//   poplibs  constants of the vendor's open libraries and of their model of a pod
//   study    third parties' measurements: Jia et al. 2019, halo exchanges of a lattice-Boltzmann solver
//   fit      fitted on published figures: dense products of the PopSparse paper, and the vendor's table of
//            sharded optimizer state
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
  device.gateway = {12.5e9, 2e-6};     // 100 Gb/s: sheet; latency: guess
  device.host_load = {7.06e9, 20e-6};  // tool; latency: guess
  device.host_store = {2.93e9, 20e-6};
  device.streaming_load = {4.8e9, 25e-6};  // fit
  device.streaming_store = {4.8e9, 25e-6};
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
  device.clock_hertz = 1.5e9;  // study
  device.link_domain = 1;
  device.processors_per_host = 1;
  device.gateway = {};
  return device;
}

// A node of eight A100 (80 GB) behind NVLink switches: data sheet. Tiles are multiprocessors, and each
// receives its share of the 2.04 TB/s of shared memory. Streaming memory is the host's.
Device gpu() {
  Device device;
  device.tiles = 108;
  device.clock_hertz = 1.41e9;
  device.tile_memory_bytes = 80'000'000'000 / 108;
  device.matrix = {1024, 1024, 512};    // 312 TF of 16 bits, 156 TF of TF32
  device.vector_bytes_per_cycle = 256;  // 64 lanes of 32 bits
  device.exchange_bytes_per_cycle = 2.039e12 / (108 * 1.41e9);
  device.copy_bytes_per_cycle = 128;
  device.phase_overhead_cycles = 4e-6 * 1.41e9;  // a kernel's launch: guess
  device.matrix_overhead_half_cycles = 0;
  device.matrix_overhead_single_cycles = 0;
  device.matrix_weights_half_cycles = 0;
  device.matrix_weights_single_cycles = 0;
  device.matrix_framework_factor = 1;
  device.synchronous = false;
  device.sync_cycles = 0;
  device.global_sync_seconds = 0;
  device.topology = Topology::AllToAll;
  device.rung = {300e9, 2e-6};  // 600 GB/s both ways; latency: guess
  device.link_domain = 8;
  device.processors_per_host = 8;
  device.collective_overhead_seconds = 20e-6;  // guess
  device.host_call_seconds = 20e-6;            // guess
  device.host_load = {8 * 25e9, 10e-6};        // PCIe Gen4 x16, what it carries of 32 GB/s
  device.host_store = {8 * 25e9, 10e-6};
  device.streaming_load = {25e9, 10e-6};  // the host's memory
  device.streaming_store = {25e9, 10e-6};
  device.sharded_transaction_seconds = 10e-6;
  device.streaming_memory_bytes = 128 * kGiB;
  return device;
}

struct Row {
  std::string_view name;
  Device (*processor)();
  int processors;
  Topology topology;
};

// Up to 16 processors are a ladder, a rack of 64 is a torus; racks are joined by gateways.
constexpr Row kRows[] = {
    {"ipu-mk1", mk1, 16, Topology::Ladder},      {"ipu-m2000", mk2, 4, Topology::Ladder},
    {"ipu-pod4", mk2, 4, Topology::Ladder},      {"ipu-pod16", mk2, 16, Topology::Ladder},
    {"ipu-pod64", mk2, 64, Topology::Torus},     {"ipu-pod128", mk2, 128, Topology::Torus},
    {"ipu-pod256", mk2, 256, Topology::Torus},   {"ipu-pod512", mk2, 512, Topology::Torus},
    {"ipu-pod1024", mk2, 1024, Topology::Torus}, {"bow-2000", bow, 4, Topology::Ladder},
    {"bow-pod16", bow, 16, Topology::Ladder},    {"bow-pod64", bow, 64, Topology::Torus},
    {"bow-pod256", bow, 256, Topology::Torus},   {"bow-pod1024", bow, 1024, Topology::Torus},
    {"c600", c600, 1, Topology::Ladder},         {"gpu-node-8", gpu, 8, Topology::AllToAll},
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
