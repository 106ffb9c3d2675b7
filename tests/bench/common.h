// The parts that both ways of timing share: models by their text, inputs, and medians of rounds.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "executor/kernels/tools/kernel.h"
#include "ir/placement.h"
#include "models/catalog.h"

namespace podium::bench {

using Clock = std::chrono::steady_clock;

struct Settings {
  int threads = 1;
  double seconds = 2.0;
  bool fuse = true;
  bool check = false;
  bool train = false;
  bool schedules = false;
  std::string only = {};  ///< of the strategies and shapes, those whose names have it in them
  int processors = 1;
  int nodes = 0;           ///< of the largest graph whose growth is shown; 0: models are timed
  bool quadratic = false;  ///< growth of a stage that is quadratic on purpose is shown, too
  std::vector<std::string> models = {};
};

struct NamedModel {
  std::string name;
  models::Parameters parameters = {};
};

/// "MODEL,key=value,...".
NamedModel parse_model(const std::string& text);

/// A tensor with the same numbers every time; whole numbers are 0 and 1, good as indices, masks and labels.
ir::Tensor filled(const ir::Type& type);

/// The same number of ops on each processor, in the order of the graph, with one stage for each processor.
ir::Placement even_split(const ir::Graph& graph, int processors);

/// The processor time of all threads until now. Other programs on the machine disturb it less than wall time.
double processor_ms();

double median(std::vector<double> all);

/// The median over rounds of the ratio of `ms` to `base`: other work of the machine meets both at the same
/// time.
double times_as_long(const std::vector<double>& ms, const std::vector<double>& base);

/// Shows how the time of each stage grows with a graph's nodes, 1,000 to as many as the settings say. False,
/// for a check, where ten times the nodes take more than twenty times as long; forty, where a walk over the
/// graph shows that the machine's caches ask for it. The last line names the stages.
bool show_growth(const Settings& settings);

/// Shows how long each schedule with a name takes to estimate. False, for a check, where one takes more than
/// 0.2 seconds.
bool time_schedules(const Settings& settings);

/// Trains a model under strategies in turn. False when one takes too long for a check.
bool compare_training(const std::string& text, const Settings& settings);

}  // namespace podium::bench
