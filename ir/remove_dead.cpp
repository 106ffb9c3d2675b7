#include "ir/remove_dead.h"

#include <algorithm>

#include "ir/at.h"
#include "ir/bodies.h"

namespace podium::ir {
namespace {

bool is_optional_output(const Op& op, std::size_t i) {
  return i < op.spec->outputs.size() && op.spec->outputs[i].formal == Formal::Optional;
}

bool drop_unread_outputs(Op& op, const std::vector<bool>& live) {
  bool changed = false;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid() || live[at(op.outputs[i])] || !is_optional_output(op, i)) continue;
    op.outputs[i] = kNoValue;
    changed = true;
  }
  while (!op.outputs.empty() && !op.outputs.back().valid() && is_optional_output(op, op.outputs.size() - 1)) {
    op.outputs.pop_back();
  }
  return changed;
}

// Per captured value of the op: whether one of its bodies reads it.
std::vector<bool> read_captures(const Op& op) {
  std::vector<bool> read(static_cast<std::size_t>(op.captures), false);
  for_each_body(op, [&](std::string_view, const Graph& body) {
    const auto uses = use_counts(body);
    const std::size_t first = body.inputs.size() - read.size();
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (uses[at(body.inputs[first + i])] > 0) read[i] = true;
    }
  });
  return read;
}

void keep_last(std::vector<ValueId>& values, const std::vector<bool>& kept) {
  const std::size_t first = values.size() - kept.size();
  std::size_t next = first;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) values[next++] = values[first + i];
  }
  values.resize(next);
}

bool drop_unread_captures(Op& op) {
  const std::vector<bool> read = read_captures(op);
  if (std::find(read.begin(), read.end(), false) == read.end()) return false;
  edit_bodies(op, [&](Graph& body) {
    keep_last(body.inputs, read);
    return true;
  });
  keep_last(op.inputs, read);
  op.captures = static_cast<int>(std::count(read.begin(), read.end(), true));
  return true;
}

// Renumbers the values that something names.
bool compact_values(Graph& graph) {
  std::vector<ValueId> renumbered(graph.values.size());
  const auto visit_all = [&](const auto& visit) {
    std::for_each(graph.inputs.begin(), graph.inputs.end(), visit);
    std::for_each(graph.outputs.begin(), graph.outputs.end(), visit);
    for (Op& op : graph.ops) {
      std::for_each(op.inputs.begin(), op.inputs.end(), visit);
      std::for_each(op.outputs.begin(), op.outputs.end(), visit);
    }
  };
  visit_all([&](ValueId id) {
    if (id.valid()) renumbered[at(id)] = id;
  });
  std::int32_t next = 0;
  for (std::size_t i = 0; i < renumbered.size(); ++i) {
    if (!renumbered[i].valid()) continue;
    if (static_cast<std::size_t>(next) != i) graph.values[next] = std::move(graph.values[i]);
    renumbered[i] = {next++};
  }
  if (static_cast<std::size_t>(next) == graph.values.size()) return false;
  graph.values.resize(static_cast<std::size_t>(next));
  visit_all([&](ValueId& id) {
    if (id.valid()) id = renumbered[at(id)];
  });
  return true;
}

}  // namespace

bool remove_dead(Graph& graph) {
  bool changed = false;
  std::vector<bool> live(graph.values.size(), false);
  for (ValueId id : graph.outputs) live[at(id)] = true;
  std::vector<Op> kept;
  kept.reserve(graph.ops.size());
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    const bool is_read = std::any_of(op->outputs.begin(), op->outputs.end(),
                                     [&](ValueId id) { return id.valid() && live[at(id)]; });
    if (!is_read) {
      changed = true;
      continue;
    }
    changed |= drop_unread_outputs(*op, live);
    if (has_body(*op)) {
      changed |= edit_bodies(*op, remove_dead);
      changed |= drop_unread_captures(*op);
    }
    for (ValueId id : op->inputs) {
      if (id.valid()) live[at(id)] = true;
    }
    kept.push_back(std::move(*op));
  }
  std::reverse(kept.begin(), kept.end());
  graph.ops = std::move(kept);
  return compact_values(graph) || changed;
}

}  // namespace podium::ir
