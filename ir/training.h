// A graph that trains: one micro-batch forward and backward, and what happens once its gradients are
// complete.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// The attribute of ops that run once all micro-batches of an update have run: `__execution_context`, with
/// PopART's numbers.
inline constexpr AttributeName kContextAttribute = "__execution_context";
inline constexpr std::int64_t kNormalContext = 0;
inline constexpr std::int64_t kOuterContext = 1;  ///< AccumulateOuterFragment

inline bool is_outer(const Op& op) {
  const auto* context = attribute_if<std::int64_t>(op, kContextAttribute);
  return context != nullptr && *context == kOuterContext;
}

enum class VariableKind : std::uint8_t {
  Weight,
  OptimizerState,  ///< saved with the model
  Accumulator,     ///< means nothing between updates
  Statistic        ///< what ops keep themselves, such as running means
};

/// A tensor that outlives a micro-batch. Its value is an input of the graph that no host stream feeds.
struct Variable {
  ValueId value = kNoValue;
  VariableKind kind = VariableKind::Weight;
  Tensor initial = {};        ///< undefined where the model was written without its data
  ValueId weight = kNoValue;  ///< of optimizer state and accumulators: whose they are
  /// Which state or accumulator it is. With the weight's name behind it this is the name of the value, as
  /// PopART has it: "Accl1___" (semantics, section 10.5).
  std::string state = {};
};

/// Which state, and of which weight; kNoValue for one that belongs to none.
using StateKey = std::pair<std::string, ValueId>;

/// How what is accumulated over micro-batches and reduced over replicas is combined (semantics, section 5.2).
enum class GradientReduction : std::uint8_t { Sum, MeanPost, MeanRunning };

/// An output of the graph becomes a variable's value. Ops that read the variable see the value from before
/// the block in which the update is made. A variable may have two updates: one in each micro-batch and one in
/// the outer context.
struct Update {
  ValueId variable;
  std::size_t output =
      0;               ///< place in Graph::outputs; may be a constant (an accumulator is zeroed) or an input
  bool outer = false;  ///< once all micro-batches have run, else in each
};

struct ScalarSpec;

/// An input that holds a scalar of the update equations: fed once a run, the same to every replica.
struct HyperParameter {
  ValueId value;
  const ScalarSpec* row = nullptr;  ///< which combination of the optimizer's values
  ValueId weight = kNoValue;        ///< whose own values are combined; kNoValue: the defaults
};

/// Values that ops of the outer context read and other ops make are complete for the last micro-batch only;
/// sums over micro-batches are accumulators. What outer ops read of `reduced` is first reduced over the
/// replicas.
struct Training {
  Graph graph = {};
  std::vector<Variable> variables = {};
  std::vector<Update> updates = {};
  /// Gradients of what one replica has seen: the accumulators, or without accumulation the gradients
  /// themselves.
  std::vector<ValueId> reduced = {};
  /// How replicas reduce them: the mean, else the sum.
  bool reduces_by_mean = false;
  std::vector<HyperParameter> hyper_parameters = {};
  /// Weights that the loss does not depend on: they are constants. Until optimize, which may remove them.
  std::vector<ValueId> untrained = {};
  /// Which op lets nothing flow back to them, when the loss does read them.
  std::string why_untrained = {};
  std::size_t loss = 0;  ///< place in Graph::outputs; of one micro-batch
  /// Batch serialisation: the graph is for one of so many slices of a micro-batch.
  int slices = 1;
  /// Per input and per output of the graph, those that come in slices: the axis along which samples lie. Any
  /// other output for the host adds up over the slices to what it is for the micro-batch.
  std::vector<std::optional<int>> input_axes = {};
  std::vector<std::optional<int>> output_axes = {};
  /// Values that are gradients under a name of their own: of which values. Until optimize, which may remove
  /// them.
  std::map<ValueId, ValueId> gradients = {};
};

inline std::set<ValueId> weights_of(const Training& training) {
  std::set<ValueId> weights;
  for (const Variable& variable : training.variables) {
    if (variable.kind == VariableKind::Weight) weights.insert(variable.value);
  }
  return weights;
}

}  // namespace podium::ir
