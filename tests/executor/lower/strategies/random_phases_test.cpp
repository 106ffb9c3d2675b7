// Random models in random phases, with random places of their tensors: one processor's numbers, and one peak
// of memory.
#include <gtest/gtest.h>

#include <random>

#include "executor/lower/lower.h"
#include "tests/executor/lower/peak.h"
#include "tests/support/layered.h"

namespace podium::testing {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  int below(int count) { return static_cast<int>(generator_() % static_cast<unsigned>(count)); }
  bool coin() { return below(2) == 0; }

 private:
  std::mt19937 generator_;
};

struct RandomModel {
  Sketch sketch;
  ir::Placement placement;
};

// Two inputs and some 15 ops on 8 samples; phases do not descend, each on processors of its parity, and some
// values are read long after they are made, or are outputs on top of it.
RandomModel random_model(Random& random, int stages) {
  constexpr int kWidth = 5;
  RandomModel made;
  Sketch& sketch = made.sketch;
  made.placement.processors = stages * (1 + random.below(2));
  std::vector<ir::ValueId> values{sketch.input({8, kWidth}), sketch.input({8, kWidth})};
  const auto any = [&] { return values[random.below(static_cast<int>(values.size()))]; };
  std::vector<ir::ValueId> weights{sketch.weight({kWidth, kWidth}, 0.5F)};
  int phase = 0;
  for (int i = 0; i < 15; ++i) {
    phase += random.below(3) == 0 ? 1 + random.below(2) : 0;
    if (random.coin()) weights.push_back(sketch.weight({kWidth, kWidth}, 0.5F));
    const auto weight = weights[random.below(static_cast<int>(weights.size()))];
    values.push_back(random.coin() ? sketch.op("MatMul", {any(), weight}) : sketch.op("Sub", {any(), any()}));
    const int turn = stages * random.below(made.placement.processors / stages);
    made.placement.ops.push_back({.processor = phase % stages + turn, .phase = phase});
    if (random.below(5) == 0 || i == 14) sketch.output(values.back());
  }
  made.placement.phases = std::max(2, phase + 1);
  return made;
}

Strategy random_options(Random& random, const RandomModel& model, int stages) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  strategy.phases = {.phases = model.placement.phases, .stages = stages};
  strategy.phases.schedule = static_cast<PhaseSchedule>(random.below(3));
  strategy.phases.weights = static_cast<PhaseIo>(random.below(2));
  strategy.phases.activations = static_cast<PhaseIo>(random.below(2));
  strategy.batches_per_step = 1 + random.below(3);
  strategy.replicas = 1 + random.below(3);
  strategy.io_tiles = random.coin() ? 32 : 0;
  for (LocationSettings* settings : {&strategy.weights, &strategy.activations}) {
    settings->location.storage = static_cast<ir::Storage>(random.below(2));
    settings->location.load_tiles = static_cast<ir::TileSet>(random.below(2));
    settings->location.sharded = random.coin();
    settings->min_elements_for_sharding = 2;
  }
  if (random.coin())
    strategy.batch_serialization = {1 << random.below(4), static_cast<IoMode>(random.below(3))};
  if (random.coin()) strategy.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
  return strategy;
}

TEST(RandomPhases, GiveTheNumbersOfOneProcessorAndThePeakOfTheSimulator) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const int stages = 1 + random.below(2);
    const RandomModel model = random_model(random, stages);
    const Strategy strategy = random_options(random, model, stages);
    const executor::Program program = lower::lower(model.sketch.graph, model.placement, strategy);
    numeric::Engine engine(program, {.threads = 1});
    expect_near(run_on_random(engine), run_on_one_processor(model.sketch.graph, strategy));
    testing::expect_the_simulators_peak(program, engine);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace podium::testing
