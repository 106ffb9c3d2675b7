// A graph that trains: one micro-batch forward and backward, and what happens once its gradients are
// complete.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// The attribute of ops that run once all micro-batches of an update have run: `__execution_context`, with
/// PopART's numbers.
inline constexpr std::string_view kContextAttribute = "__execution_context";
inline constexpr std::int64_t kNormalContext = 0;
inline constexpr std::int64_t kOuterContext = 1;  ///< AccumulateOuterFragment

inline bool is_outer(const Op& op) {
  const auto* context = attribute_if<std::int64_t>(op, kContextAttribute);
  return context != nullptr && *context == kOuterContext;
}

enum class VariableKind : std::uint8_t {
  Weight,
  OptimizerState,  ///< saved with the model: Accl1___w, Step___w, ...
  Accumulator,     ///< Accum___w, Counter___: means nothing between updates
  Statistic        ///< what ops keep themselves, such as running means
};

/// A tensor that outlives a micro-batch. Its value is an input of the graph that no host stream feeds.
struct Variable {
  std::string name;  ///< of the input, PopART's for optimizer state (semantics, section 10.5)
  VariableKind kind = VariableKind::Weight;
  Tensor initial = {};      ///< undefined where the model was written without its data
  std::string weight = {};  ///< the weight that optimizer state or an accumulator belongs to
};

/// How what is accumulated over micro-batches and reduced over replicas is combined (semantics, section 5.2).
enum class GradientReduction : std::uint8_t { Sum, MeanPost, MeanRunning };

/// An output of the graph becomes a variable's value. Ops that read the variable see the value from before
/// the block in which the update is made. A variable may have two updates: one in each micro-batch and one in
/// the outer context.
struct Update {
  std::string variable;
  std::size_t output =
      0;               ///< place in Graph::outputs; may be a constant (an accumulator is zeroed) or an input
  bool outer = false;  ///< once all micro-batches have run, else in each
};

/// The outer context reads values that ops of the micro-batch make as the last micro-batch left them; a sum
/// over micro-batches is therefore an accumulator. A value of `reduced` is reduced over the replicas before
/// an op of the outer context reads it.
struct Training {
  Graph graph = {};
  std::vector<Variable> variables = {};
  std::vector<Update> updates = {};
  /// Names of the values that hold the gradients of one replica: the accumulators, or without accumulation
  /// the gradients themselves.
  std::vector<std::string> reduced = {};
  /// How replicas reduce them: the mean, else the sum.
  bool reduces_by_mean = false;
  /// Names of inputs that hold hyper-parameters: fed once a run, the same to every replica.
  std::vector<std::string> hyper_parameters = {};
  /// Names of weights that the loss does not depend on: they are constants.
  std::vector<std::string> untrained = {};
  /// The op through which no gradient flows back to them, when the loss does read them.
  std::string why_untrained = {};
  std::size_t loss = 0;  ///< place in Graph::outputs; of one micro-batch
  /// Batch serialisation: the graph is for one of so many slices of a micro-batch.
  int slices = 1;
  /// The axis along which samples lie, for each input and output whose slices are parts of the batch, by
  /// name. Any other output for the host adds up over the slices to its value for the micro-batch.
  std::map<std::string, int> sample_axes = {};
};

}  // namespace podium::ir
