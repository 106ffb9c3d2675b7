// A graph given as ONNX text with the place of each op, as the strategies read it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "executor/lower/lower.h"
#include "tests/support/graph_text.h"

namespace podium::testing {

struct Placed {
  ir::Graph graph;
  ir::Placement placement;
};

/// `places`: of each op in the order of the text, its processor, which is its stage too unless `stages` says
/// more.
inline Placed placed(const std::string& body, const std::vector<int>& places,
                     const std::vector<int>& stages = {}) {
  Placed result{graph_of(body), {}};
  for (std::size_t i = 0; i < result.graph.ops.size(); ++i) {
    const ir::OpPlacement op{.processor = places.at(i),
                             .stage = stages.empty() ? places.at(i) : stages.at(i)};
    result.placement.ops.push_back(op);
    result.placement.processors = std::max(result.placement.processors, op.processor + 1);
    result.placement.stages = std::max(result.placement.stages, op.stage + 1);
  }
  return result;
}

/// The lines of a Program after its buffers and blocks.
inline std::string steps_of(const executor::Program& program) {
  std::string text = print(program);
  while (text.starts_with("buffer ") || text.starts_with("block ")) text.erase(0, text.find('\n') + 1);
  return text;
}

/// Steps of one kind at the top level, or of all kinds inside `visit`.
template <class Kind>
std::vector<Kind> steps_of_kind(const std::vector<executor::Step>& steps) {
  std::vector<Kind> found;
  for (const executor::Step& step : steps) {
    if (const auto* kind = std::get_if<Kind>(&step.action)) found.push_back(*kind);
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      const std::vector<Kind> inner = steps_of_kind<Kind>(repeat->body);
      found.insert(found.end(), inner.begin(), inner.end());
    }
  }
  return found;
}

}  // namespace podium::testing
