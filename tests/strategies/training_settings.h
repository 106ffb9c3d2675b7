// What a strategy that trains can be made of: choices of a session, each in some group of which a strategy
// has at most one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/options.h"
#include "ir/optimizer.h"

namespace podium::testing {

/// What one processor does with the same micro-batches decides what a strategy must give.
struct Setting {
  Options options = {};
  ir::Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.05}}});
  bool reorders = false;  ///< sums over micro-batches are made in another order than by one processor
};

struct SettingChoice {
  std::string name;
  std::function<void(Setting&)> apply;
};

/// How the graph is spread: every strategy has one.
const std::vector<SettingChoice>& training_spreads();
/// All other groups.
const std::vector<std::vector<SettingChoice>>& training_choices();

void with_replicas(Setting& setting, int replicas);

}  // namespace podium::testing
