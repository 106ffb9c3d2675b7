#include "executor/same_code.h"

#include <algorithm>
#include <array>

#include "ir/annotation.h"
#include "ir/same.h"

namespace podium::executor {

using ir::Attribute;
using ir::Graph;
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

bool same_op(const Op& a, const Op& b) {
  return a.spec == b.spec && a.inputs == b.inputs && a.outputs == b.outputs &&
         same_attributes(a.attributes, b.attributes);
}

bool same_value(const Value& a, const Value& b) {
  if (!(a.type == b.type) || a.constant.has_value() != b.constant.has_value()) return false;
  return a.data_left_out == b.data_left_out && (!a.constant || same(*a.constant, *b.constant));
}

}  // namespace

bool same_code(const Graph& a, const Graph& b) {
  return a.inputs == b.inputs && a.outputs == b.outputs &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_value) &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same_op);
}

std::size_t hash_of_code(const Graph& graph) {
  std::size_t hash = graph.ops.size();
  for (const Value& value : graph.values) {
    for (std::int64_t dim : value.type.dims) ir::mix(hash, dim);
    // Which are the same only where they share their memory.
    if (value.constant && value.constant->bytes() > ir::kLargestCompared)
      ir::mix(hash, std::hash<const void*>()(value.constant->memory_id()));
  }
  for (const Op& op : graph.ops) {
    ir::mix(hash, std::hash<const ir::OpSpec*>()(op.spec));
    for (ir::ValueId id : op.inputs) ir::mix(hash, id.index);
  }
  return hash;
}

}  // namespace podium::executor
