// Over how many devices the blocks of a model can be cut.
#pragma once

#include <vector>

#include "importer/import.h"

namespace podium {

struct TensorCuts {
  std::vector<int> degrees = {};        ///< numbers of devices, powers of two from 2 on
  bool tokens = false;                  ///< whether tokens between blocks can be cut, too
  std::vector<int> image_degrees = {};  ///< numbers of devices that can share out images, in the same way
};

/// What plan_tensor_parallel finds, for weights and for images, for at most so many devices.
TensorCuts tensor_cuts_of(const importer::Model& model, int most);

}  // namespace podium
