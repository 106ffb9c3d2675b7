// RNN, GRU and LSTM as Scans over their steps, one for each direction.
// The ops are expanded: the products of X with W for all steps, then a Scan whose states are h (and c) and
// whose body is one step of the cell, written with ONNX's ops; weights of R are captured. Sequences that have
// ended keep their states by a condition that is scanned with the steps. The gradient of the cell is then
// that of a Scan. It is for cells with what lstm.h, gru.h and rnn.h do not take: activations of their own,
// clipping, peepholes, coupled gates.
#include <algorithm>
#include <iterator>

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/gru.h"
#include "ir/gradients/lstm.h"
#include "ir/gradients/recurrence_gradient.h"
#include "ir/gradients/rnn.h"
#include "ir/gradients/terms.h"
#include "ir/ops/recurrent.h"
#include "ir/ops/recurrent_activation.h"

namespace podium::ir {
namespace {

using ActivationKind = Activation::Function;

Term with_alpha(Term x, const char* op, double alpha) {
  return x.call(op, {{"alpha", static_cast<float>(alpha)}});
}

Term activated(const Activation& activation, Term x) {
  const double alpha = activation.alpha;
  const double beta = activation.beta;
  switch (activation.function) {
    case ActivationKind::Relu:
      return x.call("Relu");
    case ActivationKind::Tanh:
      return x.call("Tanh");
    case ActivationKind::Sigmoid:
      return x.call("Sigmoid");
    case ActivationKind::Affine:
      return x * alpha + beta;
    case ActivationKind::LeakyRelu:
      return with_alpha(x, "LeakyRelu", alpha);
    case ActivationKind::ThresholdedRelu:
      return with_alpha(x, "ThresholdedRelu", alpha);
    case ActivationKind::ScaledTanh:
      return (x * beta).call("Tanh") * alpha;
    case ActivationKind::HardSigmoid:
      return x.call("HardSigmoid",
                    {{"alpha", static_cast<float>(alpha)}, {"beta", static_cast<float>(beta)}});
    case ActivationKind::Elu:
      return with_alpha(x, "Elu", alpha);
    case ActivationKind::Softsign:
      return x.call("Softsign");
    case ActivationKind::Softplus:
      return x.call("Softplus");
  }
  throw InternalError("an activation that is none");
}

// The inputs of one step of a cell, in the body of the Scan.
struct Step {
  std::vector<Activation> activations;  // of this direction
  double clip = 0;
  bool variant = false;             // linear_before_reset, input_forget
  Term gates;                       // [batch, gates * hidden]: the products with X, biases added
  std::vector<Term> states = {};    // [batch, hidden]: h, and c of an LSTM
  std::vector<Term> captured = {};  // R transposed, then what the cell has

