// How much of a graph is folded at most: some nodes of a file of a few hundred bytes would make gigabytes of
// constants, or compute for hours, before anybody asks for a run. What is not folded is computed by the run.
#pragma once

#include <span>
#include <string_view>

#include "ir/infer.h"

namespace podium::ir {

/// The attribute of an op that was refused. What was folded counts among the constants when the graph is
/// inferred again, so that each time more could be folded.
inline constexpr AttributeName kLeftToRun = "__left_to_run";

/// What is left to fold in a graph and its bodies.
class FoldLimits {
 public:
  /// All results together take at most four times InferOptions::most_folded_bytes, and twelve times the
  /// bytes of the constants that the graph has. Without an evaluator nothing is left.
  FoldLimits(const Graph& graph, const InferOptions& options);

  /// Whether an op whose inputs are all known gives small results, or results no larger than its inputs, and
  /// both its results and its work are left.
  bool allow(const TypedOp& op) const;
  /// The same of an op some of whose inputs are known without their data: nothing is computed.
  bool allow_left_out(const TypedOp& op) const;
  /// Takes what the op gave from what is left.
  void count(const TypedOp& op, std::span<const Datum> results);

 private:
  std::int64_t most_bytes_ = 0;  ///< of one op that gives more than it takes
  double bytes_left_ = 0;
  double flop_left_ = 0;
};

}  // namespace podium::ir
