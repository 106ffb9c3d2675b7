// The strategies that `podium compare` tries when nobody names others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/options.h"
#include "ir/error.h"

namespace podium::cli {

struct Strategy {
  std::string name;
  podium::Options options;
  std::string annotations = {};  ///< rules as `podium annotate --from` reads them, JSON; empty: the model's own
};

struct StrategyRequest {
  podium::Options base = {};         ///< what every strategy starts from
  int processors = 1;                ///< to use, all replicas together
  int ops = 1;                       ///< of the graph: no strategy cuts it into more pieces
  std::int64_t weight_bytes = 0;
  std::int64_t memory_bytes = 0;     ///< of one processor
  int tiles = 0;                     ///< of one processor
};

/// One processor, sharded, pipelined, phased, replicated, and their combinations on all the processors. In a step
/// each takes the same micro-batches in the same order, so that times and outputs can be compared; but for the
/// pipelines with fewer of them, whose name says so. The first is the run on one processor.
std::vector<Strategy> sensible_strategies(const StrategyRequest& request);

/// The list of --strategies: [{"name": ..., "options": {...}, "annotate": {...}}], its options over `base`.
/// Error names `where` (a file), the entry, what was found and what was needed.
std::vector<Strategy> read_strategies(const std::string& json, const std::string& where, const podium::Options& base,
                                      std::vector<std::string>& notes);

}  // namespace podium::cli
