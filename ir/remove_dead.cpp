#include "ir/remove_dead.h"

#include <algorithm>

#include "ir/bodies.h"

namespace podium::ir {
namespace {

bool is_optional_output(const Op& op, std::size_t i) {
  return i < op.spec->outputs.size() && op.spec->outputs[i].formal == Formal::Optional;
}

bool drop_unread_outputs(Op& op, const IdMap<ValueId, bool>& live) {
  bool changed = false;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid() || live[op.outputs[i]] || !is_optional_output(op, i)) continue;
    op.outputs[i] = kNoValue;
    changed = true;
  }
  while (!op.outputs.empty() && !op.outputs.back().valid() && is_optional_output(op, op.outputs.size() - 1)) {
    op.outputs.pop_back();
  }
  return changed;
}

// An op without outputs is there for what it does; so is one that may run such an op.
bool acts(const Op& op) {
  bool found = op.outputs.empty();
  for_each_body(op, [&](std::string_view, const Graph& body) {
    found = found || std::any_of(body.ops.begin(), body.ops.end(), acts);
  });
  return found;
}

// Per captured value of the op: whether one of its bodies reads it.
std::vector<bool> read_captures(const Op& op) {
  std::vector<bool> read(op.captures, false);
  for_each_body(op, [&](std::string_view, const Graph& body) {
    const auto uses = use_counts(body);
    const std::size_t first = body.inputs.size() - read.size();
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (uses[body.inputs[first + i]] > 0) read[i] = true;
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
  op.captures = std::count(read.begin(), read.end(), true);
  return true;
}

// Renumbers the values that something names.
bool compact_values(Graph& graph) {
  IdMap<ValueId, ValueId> renumbered(std::ssize(graph.values));
  const auto visit_all = [&](const auto& visit) {
    std::for_each(graph.inputs.begin(), graph.inputs.end(), visit);
    std::for_each(graph.outputs.begin(), graph.outputs.end(), visit);
    for (Op& op : graph.ops) {
      std::for_each(op.inputs.begin(), op.inputs.end(), visit);
      std::for_each(op.outputs.begin(), op.outputs.end(), visit);
    }
  };
  std::int64_t named = 0;
  visit_all([&](ValueId id) {
    if (!id.valid() || renumbered[id].valid()) return;
    renumbered[id] = id;
    ++named;
  });
  if (named == std::ssize(graph.values)) return false;
  std::int32_t count = 0;  // of those that stay, which move up over the others
  for (ValueId id : renumbered.ids()) {
    if (!renumbered[id].valid()) continue;
    renumbered[id] = {count++};
    if (renumbered[id] != id) graph[renumbered[id]] = std::move(graph[id]);
  }
  graph.values.resize(static_cast<std::size_t>(count));
  visit_all([&](ValueId& id) {
    if (id.valid()) id = renumbered[id];
  });
  return true;
}

}  // namespace

bool remove_dead(Graph& graph) {
  bool changed = false;
  IdMap<ValueId, bool> live(std::ssize(graph.values), false);
  for (ValueId id : graph.outputs) live[id] = true;
  std::size_t first = graph.ops.size();  // of those that are kept, which move up over the dead ones
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    if (!any_of(outputs_of(*op), live) && !acts(*op)) continue;
    changed |= drop_unread_outputs(*op, live);
    if (has_body(*op)) {
      changed |= edit_bodies(*op, remove_dead);
      changed |= drop_unread_captures(*op);
    }
    for (ValueId id : inputs_of(*op)) live[id] = true;
    if (Op& place = graph.ops[--first]; &place != &*op) place = std::move(*op);
  }
  changed |= first > 0;
  graph.ops.erase(graph.ops.begin(), graph.ops.begin() + static_cast<std::ptrdiff_t>(first));
  return compact_values(graph) || changed;
}

}  // namespace podium::ir
