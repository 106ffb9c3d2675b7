// How the time of each stage of a model's way grows with its nodes: import, optimize, lower, simulate (for
// four processors in a pipeline) and prepare. Shapes that have been superlinear somewhere: a chain; a fan of
// branches that a sum ends; as many outputs as nodes; a Split whose parts a Concat joins; a chain of which
// every ten nodes are a stage.
//
// Ten times the nodes may take kMostTimes times as long: n log n, and something for the caches. What fits one
// of them at some size does not at ten times as many nodes, new pages come from the system, and old ones go
// back. So a walk over the graph, which is linear by construction, is timed beside the stages; where it grows
// faster the stages may, too, but never as fast as what is quadratic, nor over two steps what grows with
// n^1.5 (growth_check.h). That the check finds such a stage is shown by one that is quadratic on purpose.
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
#include "tests/bench/growth_check.h"

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

constexpr std::array<std::string_view, 6> kStages{"import",   "optimize", "lower",
                                                  "simulate", "prepare",  "quadratic"};
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

// What the check has to find: each value is compared with all.
std::size_t count_pairs(const ir::Graph& graph) {
  std::size_t pairs = 0;
  for (const ir::Value& value : graph.values) {
    for (const ir::Value& other : graph.values) pairs += other.name < value.name ? 1 : 0;
  }
  return pairs;
}

StageTimes time_stages(const Shape& shape, int nodes, bool is_quadratic) {
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
  if (is_quadratic) IR_CHECK(timed(ms[5], [&] { return count_pairs(model.graph); }) > 0);
  return ms;
}

constexpr int kRoundsOfGrowth = 3;
constexpr int kManyNodes = 100'000;

// The least of some rounds: other programs on the machine disturb short times the most.
StageTimes least_times(const Shape& shape, int nodes, bool is_quadratic) {
  StageTimes least = time_stages(shape, nodes, is_quadratic);
  for (int round = 1; round < kRoundsOfGrowth && nodes <= kManyNodes; ++round) {
    const StageTimes again = time_stages(shape, nodes, is_quadratic);
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

double allowance_of(const Shape& shape, int most_nodes) {
  std::vector<double> ms;
  for (int nodes = 1000; nodes <= std::min(most_nodes, kManyNodes); nodes *= 10)
    ms.push_back(least_walk_ms(shape, nodes));
  return allowance_of_walk(ms);
}

// One line for each number of nodes; those of stages that grow too fast have an exclamation mark. Their
// names.
std::vector<std::string> show_growth_of(const Shape& shape, const Settings& settings) {
  const double allowance = allowance_of(shape, settings.nodes);
  fmt::print("{:<8}           at most {:.0f} times\n", shape.name, kMostTimes * allowance);
  std::array<std::vector<double>, kStages.size()> costs;
  std::vector<std::string> fast;
  for (int nodes = 1000; nodes <= settings.nodes; nodes *= 10) {
    const StageTimes now = least_times(shape, nodes, settings.quadratic);
    fmt::print("{:<8} {:>8}", shape.name, nodes);
    for (std::size_t i = 0; i < kStages.size() - (settings.quadratic ? 0 : 1); ++i) {
      const double before = costs[i].empty() ? 0 : costs[i].back();
      costs[i].push_back(now[i]);
      const bool is_fast = grows_too_fast(costs[i], allowance);
      if (is_fast) fast.push_back(fmt::format("{} of {} at {} nodes", kStages[i], shape.name, nodes));
      fmt::print("  {} {:.1f}{}", kStages[i], now[i],
                 before > 1 ? fmt::format(" (x {:.1f}{})", now[i] / before, is_fast ? "!" : "") : "");
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  return fast;
}

}  // namespace

bool show_growth(const Settings& settings) {
  fmt::print(
      "{:<8} {:>8}  milliseconds of processor time, and how many times those of a tenth of the nodes\n",
      "shape", "nodes");
  std::vector<std::string> fast;
  for (const Shape& shape : kShapes) {
    if (shape.name.find(settings.only) == std::string_view::npos) continue;
    for (std::string& name : show_growth_of(shape, settings)) fast.push_back(std::move(name));
  }
  if (!settings.check || fast.empty()) return true;
  fmt::print("too fast: {}\n", fmt::join(fast, ", "));
  return false;
}

}  // namespace podium::bench
