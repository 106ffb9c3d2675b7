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

/// Every spread alone, with every choice that is no default, and, if `most_choices` is 2, with every pair of
/// those of different groups.
std::vector<Strategy> strategies(int most_choices);

}  // namespace podium::testing
