// What is true of any machine: random models on random devices, of which one thing is changed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "executor/sim/routes.h"
#include "executor/sim/simulate.h"
#include "ir/filled.h"
#include "tests/executor/lower/placed.h"
#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

using device::Device;
using device::Link;

constexpr int kCases = 150;

int pick(std::mt19937& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}
double factor(std::mt19937& random) { return std::uniform_real_distribution<double>(0.4, 2.5)(random); }

std::vector<Link*> links_of(Device& device) {
  return {&device.rung,       &device.rail,           &device.gateway,        &device.host_load,
          &device.host_store, &device.streaming_load, &device.streaming_store};
}

// Two threads over a memory, about as `podium calibrate` finds them.
Device host() {
  return device::parse_device(
      R"({"base": "a100-80", "name": "host", "processorKind": "cpu", "tiles": 2, "tileMemoryBytes": 8000000000,
    "clockHertz": 1e9, "matrixSingle": 58, "matrixHalfSingle": 56, "matrixHalfHalf": 56, "vectorBytesPerCycle": 38,
    "exchangeBytesPerCycle": 19, "phaseOverheadCycles": 360, "matrixOverheadSingleCycles": 490,
    "matrixWeightsSingleCycles": 360, "matrixShare": 1, "matrixFill": 1.6, "matrixTileExponent": 0,
    "convolutionShare": 1.07, "winogradShare": 1.9, "attentionShare": 0, "rateSpread": 0, "cacheBytes": 1000000,
    "cacheSpeed": 4, "nearCacheBytes": 200000, "nearCacheSpeed": 8, "readSpeed": 1.7, "spreadSeconds": 4e-6})");
}

// A preset whose numbers are all a little other.
Device random_device(std::mt19937& random) {
  constexpr std::array kBases{"ipu-pod16", "ipu-mk1", "bow-pod16", "a100-80",
                              "h100",      "mi300x",  "tpu-v4",    "host"};
  const std::string_view base = kBases[static_cast<std::size_t>(pick(random, 0, kBases.size() - 1))];
  Device device = base == "host" ? host() : *device::find_preset(base);
  device.tiles = std::max(1, static_cast<int>(device.tiles * factor(random)));
  for (double* number : {&device.clock_hertz, &device.exchange_bytes_per_cycle, &device.phase_overhead_cycles,
                         &device.matrix_overhead_half_cycles, &device.matrix_overhead_single_cycles,
                         &device.global_sync_seconds, &device.host_call_seconds})
    *number *= factor(random);
  for (Link* link : links_of(device)) {
    link->bytes_per_second *= factor(random);
    link->latency_seconds *= factor(random);
  }
  return device;
}

// Layers of one kind, each a product and what is done with it, on one processor after the other.
struct RandomModel {
  explicit RandomModel(std::mt19937& random)
      : processors(pick(random, 1, 4)), rows(8 * pick(random, 1, 40)), widths{16 * pick(random, 1, 40)} {
    for (int i = 0; i < 4; ++i) widths.push_back(16 * pick(random, 1, 40));
    kind = kKinds[static_cast<std::size_t>(pick(random, 0, std::ssize(kKinds) - 1))];
    type = pick(random, 0, 1) == 0 ? "float" : "float16";
  }

  Placed placed(int times_rows = 1) const {
    const int layers = static_cast<int>(widths.size()) - 1;
    std::string inputs = state("h0", times_rows, widths[0]);
    std::string ops;
    std::vector<int> places;
    for (int i = 0; i < layers; ++i) {
      inputs += fmt::format(", {}", weights(i));
      ops += fmt::format("p{0} = {1}(h{0}, w{0}) h{2} = ", i, kind.product, i + 1) +
             fmt::format(fmt::runtime(kind.then), fmt::arg("p", fmt::format("p{}", i))) + " ";
      places.insert(places.end(), 2, i * processors / layers);
    }
    ops.replace(ops.rfind(fmt::format("h{} =", layers)), 2, "y");
    Placed model = testing::placed(
        fmt::format("g ({}) => ({}) {{ {} }}", inputs, state("y", times_rows, widths.back()), ops), places);
    std::vector<ir::ValueId> known(model.graph.inputs.begin() + 1, model.graph.inputs.end());
    model.graph.inputs.resize(1);
    for (ir::ValueId id : known) {
      const ir::Type& of = model.graph[id].type;
      model.graph[id].constant = ir::filled(of.element, of.dims, 0);
    }
    return model;
  }

