// NumPy's file of one array: magic, version, a header that is a Python dictionary, the elements.
#pragma once

#include <span>
#include <string>

#include "ir/tensor.h"

namespace podium::importer {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// Reads versions 1 to 3, little-endian, in C or Fortran order. Error for damaged files and for types that no
/// tensor has.
ir::Tensor tensor_from_npy(std::span<const char> bytes);
/// Everything before the elements. Error for strings.
std::string npy_header(const ir::Tensor& tensor);

}  // namespace podium::importer
