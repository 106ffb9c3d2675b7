// One weight, its momentum and their update, written by hand: m_next = 0.5 m + g, w_next = w - m_next.
#pragma once

#include <map>
#include <string>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::testing {

/// `ops`: more of them, of the update too.
inline HandTrained momentum_update(const std::string& ops = "") {
  HandTrained written{
      .graph = graph_of("g (float[6] x, float[6] w, float[6] m) => (float[6] m_next, float[6] w_next)\n"
                        "  <float half = {0.5}> {\n"
                        "  g = Mul(x, w)\n"
                        "  kept = Mul <__execution_context = 1> (m, half)\n"
                        "  m_next = Add <__execution_context = 1> (kept, g)\n" +
                        ops +
                        "  w_next = Sub <__execution_context = 1> (w, m_next)\n"
                        "}")};
  const ir::Tensor zeros = tensor<float>({6}, {0, 0, 0, 0, 0, 0});
  written.variables = {{"w", ir::VariableKind::Weight, zeros},
                       {"m", ir::VariableKind::OptimizerState, zeros, "w"}};
  written.updates = {{"m", 0, true}, {"w", 1, true}};
  written.reduced = {"g"};
  return written;
}

inline ir::TensorLocation in_parts() { return {.sharded = true}; }

/// The momentum in parts, the weight as it is said.
inline std::map<std::string, ir::TensorLocation> momentum_in_parts(const ir::TensorLocation& weight = {}) {
  return {{"m", in_parts()}, {"w", weight}};
}

}  // namespace podium::testing