  struct Kind {
    std::string_view product;
    std::string_view then;
    std::string_view state;    // dims between two layers
    std::string_view weights;  // dims of a layer's weights
  };
  static constexpr std::array kKinds{
      Kind{"MatMul", "Relu({p})", "{rows},{width}", "{width},{next}"},
      Kind{"MatMul", "Tanh({p})", "{rows},{width}", "{width},{next}"},
      Kind{"MatMul", "Softmax<axis = -1>({p})", "{rows},{width}", "{width},{next}"},
      Kind{"MatMul", "LpNormalization<axis = -1>({p})", "{rows},{width}", "{width},{next}"},
      Kind{"MatMul", "Attention<q_num_heads = 4, kv_num_heads = 4>({p}, {p}, {p})", "{rows},32,{width}",
           "{width},{next}"},
      Kind{"Conv<pads = [1, 1, 1, 1]>", "Relu({p})", "{rows},{width},7,7", "{next},{width},3,3"},
      Kind{"Conv", "MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>({p})", "{rows},{width},7,7",
           "{next},{width},1,1"},
  };

  std::string state(std::string_view name, int times_rows, int width) const {
    return fmt::format(
        "{}[{}] {}", type,
        fmt::format(fmt::runtime(kind.state), fmt::arg("rows", rows * times_rows), fmt::arg("width", width)),
        name);
  }
  std::string weights(int layer) const {
    return fmt::format("{}[{}] w{}", type,
                       fmt::format(fmt::runtime(kind.weights), fmt::arg("width", widths[layer]),
                                   fmt::arg("next", widths[layer + 1])),
                       layer);
  }

  int processors;
  int rows;
  std::vector<int> widths;
  Kind kind = kKinds[0];
  std::string_view type;
};

sim::Timeline clocked(const Placed& model, const Device& device, const Strategy& strategy = {}) {
  const executor::Program program = lower::lower(ir::Graph(model.graph), model.placement, strategy);
  return sim::simulate(program, device, {.sync = strategy.sync});
}

template <class Check>
void for_random_cases(const Check& check) {
  for (int seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    const Device device = random_device(random);
    SCOPED_TRACE(device.name);
    const RandomModel model(random);
    Strategy strategy;
    strategy.batches_per_step = pick(random, 1, 5);
    strategy.pipelining = model.processors > 1 && pick(random, 0, 1) == 1;
    check(random, device, model, strategy);
  }
}

// Times of a run are whole picoseconds a step.
constexpr double kRounding = 1e-6;

TEST(Physics, MoreRowsNeverTakeLessTime) {
  for_random_cases(
      [](auto& /*random*/, const Device& device, const RandomModel& model, const Strategy& strategy) {
        const double once = clocked(model.placed(), device, strategy).makespan;
        EXPECT_GE(clocked(model.placed(2), device, strategy).makespan, once * (1 - kRounding));
      });
}

TEST(Physics, MoreTilesNeverTakeMoreTime) {
  for_random_cases([](auto& /*random*/, Device device, const RandomModel& model, const Strategy& strategy) {
    const double few = clocked(model.placed(), device, strategy).makespan;
    device.tiles *= 2;
    EXPECT_LE(clocked(model.placed(), device, strategy).makespan, few * (1 + kRounding));
  });
}

