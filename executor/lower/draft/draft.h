// What every strategy builds its Program with: buffers made at their first use, and the steps that move
// values.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "executor/lower/draft/lowering.h"
#include "executor/lower/placed/parts.h"
#include "executor/program.h"

namespace podium::lower {

class Draft {
 public:
  /// The Program with its inputs, outputs and variables; without inputs and outputs when the data are
  /// synthetic.
  explicit Draft(const Lowering& lowering);

  const PlacedGraph& placed;
  const ir::Graph& graph;
  const ir::Placement& placement;
  const Strategy& strategy;
  const Facts& facts;
  const Variables& variables;
  Warnings& warnings;
  executor::Program program;

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
  /// Adds a block on the processor of the part's turn with the buffers of its weights. The part's graph moves
  /// into it.
  executor::BlockId add_block(Part& part, std::string name);
  /// The buffer of a constant on a processor, with its value.
  executor::BufferId constant(ir::ValueId weight, int processor);
  /// The step that runs a block on the buffers of its values on its processor.
  executor::Step compute(executor::BlockId block, const Part& part);
  /// The steps of a part: one that runs its block, which is added under the name; where processors meet, one
  /// for each exchange. The part's graph may move into the block.
  std::vector<executor::Step> run(Part& part, std::string name);
  /// What follows the step that makes `value`: where that is what a variable becomes, its way from the owner
  /// to each copy; nothing for every other value.
  std::vector<executor::Transfer> transfers_to_copies(ir::ValueId value);
  /// The priority of an op, for make_parts. Valid as long as the object.
  std::function<float(ir::OpId)> priorities() const {
    return [this](ir::OpId op) { return placed[op].priority; };
  }
  /// What the options say about an output.
  Anchor anchor(ir::ValueId output) const;
  /// The place of a value among the graph's inputs or outputs; -1 when it is none.
  int input_index(ir::ValueId value) const { return input_index_[value]; }
  /// The outputs of the Program that are this value.
  const std::vector<int>& output_indices(ir::ValueId value) const { return output_indices_[value]; }
  /// Which part of its input or output a value is; 0 where that moves in one.
  int host_part(ir::ValueId value) const { return host_part_[value]; }

 private:
  executor::HostTensor host_input(ir::ValueId id) const;
  void make_variables();
  void make_host_tensors();
  void add_output(ir::ValueId id, int batches, int accumulation);
  void add_parts_of_inputs();
  void add_part(executor::HostTensor& tensor, ir::ValueId id, const ir::Box& box);
  void make_sharded(executor::Buffer& buffer, const WholeTensor& whole) const;

  std::map<std::tuple<ir::ValueId, int, executor::Memory>, executor::BufferId> buffers_;
  ir::IdMap<ir::ValueId, int> input_index_;
  ir::IdMap<ir::ValueId, std::vector<int>> output_indices_;
  ir::IdMap<ir::ValueId, int> host_part_;
};

}  // namespace podium::lower
