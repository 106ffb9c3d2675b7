// What the gradients of RNN, GRU and LSTM share where an op of its own goes back through the steps.
#pragma once

#include <functional>
#include <vector>

#include "ir/gradients/gradient.h"
#include "ir/gradients/terms.h"
#include "ir/ops/recurrent.h"

namespace podium::ir {

/// Reads the inputs and outputs of a recurrent op one direction at a time. Tensors of a direction have no
/// axis of directions, and steps come first: [steps, batch, ...], states [batch, hidden].
class RecurrentOperands {
 public:
  explicit RecurrentOperands(GradientContext& context);

  const RecurrentShape& shape() const { return shape_; }
  bool is_reverse(std::int64_t direction) const { return direction == 1 || shape_.starts_reverse; }

  Term x() const { return x_; }
  /// W, R, B or P of a direction.
  Term weights(std::size_t input, std::int64_t direction);
  /// An initial state; kNoValue where it is not there, or zeros.
  ValueId given_input(std::size_t input, std::int64_t direction);
  Term first_state(std::size_t input, std::int64_t direction);
  ValueId given_lengths() const { return input_or_none(RecurrentInput::kLengths); }
  /// The gradient that flows into an output; kNoValue where there is none.
  ValueId given_flow(std::size_t output, std::int64_t direction);
  /// h behind each step, and before it: what Y has for the step before it, and in front the first state.
  Term states_behind(std::int64_t direction);
  Term states_before(std::int64_t direction);

  Term unsqueezed(Term x, std::int64_t axis);
  /// In the order in which the op has its axes, by this permutation of those with steps or directions first.
  Term as_laid_out(Term x, IntList order);

 private:
  Term steps_first(ValueId x);
  Term entry(Term of, std::int64_t direction, std::int64_t axis);
  ValueId given(ValueId id, std::int64_t direction, std::int64_t axis);
  ValueId input_or_none(std::size_t i) const;

  GradientContext& context_;
  RecurrentShape shape_;
  Term x_ = {};
};

/// Puts together what each direction contributes to the gradients of the op's inputs.
class RecurrenceGradient : public RecurrentOperands {
 public:
  using Ids = std::vector<ValueId>;
  using Terms = std::vector<Term>;

  /// What one direction contributes to the gradients of X, W, R and B; `states`: to those of the first
  /// states, kNoValue where nobody asks.
  struct Contribution {
    Term x, w, r, b;
    Ids states = {};
  };
  /// The gradients of the gates as the products with X add to them, and as those with h do; h before each
  /// step.
  struct GateFlows {
    Term of_x;
    Term of_h;
    Term h;
  };

  explicit RecurrenceGradient(GradientContext& context) : RecurrentOperands(context), context_(context) {}

  /// Sets the gradients of the op's inputs: `direction` gives what a direction contributes.
  void append(const std::function<Contribution(std::int64_t)>& direction);

  std::string way_of(std::int64_t direction) const { return is_reverse(direction) ? "reverse" : "forward"; }
  bool wants_states() const { return context_.wants(kStates[0]) || context_.wants(kStates[1]); }

  /// The products over all steps: dX = dG W, dW = dG' X, dR = dG' h, dB = sums of dG.
  Contribution contribution(std::int64_t direction, const GateFlows& flows, Ids states);
  /// [.., n] as [rows, n], turned.
  static Term turned_rows(Term x);
  static Term rows_of(Term x);

 private:
  static constexpr std::size_t kStates[] = {RecurrentInput::kInitialH, RecurrentInput::kInitialC};

  GradientContext& context_;
};

/// Whether an op has Y, no clipping and, in each direction, these activations: a way back of its own
/// supposes that.
bool has_usual_steps(const Op& op, const StringList& activations);

/// The step of a Scan whose captures come last; `step` gives the states, then what is shown.
using ScanStep = std::function<std::vector<Term>(const std::vector<Term>& given)>;

/// A Scan over the first axis of the inputs [states, states + slices), back from the last one where `way` is
/// 1. The first inputs are states, the last ones are captured. Gives the last states, then what is shown.
std::vector<Term> scanned(TermBuilder& context, const std::vector<ValueId>& inputs, std::int64_t states,
                          std::int64_t slices, std::int64_t way, const ScanStep& step);

/// An input, or zeros of these dims and the type of the first input where it is left out.
ValueId given_or_zeros(const GradientContext& context, std::size_t input, const Dims& dims);

/// Whether sequences go on at each step, [steps, batch, 1]. `lengths`: the input that has them, where all go
/// on to the end if it is left out.
ValueId steps_that_go_on(GradientContext& context, const Dims& steps_and_batch, std::size_t lengths);

}  // namespace podium::ir
