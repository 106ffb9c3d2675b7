// The Program: the order, the processor and the data movements of all that runs. It describes one replica;
// all replicas run it on their own data and meet in collectives.
// Two readers: the numeric engine computes with it, the simulator clocks it; neither knows the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/box.h"
#include "ir/graph.h"
#include "ir/placement.h"

namespace podium::executor {

using BlockId = ir::Id<struct BlockTag>;
using BufferId = ir::Id<struct BufferTag>;

/// Memory of the compute tiles, of the IO tiles, and streaming memory beside the processor.
enum class Memory : std::uint8_t { Compute, IO, Streaming };
/// What a buffer is for: reports sum up memory by it.
enum class Role : std::uint8_t { Weight, Activation, Stash, Stream, OptimizerState, Accumulator };

/// Room for a tensor on one processor.
struct Buffer {
  std::string name;
  ir::Type type;  ///< of one slot; for a sharded buffer the whole tensor's type, see slot_type
  int processor = 0;
  Memory memory = Memory::Compute;
  Role role = Role::Activation;
  int slots = 1;                ///< stash depth, or entries of a remote buffer
  int shards = 1;               ///< each replica of a group of so many holds one part; 1: the whole tensor
  ir::ReplicaGroup group = {};  ///< the replicas that share one tensor of a sharded buffer
  /// The value of slot i before the first step, such as weights. Empty, or one tensor for each slot;
  /// undefined tensors where the model was written without its data.
  std::vector<ir::Tensor> initial = {};
  /// The share of its type's bytes that a weight takes as the model has it (ir::stored_share).
  double stored_share = 1;
  /// A variable: the buffer keeps its contents from run to run. Streaming memory does so in any case.
  bool persistent = false;
  /// The names of the tensors in the slots, where each slot holds a tensor of its own: a remote buffer of
  /// rows. Empty: all are called `name`.
  std::vector<std::string> rows = {};
  /// Set by plan_memory: the buffer takes memory during the whole run; else from its first write to the
  /// `frees` of a step.
  bool always_live = false;
};

/// A tensor as one replica holds it: its own type, or of a sharded one [ceil(elements / shards)]
/// (semantics, section 7.3).
ir::Type slot_type(const Buffer& buffer);
/// Bytes of one slot on the device, 4- and 2-bit elements packed, quantised weights as they are stored. 0
/// where data decides the size.
std::int64_t slot_bytes(const Buffer& buffer);

/// One slot of a buffer. In iteration i of the innermost Repeat around the step it is slot
/// (index + stride * i) modulo the buffer's slots.
struct Slot {
  BufferId buffer;
  int index = 0;
  int stride = 0;
};

/// Some iterations of the innermost Repeat: from the first up to the end. Of what is in no Repeat: all.
struct Iterations {
  int first = 0;
  int end = std::numeric_limits<int>::max();

  bool contains(std::int64_t iteration) const { return first <= iteration && iteration < end; }
  bool operator==(const Iterations&) const = default;
};

/// The iterations that are in both.
inline Iterations both(const Iterations& a, const Iterations& b) {
  return {std::max(a.first, b.first), std::min(a.end, b.end)};
}

/// Ops that run together on one processor.
struct Block {
  std::string name;
  int processor = 0;
  ir::Graph graph;
  /// The buffers in which the graph's constants live: on the processor during the whole run.
  std::vector<BufferId> weights = {};
  /// Set by plan_memory: bytes of values inside the block while it runs, inputs and outputs not counted.
  std::int64_t temporary_bytes = 0;
  /// The tiles that it runs on: Compute or IO. What it reads and writes is in their memory.
  Memory memory = Memory::Compute;
};

struct Transfer {
  Slot from;
  Slot to;
  Iterations acts = {};  ///< in which it moves, as a part of an exchange
};

/// Runs a block: reads the slots in the order of the block's inputs, writes in the order of its outputs.
/// A read whose buffer is invalid is an input left out.
struct Compute {
  BlockId block;
  std::vector<Slot> reads;
  std::vector<Slot> writes;
  std::string name = {};  ///< where the block runs under several; empty: the block's
};

/// Loads the next micro-batch, or one part of it, of input number `input` of the model from the host.
struct LoadFromHost {
  int input = 0;
  Slot to;
  int part = 0;  ///< of HostTensor::parts, where there are any
};

/// Offers a micro-batch, or one part of it, of output number `output` to the host. HostTensor::every decides
/// which micro-batches move.
struct StoreToHost {
  Slot from;
  int output = 0;
  int part = 0;  ///< of HostTensor::parts, where there are any
};

/// Moves data between processors, as one exchange of the transfers that act. No transfer reads what an
/// earlier one has written.
struct CopyBetweenProcessors {
  std::vector<Transfer> transfers;
};

/// Moves data between the IO tiles and the compute tiles of one processor.
struct CopyBetweenTiles {
  Transfer transfer;
};

/// Moves data from streaming memory to processors, as one exchange. All transfers act when the step does.
struct LoadRemote {
  std::vector<Transfer> transfers;
};

/// Moves data from processors to streaming memory, as one exchange, the transfers of a processor in their
/// order.
struct StoreRemote {
  std::vector<Transfer> transfers;
};

/// AllToAll is there between processors alone.
enum class CollectiveKind : std::uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll };
/// How values combine. Local makes a ReduceScatter without reduction: each replica takes its part of its own
/// tensor, and no data move between replicas. Max is there between processors alone.
enum class CollectiveReduction : std::uint8_t { Add, Mean, Local, Max };

