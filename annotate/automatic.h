// Balanced placement of a graph that nobody has annotated, from what its ops cost.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

/// Of each op, in the order of the graph.
struct Costs {
  std::vector<double> seconds;
  std::vector<std::int64_t> weight_bytes;      ///< of a weight that several ops read, at the first
  std::vector<std::int64_t> activation_bytes;  ///< that live while it runs
  /// Of a micro-batch, that wait for its way back: empty without one.
  std::vector<std::int64_t> stash_bytes = {};
};

/// Bytes of the weights each op reads first and of the values that live while it runs; `seconds` stays empty.
Costs count_bytes(const ir::Graph& graph);

struct AutomaticOptions {
  int parts = 1;                  ///< processors or phases
  std::int64_t memory_bytes = 0;  ///< of one processor; 0: no limit
  /// Of a pipeline: how many micro-batches' stashes each part holds. Empty: one.
  std::vector<std::int64_t> stash_depths = {};
  /// A weight of at most so many bytes may be on several processors of a pipeline. After merge_equal, which
  /// makes equal small constants one, what many layers read is not therefore shared by the model.
  std::int64_t small_weight_bytes = 0;
  /// A number of each op: neighbours with the same one stay together. Empty: all may be parted.
  std::vector<std::int32_t> units = {};
};

// Each gives the part of every op. Parts are contiguous in the order of the graph and none is empty; the
// largest part's time is as small as it can be under the memory limit, and of equals few bytes cross. A model
// that cannot be cut to fit is cut so that the fullest processor has as little as it can. Error when the
// graph has too few ops.

/// Processors that work one after the other. A weight read on two of them is held on each.
std::vector<int> shard(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);
/// Stages, one a processor. Readers of one variable or one input stay together, the closest ones first, as
/// long as that leaves enough cuts; a variable for which it does not is held on each processor that reads it.
std::vector<int> pipeline(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);
/// Execution phases; `seconds` should count the loading of the weights. A phase gets half the memory, since
/// the weights of the next are loaded while it runs.
std::vector<int> phases(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);

/// As shard, but processor i gets the share ratios[i] of the time, as near as the ops allow:
/// virtualGraphSplitRatios. Error for a number of ratios other than `processors`, one outside (0, 1], and a
/// sum that is not 1.
std::vector<int> split_by_ratio(const ir::Graph& graph, const Costs& costs, const std::vector<double>& ratios,
                                int processors);

/// Annotates every op with its part, in place of what it said of processors, stages and phases.
void write_parts(ir::Graph& graph, const std::vector<int>& parts, std::string_view annotation);

}  // namespace podium::annotate
