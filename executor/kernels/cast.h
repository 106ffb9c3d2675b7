// Conversion between all element types, for Cast and its kin.
#pragma once

#include <string>

#include "ir/tensor.h"

namespace podium::kernels {

/// The options of a conversion to an 8-bit float.
struct CastOptions {
  bool saturate = true;
  ir::PowerRounding rounding = ir::PowerRounding::Up;
};

/// Converts elements [first, first + count) of a tensor of numbers to those of another. Floats become
/// integers towards zero, integers keep their low bits, and any number but zero becomes true. Floats are
/// rounded once.
void convert_numbers(const ir::Tensor& from, ir::Tensor& to, std::int64_t first, std::int64_t count,
                     const CastOptions& options);
/// Numbers as NumPy prints them: "1.0", "1e-05", "nan", "True".
void print_numbers(const ir::Tensor& from, ir::Tensor& to);
/// "3.14", "1e-5", "+INF", "NaN", ... in any case. Error for what is not a number.
void parse_numbers(const ir::Tensor& from, ir::Tensor& to, const CastOptions& options);

}  // namespace podium::kernels
