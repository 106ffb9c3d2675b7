#include "executor/lower/draft/parts.h"

#include <map>
#include <set>

#include "ir/at.h"

namespace podium::lower {
namespace {

using ir::Graph;
using ir::Op;
using ir::OpId;
using ir::ValueId;

constexpr int kNoPart = -1;

// The ops of each part, in order.
std::vector<std::vector<OpId>> cut(const Graph& graph, const std::vector<int>& group) {
  const auto producer = producers(graph);
  const auto readers = consumers(graph);
  std::vector<int> waits_for(graph.ops.size(), 0);
  std::map<int, std::set<OpId>> ready;
  const auto group_of = [&](OpId id) { return group[id.index]; };
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (ValueId input : graph.ops[i].inputs) {
      if (input.valid() && producer[at(input)].valid()) ++waits_for[i];
    }
    const OpId id{static_cast<std::int32_t>(i)};
    if (waits_for[i] == 0) ready[group_of(id)].insert(id);
  }
  std::vector<std::vector<OpId>> parts;
  while (!ready.empty()) {
    const int current = ready.begin()->first;
    std::vector<OpId>& ops = parts.emplace_back();
    for (auto here = ready.begin(); here != ready.end(); here = ready.find(current)) {
      const OpId next = *here->second.begin();
      here->second.erase(here->second.begin());
      if (here->second.empty()) ready.erase(here);
      ops.push_back(next);
      for (ValueId output : graph[next].outputs) {
        if (!output.valid()) continue;
        for (OpId reader : readers[at(output)]) {
          if (--waits_for[reader.index] == 0) ready[group_of(reader)].insert(reader);
        }
      }
    }
  }
  return parts;
}

// Builds the parts' graphs one after the other.
class PartMaker {
 public:
  PartMaker(const Graph& graph, const std::vector<std::vector<OpId>>& parts,
            const std::function<bool(ValueId)>& streamed)
      : graph_(graph),
        streamed_(streamed),
        is_input_(graph.values.size(), false),
        made_in_(graph.values.size(), kNoPart),
        crosses_(graph.values.size(), false),
        local_(graph.values.size()),
        local_of_part_(graph.values.size(), kNoPart) {
    for (ValueId id : graph.inputs) is_input_[at(id)] = true;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (OpId op : parts[p]) {
        for (ValueId id : graph[op].inputs) {
          if (id.valid() && made_in_[at(id)] != static_cast<int>(p)) crosses_[at(id)] = true;
        }
        for (ValueId id : graph[op].outputs) {
          if (id.valid()) made_in_[at(id)] = static_cast<int>(p);
        }
      }
    }
    for (ValueId id : graph.outputs) crosses_[at(id)] = true;
  }

  Part make(int index, const std::vector<OpId>& ops) {
    Part part;
    part.graph.name = graph_.name;
    for (OpId id : ops) {
      Op op = graph_[id];
      for (ValueId& input : op.inputs) {
        if (input.valid()) input = local(part, index, input);
      }
      for (ValueId& output : op.outputs) {
        if (!output.valid()) continue;
        const ValueId outer = output;
        output = add(part, index, outer);
        if (crosses_[at(outer)]) {
          part.writes.push_back(outer);
          part.graph.outputs.push_back(output);
        }
      }
      part.graph.ops.push_back(std::move(op));
    }
    return part;
  }

 private:
  ValueId add(Part& part, int index, ValueId outer) {
    part.graph.values.push_back(graph_[outer]);
    local_[at(outer)] = {static_cast<std::int32_t>(part.graph.values.size() - 1)};
    local_of_part_[at(outer)] = index;
    return local_[at(outer)];
  }

  // The value under the part's own id, brought in at its first use.
  ValueId local(Part& part, int index, ValueId outer) {
    if (local_of_part_[at(outer)] == index) return local_[at(outer)];
    const ValueId id = add(part, index, outer);
    const bool from_elsewhere = is_input_[at(outer)] || made_in_[at(outer)] != kNoPart;
    if (from_elsewhere || (streamed_ && streamed_(outer))) {
      if (!from_elsewhere) {
        part.graph[id].constant.reset();
        part.graph[id].data_left_out = false;
      }
      part.reads.push_back(outer);
      part.graph.inputs.push_back(id);
    } else {
      part.weights.push_back(outer);
    }
    return id;
  }

  const Graph& graph_;
  const std::function<bool(ValueId)>& streamed_;
  std::vector<bool> is_input_;
  std::vector<int> made_in_;
  std::vector<bool> crosses_;
  std::vector<ValueId> local_;
  std::vector<int> local_of_part_;
};

}  // namespace

std::vector<Part> make_parts(const Graph& graph, const std::vector<int>& group, bool whole_groups,
                             const std::function<bool(ValueId)>& streamed) {
  IR_CHECK(group.size() == graph.ops.size());
  const std::vector<std::vector<OpId>> ops = cut(graph, group);
  PartMaker maker(graph, ops, streamed);
  std::vector<Part> parts;
  for (std::size_t p = 0; p < ops.size(); ++p) {
    Part part = maker.make(static_cast<int>(p), ops[p]);
    part.group = group[ops[p].front().index];
    IR_CHECK(!whole_groups || parts.empty() || parts.back().group < part.group,
             "the ops of group {} cannot run together before those of group {}", part.group,
             parts.back().group);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace podium::lower
