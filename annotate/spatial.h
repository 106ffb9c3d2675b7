// Cuts images over devices by their rows, or their columns where these are more: each device has a part of
// every image and of what is made of it, and reads a halo of its neighbours where windows slide.
#pragma once

#include <cstdint>

#include "annotate/tensor_parallel.h"

namespace podium::annotate {

/// What convolutions and pools over windows say of their results: cut along one spatial axis over the devices
/// 0 to devices - 1, the axis that is longest where the first of them reads; whole on all devices where it
/// has less than one index a device. What lies between follows by the rules of its ops. The graph has its
/// types inferred. Error when no result can be cut.
TensorParallelPlan cut_images(const ir::Graph& graph, std::int64_t devices);

}  // namespace podium::annotate
