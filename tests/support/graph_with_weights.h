// Graphs whose weights are only named.
#pragma once

#include <regex>
#include <string>

#include "ir/number_text.h"
#include "tests/support/graph_text.h"

namespace podium::testing {

/// A graph of text in whose list of initializers "float[2,3] w" stands for one of zeros, "int8 s" for a scalar.
inline ir::Graph graph_with_weights(const std::string& body) {
  const std::size_t begin = body.find('<');
  const std::size_t end = body.find("> {");
  static const std::regex kWeight(R"((float|u?int8|int32)(?:\[([0-9,]+)\])? (\w+)(,|$))");
  std::string weights;
  std::string rest = body.substr(begin + 1, end - begin - 1);
  for (std::smatch match; std::regex_search(rest, match, kWeight); rest = match.suffix()) {
    const std::string dims = match[2];
    std::int64_t elements = 1;
    std::string_view left = dims;
    while (const auto dim = ir::take_number<std::int64_t>(left)) {
      elements *= *dim;
      if (left.empty()) break;
      left.remove_prefix(1);
    }
    const std::string shape = match[2].matched ? "[" + dims + "]" : "";
    weights += match.prefix().str() + match[1].str() + shape + " " + match[3].str() + " = {0";
    for (std::int64_t i = 1; i < elements; ++i) weights += ",0";
    weights += "}" + match[4].str();
  }
  return graph_of(body.substr(0, begin + 1) + weights + rest + body.substr(end));
}

}  // namespace podium::testing
