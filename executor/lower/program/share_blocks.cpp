#include <algorithm>
#include <unordered_map>

#include "executor/lower/program/append.h"
#include "executor/lower/program/share.h"
#include "executor/same_code.h"
#include "ir/bodies.h"

namespace podium::lower {

using executor::Block;
using executor::BlockId;
using executor::Program;
using executor::Step;
using ir::IdMap;

namespace {

bool same_block(const Block& a, const Block& b) {
  return a.processor == b.processor && a.memory == b.memory && a.weights == b.weights &&
         executor::same_code(a.graph, b.graph);
}

bool can_be_shared(const Block& block) {
  return std::none_of(block.graph.ops.begin(), block.graph.ops.end(),
                      [](const ir::Op& op) { return op.spec->random || ir::has_body(op); });
}

// Per block, the first that computes the same.
IdMap<BlockId, BlockId> find_equal(const Program& program) {
  std::unordered_multimap<std::size_t, BlockId> seen;  // by code and processor
  IdMap<BlockId, BlockId> stands_for(std::ssize(program.blocks));
  for (BlockId id : stands_for.ids()) {
    const Block& block = program[id];
    stands_for[id] = id;
    if (!can_be_shared(block)) continue;
    const std::size_t hash = executor::hash_of_code(block.graph) + block.processor;
    const auto [begin, end] = seen.equal_range(hash);
    const auto equal =
        std::find_if(begin, end, [&](const auto& entry) { return same_block(program[entry.second], block); });
    if (equal == end) {
      seen.emplace(hash, id);
    } else {
      stands_for[id] = equal->second;
    }
  }
  return stands_for;
}

void rename(const Program& program, const IdMap<BlockId, BlockId>& stands_for,
            const IdMap<BlockId, BlockId>& moved_to, std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      rename(program, stands_for, moved_to, repeat->body);
    } else if (auto* compute = std::get_if<executor::Compute>(&step.action)) {
      const BlockId first = stands_for[compute->block];
      if (first != compute->block && compute->name.empty()) compute->name = program[compute->block].name;
      compute->block = moved_to[first];
    }
  }
}

}  // namespace

void share_blocks(Program& program) {
  const IdMap<BlockId, BlockId> stands_for = find_equal(program);
  IdMap<BlockId, BlockId> moved_to(stands_for.size());
  std::int32_t count = 0;
  for (BlockId id : stands_for.ids()) {
    if (stands_for[id] == id) moved_to[id] = {count++};
  }
  if (count == stands_for.size()) return;
  rename(program, stands_for, moved_to, program.steps);
  Program kept;
  for (BlockId id : stands_for.ids()) {
    if (moved_to[id].valid()) append(kept, std::move(program[id]));
  }
  program.blocks = std::move(kept.blocks);
}

}  // namespace podium::lower
