// What optimizers build updates of weights from: gradients, hyper-parameters, state.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/filled.h"
#include "ir/passes/hyper_parameters.h"
#include "ir/passes/optimizer_states.h"
#include "ir/placement.h"
#include "ir/term.h"
#include "ir/training.h"

namespace podium::ir {

/// What is appended to a graph while this lives runs at a place, in a context.
class PlacedScope {
 public:
  PlacedScope(Graph& graph, const std::vector<Attribute>& place, Context context)
      : graph_(graph), place_(place), context_(context), first_(std::ssize(graph.ops)) {}
  PlacedScope(const PlacedScope&) = delete;
  PlacedScope& operator=(const PlacedScope&) = delete;
  ~PlacedScope();

 private:
  Graph& graph_;
  std::vector<Attribute> place_;
  Context context_;
  std::int64_t first_;
};

/// Appends to the graph of a Training what happens around the derivatives; what another one has made of
/// variables and hyper-parameters is found.
class UpdateBuilder {
 public:
  UpdateBuilder(Training& to, const Optimizer& with, const Contributions& of,
                const std::map<StateKey, Tensor>& continued);

  Training& training;
  const Optimizer& optimizer;
  const Contributions& contributions;
  const std::map<StateKey, Tensor>& saved;  ///< state that training goes on with
  /// Of the factor of automatic loss scaling, where optimizer states keep the loss scale: gradients keep it,
  /// too.
  std::optional<Term> inverse_scale = {};

  Term term_of(ValueId id) { return term(terms_, id); }
  Term number(double value, DataType type) { return term_of(builder_.constant(filled(type, {}, value))); }
  /// A hyper-parameter: a constant, or an input that all its readers share.
  Term scalar(const ScalarSpec& scalar, ValueId weight, DataType type);
  /// A state or accumulator, whose value is made, becomes an input; one that is there already stays. What is
  /// saved takes the place of its initial value. Error when that has another type or shape.
  Term variable(Variable variable);
  /// Such a variable, which is there.
  ValueId state(std::string_view state, ValueId weight) const {
    return states_.at({std::string(state), weight});
  }
  void update(ValueId variable, Term value, bool outer);
  /// Scopes do not nest.
  [[nodiscard]] PlacedScope at(const std::vector<Attribute>& place, Context context) {
    return {training.graph, place, context};
  }

 private:
  std::string name_of(ValueId weight) const { return weight.valid() ? training.graph[weight].name : ""; }

  Builder builder_;
  TermBuilder terms_;
  std::map<StateKey, ValueId> states_;                                        // made here
  std::map<std::tuple<const ScalarSpec*, ValueId, DataType>, Term> scalars_;  // by row and weight
};

Term cast_to(DataType type, Term term);

/// One weight on its way through an optimizer.
struct WeightUpdate {
  UpdateBuilder& builder;
  std::string name;
  std::vector<Attribute> place;  ///< of its gradient
  ValueId weight;
  Term gradient;  ///< of one micro-batch, or the accumulator once there is one
  DataType type;  ///< in which equations are computed
  Tensor initial = {};

  WeightValues values() const { return {builder.optimizer, name, builder.contributions}; }
  Term scalar(const ScalarSpec& scalar) const;
  /// Whether a scalar is, and stays, `number`.
  bool is_always(const ScalarSpec& scalar, double number) const;
  /// dividend / divisor, whose last summand is `eps`. Where that can be 0, and be it that its type holds
  /// nothing as small, 0 divided by anything is 0: elements that no gradient has reached take no step, nor do
  /// those that fill up the last part of a tensor.
  Term quotient(Term dividend, Term divisor, const ScalarSpec& eps) const;
  /// The weight, in the type of the equations.
  Term value() const;
  void set(Term value) const;
  /// A state of the row as it was before the update: in the type of the equations, and as it is stored.
  Term state(const StateSpec& state) const { return cast_to(type, stored(state)); }
  Term stored(const StateSpec& state) const;
  void set_state(const StateSpec& state, Term value, bool outer = true) const;
};

}  // namespace podium::ir
