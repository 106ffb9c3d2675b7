// What every strategy builds its Program with: buffers made at their first use, and the steps that move
// values.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "executor/lower/draft/parts.h"
#include "executor/lower/draft/variables.h"
#include "executor/options.h"
#include "executor/program.h"
#include "ir/placement.h"

namespace podium::lower {

class Draft {
 public:
  /// The Program with its inputs, outputs and variables; without inputs and outputs when the data are
  /// synthetic.
  Draft(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
        const Variables& variables = {});

  const ir::Graph& graph;
  const ir::Placement& placement;
  const Options& options;
  const Variables variables;
  executor::Program program;
  /// How often a replica takes the steps of a micro-batch, or of a slice of one, in a run; when it trains,
  /// between two updates.
  int cycles;
  /// How often that happens.
  int batches = 1;

  /// The buffer of a value on a processor; made with these properties when it is not there. What becomes a
  /// variable has the variable's.
  executor::BufferId buffer(ir::ValueId value, int processor,
                            executor::Memory memory = executor::Memory::Compute,
                            executor::Role role = executor::Role::Activation);
  /// A buffer of its own for a value that is brought to its processor again: the one that `buffer` gives from
  /// now on.
  executor::BufferId another_buffer(ir::ValueId value, executor::Buffer properties);
  /// A buffer that is no value's.
  executor::BufferId add_buffer(executor::Buffer buffer);
  executor::BlockId add_block(executor::Block block);
  /// Adds a block with the buffers of its weights. The part's graph moves into it.
  executor::BlockId add_block(Part& part, int processor, std::string name);
  /// The step that runs a block on the buffers of its values on its processor.
  executor::Step compute(executor::BlockId block, const Part& part);
  /// What the options say about an output.
  Anchor anchor(ir::ValueId output) const;
  /// The place of a value among the graph's inputs or outputs; -1 when it is none.
  int input_index(ir::ValueId value) const { return input_index_[value.index]; }
  /// The outputs of the Program that are this value.
  const std::vector<int>& output_indices(ir::ValueId value) const { return output_indices_[value.index]; }

 private:
  executor::HostTensor host_input(ir::ValueId id) const;
  void count_updates();
  void make_variables();
  void make_sharded(executor::Buffer& buffer, const WholeTensor& whole) const;

  std::map<std::tuple<ir::ValueId, int, executor::Memory>, executor::BufferId> buffers_;
  std::vector<int> input_index_;
  std::vector<std::vector<int>> output_indices_;
};

}  // namespace podium::lower
