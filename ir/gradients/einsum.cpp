// Einsum: the gradient of an input is an Einsum of what flows with the other inputs.
#include <algorithm>
#include <map>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/einsum_equation.h"

namespace podium::ir {
namespace {

using Labels = std::vector<int>;

// The axes of ellipses get letters of their own.
class Letters {
 public:
  explicit Letters(const EinsumEquation& equation) {
    for (const Labels& labels : equation.inputs) {
      for (int label : labels) {
        if (label < 128) letters_[label] = static_cast<char>(label);
      }
    }
  }
  std::string term(const Labels& labels) {
    std::string text;
    for (int label : labels) text += letter(label);
    return text;
  }

 private:
  char letter(int label) {
    const auto found = letters_.find(label);
    if (found != letters_.end()) return found->second;
    for (char candidate = 'A'; candidate <= 'z'; ++candidate) {
      const bool is_letter = candidate <= 'Z' || candidate >= 'a';
      const auto is_it = [&](const auto& known) { return known.second == candidate; };
      if (is_letter && std::none_of(letters_.begin(), letters_.end(), is_it))
        return letters_[label] = candidate;
    }
    throw Error("the gradient of an Einsum of more than 52 axes is not known");
  }

  std::map<int, char> letters_;
};

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels without_repeats(const Labels& labels) {
  Labels unique;
  for (int label : labels) {
    if (!has(unique, label)) unique.push_back(label);
  }
  return unique;
}

// A gradient over the unique labels as one over all: a label that is there twice means the diagonal.
Term on_diagonals(Term gradient, const Labels& labels, const Dims& dims) {
  TermBuilder& context = *gradient.builder;
  Dims shape;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool is_first = std::find(labels.begin(), labels.end(), labels[i]) == labels.begin() + i;
    shape.push_back(is_first ? dims[i] : 1);
  }
  gradient = gradient.with("Reshape", context.ints(shape));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (shape[i] == dims[i]) continue;
    const auto first = std::find(labels.begin(), labels.end(), labels[i]) - labels.begin();
    const auto numbers_along = [&](std::size_t axis) {
      Dims along(labels.size(), 1);
      along[axis] = dims[axis];
      return counted(context, along);
    };
    gradient = choose(numbers_along(first).with("Equal", numbers_along(i)), gradient, 0);
  }
  return gradient;
}

void einsum_gradient(GradientContext& context) {
  std::vector<int> ranks;
  std::vector<Dims> dims;
  for (ValueId input : context.op.inputs) {
    dims.push_back(context.static_dims(input));
    ranks.push_back(dims.back().size());
  }
  const EinsumEquation equation = read_einsum(attribute<std::string>(context.op, "equation"), ranks);
  const Dims sizes = einsum_sizes(equation, dims);
  Letters letters(equation);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!context.wants(i)) continue;
    const Labels wanted = without_repeats(equation.inputs[i]);
    std::string text = letters.term(equation.output);
    std::vector<ValueId> inputs{context.output_gradient()};
    Labels known = equation.output;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (k == i) continue;
      text += "," + letters.term(equation.inputs[k]);
      inputs.push_back(context.input(k));
      known.insert(known.end(), equation.inputs[k].begin(), equation.inputs[k].end());
    }
    // An axis that only this input has was summed: the same flows into all of it.
    Labels alone;
    Dims alone_dims;
    for (int label : wanted) {
      if (has(known, label)) continue;
      alone.push_back(label);
      alone_dims.push_back(sizes[label]);
    }
    if (!alone.empty()) {
      text += "," + letters.term(alone);
      inputs.push_back(
          context.call("Expand", {context.number(1, context.input(i)), context.ints(alone_dims)}));
    }
    text += "->" + letters.term(wanted);
    const Term gradient = term(context, context.call("Einsum", inputs, {{"equation", text}}));
    const bool has_diagonal = wanted.size() < equation.inputs[i].size();
    context.set(i, has_diagonal ? on_diagonals(gradient, equation.inputs[i], dims[i]).id
                                : context.sum_to_shape_of(gradient, context.input(i)));
  }
}

}  // namespace

std::span<const GradientRow> einsum_gradients() {
  static constexpr GradientRow kRows[]{
      {"Einsum", einsum_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
