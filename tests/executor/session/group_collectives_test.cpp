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

TEST(GroupCollectives, AreStepsWhoseMemorySimulatorAndEngineCountAlike) {
  for (const auto& [name, strategy] : {CutWay{"alone", cut_over(4, 1, 1, 1)},
                                       {"replicas", cut_over(2, 2, 1, 2)},
                                       {"stages", cut_over(2, 1, 2, 4)}}) {
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
