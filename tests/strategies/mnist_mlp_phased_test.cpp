// The worked example models/examples/mnist-mlp-phased with small micro-batches: seven phases, of which the
// second and third forward and their backward phases share code and remote buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "executor/session/read_options.h"
#include "executor/session/training_session.h"
#include "models/catalog.h"
#include "tests/executor/lower/placed.h"
#include "tests/strategies/micro_batches.h"

namespace podium {
namespace {

using executor::Compute;
using executor::LoadRemote;
using executor::Program;
using executor::Slot;
using executor::Step;
using executor::StoreRemote;
using ::testing::ElementsAre;

std::string text_of(const std::string& file) {
  std::ifstream stream(std::string(PODIUM_SOURCE_DIR) + "/models/examples/mnist-mlp-phased/" + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Strategy example_options() {
  Notes notes;
  return read_options(text_of("options.json"), "options.json", notes);
}

importer::Model mlp(bool placed) {
  importer::Model model;
  model.graph = models::build("mnist-mlp", {{"batch", "2"}, {"loss", "cross-entropy"}}).graph;
  if (!placed) return model;
  for (const auto& rule : nlohmann::json::parse(text_of("phases.json"))) {
    const std::string wanted = rule["match"];
    for (ir::Op& op : model.graph.ops) {
      if (op.name == wanted || op.name.starts_with(wanted + "/"))
        ir::set_attribute(op, "__execution_phase", rule["phase"].get<std::int64_t>());
    }
  }
  return model;
}

TrainingSession session(const Strategy& strategy, bool placed) {
  TrainingOptions options;
  options.session.strategy = strategy;
  options.session.clock = true;
  options.loss = "loss";
  options.optimizer = ir::make_optimizer("Adam", {{"learningRate", {0.001}}, {"eps", {1e-3}}});
  return TrainingSession(mlp(placed), options);
}

// Runs of blocks and moves of remote tensors in the order of the Program, the bodies of loops once.
struct Seen {
  std::map<int, std::set<executor::BlockId>> blocks;      ///< by phase
  std::map<std::string, std::vector<int>> loads, stores;  ///< by tensor: the phase that ran last before
  std::set<int> phases;
};

void look(const Program& program, const std::vector<Step>& steps, Seen& seen) {
  const auto phase = [&] { return seen.phases.empty() ? -1 : *seen.phases.rbegin(); };
  for (const Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) look(program, repeat->body, seen);
    if (const auto* run = std::get_if<Compute>(&step.action)) {
      const std::string& name = name_of(program, *run);
      if (!name.starts_with("phase")) continue;
      seen.phases.insert(std::stoi(name.substr(5)));
      seen.blocks[phase()].insert(run->block);
    }
    if (std::holds_alternative<LoadRemote>(step.action)) {
      for (const Slot& slot : reads_of(step)) seen.loads[name_of(program, slot)].push_back(phase());
    }
    if (std::holds_alternative<StoreRemote>(step.action)) {
      for (const Slot& slot : writes_of(step)) seen.stores[name_of(program, slot)].push_back(phase());
    }
  }
}

TEST(MnistMlpPhased, HasSevenPhasesThatLoadEveryVariableOnce) {
  const TrainingSession example = session(example_options(), true);
  Seen seen;
  look(example.program(), example.program().steps, seen);
  EXPECT_THAT(seen.phases, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  // On demand: when the phase before has run. A variable stays for phases that are at most two apart.
  EXPECT_THAT(seen.loads["fc1.weight"], ElementsAre(-1, 5));
  EXPECT_THAT(seen.loads["fc2.weight"], ElementsAre(0, 4));
  EXPECT_THAT(seen.loads["fc3.weight"], ElementsAre(1));
  EXPECT_THAT(seen.loads["fc4.weight"], ElementsAre(2));
  const std::map<std::string, int> updated{{"fc4", 3}, {"fc3", 4}, {"fc2", 5}, {"fc1", 6}};
  for (const auto& [layer, phase] : updated) {
    for (const char* state : {"Accl1___", "Accl2___"}) {
      EXPECT_THAT(seen.loads[state + layer + ".weight"], ElementsAre(phase)) << layer;
      EXPECT_THAT(seen.stores[state + layer + ".weight"], ElementsAre(phase)) << layer;
    }
    EXPECT_THAT(seen.stores[layer + ".weight"], ElementsAre(phase)) << layer;
  }
}

TEST(MnistMlpPhased, LayersOfOneShapeShareCodeAndRemoteBuffers) {
  const TrainingSession example = session(example_options(), true);
  const Program& program = example.program();
  Seen seen;
  look(program, program.steps, seen);
  EXPECT_EQ(seen.blocks.at(1), seen.blocks.at(2));
  EXPECT_EQ(seen.blocks.at(4), seen.blocks.at(5));
  EXPECT_NE(seen.blocks.at(0), seen.blocks.at(1));
  std::set<std::vector<std::string>> rows;
  for (const executor::Buffer& buffer : program.buffers) {
    if (buffer.rows.empty()) continue;
    EXPECT_EQ(buffer.slots, static_cast<int>(buffer.rows.size()));
    EXPECT_EQ(buffer.memory, executor::Memory::Streaming);
    EXPECT_EQ(buffer.shards, buffer.rows[0].starts_with("Accum") ? 1 : 2) << buffer.rows[0];
    rows.insert(buffer.rows);
  }
  std::set<std::vector<std::string>> wanted;
  for (const std::string prefix : {"", "Accum___", "Accl1___", "Accl2___"}) {
    for (const char* name : {".weight", ".bias"})
      wanted.insert({prefix + "fc2" + name, prefix + "fc3" + name});
  }
  // An update is a block for each weight, and the bias of fc1 is as long as theirs.
  for (const std::string prefix : {"Accl1___", "Accl2___"}) {
    wanted.erase({prefix + "fc2.bias", prefix + "fc3.bias"});
    wanted.insert({prefix + "fc1.bias", prefix + "fc2.bias", prefix + "fc3.bias"});
  }
  EXPECT_EQ(rows, wanted);
}

TEST(MnistMlpPhased, TrainsAsOneProcessorDoes) {
  const Strategy strategy = example_options();
  TrainingSession example = session(strategy, true);
  Strategy plain{.accumulation_factor = strategy.accumulation_factor * strategy.replicas,
                 .reduction = Reduction::Mean};
  TrainingSession alone = session(plain, false);
  std::mt19937 random(5);
  for (int step = 0; step < 2; ++step) {
    std::vector<ir::Datum> inputs;
    for (const executor::HostTensor& input : example.inputs()) {
      std::vector<ir::Tensor> parts;
      for (int i = 0; i < plain.accumulation_factor; ++i)
        parts.push_back(testing::random_tensor(whole_type(input), random));
      inputs.emplace_back(testing::joined(parts, parts.size()));
    }
    example.run(inputs);
    alone.run(inputs);
    EXPECT_NEAR(example.loss(), alone.loss(), 1e-6);
  }
  const auto found = example.weights();
  for (const auto& [name, weight] : alone.weights()) {
    for (std::int64_t i = 0; i < weight.size(); ++i)
      ASSERT_NEAR(found.at(name).data<float>()[i], weight.data<float>()[i], 1e-6) << name;
  }
}

}  // namespace
}  // namespace podium