  Term activate(std::size_t i, Term x) const {
    if (clip > 0) x = term(*x.builder, x.builder->call("Clip", {x, x.like(-clip), x.like(clip)}));
    return activated(activations.at(i), x);
  }
};

std::vector<Term> rnn_step(const Step& step) {
  return {step.activate(0, step.gates + step.states[0].with("MatMul", step.captured[0]))};
}

// Gates z, r, h. Captured: R of z and r, R of h, and, when the reset gate is applied after the product, the
// bias of that product.
std::vector<Term> gru_step(const Step& step) {
  const Term h = step.states[0];
  const std::vector<Term> gates = parts_of(step.gates, 3, -1);
  const std::vector<Term> recurrent = parts_of(h.with("MatMul", step.captured[0]), 2, -1);
  const Term update = step.activate(0, gates[0] + recurrent[0]);
  const Term reset = step.activate(0, gates[1] + recurrent[1]);
  Term product =
      step.variant ? h.with("MatMul", step.captured[1]) : (reset * h).with("MatMul", step.captured[1]);
  if (step.variant && step.captured.size() > 2) product = product + step.captured[2];
  const Term candidate = step.activate(1, gates[2] + (step.variant ? reset * product : product));
  return {(1.0 - update) * candidate + update * h};
}

// Gates i, o, f, c; captured: R, and the peepholes of i, o and f.
std::vector<Term> lstm_step(const Step& step) {
  const Term c = step.states[1];
  const std::vector<Term> gates =
      parts_of(step.gates + step.states[0].with("MatMul", step.captured[0]), 4, -1);
  const auto looking = [&](std::size_t gate, Term at) {
    return step.captured.size() > 1 ? gates[gate] + at * step.captured[1 + gate] : gates[gate];
  };
  const Term input = step.activate(0, looking(0, c));
  const Term forget = step.variant ? 1.0 - input : step.activate(0, looking(2, c));
  const Term cell = forget * c + input * step.activate(1, gates[3]);
  const Term output = step.activate(0, looking(1, cell));
  return {output * step.activate(2, cell), cell};
}

constexpr std::size_t kFirstStates[] = {RecurrentInput::kInitialH, RecurrentInput::kInitialC};

struct Cell {
  std::size_t gates = 1;
  std::size_t states = 1;
  std::size_t activations = 1;
  std::vector<Term> (*step)(const Step&) = nullptr;
};

// The op over tensors whose first axes are steps and batch.
class Expanding {
 public:
  Expanding(GradientContext& context, Cell cell, std::string_view variant)
      : context_(context), cell_(cell), operands_(context), directions_(operands_.shape().directions) {
    variant_ = !variant.empty() && attribute<std::int64_t>(context.op, variant) != 0;
  }

  // Y, Y_h and, of an LSTM, Y_c.
  std::vector<ValueId> outputs() {
    std::vector<std::vector<Term>> found(1 + cell_.states);
    for (std::size_t i = 0; i < directions_; ++i) {
      const std::vector<Term> last_and_all = run_direction(i);
      found[0].push_back(operands_.unsqueezed(last_and_all.back(), 1));
      for (std::size_t k = 0; k < cell_.states; ++k)
        found[1 + k].push_back(operands_.unsqueezed(last_and_all[k], 0));
    }
    std::vector<ValueId> results{operands_.as_laid_out(joined(found[0], 1), {2, 0, 1, 3})};
    for (std::size_t k = 0; k < cell_.states; ++k)
      results.push_back(operands_.as_laid_out(joined(found[1 + k], 0), {1, 0, 2}));
    return results;
  }

 private:
  Term weights(std::size_t input, std::size_t direction) {
    return operands_.weights(input, static_cast<std::int64_t>(direction));
  }

  bool resets_after_product() const { return cell_.gates == 3 && variant_; }

  // X W^T and the biases; a GRU that resets after its product adds that of R's last rows there.
  Term products_with_x(std::size_t direction) {
    Term products = operands_.x().with("MatMul", weights(RecurrentInput::kW, direction).call("Transpose"));
    if (!context_.has_input(RecurrentInput::kB)) return products;
    const std::vector<Term> biases = parts_of(weights(RecurrentInput::kB, direction), 2, 0);
    if (!resets_after_product()) return products + (biases[0] + biases[1]);
    std::vector<Term> of_r = parts_of(biases[1], 3, 0);
    of_r[2] = of_r[2] * 0.0;
    return products + (biases[0] + joined(of_r, 0));
  }

  std::vector<ValueId> captured(std::size_t direction) {
    const Term r = weights(RecurrentInput::kR, direction);
    if (cell_.gates == 3) {
      const std::vector<Term> rows = parts_of(r, 3, 0);
      std::vector<ValueId> all{joined({rows[0], rows[1]}, 0).call("Transpose"), rows[2].call("Transpose")};
      if (variant_ && context_.has_input(RecurrentInput::kB))
        all.push_back(parts_of(weights(RecurrentInput::kB, direction), 6, 0)[5]);
      return all;
    }
    std::vector<ValueId> all{r.call("Transpose")};
    if (cell_.gates != 4 || !context_.has_input(RecurrentInput::kPeepholes)) return all;
    for (const Term& peephole : parts_of(weights(RecurrentInput::kPeepholes, direction), 3, 0))
      all.push_back(peephole);
    return all;
  }

