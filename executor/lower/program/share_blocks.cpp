#include <algorithm>
#include <array>
#include <unordered_map>

#include "executor/lower/program/append.h"
#include "executor/lower/program/share.h"
#include "ir/annotation.h"
#include "ir/bodies.h"
#include "ir/same.h"

namespace podium::lower {

using executor::Block;
using executor::BlockId;
using executor::Program;
using executor::Step;
using ir::Attribute;
using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::Value;

namespace {

// Where an op runs is decided.
bool tells_place(const Attribute& attribute) {
  constexpr std::array kPlaces{ir::kMovement,           ir::kVirtualGraph,      ir::kPipelineStage,
                               ir::kExecutionPhase,     ir::kPlainVirtualGraph, ir::kPlainPipelineStage,
                               ir::kPlainExecutionPhase};
  return std::find(kPlaces.begin(), kPlaces.end(), attribute.name) != kPlaces.end();
}

bool same_attributes(const std::vector<Attribute>& a, const std::vector<Attribute>& b) {
  auto left = a.begin();
  auto right = b.begin();
  while (true) {
    left = std::find_if_not(left, a.end(), tells_place);
    right = std::find_if_not(right, b.end(), tells_place);
    if (left == a.end() || right == b.end()) return left == a.end() && right == b.end();
    if (!same_attribute(*left++, *right++)) return false;
  }
}

// Parts number their values in the order of their ops, so equal parts have equal numbers.
bool same_op(const Op& a, const Op& b) {
  return a.spec == b.spec && a.inputs == b.inputs && a.outputs == b.outputs &&
         same_attributes(a.attributes, b.attributes);
}

bool same_value(const Value& a, const Value& b) {
  if (!(a.type == b.type) || a.constant.has_value() != b.constant.has_value()) return false;
  return a.data_left_out == b.data_left_out && (!a.constant || same(*a.constant, *b.constant));
}

bool same_block(const Block& a, const Block& b) {
  const Graph& left = a.graph;
  const Graph& right = b.graph;
  return a.processor == b.processor && a.memory == b.memory && a.weights == b.weights &&
         left.inputs == right.inputs && left.outputs == right.outputs &&
         std::equal(left.values.begin(), left.values.end(), right.values.begin(), right.values.end(),
                    same_value) &&
         std::equal(left.ops.begin(), left.ops.end(), right.ops.begin(), right.ops.end(), same_op);
}

bool can_be_shared(const Block& block) {
  return std::none_of(block.graph.ops.begin(), block.graph.ops.end(),
                      [](const Op& op) { return op.spec->random || ir::has_body(op); });
}

std::size_t hash_of(const Block& block) {
  std::size_t hash = block.processor;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29U);
  };
  for (const Op& op : block.graph.ops) {
    mix(std::hash<const ir::OpSpec*>()(op.spec));
    for (ir::ValueId id : op.inputs) mix(id.index);
  }
  return hash;
}

// Per block, the first that computes the same.
IdMap<BlockId, BlockId> find_equal(const Program& program) {
  std::unordered_multimap<std::size_t, BlockId> seen;
  IdMap<BlockId, BlockId> stands_for(std::ssize(program.blocks));
  for (BlockId id : stands_for.ids()) {
    const Block& block = program[id];
    stands_for[id] = id;
    if (!can_be_shared(block)) continue;
    const std::size_t hash = hash_of(block);
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
