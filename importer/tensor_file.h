// Tensors in files of their own: NumPy's .npy, protobuf's .pb, and IDX.
#pragma once

#include <string>

#include "ir/datum.h"

namespace podium::importer {

/// By its ending: .npy (versions 1 to 3, little-endian numbers, either order), .pb (TensorProto, SequenceProto
/// or OptionalProto, by `type`), else IDX (the format of MNIST). Integers that carry the bits of a type the
/// format lacks become `type` (uint16 as bfloat16). Error names the file and what does not fit.
ir::Datum read_tensor_file(const std::string& path, const ir::Type& type);

/// Writes .npy, version 1.0, to a temporary name, then renames. bfloat16, 8-bit and smaller floats are written
/// as their bits in uint16 and uint8, 4- and 2-bit integers one a byte. Error for strings.
void write_npy(const ir::Tensor& tensor, const std::string& path);

}  // namespace podium::importer
