// The properties of a model that are known before it runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace podium::report {

struct ModelSummary {
  std::map<std::string, int> op_counts;      ///< by op, bodies included
  std::int64_t parameters = 0;               ///< elements of constants of rank 1 or more
  double parameter_bytes = 0;                ///< as the model has them (ir/late_tensor.h)
  double flop = 0;                           ///< of one run, bodies not included
  double activation_bytes = 0;               ///< of every value between ops
  double peak_activation_bytes = 0;          ///< the most that lives at once in the order of the ops
  std::map<std::string, int> annotated_ops;  ///< annotation attribute to number of ops that carry it
};

/// Sizes that only data decides count as nothing.
ModelSummary summarize(const ir::Graph& graph);

}  // namespace podium::report
