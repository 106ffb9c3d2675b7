#include "ir/passes/inherit_placement.h"

#include <algorithm>
#include <array>

#include "ir/annotation.h"
#include "ir/placement.h"

namespace podium::ir {
namespace {

std::optional<std::int64_t> read(const Op& op, std::string_view name, std::string_view plain_name) {
  if (const auto* found = attribute_if<std::int64_t>(op, name)) return *found;
  if (const auto* found = attribute_if<std::int64_t>(op, plain_name)) return *found;
  return {};
}

std::optional<std::int64_t> stage_of(const Op& op) { return read(op, kPipelineStage, kPlainPipelineStage); }
std::optional<std::int64_t> phase_of(const Op& op) { return read(op, kExecutionPhase, kPlainExecutionPhase); }

std::optional<std::int64_t> twice(std::optional<std::int64_t> number) {
  if (number) *number *= 2;
  return number;
}

}  // namespace

WayBack way_back(std::span<const Op> forward, const Op& loss) {
  std::optional<std::int64_t> stage;
  std::optional<std::int64_t> phase;
  for (const Op& op : forward) {
    stage = std::max(stage, stage_of(op));
    phase = std::max(phase, phase_of(op));
  }
  return {.last_stage = twice(stage_of(loss) ? stage_of(loss) : stage), .last_phase = twice(phase)};
}

void inherit_placement(const Op& forward, Op& grown, const WayBack& way) {
  if (grown.name.empty() && !forward.name.empty()) grown.name = forward.name + "_gradient";
  if (const auto processor = read(forward, kVirtualGraph, kPlainVirtualGraph)) {
    set_attribute(grown, kVirtualGraph, *processor);
  }
  if (const AttributeValue* tiles = find_attribute(forward, kTileSet)) set_attribute(grown, kTileSet, *tiles);
  for (std::string_view plan : {kPartialsType, kAvailableMemory, kOperandsType}) {
    if (const AttributeValue* told = find_attribute(forward, plan)) set_attribute(grown, plan, *told);
  }
  const auto stage = stage_of(forward);
  if (stage && way.last_stage) set_attribute(grown, kPipelineStage, *way.last_stage - *stage);
  const auto phase = phase_of(forward);
  if (phase && way.last_phase) set_attribute(grown, kExecutionPhase, *way.last_phase - *phase);
  if (find_attribute(forward, kRecompute) != nullptr) {
    set_attribute(grown, kRecompute, static_cast<std::int64_t>(Recompute::Checkpoint));
  }
}

std::vector<Attribute> place_of(const Op& op) {
  constexpr std::array kPlaces{kVirtualGraph,      kPipelineStage,      kExecutionPhase,     kTileSet,
                               kPlainVirtualGraph, kPlainPipelineStage, kPlainExecutionPhase};
  std::vector<Attribute> place;
  for (std::string_view name : kPlaces) {
    if (const AttributeValue* value = find_attribute(op, name)) place.push_back({std::string(name), *value});
  }
  return place;
}

std::string place_suffix(const std::vector<Attribute>& place) {
  std::string suffix;
  for (const Attribute& attribute : place) {
    const auto* number = std::get_if<std::int64_t>(&attribute.value);
    if (attribute.name == kVirtualGraph) suffix += fmt::format("_VGraph{}", *number);
    if (attribute.name == kPipelineStage) suffix += fmt::format("_PStage{}", *number);
    if (attribute.name == kExecutionPhase) suffix += fmt::format("_Phase{}", *number);
  }
  return suffix;
}

}  // namespace podium::ir
