// Inference and work that many rows share.
#pragma once

#include "ir/infer.h"
#include "ir/op_spec.h"
#include "ir/ops/samples.h"

namespace podium::ir {

/// Output 0 has the type of input 0.
void same_as_input(InferContext& context);
/// Output 0 has the shape of input 0, with another element type.
void set_like_input(InferContext& context, DataType element);
/// The same as input 0, of an op whose attribute `axis` must be one of its axes.
void infer_along_axis(InferContext& context);
/// Output 0 has the element type of input 0 and the broadcast of all inputs' shapes.
void broadcast_inputs(InferContext& context);
/// Output 0 has bool elements and the broadcast of all inputs' shapes.
void broadcast_to_bool(InferContext& context);
/// The broadcast of the shapes of all inputs from input `first` on; no rank when the rank of one is not
/// known.
Type broadcast_type(const InferContext& context, DataType element, std::size_t first = 0);
/// Axes given by input `i` (when there and known) made non-negative for `rank`; empty when input is left out.
/// nullopt: not known yet.
std::optional<Dims> known_axes(const InferContext& context, std::size_t i, std::int64_t rank);

/// The element type whose number the attribute is; nothing where the attribute is not there. Error for a
/// number that is no type's, and for a type that is not `allowed`.
std::optional<DataType> named_type(const TypedOp& op, std::string_view attribute, TypeSet allowed);

/// The product of a size, which may be unknown, and a number. Error where 63 bits do not hold it.
std::int64_t times(std::int64_t size, std::int64_t factor);
/// The sum of two sizes, of which either may be unknown. Error where 63 bits do not hold it.
std::int64_t plus(std::int64_t a, std::int64_t b);

/// Both sizes are known and not the same.
inline bool differ(std::int64_t a, std::int64_t b) { return a != kUnknown && b != kUnknown && a != b; }

/// What the rows of a family share.
struct FamilyFacts {
  Category category = Category::None;
  SampleRule samples = nullptr;
  std::string_view no_samples = {};
};
/// The rows with what is shared filled in where they say nothing themselves.
std::vector<OpSpec> family(const FamilyFacts& facts, std::vector<OpSpec> rows);
/// The row of an op whose name its domain had before the row's meaning of it.
OpSpec gained(int version, OpSpec row);
OpSpec with_samples(SampleRule rule, OpSpec row);
OpSpec in_place(unsigned inputs, OpSpec row);
/// The row, and when its output is a total over samples.
OpSpec with_total(TotalRule total, OpSpec row);

/// Rules of OpSpec::hands_on: the output has the shape of the input, where both are known; there is one
/// input.
bool keeps_first_shape(const TypedOp& op);
bool has_one_input(const TypedOp& op);
/// The numbers of input i are known and all are `value`.
bool all_equal(const TypedOp& op, std::size_t i, std::int64_t value);

/// Why some rows have no gradient.
inline constexpr std::string_view kFlat = "its derivative is 0 wherever it has one";
inline constexpr std::string_view kNotFloat = "its output is not a floating point number";

/// Bytes of all inputs and outputs whose types are static.
double io_bytes(const TypedOp& op);
/// kPerElement operations for each element of output 0.
template <int kPerElement>
Work work_per_element(const TypedOp& op) {
  const std::int64_t count = op.output_types.empty() ? 0 : op.output(0).element_count();
  return {.flop = count < 0 ? 0 : static_cast<double>(count) * kPerElement, .bytes = io_bytes(op)};
}
/// Moves bytes, computes nothing.
Work work_of_moving(const TypedOp& op);
/// Moves bytes, and reads no more of its first input than it gives.
Work work_of_picking(const TypedOp& op);
/// Neither moves nor computes: a view or a question about shapes.
Work no_work(const TypedOp& op);

}  // namespace podium::ir
