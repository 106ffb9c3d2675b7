// How far the results of an op may lie apart when its sums are added up in another order.
//
// Two floating-point sums of the same n terms differ by at most 2 (n - 1) u times the sum of the terms'
// magnitudes, u being the unit roundoff of the type that is added in, whatever their orders are. Products and
// shares of a mean add a rounding to each term, and types narrower than float one for each part that is kept
// in them.
#pragma once

#include <cstdint>
#include <optional>

#include "executor/compare/plain_op.h"
#include "ir/infer.h"

namespace podium::compare {

/// How many terms an op adds up for an element of its results: the product of the extents of its loops of
/// sums and means. 1 of one that adds up nothing.
std::int64_t summed_terms(const ir::TypedOp& op);

/// A sum as a strategy adds it up.
struct Sum {
  std::int64_t terms = 1;
  std::int64_t parts = 1;  ///< that are added up by themselves and kept, then added
  double factor = 1;  ///< of the whole, as Gemm's alpha: what terms lose below the smallest step grows by it
};

/// For each element, the most by which two orders of the sum differ, as doubles: of `magnitudes`, the sums of
/// the terms' magnitudes, in the type of the results. Nothing for a type that no sum is rounded in.
std::optional<ir::Tensor> bound_of_sum(const Sum& sum, const ir::Tensor& magnitudes);

/// The sums of the magnitudes of the terms that an op adds up to its results: what it makes of the magnitudes
/// of its operands. The op is a sum of terms that are products, squares or magnitudes of its operands, or
/// adds to such sums.
std::vector<ir::Datum> sums_of_magnitudes(const PlainOps& ops, const ir::Op& op, const Operands& magnitudes);
/// The magnitudes of real numbers; what is no tensor of floats stays.
ir::Datum magnitude(const ir::Datum& datum);

/// Of an op that a strategy computes in steps, such as a Softmax, whose sums stand inside of other functions:
/// 2 (n + 8) u times the results and what relative changes of the operands move them by. The latter is probed
/// with changes of random signs and enlarged by 4 sqrt(n), so it is an estimate. As doubles, one an output.
std::vector<std::optional<ir::Tensor>> bounds_of_steps(const PlainOps& ops, const ir::Op& op,
                                                       const Operands& operands,
                                                       const std::vector<ir::Datum>& results,
                                                       std::int64_t terms);

}  // namespace podium::compare
