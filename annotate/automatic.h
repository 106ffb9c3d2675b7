// Balanced placement of a graph that nobody has annotated, from what its ops cost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

/// One entry for each op, in the order of the graph.
struct Costs {
  std::vector<double> seconds;
  std::vector<std::int64_t> weight_bytes;      ///< a weight that several ops read counts at the first
  std::vector<std::int64_t> activation_bytes;  ///< values that live while the op runs
  /// Values of one micro-batch that wait for the op's gradient; empty without a way back.
  std::vector<std::int64_t> stash_bytes = {};
};

/// Measures the bytes of the weights that each op reads first, and of the values that live while the op runs;
/// `seconds` stays empty.
Costs count_bytes(const ir::Graph& graph);

struct AutomaticOptions {
  int parts = 1;                  ///< processors or phases
  std::int64_t memory_bytes = 0;  ///< of one processor; 0: no limit
  /// Stash depth of each part of a pipeline: how many micro-batches' stashes it holds. Empty: one.
  std::vector<std::int64_t> stash_depths = {};
  /// The largest weight, in bytes, that several processors of a pipeline may hold. merge_equal makes equal
  /// small constants one, so a constant that many layers read is not a parameter that the model shares.
  std::int64_t small_weight_bytes = 0;
  /// A group for each op: neighbours of one group stay together. Empty: any two ops may be parted.
  std::vector<std::int32_t> units = {};
};

// Each function gives the part of every op. Parts are contiguous in the order of the graph, and none is
// empty. The largest part's time is the smallest possible under the memory limit, and among cuts of equal
// time few bytes cross. Where no cut fits the limit, the fullest processor holds as little as possible. Error
// when the graph has too few ops.

/// Processors that work one after the other. A weight that two of them read is held on each.
std::vector<int> shard(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);
/// Stages, one for each processor. Readers of one variable or input stay together, starting with the readers
/// that lie closest, as long as enough cuts remain; where they do not, each processor that reads the variable
/// holds it.
std::vector<int> pipeline(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);
/// Execution phases; `seconds` should count the loading of the weights. A phase gets half the memory, since
/// the weights of the next are loaded while it runs.
std::vector<int> phases(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);

/// Why ratios cannot be shares of a whole: a ratio is outside (0, 1], or their sum differs from 1 by more
/// than a thousandth; "" when they can.
std::string why_no_ratios(const std::vector<double>& ratios);

/// Like shard, but processor i gets the share ratios[i] of the time (virtualGraphSplitRatios), as near as the
/// ops allow. Error for a number of ratios other than `processors`, and for what why_no_ratios finds.
std::vector<int> split_by_ratio(const ir::Graph& graph, const Costs& costs, const std::vector<double>& ratios,
                                int processors);

/// Annotates every op with its part. The part replaces the op's annotations of processor, stage and phase.
void write_parts(ir::Graph& graph, const std::vector<int>& parts, std::string_view annotation);

}  // namespace podium::annotate
