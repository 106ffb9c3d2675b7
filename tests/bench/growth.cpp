// How the time of each stage of a model's way grows with its nodes: import, optimize, lower, simulate (for
// four processors in a pipeline) and prepare. Shapes that have been superlinear somewhere: a chain; a fan of
// branches that a sum ends; as many outputs as nodes; a Split whose parts a Concat joins; a chain of which
// every ten nodes are a stage.
//
// Ten times the nodes may take kMostTimes times as long: n log n, and something for the caches. What fits one
// of them at some size does not at ten times as many nodes, new pages come from the system, and old ones go
// back. So a walk over the graph, which is linear by construction, is timed beside the stages; where it grows
// faster the stages may, too, but never as fast as what is quadratic, nor over two steps what grows with
// n^1.5.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <utility>

#include "executor/device/presets.h"
#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"
#include "executor/sim/simulate.h"
#include "importer/export_graph.h"
#include "importer/import.h"
#include "ir/builder.h"
#include "ir/passes/optimize.h"
#include "tests/bench/common.h"

namespace podium::bench {
namespace {

using ir::ValueId;

constexpr int kProcessors = 4;
constexpr int kBatches = 16;

// What every shape begins with.
struct Start {
  ir::Graph graph = {};
  ir::Builder builder{graph};
  ValueId x = {};
  ValueId w = {};

  explicit Start(std::int64_t rows) {
    x = builder.input("x", ir::Type::tensor(ir::DataType::Float, {rows, 4}));
    w = builder.constant(ir::Tensor::of<float>({4}, {1, 2, 3, 4}));
  }
};

ir::Graph chain(int nodes) {
  Start start(1);
  ValueId y = start.x;
  for (int i = 0; i < nodes; ++i) y = start.builder.op(i % 2 == 0 ? "Mul" : "Add", {y, start.w});
  start.builder.output(y);
  return std::move(start.graph);
}

// Each branch has a constant of its own, or the branches were one.
ir::Graph fan(int nodes) {
  Start start(1);
  std::vector<ValueId> branches;
  for (int i = 0; i < nodes; ++i) {
    const ValueId own = start.builder.constant(ir::Tensor::of<float>({1}, {static_cast<float>(i)}));
    branches.push_back(start.builder.op("Mul", {start.x, own}));
  }
  start.builder.output(start.builder.op("Sum", branches));
  return std::move(start.graph);
}

ir::Graph outputs(int nodes) {
  Start start(1);
  ValueId y = start.x;
  for (int i = 0; i < nodes; ++i) start.builder.output(y = start.builder.op("Mul", {y, start.w}));
  return std::move(start.graph);
}

ir::Graph split(int nodes) {
  Start start(nodes);
  std::vector<ValueId> parts = start.builder.ops(
      "", "Split", {start.x}, nodes, {{"axis", std::int64_t{0}}, {"num_outputs", std::int64_t{nodes}}});
  for (ValueId& part : parts) part = start.builder.op("Mul", {part, start.w});
  start.builder.output(start.builder.op("Concat", parts, {{"axis", std::int64_t{0}}}));
  return std::move(start.graph);
}

struct Shape {
  std::string_view name;
  ir::Graph (*make)(int nodes);
  int nodes_a_stage = 0;  ///< 0: there are kProcessors stages
  int processors(int nodes) const { return nodes_a_stage == 0 ? kProcessors : nodes / nodes_a_stage; }
};
constexpr std::array<Shape, 5> kShapes{
    {{"chain", chain}, {"fan", fan}, {"outputs", outputs}, {"split", split}, {"stages", chain, 10}}};

constexpr std::array<std::string_view, 5> kStages{"import", "optimize", "lower", "simulate", "prepare"};
using StageTimes = std::array<double, kStages.size()>;

template <class Step>
auto timed(double& ms, const Step& step) {
  const double before = processor_ms();
  auto result = step();
  ms = processor_ms() - before;
  return result;
}

// Copies the graph, enters each name in a table, looks each input up by it, and lets all of it go.
double walk_ms(const ir::Graph& graph) {
  double ms = 0;
  const std::size_t found = timed(ms, [&] {
    const ir::Graph copy = graph;
    std::unordered_map<std::string, ir::ValueId> by_name;
    for (const ValueId id : copy.value_ids()) by_name.emplace(copy[id].name, id);
    std::size_t count = 0;
    for (const ir::Op& op : copy.ops) {
      for (const ValueId id : op.inputs) count += by_name.count(copy[id].name);
    }
    return count;
  });
  IR_CHECK(found >= graph.ops.size());
  return ms;
}

StageTimes time_stages(const Shape& shape, int nodes) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("podium-growth-{}.onnx", getpid())).string();
  importer::export_graph(shape.make(nodes), file);
  StageTimes ms{};
  importer::Model model = timed(ms[0], [&] { return importer::import_model(file); });
  std::filesystem::remove(file);
  timed(ms[1], [&] { return ir::optimize(model.graph, {.evaluate = kernels::evaluate}); });
  const ir::Placement placement = even_split(model.graph, shape.processors(nodes));
  const Strategy strategy{.pipelining = true, .batches_per_step = kBatches};
  const executor::Program program =
      timed(ms[2], [&] { return lower::lower(model.graph, placement, strategy); });
  device::Device device = *device::find_preset("ipu-pod16");
  device.processors = std::max(device.processors, program.processors);
  timed(ms[3], [&] { return sim::simulate(program, device, {}); });
  timed(ms[4], [&] { return std::make_unique<numeric::Engine>(lower::on_one_processor(model.graph)); });
  return ms;
}

