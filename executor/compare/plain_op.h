// Ops by themselves, as one processor computes them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "executor/kernels/tools/moment.h"
#include "executor/numeric/prepared_block.h"
#include "ir/graph.h"

namespace podium::compare {

/// Per input of an op; nothing where it is left out.
using Operands = std::vector<ir::Datum>;

/// Computes ops of one graph, each with its own kernel and prepared once.
class PlainOps {
 public:
  /// The graph outlives the ops.
  PlainOps(const ir::Graph& graph, const numeric::PrepareOptions& options)
      : graph_(graph), options_(options) {
    options_.fuse = false;
  }

  /// What the op makes of operands at that moment, one an output; nothing of one that is left out.
  std::vector<ir::Datum> run(ir::OpId op, const Operands& operands, const kernels::Moment& moment);
  /// The same of an op with the inputs and outputs of one of the graph, prepared for this time alone.
  /// Operands stand for constants of floats, too.
  std::vector<ir::Datum> run_once(const ir::Op& op, const Operands& operands) const;

 private:
  struct Prepared {
    numeric::PreparedBlock block;
    std::vector<std::size_t> operands;  ///< that the block reads
  };
  enum class Constants : std::uint8_t { Known, WithoutFloats };
  Prepared prepare(const ir::Op& op, Constants constants) const;
  static std::vector<ir::Datum> run(Prepared& prepared, const ir::Op& op, const Operands& operands);

  const ir::Graph& graph_;
  numeric::PrepareOptions options_;
  std::map<ir::OpId, Prepared> prepared_;
};

}  // namespace podium::compare
