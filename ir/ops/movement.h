// What the rows of ops that move elements share: partial knowledge of shapes.
#pragma once

#include <optional>

#include "ir/infer.h"

namespace podium::ir {

/// Product of dims[begin, end): kUnknown when a dimension is unknown and none is 0.
std::int64_t known_count(const Dims& dims, std::size_t begin, std::size_t end);
inline std::int64_t known_count(const Dims& dims) { return known_count(dims, 0, dims.size()); }

/// The number of elements of input i, a list such as a shape or axes; nullopt when it is not known.
std::optional<std::int64_t> list_length(const InferContext& context, std::size_t i);

/// Output `i` has this rank, or an unknown one, and unknown dimensions.
void set_output_rank(InferContext& context, std::size_t i, DataType element,
                     std::optional<std::int64_t> rank);

/// The numbers of input i, which must be a list of int32 or int64; nullopt when they are not known.
std::optional<Dims> known_list(const InferContext& context, std::size_t i);

/// Axes made non-negative for `rank`; Error when one is outside or given twice.
Dims distinct_axes(Dims axes, std::int64_t rank);
/// 0, 1, ..., rank - 1
Dims all_axes(std::int64_t rank);

/// One shape from two partly known ones: a dimension that is unknown in one is taken from the other. Error
/// names `what` when they contradict each other.
Dims merged(const Dims& a, const Dims& b, std::string_view what);

}  // namespace podium::ir
