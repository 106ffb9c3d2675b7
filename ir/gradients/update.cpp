// The optimizers that ONNX has as ops. An update is a smooth function of the learning rate, of tensors, of
// their gradients and of what is kept of those before.
#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

// The inputs of one tensor's update, all in its element type.
struct Update {
  const GradientContext& context;
  Term rate;
  Term count;  // of updates before
  Term x;
  Term gradient;
  std::vector<Term> states;

  double number(std::string_view name) const {
    return static_cast<double>(attribute<float>(context.op, name));
  }
  Term regularised() const { return x * number("norm_coefficient") + gradient; }
};

// The new x and the new states.
using Rule = std::vector<Term> (*)(const Update&);

std::vector<Term> adagrad(const Update& update) {
  const Term rate = update.rate / (update.count * update.number("decay_factor") + 1.0);
  const Term gradient = update.regularised();
  const Term squares = update.states[0] + gradient * gradient;
  return {update.x - rate * gradient / (squares.call("Sqrt") + update.number("epsilon")), squares};
}

// Before the first update nothing is corrected.
std::vector<Term> adam(const Update& update) {
  const double alpha = update.number("alpha");
  const double beta = update.number("beta");
  const Term has_begun = update.count > 0;
  const Term count = choose(has_begun, update.count, 1);
  const Term correction =
      (1.0 - count.like(beta).with("Pow", count)).call("Sqrt") / (1.0 - count.like(alpha).with("Pow", count));
  const Term rate = update.rate * choose(has_begun, correction, 1);
  const Term gradient = update.regularised();
  const Term mean = update.states[0] * alpha + gradient * (1 - alpha);
  const Term squares = update.states[1] * beta + gradient * gradient * (1 - beta);
  const Term moved = update.x - rate * (mean / (squares.call("Sqrt") + update.number("epsilon")));
  return {moved * (1 - update.number("norm_coefficient_post")), mean, squares};
}

std::vector<Term> momentum(const Update& update) {
  const double alpha = update.number("alpha");
  const Term gradient = update.regularised();
  const Term share = choose(update.count > 0, update.count.like(update.number("beta")), 1);
  const Term speed = update.states[0] * alpha + share * gradient;
  const bool is_nesterov = attribute<std::string>(update.context.op, "mode") == "nesterov";
  return {update.x - update.rate * (is_nesterov ? gradient + speed * alpha : speed), speed};
}

// Inputs are the rate, the count, all x, all gradients, then the states; outputs all new x, then the new
// states.
std::vector<ValueId> updated(GradientContext& context, std::size_t states, Rule rule) {
  const std::size_t tensors = (context.op.inputs.size() - 2) / (2 + states);
  std::vector<ValueId> outputs(tensors * (1 + states));
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto part = [&](std::size_t k) { return term(context, context.input(2 + k * tensors + i)); };
    const Term x = part(0);
    const auto scalar = [&](std::size_t k) {
      return term(context, context.input(k)).with("Reshape", context.ints({})).with("CastLike", x);
    };
    Update update{context, scalar(0), scalar(1), x, part(1), {}};
    for (std::size_t k = 0; k < states; ++k) update.states.push_back(part(2 + k));
    const std::vector<Term> results = rule(update);
    for (std::size_t k = 0; k < results.size(); ++k) outputs[k * tensors + i] = results[k];
  }
  return outputs;
}

void adagrad_gradient(GradientContext& context) {
  differentiate_expansion(context, [](GradientContext& inner) { return updated(inner, 1, adagrad); });
}

void adam_gradient(GradientContext& context) {
  differentiate_expansion(context, [](GradientContext& inner) { return updated(inner, 2, adam); });
}

void momentum_gradient(GradientContext& context) {
  differentiate_expansion(context, [](GradientContext& inner) { return updated(inner, 1, momentum); });
}

}  // namespace

std::span<const GradientRow> optimizer_gradients() {
  static constexpr GradientRow kRows[]{
      {"Adagrad", adagrad_gradient, "ai.onnx.preview.training"},
      {"Adam", adam_gradient, "ai.onnx.preview.training"},
      {"Momentum", momentum_gradient, "ai.onnx.preview.training"},
  };
  return kRows;
}

}  // namespace podium::ir
