// The models that Podium ships: each a recipe with parameters and seeded weights.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace podium::models {

/// Parameters as typed on the command line: "layers=12" is {"layers", "12"}.
using Parameters = std::map<std::string, std::string>;

struct ParameterSpec {
  std::string_view name;
  std::string_view fallback;
  std::string_view meaning;
};

/// A graph and what a file needs to say beside it.
struct BuiltModel {
  ir::Graph graph;
  int opset = 20;
  /// Names of symbolic dimensions: input name to one name a dimension ("" where it is a number).
  std::map<std::string, std::vector<std::string>> symbolic = {};
};

class Recipe;  // reads parameters while a model is built

struct ModelSpec {
  std::string_view name;
  std::string_view summary;
  std::vector<ParameterSpec> parameters;
  BuiltModel (*build)(const Recipe&);
};

/// Every model, in the order in which they are listed.
std::span<const ModelSpec> catalog();

/// Builds a model by name. The same parameters give the same bytes. Common parameters: `seed`, `weights`
/// (seeded or none), `type` (float or float16), `loss` (none or cross-entropy, where the model classifies).
/// Error for an unknown model or parameter, or a value that does not fit, naming the nearest one.
BuiltModel build(std::string_view name, const Parameters& parameters = {});

}  // namespace podium::models
