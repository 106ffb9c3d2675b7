#include "executor/lower/update.h"

#include <algorithm>

namespace podium::lower {

using executor::CopyBetweenProcessors;
using executor::Step;
using ir::ValueId;

UpdateSteps::UpdateSteps(Draft& draft, HostIo& io, Places places)
    : draft_(draft), io_(io), places_(std::move(places)) {}

void UpdateSteps::add(Part& part, int processor, const std::string& name) {
  CopyBetweenProcessors copy;
  for (ValueId id : part.reads) {
    std::vector<int>& places = places_(id);
    if (std::find(places.begin(), places.end(), processor) != places.end()) continue;
    if (draft_.variables.is_hyper_parameter(id)) {
      io_.load_once(id, processor);
    } else {
      IR_CHECK(!places.empty(), "the update reads {}, which is nowhere", draft_.graph[id].name);
      copy.transfers.push_back({{draft_.buffer(id, places.front())}, {draft_.buffer(id, processor)}});
    }
    places.push_back(processor);
  }
  if (!copy.transfers.empty()) steps_.push_back({.action = std::move(copy)});
  steps_.push_back(draft_.compute(draft_.add_block(part, processor, name), part));
  for (ValueId id : part.writes) {
    places_(id).push_back(processor);
    io_.store(id, processor, steps_);
  }
}

std::vector<Step> UpdateSteps::take() {
  std::vector<Step> steps;
  if (draft_.options.replicas > 1) {
    for (ValueId id : draft_.variables.reduced()) steps.push_back(reduction(draft_, id, places_(id).front()));
  }
  std::move(steps_.begin(), steps_.end(), std::back_inserter(steps));
  return steps;
}

Step reduction(Draft& draft, ValueId value, int processor) {
  const executor::Slot slot{draft.buffer(value, processor)};
  return {.action = executor::Collective{.reduction = draft.variables.reduction(),
                                         .group = draft.variables.reduction_group(value),
                                         .transfer = {slot, slot}}};
}

}  // namespace podium::lower
