// Published ONNX test cases whose files contradict the definition of the op they test.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace podium::cli {

/// What is wrong with a case and how it is run all the same. Every other check stays.
struct Erratum {
  std::string_view case_name;
  std::int64_t opset;      ///< the case as published with this ai.onnx version; others are right
  std::string_view fault;  ///< in a sentence, printed with the case
  /// An attribute that the expected values were computed with and the model leaves out.
  std::string_view op = {};
  std::string_view attribute = {};
  float value = 0;
  /// The expected bfloat16 numbers were cut off, not rounded: they may be one unit in the last place lower.
  bool truncated_bfloat16 = false;
  /// The expected values carry rounding errors up to this; 0: they do not.
  double noise = 0;
};

/// nullptr when nothing is known to be wrong.
const Erratum* find_erratum(std::string_view case_name, std::int64_t opset);

void correct(const Erratum& erratum, ir::Graph& graph);

}  // namespace podium::cli