TEST(Physics, AFasterLinkOrClockNeverTakesMoreTime) {
  for_random_cases([](auto& random, Device device, const RandomModel& model, const Strategy& strategy) {
    const double slow = clocked(model.placed(), device, strategy).makespan;
    const std::vector<Link*> links = links_of(device);
    Link& link = *links[static_cast<std::size_t>(pick(random, 0, static_cast<int>(links.size()) - 1))];
    link.bytes_per_second *= 2;
    const double fast_link = clocked(model.placed(), device, strategy).makespan;
    EXPECT_LE(fast_link, slow * (1 + kRounding));
    device.clock_hertz *= 1.5;
    EXPECT_LE(clocked(model.placed(), device, strategy).makespan, fast_link * (1 + kRounding));
  });
}

TEST(Physics, LongerLatenciesNeverTakeLessTime) {
  for_random_cases([](auto& random, Device device, const RandomModel& model, const Strategy& strategy) {
    const double near = clocked(model.placed(), device, strategy).makespan;
    const std::vector<Link*> links = links_of(device);
    links[static_cast<std::size_t>(pick(random, 0, static_cast<int>(links.size()) - 1))]->latency_seconds +=
        1e-5;
    device.global_sync_seconds += 1e-6;
    device.host_call_seconds += 1e-6;
    EXPECT_GE(clocked(model.placed(), device, strategy).makespan, near * (1 - kRounding));
  });
}

TEST(Physics, TwiceAllRatesAndHalfAllLatenciesTakeHalfTheTime) {
  for_random_cases([](auto& /*random*/, Device device, const RandomModel& model, const Strategy& strategy) {
    const double once = clocked(model.placed(), device, strategy).makespan;
    device.clock_hertz *= 2;
    for (Link* link : links_of(device)) {
      link->bytes_per_second *= 2;
      link->latency_seconds /= 2;
    }
    for (double* seconds :
         {&device.global_sync_seconds, &device.host_call_seconds, &device.dispatch_seconds,
          &device.collective_overhead_seconds, &device.sharded_transaction_seconds, &device.spread_seconds})
      *seconds /= 2;
    EXPECT_NEAR(clocked(model.placed(), device, strategy).makespan / once, 0.5, kRounding);
  });
}

TEST(Physics, WeightsOffChipAreNeverFaster) {
  for_random_cases([](auto& /*random*/, const Device& device, const RandomModel& model, Strategy strategy) {
    const double on_chip = clocked(model.placed(), device, strategy).makespan;
    strategy.weights.location.storage = ir::Storage::OffChip;
    EXPECT_GE(clocked(model.placed(), device, strategy).makespan, on_chip * (1 - kRounding));
  });
}

// One processor computes for as long as several that share the layers do together.
TEST(Physics, PartsOfAModelComputeAsLongAsTheWhole) {
  for_random_cases(
      [](auto& /*random*/, Device device, const RandomModel& model, const Strategy& /*strategy*/) {
        // What one part leaves there another may not find.
        device.cache_bytes = device.near_cache_bytes = 0;
        device.fusion = device::Fusion::None;
        device.dispatch_seconds = 0;
        device.rate_spread = 0;
        const auto computing = [&](const RandomModel& of) {
          double seconds = 0;
          for (const sim::ProcessorReport& processor : clocked(of.placed(), device).processors)
            seconds += processor.busy[static_cast<std::size_t>(sim::Activity::Compute)];
          return seconds;
        };
        RandomModel whole = model;
        whole.processors = 1;
        EXPECT_NEAR(computing(model) / computing(whole), 1, kRounding);
      });
}

// What the stages of each replica reduce at once, a tensor of random size each.
struct Reductions {
  explicit Reductions(std::mt19937& random) : stages(pick(random, 1, 8)), replicas(pick(random, 2, 4)) {
    for (int i = 0; i < stages; ++i) bytes.push_back(1 << pick(random, 16, 26));
  }