  std::vector<Activation> activations(std::size_t direction) const {
    StringList names = attribute<StringList>(context_.op, "activations");
    if (directions_ == 2 && names.size() == cell_.activations) {
      names.reserve(2 * names.size());
      std::copy_n(names.begin(), cell_.activations, std::back_inserter(names));
    }
    const auto list = [&](std::string_view name) {
      const auto* given = attribute_if<FloatList>(context_.op, name);
      return given == nullptr ? FloatList{} : *given;
    };
    const std::vector<Activation> all =
        read_activations(names, list("activation_alpha"), list("activation_beta"));
    if (all.size() != directions_ * cell_.activations) {
      throw Error("there are {} activations, {} needed", all.size(), directions_ * cell_.activations);
    }
    const auto first = all.begin() + direction * cell_.activations;
    return {first, first + cell_.activations};
  }

  // The body of the Scan, given the states, the products with X, whether sequences go on, and the captured
  // values.
  std::vector<Term> step_of(std::size_t direction, const std::vector<Term>& given) const {
    const auto from = [&](std::size_t i) { return given.begin() + i; };
    Step step{.activations = activations(direction), .variant = variant_, .gates = given[cell_.states]};
    if (const auto* clip = attribute_if<float>(context_.op, "clip")) step.clip = static_cast<double>(*clip);
    step.states.assign(given.begin(), from(cell_.states));
    step.captured.assign(from(cell_.states + slices()), given.end());
    std::vector<Term> after = cell_.step(step);
    Term shown = after[0];
    if (has_lengths()) {
      const Term going = given[cell_.states + 1];
      shown = choose(going, after[0], 0);
      for (std::size_t i = 0; i < after.size(); ++i) after[i] = choose(going, after[i], step.states[i]);
    }
    after.push_back(shown);
    return after;
  }

  bool has_lengths() const { return context_.has_input(RecurrentInput::kLengths); }
  std::int64_t slices() const { return has_lengths() ? 2 : 1; }

  // The last states, then h of all steps.
  std::vector<Term> run_direction(std::size_t direction) {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < cell_.states; ++i)
      inputs.push_back(operands_.first_state(kFirstStates[i], direction));
    inputs.push_back(products_with_x(direction));
    if (has_lengths()) {
      const Dims steps_and_batch = context_.static_dims(operands_.x());
      inputs.push_back(steps_that_go_on(context_, steps_and_batch, RecurrentInput::kLengths));
    }
    const std::vector<ValueId> more = captured(direction);
    inputs.insert(inputs.end(), more.begin(), more.end());
    return scanned(context_, inputs, cell_.states, slices(), operands_.is_reverse(direction) ? 1 : 0,
                   [&](const std::vector<Term>& given) { return step_of(direction, given); });
  }

  GradientContext& context_;
  Cell cell_;
  RecurrentOperands operands_;
  std::size_t directions_ = 1;
  bool variant_ = false;
};

void rnn_gradient(GradientContext& context) {
  if (has_rnn_gradient(context.op)) return append_rnn_gradient(context);
  differentiate_expansion(context, [](GradientContext& inner) {
    return Expanding(inner, {.gates = 1, .step = rnn_step}, "").outputs();
  });
}

void gru_gradient(GradientContext& context) {
  if (has_gru_gradient(context.op)) return append_gru_gradient(context);
  differentiate_expansion(context, [](GradientContext& inner) {
    return Expanding(inner, {.gates = 3, .activations = 2, .step = gru_step}, "linear_before_reset")
        .outputs();
  });
}

void lstm_gradient(GradientContext& context) {
  if (has_lstm_gradient(context.op)) return append_lstm_gradient(context);
  differentiate_expansion(context, [](GradientContext& inner) {
    return Expanding(inner, {.gates = 4, .states = 2, .activations = 3, .step = lstm_step}, "input_forget")
        .outputs();
  });
}

}  // namespace

std::span<const GradientRow> recurrent_gradients() {
  static constexpr GradientRow kRows[]{
      {"RNN", rnn_gradient},
      {"GRU", gru_gradient},
      {"LSTM", lstm_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
