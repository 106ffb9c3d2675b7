// Cuts images over devices as Dryden et al. 2019 do: by their samples, each device having whole images, and
// by their rows, or columns where these are more, each device having a part of every image and of what is
// made of it and reading a halo of its neighbours where windows slide.
#pragma once

#include <cstdint>

#include "annotate/tensor_parallel.h"

namespace podium::annotate {

/// What convolutions, pools over windows and batch normalisations that train say of their results: cut along
/// the samples over groups of devices, and those of windows along one spatial axis over the devices of a
/// group, which lie behind each other: the axis that is longest where the first of them reads. Whole along an
/// axis that has less than one index for each. What lies between follows by the rules of its ops; a batch
/// normalisation goes over all samples. The graph has its types inferred. Error when no result can be cut.
TensorParallelPlan cut_images(const ir::Graph& graph, const ImageGroups& groups);

}  // namespace podium::annotate
