// Appends a loss to a graph: how far an output is from a target that becomes an input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/graph.h"

namespace podium::ir {

enum class LossKind : std::uint8_t {
  CrossEntropy,  ///< of scores, whose softmax are the probabilities
  /// Of probabilities, of which none counts as less than 1e-7 (float16: 6.104e-5), in the derivative neither:
  /// a sample whose own class has less pulls with -1 / 1e-7.
  NegativeLogLikelihood,
  MeanSquaredError,
  L1,                        ///< of the distance from the target, or from 0 without one
  LogNegativeLogLikelihood,  ///< of logarithms of probabilities
};

/// Whether its target is class numbers.
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

/// `output` is a value of static type; the loss is the mean over its samples, of squared errors and L1 over
/// its elements, or the sum (semantics, section 10.2). The target is the input `target`, which is made when
/// the graph has none: class numbers (int64, or what integers the input has) without the axis of classes,
/// else a tensor like the output. The ops run where the output is made. Appends the loss, a scalar, to the
/// outputs and gives its name. Error for an output that is not there or that this loss cannot be of, and for
/// a target that does not fit.
std::string add_loss(Graph& graph, LossKind kind, const std::string& output, const std::string& target,
                     const LossOptions& options = {});

}  // namespace podium::ir
