#include "models/catalog.h"

#include <array>

#include "ir/error.h"
#include "ir/nearest.h"
#include "models/families.h"
#include "models/recipe.h"

namespace podium::models {

std::span<const ModelSpec> catalog() {
  static const std::vector<ModelSpec> kModels = [] {
    std::vector<ModelSpec> all;
    for (const auto& family :
         {mnist_models(), vision_models(), scaled_image_models(), patch_models(), language_models(),
          decoder_models(), recurrent_models(), control_flow_models(), kernel_models()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return kModels;
}

BuiltModel build(std::string_view name, const Parameters& parameters) {
  std::vector<std::string_view> names;
  for (const ModelSpec& spec : catalog()) {
    if (spec.name != name) {
      names.push_back(spec.name);
      continue;
    }
    const Recipe recipe(spec, parameters);
    return spec.build(recipe);
  }
  throw Error("there is no model '{}', the nearest is '{}'", name, ir::nearest(name, names));
}

}  // namespace podium::models
