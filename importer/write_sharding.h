// Puts annotations of devices into a model: the mirror of importer/sharding.h.
#pragma once

#include <onnx/onnx_pb.h>

#include <set>
#include <string>

#include "importer/sharding.h"

namespace podium::importer {

/// Writes the configurations and what nodes say for them. A configuration that the model has already under
/// that name is replaced, with all that its nodes said for it, and one that is `dropped` goes; others stay as
/// they are. The IR version becomes the first that has the fields where it is lower. What read_sharding gives
/// is written byte for byte as it was read, as long as it was written as short as it can be. Error for a node
/// that is not there, and where two have its name and its tensors do not tell which is meant.
void write_sharding(const Sharding& sharding, onnx::ModelProto& to,
                    const std::set<std::string>& dropped = {});

}  // namespace podium::importer
