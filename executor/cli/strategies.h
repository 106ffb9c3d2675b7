// The strategies that `podium compare` tries when nobody names others.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/error.h"

namespace podium::cli {

struct Strategy {
  std::string name;
  nlohmann::json options;           ///< session options as an options file has them
  nlohmann::json annotations = {};  ///< rules as `podium annotate --from` reads them; null: the model's own
};

struct StrategyRequest {
  nlohmann::json base = nlohmann::json::object();  ///< session options that every strategy starts from
  int processors = 1;                              ///< to use, all replicas together
  int micro_batches = 0;   ///< of a step, all replicas together; 0: enough to fill a pipeline
  int ops = 1;             ///< of the graph: no strategy cuts it into more pieces
  std::int64_t batch = 1;  ///< samples of a micro-batch
  std::int64_t weight_bytes = 0;
  std::int64_t memory_bytes = 0;  ///< of one processor
  int tiles = 0;                  ///< of one processor
};

/// One processor, sharded, pipelined, phased, replicated, and their combinations on all the processors. In a
/// step each takes the same micro-batches in the same order, so that times and outputs can be compared; but
/// for the pipeline with fewer of them, whose name says so. The first is the run on one processor.
std::vector<Strategy> sensible_strategies(StrategyRequest request);

/// For training: the same, with recomputation, optimizer state and all else off chip, sharded over replicas.
/// An update takes the same micro-batches in the same order, so that the weights after it can be compared.
std::vector<Strategy> sensible_training_strategies(StrategyRequest request);

/// The list of --strategies: [{"name": ..., "options": {...}, "annotate": [...]}], its options over `base`.
/// Error names `where` (a file), the entry, what was found and what was needed.
std::vector<Strategy> read_strategies(const std::string& text, const std::string& where,
                                      const nlohmann::json& base);

}  // namespace podium::cli
