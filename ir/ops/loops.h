// Along which axes an op can be cut: the loops that it runs, each with its place in every operand.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/infer.h"
#include "ir/ops/samples.h"
#include "ir/ops/slide.h"

namespace podium::ir {

/// Which indices of an operand's axis an iteration has: its own, or where a window slides along the axis
/// those that it takes, which others take, too.
enum class Reach : std::uint8_t {
  Own,
  Seen,     ///< elements that its windows see
  Over,     ///< windows that see its elements
  Together  ///< its elements and those that the windows over them see
};

/// Where a loop runs in an operand: along an axis of blocks * extent * inner elements, of which iteration i
/// has `inner` elements in each block. Blocks or inner elements are other than 1 where a reshape has made one
/// axis of several.
struct LoopAxis {
  int axis = kNoAxis;  ///< kNoAxis: each iteration has the whole operand
  std::int64_t inner = 1;
  Reach reach = Reach::Own;
};

/// What the iterations of a loop make of the outputs.
enum class LoopResult : std::uint8_t {
  Apart,     ///< each its own part of every output
  Summed,    ///< outputs are sums over the iterations
  Averaged,  ///< outputs are means over the iterations
  Largest    ///< outputs are the largest elements of the iterations
};

/// A loop of an op over its whole operands. Loops of one op are independent of each other: an op may be cut
/// along several, where no two of them share an axis.
struct Loop {
  std::int64_t extent = 1;
  std::vector<LoopAxis> inputs = {};   ///< one an input, those left out included
  std::vector<LoopAxis> outputs = {};  ///< one an output; none of a sum or mean has an axis
  LoopResult result = LoopResult::Apart;
  std::optional<Slide> slide = {};  ///< of the loop's windows or elements, where an operand has another reach
};

/// The loops of more than one iteration of an op whose types are static, the outputs' axes first. None of an
/// op that has to run whole, or of which they are not worked out. Attributes and constants that hold sizes
/// are those of the whole op: who cuts a Reshape or Expand gives its parts sizes of their own, of a Gemm's
/// sum only one part adds C, a part of a Gather's sum picks the rows that are its own, and one whose windows
/// slide has paddings of its own (fit_slides). An output with another reach than its own is made so, and cut.
std::vector<Loop> loops_of(const TypedOp& op);

/// Whether the operands that the op has are tensors of known types and sizes.
bool has_static_operands(const TypedOp& op);

}  // namespace podium::ir