  sim::Timeline clocked(const Device& device, int first, int last) const {
    Sketch sketch(stages);
    sketch.program.replicas = replicas;
    for (int i = first; i < last; ++i) {
      const Slot slot = sketch.buffer("gradient", i, Memory::Compute, 1, Role::Weight, bytes[i]);
      sketch.program[slot.buffer].initial.resize(1);
      sketch.program.steps.push_back({executor::Collective{.transfer = {slot, slot}}});
    }
    lower::plan_memory(sketch.program);
    return sim::simulate(sketch.program, device, {});
  }
  sim::Timeline all(const Device& device) const { return clocked(device, 0, stages); }
  double longest(const Device& device) const {
    double seconds = 0;
    for (int i = 0; i < stages; ++i) seconds = std::max(seconds, clocked(device, i, i + 1).makespan);
    return seconds;
  }

  int stages;
  int replicas;
  std::vector<std::int64_t> bytes;
};

// Behind switches every processor has its own ports, and reductions of stages have nothing in common.
TEST(Physics, ReductionsOfStagesBehindSwitchesTakeTheTimeOfTheLongest) {
  for_random_cases([](auto& random, Device device, auto& /*model*/, auto& /*strategy*/) {
    const Reductions reductions(random);
    if (device.topology != device::Topology::AllToAll) device = *device::find_preset("a100-80");
    device.processors = 64;
    EXPECT_NEAR(reductions.all(device).makespan / reductions.longest(device), 1, kRounding);
  });
}

// On a ladder the replicas of every stage lie along the same rails: together they are never faster than the
// fullest link, and wait for nothing else.
TEST(Physics, ReductionsOfStagesOnALadderTakeTheTimeOfTheFullestLink) {
  for_random_cases([](auto& random, Device device, auto& /*model*/, auto& /*strategy*/) {
    const Reductions reductions(random);
    if (device.topology == device::Topology::AllToAll) device = *device::find_preset("ipu-pod64");
    device.processors = 64;
    device.link_domain = 64;
    const sim::Timeline all = reductions.all(device);
    double fullest = 0;
    for (const sim::LinkReport& link : all.links) fullest = std::max(fullest, link.busy);
    const double longest = reductions.longest(device);
    EXPECT_GE(all.makespan, std::max(fullest, longest) * (1 - kRounding));
    EXPECT_LE(all.makespan, (fullest + longest) * (1 + kRounding));
  });
}

TEST(Physics, AllReducesNeverTakeLessTimeForMoreBytes) {
  for_random_cases([](auto& random, const Device& device, auto& /*model*/, auto& /*strategy*/) {
    std::vector<int> members;
    for (int i = 0; i < 1 << pick(random, 1, 3); ++i) members.push_back(i);
    double before = 0;
    for (double bytes = 1024; bytes < 1e9; bytes *= 1.7) {
      const double seconds =
          sim::collective_cost(device, executor::CollectiveKind::AllReduce, bytes, members).seconds;
      EXPECT_GE(seconds, before);
      before = seconds;
    }
  });
}

// Over whole machines that a network joins.
TEST(Physics, AllReducesOverMoreMachinesNeverTakeLessTime) {
  for (const char* name : {"a100-80:nodes=16", "h100:nodes=16", "mi300x:nodes=16"}) {
    SCOPED_TRACE(name);
    const Device device = device::read_device(name);
    const int of_machine = device.processors / 16;
    for (double bytes = 1024; bytes < 1e10; bytes *= 3) {
      double before = 0;
      for (int machines = 1; machines <= 16; machines *= 2) {
        std::vector<int> members;
        for (int i = 0; i < machines * of_machine; ++i) members.push_back(i);
        const double seconds =
            sim::collective_cost(device, executor::CollectiveKind::AllReduce, bytes, members).seconds;
        EXPECT_GE(seconds, before) << machines << " machines, " << bytes << " bytes";
        before = seconds;
      }
    }
  }
}

