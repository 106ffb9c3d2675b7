// Ops written as steps, each of which can be cut along axes along which the op itself cannot.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/infer.h"
#include "ir/term.h"

namespace podium::annotate {

/// An axis of an input.
struct InputAxis {
  std::size_t input = 0;
  std::int64_t axis = 0;
};

/// An op that can be written as steps. Both functions are given an op whose types are static.
struct StepsRow {
  std::string_view op;  ///< of ai.onnx
  /// Where a cut makes steps of it; none where they would not give its outputs.
  std::vector<InputAxis> (*axes)(const ir::TypedOp&);
  /// Appends the steps and gives their results, one an output; kNoValue for one that is left out.
  std::vector<ir::ValueId> (*results)(ir::TermBuilder&, const ir::TypedOp&);
};

/// Softmax and its losses, and what normalises by means and deviations.
std::span<const StepsRow> normalisation_rows();
/// Reductions of which parts cannot simply be added up, and the places of largest and smallest elements.
std::span<const StepsRow> reduction_rows();
/// Products that are rounded behind their sums, and what looks for the range of all elements.
std::span<const StepsRow> quantized_rows();

/// The axes of its inputs along one of which a cut makes steps of the op. None of any other op.
std::vector<InputAxis> axes_of_steps(const ir::Graph& graph, const ir::Op& op);

/// The steps of such an op, which make its outputs: values and constants that they need are added to the
/// graph. They have the op's name and its annotations but what it says of operands, which are others.
std::vector<ir::Op> steps_of(ir::Graph& graph, const ir::Op& op);

/// In float where the elements are narrower.
ir::Term widened(ir::TermBuilder& builder, ir::ValueId value);
/// The axes of one input.
std::vector<InputAxis> axes_of_input(std::size_t input, const std::vector<std::int64_t>& axes);
/// 0, 1, .. as int64, along this axis of a tensor of this rank.
ir::Term counted_along(ir::TermBuilder& builder, std::int64_t count, std::int64_t axis, std::int64_t rank);

}  // namespace podium::annotate
