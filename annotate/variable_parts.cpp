// A part of a variable is a variable of its own, which the first device that asks for its box computes and
// updates; devices that ask for the same box share it. Constants are not cut: devices read them whole.
#include "annotate/variable_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace podium::annotate {

using ir::Type;
using ir::ValueId;

VariableParts::VariableParts(const ir::Training& training, const ir::Graph& whole, const ShardingPlan& plan,
                             Holdings& held, ir::Graph& out)
    : training_(training), whole_(whole), plan_(plan), held_(held), out_(out) {
  for (std::size_t i = 0; i < training.variables.size(); ++i)
    variable_of_.emplace(training.variables[i].value, i);
}

ValueId VariableParts::add_whole(ValueId id) {
  const ValueId made = out_.add_value(whole_[id].name, type(id));
  out_[made] = whole_[id];
  return made;
}

void VariableParts::decide_state(ValueId id) {
  const ir::Variable& state = variable(id);
  const Held& weight = held_[state.weight];
  Held& held = held_[id];
  held.is_undecided = false;
  held.on.resize(plan_.devices);
  if (weight.everywhere.valid() || weight.is_undecided || type(id).dims != type(state.weight).dims) {
    held.on[0] = Piece{add_whole(id), whole_box(type(id).dims)};
    parts_[id] = {*held.on[0]};
    return;
  }
  std::set<Box> seen;
  for (int device = 0; device < plan_.devices; ++device) {
    const auto& of_weight = weight.on[device];
    if (of_weight && seen.insert(of_weight->box).second)
      held.on[device] = add_part(id, of_weight->box, device);
  }
  note_cut(id);
}

// A part of a variable is a variable of its own. Devices ask in ascending order.
Piece VariableParts::add_part(ValueId id, const Box& box, int device) {
  std::vector<Piece>& parts = parts_[id];
  const auto [entry, is_new] = part_of_box_.try_emplace({id, box}, parts.size());
  if (!is_new) return parts[entry->second];
  const std::string name = fmt::format("{}/part{}", whole_[id].name, parts.size());
  const ValueId made = out_.add_value(name, Type::tensor(type(id).element, dims_of(box)));
  first_device_.emplace(made, device);
  parts.push_back({made, box});
  return parts.back();
}

void VariableParts::note_cut(ValueId id) {
  CutVariable cut{.name = whole_[id].name, .type = type(id), .parts = {}};
  for (const Piece& part : parts_[id]) cut.parts.push_back({out_[part.value].name, part.box});
  cut_.push_back(std::move(cut));
}

void VariableParts::decide(ValueId id, const Boxes& wanted) {
  Held& held = held_[id];
  held.is_undecided = false;
  const Box all = whole_box(type(id).dims);
  const bool is_cut =
      std::ranges::any_of(wanted, [&](const auto& box) { return box.has_value() && *box != all; });
  const bool is_constant = !has(id);
  if (!is_cut || is_constant) {
    held.everywhere = add_whole(id);
    if (!is_constant) parts_[id] = {{held.everywhere, all}};
    return;
  }
  held.on.resize(plan_.devices);
  for (int device = 0; device < plan_.devices; ++device) {
    if (wanted[device] && elements_of(*wanted[device]) > 0)
      held.on[device] = add_part(id, *wanted[device], device);
  }
  note_cut(id);
}

const std::vector<Piece>& VariableParts::parts_of(ValueId id) {
  if (held_[id].is_undecided) decide(id, Boxes(plan_.devices));
  return parts_.at(id);
}

const Piece& VariableParts::part_with(ValueId weight, const Box& box) {
  const std::vector<Piece>& parts = parts_of(weight);
  const auto found = part_of_box_.find({weight, box});
  return parts[found == part_of_box_.end() ? 0 : found->second];
}

int VariableParts::first_device(ValueId part) const {
  const auto first = first_device_.find(part);
  return first == first_device_.end() ? 0 : first->second;
}

}  // namespace podium::annotate
