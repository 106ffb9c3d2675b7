// `podium compare --train`: a step of training under every strategy.
#pragma once

#include <vector>

#include "executor/cli/options.h"
#include "executor/report/comparison.h"

namespace podium::cli {

/// Every strategy trains from the same weights on the same samples for one step; the difference is that of
/// the weights after it to those after the same updates on one processor. Samples that no file holds are
/// drawn.
std::vector<report::ComparedStrategy> compare_training(const Options& options);

}  // namespace podium::cli
