// Training in phases: forward, the loss, backward with the updates, with everything in streaming memory
// between.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/trained.h"
#include "tests/support/hand_trained.h"
#include "tests/support/locations.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::Program;
using executor::Step;
using testing::on_one_processor;
using testing::tensor;
using testing::train;
using testing::TrainedState;

constexpr int kPhasedElements = 5;
constexpr int kPhasedLayers = 5;

struct Phased {
  ir::Training training;
  ir::Placement placement;
};

// Layer p multiplies by w{p} in phase p; the loss is half the sum of squares, and each layer has momentum.
// The processors take turns.
Phased phased_model(bool accumulates, int processors, int layers = kPhasedLayers) {
  std::string inputs;
  std::string outputs;
  std::string ops;
  std::vector<int> phases;
  testing::HandTrained written;
  const ir::Tensor zero = tensor<float>({kPhasedElements}, std::vector<float>(kPhasedElements, 0));
  std::size_t output = 1;
  const auto add = [&](int phase, const std::string& line) {
    ops += line + "\n";
    phases.push_back(phase);
  };
  const auto variable = [&](const std::string& name, ir::VariableKind kind, const ir::Tensor& initial,
                            int layer) {
    inputs += fmt::format(", {{t}} {}", name);
    const bool is_weight = kind == ir::VariableKind::Weight;
    written.variables.push_back({name, kind, initial, is_weight ? "" : fmt::format("w{}", layer)});
  };
  const auto update = [&](const std::string& name, const std::string& value, bool outer) {
    outputs += fmt::format(", {{t}} {}", value);
    written.updates.push_back({name, output++, outer});
  };
  for (int p = 0; p < layers; ++p) {
    const std::string before = p == 0 ? "x" : fmt::format("h{}", p - 1);
    add(p, fmt::format("{} = Mul ({}, w{})", p + 1 == layers ? "y" : fmt::format("h{}", p), before, p));
  }
  for (int p = layers - 1; p >= 0; --p) {
    const int phase = 2 * layers - 2 - p;
    const std::string flow = p + 1 == layers ? "y" : fmt::format("d{}", p);
    const std::string before = p == 0 ? "x" : fmt::format("h{}", p - 1);
    std::string gradient = fmt::format("dw{}", p);
    add(phase, fmt::format("dw{} = Mul ({}, {})", p, flow, before));
    if (p > 0) add(phase, fmt::format("d{} = Mul ({}, w{})", p - 1, flow, p));
    variable(fmt::format("w{}", p), ir::VariableKind::Weight,
             tensor<float>({kPhasedElements}, {0.9F, 1.1F, 0.7F, 1.2F, 1}), p);
    variable(fmt::format("m{}", p), ir::VariableKind::OptimizerState, zero, p);
    if (accumulates) {
      variable(fmt::format("sum{}", p), ir::VariableKind::Accumulator, zero, p);
      add(phase, fmt::format("sum_next{0} = Add (sum{0}, dw{0})", p));
      update(fmt::format("sum{}", p), fmt::format("sum_next{}", p), false);
      gradient = fmt::format("sum{}", p);
      add(phase, fmt::format("zero{0} = Sub <__execution_context = 1> (sum{0}, sum{0})", p));
      update(gradient, fmt::format("zero{}", p), true);
    }
    written.reduced.push_back(gradient);
    add(phase, fmt::format("kept{0} = Mul <__execution_context = 1> (m{0}, keep)", p));
    add(phase, fmt::format("m_next{0} = Add <__execution_context = 1> (kept{0}, {1})", p, gradient));
    add(phase, fmt::format("step{0} = Mul <__execution_context = 1> (rate, m_next{0})", p));
    add(phase, fmt::format("w_next{0} = Sub <__execution_context = 1> (w{0}, step{0})", p));
    update(fmt::format("m{}", p), fmt::format("m_next{}", p), true);
    update(fmt::format("w{}", p), fmt::format("w_next{}", p), true);
  }
  std::string text =
      "g ({t} x" + inputs + ", float rate) => ({t} y" + outputs + ") <float keep = {0.75}> {\n" + ops + "}";
  for (std::size_t i = 0; (i = text.find("{t}")) != std::string::npos;) {
    text.replace(i, 3, fmt::format("float[{}]", kPhasedElements));
  }
  written.graph = testing::graph_of(text);
  written.hyper_parameters = {"rate"};
  Phased made{.training = testing::as_training(std::move(written)), .placement = {}};
  made.placement = on_one_processor(made.training);
  made.placement.processors = processors;
  made.placement.phases = 2 * layers - 1;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    made.placement.ops[i] = {.processor = phases[i] % processors, .phase = phases[i]};
  }
  return made;
}

Strategy in_phases(int stages) {
  Strategy strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  strategy.phases.phases = kPhasedLayers;
  strategy.phases.stages = stages;
  strategy.phases.schedule = PhaseSchedule::Batch;
  return strategy;
}

