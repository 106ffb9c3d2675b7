// A block becomes pieces, each as large as the order of its ops allows. A run of the block then is a run of
// its pieces, with a copy between tiles wherever a value is on the other set than its reader:
//
//   block on compute tiles: a = Relu(x), b = Neg(a) on IO tiles, y = Add(a, b)
//
//   compute piece 0 (x) -> (a)
//   tiles a -> a.io
//   compute piece 1 on IO tiles (a.io) -> (b.io)
//   tiles b.io -> b
//   compute piece 2 (a, b) -> (y)
//
// An output that overwrites what the block reads, a variable, is delivered when all pieces have run.
#include "executor/lower/program/split_tile_sets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "executor/lower/placed/parts.h"
#include "executor/lower/program/append.h"
#include "ir/annotation.h"

namespace podium::lower {

using executor::Block;
using executor::BlockId;
using executor::Buffer;
using executor::BufferId;
using executor::Compute;
using executor::Memory;
using executor::Program;
using executor::Slot;
using executor::Step;
using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::ValueId;

namespace {

bool is_on_io_tiles(const Op& op) {
  const auto* tiles = ir::attribute_if<std::int64_t>(op, ir::kTileSet);
  return tiles != nullptr && *tiles == static_cast<std::int64_t>(ir::TileSet::IO);
}

struct TilePiece {
  BlockId block;
  Part part;
};

// A value of a block in one of the memories of its processor.
using Place = std::pair<ValueId, Memory>;

struct TileSplit {
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  IdMap<ValueId, ir::Value> values;  ///< without their numbers
  std::vector<TilePiece> pieces;
  std::map<Place, BufferId> between;
  std::map<ValueId, BlockId> copies;  ///< blocks that take a value where it belongs
};

class TileSplitter {
 public:
  explicit TileSplitter(Program& program) : program_(program), splits_(std::ssize(program.blocks)) {
    for (BlockId id : splits_.ids()) {
      if (count_on_io_tiles(program[id].graph) > 0) splits_[id] = split(id);
    }
    place_weights();
  }

  std::vector<Step> rewrite(std::vector<Step> steps) {
    std::vector<Step> result;
    for (Step& step : steps) {
      if (auto* repeat = std::get_if<executor::Repeat>(&step.action))
        repeat->body = rewrite(std::move(repeat->body));
      const auto* compute = std::get_if<Compute>(&step.action);
      if (compute != nullptr && splits_[compute->block]) {
        Run(*this, step, *compute, *splits_[compute->block], result).write();
      } else {
        result.push_back(std::move(step));
      }
    }
    return result;
  }

 private:
  // The first piece stays under the block's id.
  TileSplit split(BlockId id) {
    TileSplit made;
    Block whole = std::move(program_[id]);
    const Graph& graph = whole.graph;
    made.inputs = graph.inputs;
    made.outputs = graph.outputs;
    for (ValueId value : graph.value_ids())
      made.values.push_back({.name = graph[value].name, .type = graph[value].type});
    const std::map<ValueId, BufferId> weights = weights_by_value(graph, whole.weights, whole.name);
    IdMap<OpId, Turn> turns;
    for (const Op& op : graph.ops) {
      turns.push_back({.tiles = is_on_io_tiles(op) ? ir::TileSet::IO : ir::TileSet::Compute});
    }
    std::vector<Part> parts = make_parts(graph, turns);
    for (Part& part : parts) {
      const bool is_io = part.turn.tiles == ir::TileSet::IO;
      Block block{
          .name = parts.size() == 1 ? whole.name : fmt::format("{}.{}", whole.name, made.pieces.size()),
          .processor = whole.processor,
          .graph = std::move(part.graph),
          .memory = is_io ? Memory::IO : Memory::Compute};
      for (const PartWeight& weight : part.weights) block.weights.push_back(weights.at(weight.whole));
      BlockId piece = id;
      if (made.pieces.empty()) {
        program_[id] = std::move(block);
      } else {
        piece = append(program_, std::move(block));
      }
      made.pieces.push_back({piece, std::move(part)});
    }
    return made;
  }

  // A constant lies on the tiles of the blocks that read it, on both sets where both do.
  void place_weights() {
    std::set<BufferId> on_compute_tiles;
    for (const Block& block : program_.blocks) {
      if (block.memory == Memory::Compute)
        on_compute_tiles.insert(block.weights.begin(), block.weights.end());
    }
    std::map<BufferId, BufferId> on_io_tiles;
    for (Block& block : program_.blocks) {
      if (block.memory != Memory::IO) continue;
      for (BufferId& weight : block.weights) {
        const auto [entry, is_new] = on_io_tiles.try_emplace(weight, weight);
        if (is_new && on_compute_tiles.contains(weight)) {
          Buffer copy = program_[weight];
          entry->second = append(program_, std::move(copy));
        }
        weight = entry->second;
        program_[weight].memory = Memory::IO;
      }
    }
  }

