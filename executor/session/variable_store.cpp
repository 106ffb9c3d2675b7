// A variable has a slot on each processor that holds a copy, and a value for each group of replicas that
// share it. One that is cut over devices has a variable for each of its parts, which are put together here.
#include "executor/session/variable_store.h"

#include <algorithm>

#include "annotate/metadata.h"
#include "ir/copy_elements.h"

namespace podium {
namespace {

ir::Type without_leading(ir::Type type) {
  type.dims.erase(type.dims.begin());
  return type;
}

// With the leading axis of groups or replicas that a value has and its type, or box, has not.
ir::Type with_leading_of(const ir::Tensor& value, ir::Type type) {
  if (value.rank() > type.rank()) type.dims.insert(type.dims.begin(), value.dim(0));
  return type;
}
annotate::Box with_leading_of(const ir::Tensor& value, annotate::Box box) {
  if (value.rank() > std::ssize(box)) box.insert(box.begin(), {{0, value.dim(0)}});
  return box;
}

ir::Tensor row(const ir::Tensor& all, std::size_t index) {
  ir::Tensor one(all.type(), without_leading(all.type_and_dims()).dims);
  copy_elements(all, static_cast<std::int64_t>(index) * one.size(), one, 0, one.size());
  return one;
}

ir::Tensor rows(const std::vector<ir::Tensor>& parts) {
  ir::Dims dims = parts.front().dims();
  dims.insert(dims.begin(), std::ssize(parts));
  ir::Tensor all(parts.front().type(), dims);
  std::int64_t at = 0;
  for (const ir::Tensor& part : parts) {
    copy_elements(part, 0, all, at, part.size());
    at += part.size();
  }
  return all;
}

// The group of an initializer that is a weight, or the state of one.
const ir::ReplicaGroup* find_group(const GroupsByName& groups, std::string_view name, bool is_read) {
  auto found = groups.find(name);
  const auto state = is_read ? std::nullopt : read_state_name(name);
  if (found == groups.end() && state) found = groups.find(state->weight);
  return found == groups.end() ? nullptr : &found->second;
}

}  // namespace

GroupsByName own_groups(const importer::ModelInfo& info, int replicas) {
  GroupsByName groups;
  for (const auto& [name, group] : annotate::read_metadata(info.metadata).variable_groups) {
    try {
      if (executor::replica_groups(group, replicas).size() > 1) groups.emplace(name, group);
    } catch (const Error& error) {
      throw error.at(fmt::format("metadata for initializer '{}'", name));
    }
  }
  return groups;
}

TensorsByName take_group_values(importer::Model& model, const GroupsByName& groups, int replicas) {
  TensorsByName taken;
  if (groups.empty()) return taken;
  const auto uses = use_counts(model.graph);
  for (ir::ValueId id : model.graph.value_ids()) {
    ir::Value& value = model.graph[id];
    if (!value.constant && !value.data_left_out) continue;
    const ir::ReplicaGroup* group = find_group(groups, value.name, uses[id] > 0);
    if (group == nullptr) continue;
    const std::int64_t count = std::ssize(executor::replica_groups(*group, replicas));
    if (value.type.rank() == 0 || value.type.dims[0] != count) {
      throw Error(
          "initializer '{}': {} found, a leading axis of {} needed: one value for each group of replicas",
          value.name, to_string(value.type), count);
    }
    value.type = without_leading(value.type);
    if (!value.constant) continue;
    taken.emplace(value.name, *value.constant);
    value.constant = row(*value.constant, 0);
  }
  return taken;
}

importer::Model of_first_replica(importer::Model model, int replicas) {
  take_group_values(model, own_groups(model.info, replicas), replicas);
  model.info.metadata = annotate::without_variable_groups(std::move(model.info.metadata));
  return model;
}

VariableStore::VariableStore(const std::vector<NamedVariable>& variables,
                             const std::vector<annotate::CutVariable>& cut, const GroupsByName& groups,
                             const executor::Program& program) {
  for (const annotate::CutVariable& variable : cut) cut_.emplace(variable.name, variable);
  std::map<std::string_view, std::vector<executor::Slot>> slots;
  for (executor::BufferId id : program.buffer_ids()) {
    const executor::Buffer& buffer = program[id];
    for (int row = 0; buffer.persistent && row < buffer.slots; ++row) {
      const executor::Slot slot{id, row};
      slots[name_of(program, slot)].push_back(slot);
    }
  }
  for (const NamedVariable& variable : variables) {
    const auto group = groups.find(variable.weight.empty() ? variable.name : variable.weight);
    const ir::ReplicaGroup shared_by = group == groups.end() ? ir::ReplicaGroup{} : group->second;
    places_.emplace(variable.name,
                    Place{slots.at(variable.name), executor::replica_groups(shared_by, program.replicas)});
  }
}

const annotate::CutVariable* VariableStore::find_cut(const std::string& name) const {
  const auto found = cut_.find(name);
  return found == cut_.end() ? nullptr : &found->second;
}

ir::Tensor VariableStore::contents(const numeric::Engine& engine, const std::string& name,
                                   Retrieval retrieval) const {
  if (const annotate::CutVariable* cut = find_cut(name)) {
    ir::Tensor whole;
    for (const auto& [part, box] : cut->parts) {
      const ir::Tensor value = contents(engine, part, retrieval);
      if (!whole.defined()) whole = ir::Tensor(value.type(), with_leading_of(value, cut->type).dims);
      annotate::put_into(whole, with_leading_of(value, box), value);
    }
    return whole;
  }
  const Place& place = places_.at(name);
  const executor::Slot slot = place.slots.front();
  if (retrieval == Retrieval::OnePerGroup && place.groups.size() == 1) return engine.contents(slot);
  if (retrieval == Retrieval::FirstReplica) return engine.contents(slot, 0);
  std::vector<ir::Tensor> values;
  if (retrieval == Retrieval::OnePerGroup) {
    for (const std::vector<int>& group : place.groups) {
      values.push_back(engine.contents(slot, group.front()));
    }
  } else {
    for (int replica = 0; replica < engine.program().replicas; ++replica) {
      values.push_back(engine.contents(slot, replica));
    }
  }
  return rows(values);
}

bool VariableStore::copies_agree(const numeric::Engine& engine, const std::string& name) const {
  if (const annotate::CutVariable* cut = find_cut(name)) {
    return std::ranges::all_of(cut->parts, [&](const auto& part) { return copies_agree(engine, part.name); });
  }
  const std::vector<executor::Slot>& slots = places_.at(name).slots;
  for (int replica = 0; replica < engine.program().replicas; ++replica) {
    const ir::Tensor first = engine.contents(slots.front(), replica);
    for (const executor::Slot& slot : slots) {
      const ir::Tensor copy = engine.contents(slot, replica);
      if (std::memcmp(copy.raw(), first.raw(), first.bytes()) != 0) return false;
    }
  }
  return true;
}

void VariableStore::set(numeric::Engine& engine, const std::string& name, const ir::Tensor& value) const {
  if (const annotate::CutVariable* cut = find_cut(name)) {
    const bool has_groups = places_.at(cut->parts.front().name).groups.size() > 1;
    const ir::Type needed = has_groups ? with_leading_of(value, cut->type) : cut->type;
    if (value.type_and_dims() != needed)
      throw Error("'{}': {} found, {} needed", name, to_string(value.type_and_dims()), to_string(needed));
    for (const auto& [part, box] : cut->parts)
      set(engine, part, annotate::cut_out(value, has_groups ? with_leading_of(value, box) : box));
    return;
  }
  const Place& place = places_.at(name);
  ir::Type type = engine.program()[place.slots.front().buffer].type;
  if (place.groups.size() > 1) type.dims.insert(type.dims.begin(), std::ssize(place.groups));
  if (value.type_and_dims() != type) {
    throw Error("'{}': {} found, {} needed", name, to_string(value.type_and_dims()), to_string(type));
  }
  for (const executor::Slot& slot : place.slots) {
    if (place.groups.size() == 1) {
      engine.set_contents(slot, value);
      continue;
    }
    for (std::size_t g = 0; g < place.groups.size(); ++g) {
      const ir::Tensor own = row(value, g);
      for (int replica : place.groups[g]) engine.set_contents(slot, own, replica);
    }
  }
}

}  // namespace podium
