// The choices that make a strategy that trains: each belongs to a group, and a strategy has at most one of
// each group.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/strategy.h"
#include "ir/optimizer.h"

namespace podium::testing {

/// A strategy. It must give the result that one processor gives with the same micro-batches.
struct Setting {
  Strategy options = {};
  ir::Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.05}}});
  const char* device = nullptr;  ///< a preset; absent: one that has room for everything
  bool reorders = false;         ///< sums over micro-batches are made in another order than by one processor
};

struct SettingChoice {
  std::string name;
  std::function<void(Setting&)> apply;
};

/// How the graph is spread: every strategy has one.
const std::vector<SettingChoice>& training_spreads();
/// Pipelines whose processors take forward and backward passes in turns.
const std::vector<SettingChoice>& spreads_in_turns();
/// Every optimizer of the table, by the names that users type.
const std::vector<SettingChoice>& all_optimizers();
/// Optimizers in all their forms, reductions, and what replicas have a part of each.
const std::vector<std::vector<SettingChoice>>& sharded_choices();
/// All other groups.
const std::vector<std::vector<SettingChoice>>& training_choices();

void with_replicas(Setting& setting, int replicas);

}  // namespace podium::testing