constexpr int kRoundsOfGrowth = 3;
constexpr int kManyNodes = 100'000;

// The least of some rounds: other programs on the machine disturb short times the most.
StageTimes least_times(const Shape& shape, int nodes) {
  StageTimes least = time_stages(shape, nodes);
  for (int round = 1; round < kRoundsOfGrowth && nodes <= kManyNodes; ++round) {
    const StageTimes again = time_stages(shape, nodes);
    std::ranges::transform(least, again, least.begin(), [](double a, double b) { return std::min(a, b); });
  }
  return least;
}

double least_walk_ms(const Shape& shape, int nodes) {
  const ir::Graph graph = shape.make(nodes);
  double least = walk_ms(graph);
  for (int round = 1; round < kRoundsOfGrowth; ++round) least = std::min(least, walk_ms(graph));
  return least;
}

// How many times as long as ten times the nodes of a walk should take those of the steepest step take, 1 to
// 2. A stage has more memory for each node than the walk has, and meets the same caches with fewer nodes.
double allowance_of(const Shape& shape) {
  double steepest = 1;
  double before = least_walk_ms(shape, 1000);
  for (int nodes = 10'000; nodes <= kManyNodes; nodes *= 10) {
    const double now = least_walk_ms(shape, nodes);
    steepest = std::max(steepest, now / before / 10);
    before = now;
  }
  return std::min(steepest, 2.0);
}

constexpr double kMostTimes = 20;

// Whether a stage took too long beside a tenth and, where it is known, a hundredth of the nodes.
bool is_superlinear(double ms, double tenth, double hundredth, double allowance) {
  return (tenth > 1 && ms > kMostTimes * allowance * tenth) ||
         (hundredth > 1 && ms > kMostTimes * kMostTimes * allowance * hundredth);
}

}  // namespace

bool show_growth(const Settings& settings) {
  bool is_good = true;
  fmt::print(
      "{:<8} {:>8}  milliseconds of processor time, and how many times those of a tenth of the nodes\n",
      "shape", "nodes");
  for (const Shape& shape : kShapes) {
    if (shape.name.find(settings.only) == std::string_view::npos) continue;
    const double allowance = allowance_of(shape);
    fmt::print("{:<8}           at most {:.0f} times\n", shape.name, kMostTimes * allowance);
    StageTimes before{};
    StageTimes long_before{};
    for (int nodes = 1000; nodes <= settings.nodes; nodes *= 10) {
      const StageTimes now = least_times(shape, nodes);
      fmt::print("{:<8} {:>8}", shape.name, nodes);
      for (std::size_t i = 0; i < kStages.size(); ++i) {
        const bool is_long = is_superlinear(now[i], before[i], long_before[i], allowance);
        is_good = is_good && !is_long;
        fmt::print("  {} {:.1f}{}", kStages[i], now[i],
                   before[i] > 1 ? fmt::format(" (x {:.1f}{})", now[i] / before[i], is_long ? "!" : "") : "");
      }
      fmt::print("\n");
      std::fflush(stdout);
      long_before = std::exchange(before, now);
    }
  }
  return is_good || !settings.check;
}

}  // namespace podium::bench