void put_all_off_chip(Strategy& strategy) {
  testing::put_variables_off_chip(strategy);
  testing::put_off_chip(strategy.activations);
}

// In which phases steps move buffers whose names begin so; a phase ends with its last block.
struct Moves {
  std::vector<int> loads;
  std::vector<int> stores;
};

Moves moves_of(const Program& program, std::string_view prefix) {
  Moves moves;
  int phase = -1;
  const auto is_wanted = [&](const executor::Slot& slot) {
    return program[slot.buffer].name.starts_with(prefix);
  };
  for (const Step& step : program.steps) {
    if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
      const std::string& name = name_of(program, *compute);
      if (name.starts_with("phase")) phase = std::stoi(name.substr(5));
    }
    if (const auto* load = std::get_if<executor::LoadRemote>(&step.action)) {
      for (const auto& one : load->transfers) {
        if (is_wanted(one.from)) moves.loads.push_back(phase);
      }
    }
    if (const auto* store = std::get_if<executor::StoreRemote>(&step.action)) {
      for (const auto& one : store->transfers) {
        if (is_wanted(one.to)) moves.stores.push_back(phase);
      }
    }
  }
  return moves;
}

// Loads for the next phase follow a phase's blocks.
TEST(TrainingInPhases, MovesWeightsAndActivationsAsPopartDoes) {
  const Phased model = phased_model(false, 1);
  Strategy strategy = in_phases(1);
  put_all_off_chip(strategy);
  const Program program = lower(model.training, model.placement, strategy);
  constexpr int kN = kPhasedLayers;
  const Moves weights = moves_of(program, "w");
  EXPECT_THAT(weights.loads, ::testing::ElementsAre(-1, 0, 1, 2, kN - 2, kN, kN + 1, 2 * kN - 3));
  EXPECT_THAT(weights.stores, ::testing::ElementsAre(kN - 1, kN, kN + 1, kN + 2, 2 * kN - 2));
  const Moves state = moves_of(program, "m");
  EXPECT_EQ(state.loads.size(), std::size_t{kN});
  EXPECT_THAT(state.stores, ::testing::ElementsAre(kN - 1, kN, kN + 1, kN + 2, 2 * kN - 2));
}

// A layer's input is kept for its gradient: in streaming memory where both are more than two phases apart.
TEST(TrainingInPhases, StoresAndLoadsActivationsAsPopartDoes) {
  const Phased model = phased_model(false, 1);
  Strategy strategy = in_phases(1);
  put_all_off_chip(strategy);
  const Moves activations = moves_of(lower(model.training, model.placement, strategy), "h");
  constexpr int kN = kPhasedLayers;
  EXPECT_THAT(activations.stores, ::testing::ElementsAre(1, kN - 3));
  EXPECT_THAT(activations.loads, ::testing::ElementsAre(kN, 2 * kN - 4));
}

// In the schedule Batch the IO tiles load beside the computation, and give and take only when that is over.
TEST(TrainingInPhases, LoadsNothingBehindTileCopiesAndStoresOfItsPhase) {
  const Phased model = phased_model(false, 1);
  Strategy strategy = in_phases(1);
  strategy.io_tiles = 192;
  put_all_off_chip(strategy);
  strategy.optimizer_state.location.storage = ir::Storage::OnChip;
  for (LocationSettings* settings : {&strategy.weights, &strategy.activations}) {
    settings->location.load_tiles = ir::TileSet::IO;
  }
  bool moved = false;
  int loads = 0;
  for (const Step& step : lower(model.training, model.placement, strategy).steps) {
    if (std::holds_alternative<executor::Compute>(step.action)) moved = false;
    moved = moved || std::holds_alternative<executor::CopyBetweenTiles>(step.action) ||
            std::holds_alternative<executor::StoreRemote>(step.action);
    if (!std::holds_alternative<executor::LoadRemote>(step.action)) continue;
    EXPECT_FALSE(moved);
    ++loads;
  }
  EXPECT_EQ(loads, (2 * kPhasedLayers - 2) + (kPhasedLayers - 3));
}

TEST(TrainingInPhases, TwoProcessorsTakeTurns) {
  const Phased model = phased_model(false, 2);
  const Program program = lower(model.training, model.placement, in_phases(2));
  for (const auto& run : testing::steps_of_kind<executor::Compute>(program.steps)) {
    EXPECT_EQ(program[run.block].processor, std::stoi(name_of(program, run).substr(5)) % 2);
  }
  const auto copies = testing::steps_of_kind<executor::CopyBetweenProcessors>(program.steps);
  EXPECT_FALSE(copies.empty());
}

// The tensors whose home is streaming memory.
std::set<std::string> off_chip(const Phased& model, const Strategy& strategy) {
  const Program program = lower(model.training, model.placement, strategy);
  std::set<std::string> names;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].memory != executor::Memory::Streaming) continue;
    for (int i = 0; i < program.buffers[b].slots; ++i) {
      names.insert(name_of(program, {{static_cast<std::int32_t>(b)}, i}));
    }
  }
  return names;
}