/// Combines data of the same processor over the replicas of each group. ReduceScatter writes and AllGather
/// reads a sharded buffer; AllReduce may write where it reads.
struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveReduction reduction = CollectiveReduction::Add;
  ir::ReplicaGroup group = {};
  Transfer transfer;
};

/// Combines data of several processors of a replica: a transfer for each member of the group, on its own
/// processor. Parts, those that ReduceScatter writes and AllGather reads, follow each other along `axis` in
/// the order of the members; they may differ in size. AllToAll reads such parts and writes parts along
/// `scatter_axis`.
struct GroupCollective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveReduction reduction = CollectiveReduction::Add;
  int axis = 0;
  int scatter_axis = 0;
  std::vector<Transfer> transfers;
};

struct Step;

/// Runs its steps `count` times, one iteration after the other in the order of each lane.
struct Repeat {
  int count = 0;
  std::vector<Step> body;
};

/// The part of the strategy that a step belongs to; nothing where the strategy has no such parts.
struct Origin {
  std::optional<int> stage = {};  ///< of the pipeline, as the way there counts them and goes on back
  std::optional<int> phase = {};  ///< -1: what comes before the first
  bool operator==(const Origin&) const = default;
};

struct Step {
  std::variant<Compute, LoadFromHost, StoreToHost, CopyBetweenProcessors, CopyBetweenTiles, LoadRemote,
               StoreRemote, Collective, GroupCollective, Repeat>
      action;
  /// The micro-batch of the replica that the step belongs to: micro_batch + stride * iteration of the
  /// innermost Repeat.
  int micro_batch = 0;
  int micro_batch_stride = 0;
  /// In which it takes part: the stages of a long pipeline begin and end one after the other.
  Iterations acts = {};
  Origin origin = {};
  /// Set by plan_memory: slots whose value no later step reads.
  std::vector<Slot> frees = {};
};

inline constexpr int kAddedUp = -1;

/// A tensor that comes from or goes to the host.
struct HostTensor {
  std::string name;
  ir::Type type;          ///< of one load or store: a micro-batch, or one slice of it
  int micro_batches = 1;  ///< that one replica loads, or offers, in a run
  /// Batch serialisation: a micro-batch moves in so many loads or stores, one after the other. Each moves a
  /// slice along `slice_axis`; without an axis (kAddedUp) the micro-batch is the sum of the stores. The
  /// host's arrays hold whole micro-batches: whole_type.
  int slices = 1;
  int slice_axis = 0;
  bool broadcast = false;  ///< input: every replica loads the same micro-batches
  int every = 1;           ///< output: only the last of so many groups of micro-batches is stored
  int group = 1;           ///< output: so many micro-batches are stored together or not at all
  /// The leading dimensions of an output, before those of the type: what one replica stores in a run is
  /// [batches, accumulation, micro-batch...]. Empty: one tensor (Final, Sum).
  ir::Dims leading = {};
  /// Each is loaded, or stored, by a step of its own in every micro-batch. Those of an output make up all of
  /// it. Empty: a step moves all of it. Parts are of static tensors that move in one slice.
  std::vector<ir::Box> parts = {};
};

/// The type of one micro-batch, with its slices put together.
ir::Type whole_type(const HostTensor& tensor);
/// The type of what one step moves.
ir::Type moved_type(const HostTensor& tensor, int part);
/// How many steps move something of each micro-batch, or slice.
inline int count_moves(const HostTensor& tensor) {
  return tensor.parts.empty() ? 1 : static_cast<int>(tensor.parts.size());
}

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Block> blocks;
  std::vector<Step> steps;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
  int processors = 1;  ///< of one replica
  int replicas = 1;

  Buffer& operator[](BufferId id) { return buffers[ir::checked_index(id.index, buffers.size())]; }
  const Buffer& operator[](BufferId id) const { return buffers[ir::checked_index(id.index, buffers.size())]; }
  Block& operator[](BlockId id) { return blocks[ir::checked_index(id.index, blocks.size())]; }
  const Block& operator[](BlockId id) const { return blocks[ir::checked_index(id.index, blocks.size())]; }
  ir::IdRange<BufferId> buffer_ids() const { return ir::IdRange<BufferId>(std::ssize(buffers)); }
  ir::IdRange<BlockId> block_ids() const { return ir::IdRange<BlockId>(std::ssize(blocks)); }
};

/// The name of the tensor in a slot.
const std::string& name_of(const Program& program, const Slot& slot);
/// The name of one run of a block.
const std::string& name_of(const Program& program, const Compute& step);

/// How many of the iterations of a Repeat, which has so many, are among these.
std::int64_t count_of(const Iterations& acts, std::int64_t count);

/// The iterations of a Repeat, ascending, in which other steps or transfers of its body act than in the one
/// before. Between two of them all iterations are alike.
std::vector<int> turns_of(const Repeat& repeat);

/// The slots that a step reads and writes itself; none for a Repeat.
std::vector<Slot> reads_of(const Step& step);
std::vector<Slot> writes_of(const Step& step);

/// How many replicas each group has, and which, ascending (semantics, section 6.3). Error when the size does
/// not divide `replicas`, or the stride their number.
int replica_group_size(const ir::ReplicaGroup& group, int replicas);
std::vector<std::vector<int>> replica_groups(const ir::ReplicaGroup& group, int replicas);

/// One step as print has it, without the body of a Repeat.
std::string print(const Program& program, const Step& step);
/// Stable text, a line a buffer, block and step; the body of a Repeat is indented.
std::string print(const Program& program);

/// InternalError when a step does not fit its buffers: a block that reads another processor's memory, a copy
/// that stays on one processor, types that differ, a slot that is not there.
void verify(const Program& program);

}  // namespace podium::executor
