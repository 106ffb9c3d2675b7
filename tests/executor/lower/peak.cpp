#include "tests/executor/lower/peak.h"

#include <gtest/gtest.h>

#include "executor/sim/simulate.h"

namespace podium::testing {

void expect_the_simulators_peak(const executor::Program& program, const numeric::Engine& engine) {
  sim::Costs costs;
  costs.blocks.resize(program.blocks.size());
  costs.movement = [](const executor::Step& /*step*/) { return sim::StepCost{}; };
  costs.part_of_exchange = [](const executor::Step& /*step*/, std::span<const int> /*places*/) {
    return sim::StepCost{};
  };
  const sim::Timeline timeline = sim::simulate(program, device::Device{}, costs, {});
  for (int i = 0; i < program.processors; ++i) {
    EXPECT_EQ(timeline.processors[i].memory.peak_data, engine.peak_bytes(i)) << "ipu " << i;
  }
}

}  // namespace podium::testing
