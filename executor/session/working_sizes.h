// Sizes for the dimensions that a model leaves open and that nobody gave.
#pragma once

#include <functional>
#include <string>

#include "importer/import.h"

namespace podium {

/// A model whose open dimensions have sizes.
struct SizedModel {
  importer::Model model;
  /// "1 taken for batch, 16 for width: others by --dim batch=2 --dim width=32", and why not 1 for all of them; empty
  /// where the model leaves nothing open.
  std::string taken = {};
};

/// `model` was imported with importer::kOneForAll. 1 for each dimension that is open; where shapes do not fit so, or a
/// value has no elements, the smallest of some usual sizes that do better. The sizes that the text names fit as well.
/// Error where no size fits: what does not fit with 1.
SizedModel with_working_sizes(importer::Model model);

/// Error when an input that `is_given` does not hold for is a tensor with a dimension without size: the line has the
/// options that give all of them sizes with which the model fits.
void require_sizes(const importer::Model& model,
                   const std::function<bool(const std::string&)>& is_given = {});

}  // namespace podium
