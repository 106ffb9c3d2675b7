// What optimizers build updates of weights from: gradients, hyper-parameters, state.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/gradients/terms.h"
#include "ir/passes/hyper_parameters.h"
#include "ir/training.h"

namespace podium::ir {

/// Appends to the graph of a Training what happens around the derivatives.
class UpdateBuilder {
 public:
  UpdateBuilder(Training& to, const Optimizer& with, const Contributions& of,
                const std::map<StateKey, Tensor>& continued)
      : training(to),
        optimizer(with),
        contributions(of),
        saved(continued),
        builder_(to.graph),
        context_(builder_, Op{}, {}, {}),
        placed_ops_(to.graph.ops.size()) {}

  Training& training;
  const Optimizer& optimizer;
  const Contributions& contributions;
  const std::map<StateKey, Tensor>& saved;  ///< state that training goes on with
  /// Of the factor of automatic loss scaling, where optimizer states keep the loss scale: gradients keep it,
  /// too.
  std::optional<Term> inverse_scale = {};

  Term term_of(ValueId id) { return term(context_, id); }
  Term number(double value, DataType type) { return term_of(builder_.constant(filled(type, {}, value))); }
  /// A hyper-parameter: a constant, or an input that all its readers share.
  Term scalar(std::string_view row, ValueId weight, DataType type);
  /// A state or accumulator, whose value is made, becomes an input; one that is there already stays. What is
  /// saved takes the place of its initial value. Error when that has another type or shape.
  Term variable(Variable variable);
  /// Such a variable, which is there.
  ValueId state(std::string_view state, ValueId weight) const {
    return states_.at({std::string(state), weight});
  }
  void update(ValueId variable, Term value, bool outer);
  /// What has been appended since the last call runs at `place`, in the outer context or in each micro-batch.
  void run_at(const std::vector<Attribute>& place, bool outer);

 private:
  Builder builder_;
  GradientContext context_;
  std::size_t placed_ops_;
  std::map<StateKey, ValueId> states_;                                       // made here
  std::map<std::tuple<std::string_view, ValueId, DataType>, Term> scalars_;  // by row and weight
  std::string name_of(ValueId weight) const { return weight.valid() ? training.graph[weight].name : ""; }
};

/// One weight on its way through an optimizer.
struct WeightUpdate {
  UpdateBuilder& builder;
  std::string name;
  std::vector<Attribute> place;  ///< of its gradient
  ValueId weight;
  Term gradient;  ///< of one micro-batch, or the accumulator once there is one
  /// In which equations are computed, whatever holds the weight and its states: narrower types have no room
  /// for a learning rate over a loss scale.
  DataType type;
  Tensor initial = {};

  Term scalar(std::string_view value) const { return builder.scalar(value, weight, type); }
  bool is_constant(std::string_view value, double number) const;
  /// dividend / divisor, whose last summand is `eps`. Where that can be 0, and be it that its type holds
  /// nothing as small, 0 divided by anything is 0: elements that no gradient has reached take no step, nor do
  /// those that fill up the last part of a tensor.
  Term quotient(Term dividend, Term divisor, std::string_view eps) const;
  /// The weight, in the type of the equations.
  Term value() const;
  void set(Term value) const;
  /// "Accl1___" and the weight's name: of its shape, at first `initial` everywhere.
  Term state(std::string_view prefix, double initial = 0) const;
  Term state(std::string_view prefix, Tensor initial) const;
  void set_state(std::string_view prefix, Term value, bool outer = true) const;
};

Term cast_to(DataType type, Term term);

/// Before the name of a weight, that of a velocity that runs one update ahead (PopART's SGD1).
inline constexpr std::string_view kVelocityAhead = "Accl___";
/// What such a velocity holds before the first gradient: the weight's decay.
Tensor first_velocity(const Tensor& weight, std::string_view name, const Optimizer& optimizer,
                      DataType stored);
/// Whether micro-batches of this weight accumulate straight into the velocity.
bool accumulates_into_velocity(const WeightUpdate& update);
/// Appends the accumulation into the velocity: an inner update, or nothing without accumulation.
void accumulate_into_velocity(WeightUpdate& update);
void update_by_sgd(WeightUpdate& update);
/// Adam, AdaMax, LAMB, and the forms without bias correction.
void update_by_adam(WeightUpdate& update);
/// AdaGrad, RMSProp, CenteredRMSProp, AdaDelta.
void update_by_adaptive(WeightUpdate& update);

}  // namespace podium::ir
