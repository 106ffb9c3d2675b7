// NumPy's arrays as tensors and back, without a copy where the memory can be shared.
#pragma once

#include <pybind11/numpy.h>

#include <span>
#include <vector>

#include "ir/datum.h"

namespace podium::python {

/// What an input of type `wanted` is given: an array, a list for a sequence, None or a value for an optional,
/// a dict for a map. The memory of an array is shared, and the array lives as long as somebody holds the
/// tensor; one that is not contiguous, not aligned, or of the other byte order is copied. Types that NumPy
/// lacks (bfloat16, float8, ...) come as arrays of ml_dtypes, or as their bits: in integers, or in structures
/// of one field, which has the type's name. Error for what is none of these.
ir::Datum datum_of(pybind11::handle object, const ir::Type& wanted);

/// An array of any element type.
ir::Tensor tensor_of(pybind11::handle object);

/// The array shares the tensor's memory and keeps it. What lies in the memory of one of `inputs`, which is
/// somebody else's, is copied. Without ml_dtypes its types are structures of one field with the bits.
pybind11::object object_of(const ir::Datum& datum, std::span<const ir::Datum> inputs = {});

/// "float32", as NumPy or ml_dtypes calls the elements; of strings "object".
std::string dtype_name(ir::DataType type);

/// "uint16": the integer that holds the bits of a type that NumPy lacks; "" for other types.
std::string bits_name(ir::DataType type);

}  // namespace podium::python
