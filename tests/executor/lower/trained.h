// Two layers that train, written by hand: h = x * w1, y = h * w2, and the loss is half the sum of y * y. The
// first weight is updated with momentum, the second by Adam, on request scaled by LAMB's ratio of norms.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"

namespace podium::testing {

struct TwoLayers {
  int elements = 7;  ///< of each weight
  bool accumulates = true;
  bool lamb = false;
};

ir::Training two_layers(const TwoLayers& sketch);
/// Everything on one processor.
ir::Placement on_one_processor(const ir::Training& training);
/// The first layer on processor 0, forward and backward, the second one on processor 1: stages 0, 1, 2, or,
/// phase by phase, 0, 1, 2.
ir::Placement on_two_processors(const ir::Training& training);

struct TrainedState {
  std::vector<float> y;                             ///< of the last run
  std::map<std::string, std::vector<float>> state;  ///< variables by name, of the first replica
  std::vector<std::int64_t> peaks;                  ///< bytes per processor, of the engine
  friend bool operator==(const TrainedState& a, const TrainedState& b) {
    return a.y == b.y && a.state == b.state;
  }
};

/// Some runs on different data. Checks that the simulator finds the engine's peak of memory on every
/// processor.
TrainedState train(const executor::Program& program, int runs = 3);
TrainedState train(const ir::Training& training, const ir::Placement& placement, const Strategy& strategy,
                   int runs = 3);

}  // namespace podium::testing