TEST(TrainingInPhases, SettingsThresholdsAndOverridesDecideWhatIsOffChip) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const Phased model = phased_model(true, 1, 3);
  const ir::TensorLocation remote{.storage = ir::Storage::OffChip};
  EXPECT_THAT(off_chip(model, in_phases(1)), IsEmpty());
  Strategy strategy = in_phases(1);
  strategy.weights.location = remote;
  EXPECT_THAT(off_chip(model, strategy), ElementsAre("w0", "w1", "w2"));
  strategy.weights.min_elements_for_off_chip = kPhasedElements;
  EXPECT_THAT(off_chip(model, strategy), ElementsAre("w0", "w1", "w2"));
  strategy.location_overrides["w1"] = {};
  EXPECT_THAT(off_chip(model, strategy), ElementsAre("w0", "w2"));
  strategy.weights.min_elements_for_off_chip = kPhasedElements + 1;
  EXPECT_THAT(off_chip(model, strategy), IsEmpty());
  strategy.location_overrides = {{"m2", remote}, {"sum0", remote}};
  EXPECT_THAT(off_chip(model, strategy), ElementsAre("m2", "sum0"));
  strategy.location_overrides.clear();
  strategy.optimizer_state.location = remote;
  EXPECT_THAT(off_chip(model, strategy), ElementsAre("m0", "m1", "m2"));
  strategy.optimizer_state.location = {};
  strategy.accumulators.location = remote;
  EXPECT_THAT(off_chip(model, strategy), ElementsAre("sum0", "sum1", "sum2"));
}

// Layers of one kind are one block forward and one backward, and their variables rows of one buffer.
TEST(TrainingInPhases, LayersShareCodeAndRemoteBuffers) {
  const Phased model = phased_model(true, 1);
  Strategy strategy = in_phases(1);
  put_all_off_chip(strategy);
  const Program program = lower(model.training, model.placement, strategy);
  std::set<std::pair<std::string, std::int32_t>> runs;
  for (const auto& run : testing::steps_of_kind<executor::Compute>(program.steps)) {
    runs.insert({name_of(program, run), run.block.index});
  }
  EXPECT_LT(program.blocks.size(), runs.size());
  std::map<char, std::size_t> rows;
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.rows.empty()) rows[buffer.name[0]] = std::max(rows[buffer.name[0]], buffer.rows.size());
  }
  EXPECT_EQ(rows.at('m'), std::size_t{kPhasedLayers});
  EXPECT_GE(rows.at('w'), std::size_t{kPhasedLayers - 2});
}

TEST(TrainingInPhases, TrainsAsOneProcessorDoes) {
  for (const int accumulation : {1, 3}) {
    for (const int processors : {1, 2}) {
      for (const int replicas : {1, 2}) {
        const Phased model = phased_model(accumulation > 1, processors);
        Strategy plain;
        plain.batches_per_step = 2;
        plain.accumulation_factor = accumulation;
        plain.replicas = replicas;
        const TrainedState wanted = train(model.training, on_one_processor(model.training), plain);
        for (const PhaseSchedule schedule :
             {PhaseSchedule::Interleaving, PhaseSchedule::Batch, PhaseSchedule::BatchClusteredIO}) {
          for (const bool off_chip : {false, true}) {
            for (const bool sharded : {false, true}) {
              SCOPED_TRACE(::testing::Message()
                           << accumulation << " micro-batches, " << processors << " processors, " << replicas
                           << " replicas, schedule " << static_cast<int>(schedule) << ", off chip "
                           << off_chip << ", sharded " << sharded);
              Strategy strategy = in_phases(processors);
              strategy.phases.schedule = schedule;
              strategy.batches_per_step = plain.batches_per_step;
              strategy.accumulation_factor = accumulation;
              strategy.replicas = replicas;
              if (off_chip) put_all_off_chip(strategy);
              for (LocationSettings* settings : {&strategy.weights, &strategy.optimizer_state}) {
                settings->location.sharded = sharded && replicas > 1;
                settings->min_elements_for_sharding = 2;
              }
              EXPECT_EQ(train(model.training, model.placement, strategy), wanted);
              if (::testing::Test::HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

// The loop over micro-batches is inside the phases: a weight comes once for all of them.
TEST(TrainingInPhases, LoadsVariablesOnceForAllMicroBatches) {
  const Phased model = phased_model(true, 1);
  Strategy strategy = in_phases(1);
  strategy.accumulation_factor = 4;
  put_all_off_chip(strategy);
  const Program program = lower(model.training, model.placement, strategy);
  EXPECT_EQ(moves_of(program, "w").loads.size(), std::size_t{2 * kPhasedLayers - 2});
  EXPECT_EQ(moves_of(program, "w").stores.size(), std::size_t{kPhasedLayers});
  EXPECT_EQ(moves_of(program, "sum").stores.size(), std::size_t{kPhasedLayers});
}

}  // namespace
}  // namespace podium::lower