  // The steps of one run of a block.
  class Run {
   public:
    Run(TileSplitter& splitter, const Step& step, const Compute& compute, TileSplit& split,
        std::vector<Step>& result)
        : splitter_(splitter), step_(step), compute_(compute), split_(split), result_(result) {
      for (std::size_t i = 0; i < compute.reads.size(); ++i)
        where_.emplace(Place{split.inputs[i], Memory::Compute}, compute.reads[i]);
      for (std::size_t i = 0; i < compute.writes.size(); ++i) {
        const auto overwrites = [&](const Slot& read) {
          return read.buffer.valid() && read.buffer == compute.writes[i].buffer;
        };
        if (std::ranges::none_of(compute.reads, overwrites))
          direct_.emplace(split.outputs[i], compute.writes[i]);
      }
    }

    void write() {
      for (const TilePiece& piece : split_.pieces) {
        const Memory memory = splitter_.program_[piece.block].memory;
        Compute run{.block = piece.block, .reads = {}, .writes = {}};
        if (split_.pieces.size() == 1) run.name = compute_.name;
        for (ValueId id : piece.part.reads) run.reads.push_back(need(id, memory));
        for (ValueId id : piece.part.writes) run.writes.push_back(room_for(id, memory));
        add(std::move(run));
        if (memory != Memory::IO) continue;
        for (ValueId id : piece.part.writes) {
          if (direct_.contains(id)) need(id, Memory::Compute);
        }
      }
      for (std::size_t i = 0; i < compute_.writes.size(); ++i) deliver(split_.outputs[i], compute_.writes[i]);
    }

   private:
    void add(auto action) {
      result_.push_back({.action = std::move(action),
                         .micro_batch = step_.micro_batch,
                         .micro_batch_stride = step_.micro_batch_stride,
                         .acts = step_.acts,
                         .origin = step_.origin});
    }

    Slot room_for(ValueId id, Memory memory) {
      const auto direct = direct_.find(id);
      const Slot slot =
          memory == Memory::Compute && direct != direct_.end()
              ? direct->second
              : Slot{splitter_.between(id, memory, splitter_.program_[compute_.block].processor, split_)};
      where_.insert_or_assign(Place{id, memory}, slot);
      return slot;
    }

    // Where the value is in this memory, after a copy if it was in the other one alone.
    Slot need(ValueId id, Memory memory) {
      const auto here = where_.find({id, memory});
      if (here != where_.end()) return here->second;
      const Slot there = where_.at({id, memory == Memory::IO ? Memory::Compute : Memory::IO});
      if (!there.buffer.valid()) return there;
      const Slot slot = room_for(id, memory);
      add(executor::CopyBetweenTiles{{there, slot}});
      return slot;
    }

    void deliver(ValueId id, const Slot& to) {
      const auto on_io_tiles = where_.find({id, Memory::IO});
      const auto here = where_.find({id, Memory::Compute});
      const auto is_there = [&](const Slot& slot) {
        return slot.buffer == to.buffer && slot.index == to.index && slot.stride == to.stride;
      };
      if (here != where_.end() && is_there(here->second)) return;
      if (on_io_tiles != where_.end()) return add(executor::CopyBetweenTiles{{on_io_tiles->second, to}});
      add(Compute{
          splitter_.copy_of(id, splitter_.program_[compute_.block].processor, split_), {here->second}, {to}});
    }

    TileSplitter& splitter_;
    const Step& step_;
    const Compute& compute_;
    TileSplit& split_;
    std::vector<Step>& result_;
    std::map<Place, Slot> where_;
    std::map<ValueId, Slot> direct_;  ///< where outputs go that overwrite nothing the block reads
  };

  BufferId between(ValueId id, Memory memory, int processor, TileSplit& split) {
    const auto [entry, is_new] = split.between.try_emplace({id, memory});
    if (is_new) {
      const ir::Value& value = split.values[id];
      entry->second = append(
          program_, {.name = value.name,
                     .type = value.type,
                     .processor = processor,
                     .memory = memory,
                     .role = memory == Memory::IO ? executor::Role::Stream : executor::Role::Activation});
    }
    return entry->second;
  }

  BlockId copy_of(ValueId id, int processor, TileSplit& split) {
    const auto [entry, is_new] = split.copies.try_emplace(id);
    if (is_new) {
      const ir::Value& value = split.values[id];
      entry->second = append(program_, keeping_block(value, processor));
    }
    return entry->second;
  }

  Program& program_;
  IdMap<BlockId, std::optional<TileSplit>> splits_;
};

}  // namespace

int count_on_io_tiles(const Graph& graph) {
  return static_cast<int>(std::ranges::count_if(graph.ops, is_on_io_tiles));
}

void split_tile_sets(Program& program) {
  TileSplitter splitter(program);
  program.steps = splitter.rewrite(std::move(program.steps));
}

}  // namespace podium::lower
