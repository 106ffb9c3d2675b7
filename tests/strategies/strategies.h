// What a strategy can be made of: choices of a session, each in some group of which a strategy has one.
#pragma once

#include <string>
#include <vector>

#include "executor/options.h"

namespace podium::testing {

struct Choice {
  std::string name;
  void (*apply)(Options&);
};

/// How the graph is spread: the first group of every strategy.
const std::vector<Choice>& spreads();
/// All other groups; the first choice of each is the default.
const std::vector<std::vector<Choice>>& other_choices();

struct Strategy {
  std::string name;
  Options options;
};

/// Every spread with every choice, and every spread with every pair of choices of different groups.
std::vector<Strategy> strategies();

}  // namespace podium::testing
