// A Draft over a graph given as text, with all that a strategy is given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/lower/draft/draft.h"
#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"

namespace podium::testing {

struct DraftSketch {
  lower::PlacedGraph placed;
  Strategy strategy;
  lower::Warnings warnings = {};
  lower::Facts facts = lower::find_facts(placed, strategy);
  lower::Variables variables{placed, {}, {}};
  lower::Draft draft{lower::Lowering{placed, strategy, facts, variables, warnings}};

  /// `body` as for placed_graph.
  explicit DraftSketch(const std::string& body, Strategy with = {})
      : placed(placed_graph({.graph = graph_of(body)})), strategy(std::move(with)) {}
  DraftSketch(const DraftSketch&) = delete;
  DraftSketch& operator=(const DraftSketch&) = delete;

  ir::ValueId value(const char* name) const { return value_named(placed.graph(), name); }
  std::string text(const std::vector<executor::Step>& steps) const {
    std::string lines;
    for (const executor::Step& step : steps) lines += print(draft.program, step) + "\n";
    return lines;
  }
  /// An op runs in its phase, on its processor.
  ir::IdMap<ir::OpId, lower::Turn> turns() const {
    ir::IdMap<ir::OpId, lower::Turn> found;
    for (const ir::OpPlacement& op : placed.placement.ops)
      found.push_back({.phase = op.phase, .processor = op.processor});
    return found;
  }
};

}  // namespace podium::testing
