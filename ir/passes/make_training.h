// A model and a loss become a graph that trains.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/optimizer.h"
#include "ir/passes/automatic_loss_scaling.h"
#include "ir/passes/hyper_parameters.h"
#include "ir/training.h"

namespace podium::ir {

struct InferOptions;

/// Makes inputs of the graph's constants of floats that are among `names`, or of all that an op reads when
/// there are none. What they held comes back as variables, in the order of the values.
std::vector<Variable> take_weights(Graph& graph, const std::vector<std::string>& names = {});

struct TrainingRequest {
  std::string loss;                    ///< name of a value with one element
  std::vector<Variable> weights = {};  ///< inputs of the graph, as take_weights gives them
  Optimizer optimizer = make_optimizer("SGD");
  Contributions contributions = {};
  std::optional<AutomaticLossScaling> automatic_loss_scaling = {};
  /// Names of values whose gradients are asked for: of values that are no weights, and of weights by a tensor
  /// of its own name, whatever else it is the gradient of. Where the loss does not depend on one it has none.
  std::vector<std::string> gradients_of = {};
  /// State that training goes on with; what is not there starts anew.
  std::map<StateKey, Tensor> saved = {};
};

/// In front of a value's name: the name of its gradient.
inline constexpr std::string_view kGradientOf = "Gradient___";

/// `graph` computes the loss of one micro-batch; types are inferred and stages and phases are annotations.
/// Appends derivatives, placed as their forward ops, accumulation, and the optimizer's updates in the outer
/// context, placed as the gradients. Weights that no gradient reaches become constants again. Running
/// statistics that BatchNormalization updates are variables. The gradient of a value is named kGradientOf and
/// the value's name. Error for a loss that is no number or depends on no weight, an op without derivative on
/// its way, and an optimizer that does not fit.
Training make_training(Graph graph, const TrainingRequest& request);

/// What differentiation appends to a graph, op by op. Ids are those of ops before any of them moves.
struct Derivatives {
  /// An op that runs where the gradient of an input of `reader` is made.
  struct Beside {
    OpId op;
    OpId reader;
  };
  std::int64_t forward_ops = 0;         ///< the first ops of the graph
  OpId loss = {};                       ///< the op that makes the loss
  std::vector<ValueId> gradients = {};  ///< per x; kNoValue where nothing flows into it
  std::vector<Flow> flows = {};         ///< every value that a gradient flows into, with all that does
  std::map<ValueId, OpId> last_readers =
      {};                           ///< of these values: the op that contributed to the gradient last
  IdMap<OpId, OpId> origins = {};   ///< the op whose gradient an op computes; none of a forward op
  std::vector<Beside> beside = {};  ///< derivatives without an origin
};

/// A graph with derivatives, which has no places and no updates yet.
struct Differentiated {
  Training training;
  Derivatives derivatives = {};
  std::map<ValueId, ValueId> gradients = {};  ///< of the weights that one reaches
  /// Inputs that ops keep up themselves, each with the value that it becomes; kNoValue where it stays.
  std::map<ValueId, ValueId> statistics = {};
};

/// make_training in two steps, between which the forward ops may get annotations that place them. They keep
/// their ids until the second.
Differentiated append_derivatives(Graph graph, const TrainingRequest& request);
Training append_updates(Differentiated made, const TrainingRequest& request);

/// How many ops accumulate the gradient of a weight of such elements and update the weight, clipping apart.
std::int64_t ops_of_update(const Optimizer& optimizer, const Contributions& contributions, DataType weight);

/// As optimize of a graph. What the Training says of values follows them; what replicas reduce keeps its
/// name.
bool optimize(Training& training, const InferOptions& options);

}  // namespace podium::ir
