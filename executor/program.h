// The Program: in what order, on which processor, with which data movements. It describes one replica.
// Two readers: the numeric engine computes with it, the simulator clocks it; neither knows the other.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace podium::executor {

using BlockId = ir::Id<struct BlockTag>;
using BufferId = ir::Id<struct BufferTag>;

enum class Memory : std::uint8_t { Compute, IO, Streaming, Host };

/// Room for a tensor on one processor.
struct Buffer {
  std::string name;
  ir::Type type;
  int processor = 0;
  Memory memory = Memory::Compute;
  int slots = 1;  ///< stash depth, or entries of a remote buffer
};

/// One slot of a buffer.
struct Slot {
  BufferId buffer;
  int index = 0;
};

/// Ops that run together on one processor. Weights that never change are constants of the graph.
struct Block {
  std::string name;
  int processor = 0;
  ir::Graph graph;
};

/// Runs a block: reads the slots in the order of the block's inputs, writes in the order of its outputs.
/// An input whose slot is invalid is left out.
struct Compute {
  BlockId block;
  std::vector<Slot> reads;
  std::vector<Slot> writes;
};

/// Brings input number `input` of the model from the host.
struct LoadFromHost {
  int input = 0;
  Slot to;
};

/// Gives output number `output` of the model to the host.
struct StoreToHost {
  Slot from;
  int output = 0;
};

using Step = std::variant<LoadFromHost, Compute, StoreToHost>;

struct HostTensor {
  std::string name;
  ir::Type type;
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Block> blocks;
  std::vector<Step> steps;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;

  const Buffer& operator[](BufferId id) const { return buffers[static_cast<std::size_t>(id.index)]; }
  const Block& operator[](BlockId id) const { return blocks[static_cast<std::size_t>(id.index)]; }
};

/// Stable text, a line a buffer, block and step.
std::string print(const Program& program);

}  // namespace podium::executor
