// What processors of a replica exchange where tensors are cut over them: steps of their own, and memory that
// simulator and engine count alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/session/acceptance.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ::testing::HasSubstr;

// Two pairs of products, each of which needs one sum there and one back.
importer::Model two_pairs() {
  const std::string numbers =
      "{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}";
  std::string weights;
  for (const char* name : {"a", "b", "c", "d"})
    weights += fmt::format("{}float[4,4] {} = {}", weights.empty() ? "" : ", ", name, numbers);
  return model_of("agraph (float[3,4] x) => (float loss) <" + weights +
                  "> { h = MatMul(x, a) r = Relu(h) s = MatMul(r, b) t = Tanh(s) "
                  "i = MatMul(t, c) q = Relu(i) u = MatMul(q, d) v = Tanh(u) "
                  "loss = ReduceSum <keepdims = 0> (v) }");
}

struct CutWay {
  const char* name;
  Strategy strategy;
};

Strategy cut_over(int devices, int replicas, int stages, int accumulation) {
  Strategy strategy;
  strategy.tensor_parallel.devices = devices;
  strategy.replicas = replicas;
  strategy.ipus = devices * replicas * stages;
  strategy.accumulation_factor = accumulation;
  strategy.pipelining = stages > 1;
  if (stages > 1) strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  return strategy;
}

Strategy in_phases(int devices, int replicas, int accumulation) {
  Strategy strategy = cut_over(devices, replicas, 1, accumulation);
  strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  strategy.phases.phases = 2;
  strategy.ipus = 2 * devices * replicas;
  return strategy;
}

Strategy streamed(Strategy strategy) {
  for (LocationSettings* settings : {&strategy.weights, &strategy.optimizer_state, &strategy.activations}) {
    settings->location.storage = ir::Storage::OffChip;
    settings->min_elements_for_off_chip = 1;
  }
  return strategy;
}

Strategy sharing_state(Strategy strategy) {
  strategy.optimizer_state.location.sharded = true;
  strategy.optimizer_state.min_elements_for_sharding = 1;
  return strategy;
}

constexpr int kMicroBatches = 4;

std::vector<ir::Datum> random_rows() {
  std::mt19937 random(3);
  return {random_tensor(random, {3 * kMicroBatches, 4}, -1, 1)};
}

// Norms of all weights together, and of each alone.
TrainingOptions with_norms(const Strategy& strategy) {
  TrainingOptions options = training_with(strategy, 0.1);
  options.optimizer = ir::make_optimizer("LAMB", {{"learningRate", {0.1}}});
  options.optimizer.clip_norms = {{.max_norm = 0.5}};
  options.loss = "loss";
  return options;
}

std::size_t exchanges_in_groups(const executor::Program& program) {
  const std::string text = print(program);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("all-reduce in group", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(GroupCollectives, OfPhasesAndUpdatesTrainAsOneProcessorDoes) {
  const Trained one =
      train(two_pairs(), with_norms(cut_over(1, 1, 1, kMicroBatches)), {random_rows(), random_rows()});
  for (const auto& [name, strategy] : {CutWay{"alone", cut_over(4, 1, 1, 4)},
                                       {"alone, streamed", streamed(cut_over(2, 1, 1, 4))},
                                       {"stages", cut_over(2, 1, 2, 4)},
                                       {"replicas", sharing_state(cut_over(2, 2, 1, 2))},
                                       {"phases", in_phases(4, 1, 4)},
                                       {"phases, streamed", streamed(in_phases(2, 1, 4))},
                                       {"phases and replicas", sharing_state(in_phases(2, 2, 2))}}) {
    SCOPED_TRACE(name);
    const Trained cut = train(two_pairs(), with_norms(strategy), {random_rows(), random_rows()});
    for (const auto& [weight, value] : one.weights)
      EXPECT_LT(distance(cut.weights.at(weight), value), 1e-4) << weight;
  }
}

TEST(GroupCollectives, AddUpTheNormsOfWhatIsCut) {
  TrainingOptions options = with_norms(cut_over(2, 1, 1, 1));
  const TrainingSession session(two_pairs(), options);
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1}}});
  const TrainingSession without(two_pairs(), options);
  // One of all weights together, and of each of four its own and that of what it is updated with.
  EXPECT_EQ(exchanges_in_groups(session.program()), exchanges_in_groups(without.program()) + 9);
}

TEST(GroupCollectives, AreStepsWhoseMemorySimulatorAndEngineCountAlike) {
  for (const auto& [name, strategy] : {CutWay{"alone", cut_over(4, 1, 1, 1)},
                                       {"replicas", cut_over(2, 2, 1, 2)},
                                       {"stages", cut_over(2, 1, 2, 4)},
                                       {"phases", in_phases(2, 1, 1)},
                                       {"phases of micro-batches", in_phases(2, 1, 4)},
                                       {"streamed phases", streamed(in_phases(2, 1, 1))}}) {
    SCOPED_TRACE(name);
    TrainingOptions options = training_with(strategy, 0.1);
    options.session.clock = true;
    options.loss = "loss";
    TrainingSession session(two_pairs(), options);
    EXPECT_THAT(print(session.program()), HasSubstr("all-reduce in group"));
    const std::int64_t rows = 3 * strategy.replicas * strategy.accumulation_factor;
    const std::vector<ir::Datum> inputs{
        tensor<float>({rows, 4}, std::vector<float>(static_cast<std::size_t>(rows) * 4, 0.5F))};
    session.run(inputs);
    for (std::size_t p = 0; p < session.timeline()->processors.size(); ++p)
      EXPECT_EQ(session.timeline()->processors[p].memory.peak_data, session.peak_bytes(static_cast<int>(p)));
  }
}

}  // namespace
}  // namespace podium::testing
