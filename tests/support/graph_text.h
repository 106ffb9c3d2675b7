// A graph given as ONNX text, with its types inferred and nothing done to it yet.
#pragma once

#include <string>

#include "ir/graph.h"

namespace podium::testing {

/// `body` as for run_text. Nothing is folded.
ir::Graph graph_of(const std::string& body, int opset = 28);

}  // namespace podium::testing
