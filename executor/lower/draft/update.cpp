#include "executor/lower/draft/update.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "executor/uses.h"

namespace podium::lower {

using executor::CopyBetweenProcessors;
using executor::Step;
using ir::ValueId;

namespace {

// A host stream gives an input for each micro-batch, so an update has only what a micro-batch brought.
Error unbrought(const Part& part, ValueId id, const Draft& draft) {
  const std::string& name = draft.graph[id].name;
  const auto place = std::find(part.reads.begin(), part.reads.end(), id) - part.reads.begin();
  const ValueId input = part.graph.inputs[place];
  const auto reader = std::ranges::find_if(part.graph.ops, [&](const ir::Op& op) {
    const auto inputs = inputs_of(op);
    return std::find(inputs.begin(), inputs.end(), input) != inputs.end();
  });
  IR_CHECK(reader != part.graph.ops.end(), "the update reads {}, which is nowhere", name);
  return Error(
      "{} runs once per update ({} = {}) and reads the input '{}', which no node reads that runs for each "
      "micro-batch: {} needed there",
      part.graph.describe(*reader), ir::kContextAttribute, ir::kOuterContext, name, ir::kNormalContext);
}

// Copies between processors of nothing but numbers go right behind what makes these, all of a place in one
// step: no processor then waits for what another one does for weights of its own.
std::vector<Step> with_numbers_sent_early(std::vector<Step> steps, const executor::Program& program) {
  const auto is_number = [&](const executor::Transfer& one) {
    return ir::element_count(program[one.from.buffer].type.dims) == 1;
  };
  executor::Uses uses;
  std::vector<CopyBetweenProcessors> sent(steps.size() + 1);
  std::vector<bool> goes(steps.size(), false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto* copy = std::get_if<CopyBetweenProcessors>(&steps[i].action);
    if (copy != nullptr && std::ranges::all_of(copy->transfers, is_number)) {
      goes[i] = true;
      for (const executor::Transfer& one : copy->transfers) {
        const std::size_t at = uses.earliest(one);
        uses.note(one, at + 1);  // what one exchange moves must not depend on each other
        sent[at].transfers.push_back(one);
      }
      continue;
    }
    uses.note(steps[i], i + 1);
  }
  std::vector<Step> made;
  for (std::size_t i = 0; i <= steps.size(); ++i) {
    if (!sent[i].transfers.empty()) made.push_back({.action = std::move(sent[i])});
    if (i < steps.size() && !goes[i]) made.push_back(std::move(steps[i]));
  }
  return made;
}

}  // namespace

UpdateSteps::UpdateSteps(Draft& draft, HostIo& io, Places places)
    : draft_(draft), io_(io), places_(std::move(places)) {
  for (ValueId id : draft.variables.reduced()) {
    const bool is_variable = draft.variables.is_variable(id);
    if (is_variable && draft.variables.variable(id).location.storage == ir::Storage::OffChip)
      waits_.insert(id);
  }
}

void UpdateSteps::add(Part& part, const std::string& name) {
  if (draft_.strategy.replicas > 1) reduce_off_chip(part);
  CopyBetweenProcessors copy;
  for (std::size_t i = 0; i < part.reads.size(); ++i) {
    const ValueId id = part.reads[i];
    const int processor = reader_of(part, i);
    std::vector<int>& places = places_(id);
    if (std::find(places.begin(), places.end(), processor) != places.end()) continue;
    if (draft_.variables.is_hyper_parameter(id)) {
      io_.load_once(id, processor);
    } else {
      if (places.empty()) throw unbrought(part, id, draft_);
      copy.transfers.push_back({{draft_.buffer(id, places.front())}, {draft_.buffer(id, processor)}});
    }
    places.push_back(processor);
  }
  if (!copy.transfers.empty()) steps_.push_back({.action = std::move(copy)});
  const std::vector<int> makers = makers_of(part);
  std::ranges::move(draft_.run(part, name), std::back_inserter(steps_));
  CopyBetweenProcessors updated;
  for (std::size_t i = 0; i < part.writes.size(); ++i) {
    const ValueId id = part.writes[i];
    places_(id).push_back(makers[i]);
    io_.store(id, makers[i], steps_);
    std::ranges::move(draft_.transfers_to_copies(id), std::back_inserter(updated.transfers));
  }
  if (!updated.transfers.empty()) steps_.push_back({.action = std::move(updated)});
}

void UpdateSteps::reduce_off_chip(const Part& part) {
  for (ValueId id : part.reads) {
    if (waits_.erase(id) == 0) continue;
    steps_.push_back(reduction(draft_, id, places_(id).front()));
    is_reduced_.insert(id);
  }
}

std::vector<Step> UpdateSteps::take() {
  std::vector<Step> steps;
  if (draft_.strategy.replicas > 1) {
    for (ValueId id : draft_.variables.reduced()) {
      if (!is_reduced_.contains(id)) steps.push_back(reduction(draft_, id, places_(id).front()));
    }
  }
  std::ranges::move(with_numbers_sent_early(std::move(steps_), draft_.program), std::back_inserter(steps));
  return steps;
}

Step reduction(Draft& draft, ValueId value, int processor) {
  const executor::Slot slot{draft.buffer(value, processor)};
  return {.action = executor::Collective{.reduction = draft.variables.reduction(),
                                         .group = draft.variables.reduction_group(value),
                                         .transfer = {slot, slot}}};
}

}  // namespace podium::lower
