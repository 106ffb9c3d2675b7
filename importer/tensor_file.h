// Files that hold one tensor (or, as .pb, one sequence or optional): .npy, .pb and IDX.
#pragma once

#include <string>

#include "ir/datum.h"

namespace podium::importer {

/// Reads a file by its ending: .npy is NumPy's; .pb is a serialized TensorProto, SequenceProto or
/// OptionalProto, as `type` says; any other file must start as a NumPy or IDX file does. `type` is the type
/// of the input that the tensor is for; unknown parts of it are not checked. NumPy and IDX have no bfloat16,
/// float8 and 4-bit types: their bits are read from uint16, uint8 and int8 when `type` asks for them. Errors
/// name the file.
ir::Datum read_tensor_file(const std::string& path, const ir::Type& type);

/// .npy, version 1 (2 when the header is long). bfloat16 is written as uint16, float8, float4 and uint4/2 as
/// uint8, int4/2 as int8. Error for strings.
void write_npy(const ir::Tensor& tensor, const std::string& path);

}  // namespace podium::importer
