#include "tests/executor/lower/placed_text.h"

#include <algorithm>
#include <sstream>

#include "ir/annotation.h"

namespace podium::testing {
namespace {

int take_number(ir::Op& op, std::string_view name) {
  const auto* found = ir::attribute_if<std::int64_t>(op, name);
  const int number = found == nullptr ? 0 : static_cast<int>(*found);
  ir::remove_attribute(op, name);
  return number;
}

}  // namespace

lower::PlacedGraph placed_graph(HandTrained written) {
  ir::Training training = as_training(std::move(written));
  ir::Placement placement;
  for (ir::Op& op : training.graph.ops) {
    const ir::OpPlacement place{.processor = take_number(op, ir::kVirtualGraph),
                                .stage = take_number(op, ir::kPipelineStage),
                                .phase = take_number(op, ir::kExecutionPhase)};
    placement.ops.push_back(place);
    placement.processors = std::max(placement.processors, place.processor + 1);
    placement.stages = std::max(placement.stages, place.stage + 1);
  }
  return {std::move(training), std::move(placement)};
}

std::string ops_of(const lower::PlacedGraph& placed) {
  std::istringstream lines(print(placed));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("input ") && !line.starts_with("constant ")) text += line + "\n";
  }
  return text;
}

}  // namespace podium::testing
