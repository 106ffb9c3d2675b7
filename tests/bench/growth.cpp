// How the time of each stage of a model's way grows with its nodes: import, optimize, lower, simulate (for
// four processors in a pipeline) and prepare. Shapes that have been superlinear somewhere: a chain; a fan of
// branches that a sum ends; as many outputs as nodes; a Split whose parts a Concat joins; a chain of which
// every ten nodes are a stage.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

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

}  // namespace

bool show_growth(const Settings& settings) {
  constexpr double kMost = 20;  // for ten times the nodes
  bool is_good = true;
  fmt::print(
      "{:<8} {:>8}  milliseconds of processor time, and how many times those of a tenth of the nodes\n",
      "shape", "nodes");
  for (const Shape& shape : kShapes) {
    if (shape.name.find(settings.only) == std::string_view::npos) continue;
    StageTimes before{};
    for (int nodes = 1000; nodes <= settings.nodes; nodes *= 10) {
      const StageTimes now = time_stages(shape, nodes);
      fmt::print("{:<8} {:>8}", shape.name, nodes);
      for (std::size_t i = 0; i < kStages.size(); ++i) {
        const bool is_long = before[i] > 1 && now[i] > kMost * before[i];
        is_good = is_good && !is_long;
        fmt::print("  {} {:.1f}{}", kStages[i], now[i],
                   before[i] > 1 ? fmt::format(" (x {:.1f}{})", now[i] / before[i], is_long ? "!" : "") : "");
      }
      fmt::print("\n");
      std::fflush(stdout);
      before = now;
    }
  }
  return is_good || !settings.check;
}

}  // namespace podium::bench
