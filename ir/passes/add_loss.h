// Appends a loss to a graph: how far an output is from a target that becomes an input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/graph.h"

namespace podium::ir {

enum class LossKind : std::uint8_t {
  CrossEntropy,  ///< takes scores, whose softmax are the probabilities
  /// Takes probabilities and limits them to at least 1e-7 (float16: 6.104e-5), in the derivative too: the
  /// gradient of a sample whose own class has less is -1 / 1e-7.
  NegativeLogLikelihood,
  MeanSquaredError,
  L1,                        ///< takes the distance from the target, or from 0 without one
  LogNegativeLogLikelihood,  ///< takes logarithms of probabilities
};

/// Whether the loss has class numbers for its target.
bool is_of_classes(LossKind kind);

enum class LossReduction : std::uint8_t { Mean, Sum };

struct LossOptions {
  LossReduction reduction = LossReduction::Mean;
  std::optional<std::int64_t> ignored_label =
      {};                        ///< samples that count neither for the sum nor for the mean
  std::int64_t class_axis = -1;  ///< of the output
  double lambda = 1;             ///< the factor of L1
};

/// The value of that name, an output or not. Error names the nearest output.
ValueId find_output(const Graph& graph, const std::string& name);

/// Appends the loss of `output`, a value of static type: the mean over its samples (squared errors and L1:
/// over its elements), or the sum (semantics, section 10.2). The target is the input `target`, which is made
/// when the graph has none: class numbers (int64, or the integer type that the input has) without the axis of
/// classes, else a tensor like the output. The ops run where the output is made. The loss, a scalar, becomes
/// an output; its name is the result. Error for an output that is not there or that does not fit this loss,
/// and for a target that does not fit.
std::string add_loss(Graph& graph, LossKind kind, const std::string& output, const std::string& target,
                     const LossOptions& options = {});

}  // namespace podium::ir
