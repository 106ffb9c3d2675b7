// The choices that make a strategy: each belongs to a group, and a strategy has one of each group.
#pragma once

#include <string>
#include <vector>

#include "executor/strategy.h"
#include "tests/support/locations.h"

namespace podium::testing {

struct Choice {
  std::string name;
  void (*apply)(Strategy&);
};

/// How the graph is spread: the first group of every strategy.
const std::vector<Choice>& spreads();
/// All other groups; the first choice of each is the default.
const std::vector<std::vector<Choice>>& other_choices();

struct NamedStrategy {
  std::string name;
  Strategy options;
};

/// Every spread alone, with every choice that is no default, and, if `most_choices` is 2, with every pair of
/// such choices from different groups.
std::vector<NamedStrategy> strategies(int most_choices);

}  // namespace podium::testing
