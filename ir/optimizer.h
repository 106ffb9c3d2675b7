// A plain description of an optimizer: which equations, with which values (semantics, section 10.3).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/data_type.h"

namespace podium::ir {

struct OptimizerSpec;

/// A hyper-parameter. One that is not constant can change between steps and reaches the graph as an input.
struct OptimizerValue {
  double value = 0;
  bool constant = true;
  friend bool operator==(const OptimizerValue&, const OptimizerValue&) = default;
};

/// By PopART's names: learningRate, weightDecay, momentum, dampening, velocityScaling, beta1, beta2, eps,
/// alpha, maxWeightNorm.
using OptimizerValues = std::map<std::string, OptimizerValue, std::less<>>;

/// The gradients of all weights of a group are scaled so that the norm over all of them is at most
/// `max_norm`.
struct ClipNorm {
  double max_norm = 1;
  std::vector<std::string> weights = {};  ///< or globs; none: all weights; then it is the only group
  friend bool operator==(const ClipNorm&, const ClipNorm&) = default;
};

/// SGD with momentum keeps one state, which micro-batches accumulate into (Accl___, PopART's SGD1), or
/// velocity and accumulator apart (Accl1___ and Accum___, SGD2).
enum class SgdState : std::uint8_t { Combined, Separate };

/// Whether the decay of weights is a part of the gradient or is taken from the weights.
enum class WeightDecayMode : std::uint8_t { Decay, L2Regularization };

struct Optimizer {
  const OptimizerSpec* spec = nullptr;                   ///< the row: which equations
  OptimizerValues defaults = {};                         ///< every value of the row
  std::map<std::string, OptimizerValues> specific = {};  ///< weight, or glob, to values of its own
  OptimizerValue loss_scaling = {1};
  std::vector<ClipNorm> clip_norms = {};
  bool nesterov = false;
  SgdState sgd_state = SgdState::Combined;
  WeightDecayMode decay_mode = WeightDecayMode::Decay;
  /// RMSProp as in TensorFlow: eps inside the root, Accl1___ starts at 1, momentum after the learning rate.
  bool tensorflow_rms = false;
  /// The states of Adam's family keep the loss scale, so that they use the range of float16.
  bool scaled_state = false;
  /// Element type of accumulators; that of the weight when absent.
  std::optional<DataType> accumulator_type = {};
  /// Element type of states; see state_type_of.
  std::optional<DataType> state_type = {};
};

/// The element type of the states of a weight: what is asked for, else the weight's, but float beside
/// narrower weights where squares of gradients are kept, which float16 has no room for: all kinds but SGD.
/// PopART's defaults.
DataType state_type_of(const Optimizer& optimizer, DataType weight);

/// An optimizer by the name of its row, "SGD", "Adam", ..., with its defaults and those of `values`. Error
/// for a name that there is not, and for a value that the row does not have.
Optimizer make_optimizer(std::string_view name, const OptimizerValues& values = {});
Optimizer make_optimizer(const OptimizerSpec& spec, const OptimizerValues& values = {});
/// "SGD", "Adam", ..., "CenteredRMSProp".
std::string_view name_of(const Optimizer& optimizer);

/// The optimizer with its globs written out over `weights`. What is the name of one of them is no glob, and
/// its values come before those of globs. Error for a glob that fits none of them, and for two that give a
/// weight the same value.
Optimizer for_weights(Optimizer optimizer, const std::vector<std::string>& weights);

/// What the optimizer, which has no globs, uses for a weight. IR_CHECK when the row has no such value.
OptimizerValue value_of(const Optimizer& optimizer, std::string_view value, std::string_view weight);

/// Error when a value is out of its range, a name is unknown, options exclude each other, or what is said of
/// a weight concerns none of `weights`.
void check_optimizer(const Optimizer& optimizer, const std::vector<std::string>& weights);

}  // namespace podium::ir
