// What a kernel of attention keeps to itself, found in a graph that writes attention out in products.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace podium::sim {

/// Scores, each row's with all positions, and all that has their shape or is turned, whatever heads are
/// counted in; nothing in a graph that makes no scores.
class AttentionScores {
 public:
  AttentionScores() = default;
  explicit AttentionScores(const ir::Graph& graph);

  /// What is known of a kernel.
  struct Kernel {
    /// Of its scores a mask hides the others: half of them by one for all samples and heads, as by a causal
    /// one, of which a row has a part of its own.
    double share_seen = 1;
    /// The bytes of an element of the narrowest operand of its products, as it is stored: kernels widen and
    /// turn what they read on the way, and what they have widened elsewhere they could have read.
    double width = std::numeric_limits<double>::infinity();
    /// How often it does the work of its products: on the way back a kernel makes scores anew, where the
    /// graph may have kept them, and is slower.
    double repeats = 1;
    bool goes_back = false;  ///< makes gradients
    bool in_blocks = false;  ///< ir::attends_in_blocks
  };

  bool empty() const { return kernels_.empty(); }
  bool contains(ir::ValueId id) const { return places_.contains(id); }
  /// Whether an op reads or makes scores.
  bool touched_by(const ir::Op& op) const { return kernel_of(op) != nullptr; }
  /// The kernel of an op; nullptr where it touches no scores.
  const Kernel* kernel_of(const ir::Op& op) const;
  /// Whether an op only gives an operand that products of kernels alone read, or what they make, another
  /// shape, order of axes or width: a kernel reads and writes any.
  bool is_on_the_way(const ir::Op& op) const;

 private:
  void find(const ir::Graph& graph);
  void find_ways(const ir::Graph& graph);
  std::optional<std::size_t> place_of(const ir::Op& op) const;

  std::map<ir::ValueId, std::size_t> places_;  ///< in kernels_, of each of the scores
  std::vector<Kernel> kernels_;                ///< those of scores that ops make of each other are one
  std::set<ir::ValueId> ways_;                 ///< made by what is on the way to a kernel or from one
};

}  // namespace podium::sim
