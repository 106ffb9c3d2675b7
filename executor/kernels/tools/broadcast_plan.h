// The order in which an output is walked together with up to three operands that are stretched to its shape
// by NumPy's rule.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ir/type.h"

namespace podium::kernels {

using ir::Dims;

inline constexpr std::size_t kMostOperands = 3;
/// Dimensions outside the rows: a walk keeps its place without allocating.
inline constexpr std::size_t kMostOuter = 64;
using Offsets = std::array<std::int64_t, kMostOperands>;

/// The output as rows along which each operand either stays (step 0) or goes along (step 1), with
/// neighbouring dimensions taken together wherever all operands allow it: same shapes are one row.
struct BroadcastPlan {
  std::int64_t row = 1;  ///< elements of a row
  Offsets steps = {};    ///< per operand, within a row
  std::int64_t rows = 1;
  std::vector<std::int64_t> sizes = {};  ///< of the dimensions outside the rows, outermost first
  std::vector<Offsets> strides = {};     ///< per such dimension and operand, in elements
};

BroadcastPlan plan_broadcast(const Dims& output, std::span<const Dims* const> operands);

/// The position of a walk: the indices outside the rows, and each operand's element at the beginning of the
/// row.
class BroadcastPosition {
 public:
  BroadcastPosition(const BroadcastPlan& plan, std::int64_t row);
  void next_row();
  const Offsets& offsets() const { return offsets_; }

 private:
  const BroadcastPlan& plan_;
  std::array<std::int64_t, kMostOuter> indices_;  // of the plan's sizes, the rest is unused
  Offsets offsets_ = {};
};

}  // namespace podium::kernels
