// Balanced placement of a graph that nobody has annotated, from what its ops cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/cannot_split.h"
#include "ir/graph.h"

namespace podium::annotate {

/// A weight that several ops read, and of which each part that has a reader of it holds a copy.
struct SharedWeight {
  std::int64_t bytes = 0;           ///< of a copy
  std::int64_t gradient_bytes = 0;  ///< that each micro-batch adds up over the parts with readers
};

/// One entry for each op, in the order of the graph.
struct Costs {
  std::vector<double> seconds;
  std::vector<std::int64_t> weight_bytes;      ///< a weight that several ops read counts at the first
  std::vector<std::int64_t> activation_bytes;  ///< values that live while the op runs
  /// Values of one micro-batch that wait for the op's gradient; empty without a way back.
  std::vector<std::int64_t> stash_bytes = {};
  std::map<ir::ValueId, SharedWeight> shared = {};
};

/// Measures the bytes of the weights that each op reads first, those in its bodies included, of the values
/// that live while the op runs, and of the weights that several ops read; `seconds` stays empty.
Costs count_bytes(const ir::Graph& graph);

struct AutomaticOptions {
  int parts = 1;                  ///< processors or phases
  std::int64_t memory_bytes = 0;  ///< of one processor; 0: no limit
  /// Stash depth of each part of a pipeline: how many micro-batches' stashes it holds. Empty: one.
  std::vector<std::int64_t> stash_depths = {};
  /// How long a byte takes from one processor to the next.
  double seconds_per_byte = 0;
  /// A group for each op: neighbours of one group stay together. Empty: any two ops may be parted.
  std::vector<std::int32_t> units = {};
};

// Each function gives the part of every op. Parts are contiguous in the order of the graph, and none is
// empty. The largest part's time, and that of the largest exchange of processors, is the smallest possible
// under the memory limit, and among cuts of equal time few bytes cross. Where no cut fits the limit, the
// fullest processor holds as little as possible. LacksCuts when the graph has too few ops.

/// The same, with the most parts that there can be.
class LacksCuts : public CannotSplit {
 public:
  LacksCuts(const std::string& text, int most_parts) : CannotSplit(Error(text)), most(most_parts) {}
  int most;
};

/// Processors that work one after the other.
std::vector<int> shard(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);
/// Stages, one for each processor. Copies of a shared weight are weighed against keeping its readers on one
/// processor: of cuts that keep more or fewer readers together, those that lie closest before others, the one
/// that fits and has the shortest cycle, which is the slowest stage and the longest exchange.
std::vector<int> pipeline(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);
/// Execution phases; `seconds` should count the loading of the weights. A phase gets half the memory, since
/// the weights of the next are loaded while it runs.
std::vector<int> phases(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options);

/// Why ratios cannot be shares of a whole: a ratio is outside (0, 1], or their sum differs from 1 by more
/// than two decimals of each explain; "" when they can.
std::string why_no_ratios(const std::vector<double>& ratios);

/// Like shard, but processor i gets the share ratios[i] of the time (virtualGraphSplitRatios), as near as the
/// ops allow. Error for a number of ratios other than `processors`, and for what why_no_ratios finds.
std::vector<int> split_by_ratio(const ir::Graph& graph, const Costs& costs, const std::vector<double>& ratios,
                                int processors);

/// Annotates every op with its part. The part replaces the op's annotations of processor, stage and phase.
void write_parts(ir::Graph& graph, const std::vector<int>& parts, std::string_view annotation);

}  // namespace podium::annotate