// Along a ladder, and behind it through a gateway: a processor that is on the way lies no farther.
TEST(Physics, FartherProcessorsNeverTakeLessTime) {
  for_random_cases([](auto& random, Device device, auto& /*model*/, auto& /*strategy*/) {
    if (device.topology == device::Topology::AllToAll) device = *device::find_preset("ipu-pod64");
    device.topology = device::Topology::Ladder;
    device.processors = 64;
    const bool has_gateways = device.gateway.bytes_per_second > 0;
    device.link_domain = has_gateways && pick(random, 0, 1) == 0 ? 16 : 64;
    const double bytes = std::pow(10, pick(random, 2, 8));
    double before = 0;
    for (const int to : {2, 4, 8, 14, 30}) {
      const std::vector<sim::ProcessorTransfer> transfers{{0, to, bytes}};
      const double seconds = sim::exchange_cost(device, transfers).seconds;
      EXPECT_GE(seconds, before * (1 - kRounding)) << to;
      before = seconds;
    }
  });
}

// Parts of the rate: what is left out of each is what the machine loses.
TEST(Physics, AHigherShareOfARateNeverTakesMoreTime) {
  for_random_cases([](auto& random, Device device, const RandomModel& model, const Strategy& strategy) {
    const std::array<double Device::*, 5> rates{&Device::matrix_share, &Device::vector_bytes_per_cycle,
                                                &Device::exchange_bytes_per_cycle, &Device::cache_speed,
                                                &Device::near_cache_speed};
    const double slow = clocked(model.placed(), device, strategy).makespan;
    device.*rates[static_cast<std::size_t>(pick(random, 0, 4))] *= 1.1;
    EXPECT_LE(clocked(model.placed(), device, strategy).makespan, slow * (1 + kRounding));
  });
}

TEST(Physics, OverheadsNeverSaveTime) {
  for_random_cases([](auto& random, Device device, const RandomModel& model, const Strategy& strategy) {
    const std::array<double Device::*, 5> overheads{
        &Device::phase_overhead_cycles, &Device::matrix_overhead_single_cycles,
        &Device::matrix_weights_single_cycles, &Device::dispatch_seconds, &Device::matrix_fill};
    const double before = clocked(model.placed(), device, strategy).makespan;
    double& overhead = device.*overheads[static_cast<std::size_t>(pick(random, 0, 4))];
    overhead = overhead * 1.5 + 1e-7;
    EXPECT_GE(clocked(model.placed(), device, strategy).makespan, before * (1 - kRounding));
  });
}

// With additions in the switch as one more way to choose from; no way is faster than the ports.
TEST(Physics, MoreWaysToAllReduceNeverTakeMoreTime) {
  for_random_cases([](auto& random, Device device, auto& /*model*/, auto& /*strategy*/) {
    if (device.topology != device::Topology::AllToAll) device = *device::find_preset("h100");
    std::vector<int> members;
    for (int i = 0; i < 1 << pick(random, 1, 3); ++i) members.push_back(i);
    const double bytes = std::pow(10, pick(random, 3, 9));
    const auto seconds = [&] {
      return sim::collective_cost(device, executor::CollectiveKind::AllReduce, bytes, members).seconds;
    };
    device.switch_reduction_share = 0;
    const double without = seconds();
    device.switch_reduction_share = 0.8;
    EXPECT_LE(seconds(), without * (1 + kRounding));
    EXPECT_GE(seconds(), bytes / std::max(device.rail.bytes_per_second, device.rung.bytes_per_second));
  });
}

// Half a collective: what an all-reduce does twice.
TEST(Physics, AnAllReduceTakesNoMoreThanAReduceScatterAndAGather) {
  for_random_cases([](auto& random, const Device& device, auto& /*model*/, auto& /*strategy*/) {
    std::vector<int> members;
    for (int i = 0; i < 1 << pick(random, 1, 3); ++i) members.push_back(i);
    const double bytes = std::pow(10, pick(random, 3, 9));
    const auto seconds = [&](executor::CollectiveKind kind) {
      return sim::collective_cost(device, kind, bytes, members).seconds;
    };
    using enum executor::CollectiveKind;
    EXPECT_LE(seconds(AllReduce), (seconds(ReduceScatter) + seconds(AllGather)) * (1 + kRounding));
    EXPECT_GE(seconds(AllReduce), seconds(ReduceScatter) * (1 - kRounding));
  });
}

}  // namespace
}  // namespace podium::testing
