#include "ir/ops/einsum_equation.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ir/error.h"

namespace podium::ir {
namespace {

constexpr std::string_view kEllipsis = "...";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> terms;
  while (true) {
    const std::size_t comma = text.find(',');
    terms.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

// The labels of a term; `ellipsis_rank` axes stand for its ellipsis, if it has one.
std::vector<int> labels_of(std::string_view term, int ellipsis_rank) {
  std::vector<int> labels;
  bool has_ellipsis = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (!has_ellipsis && term.substr(i, kEllipsis.size()) == kEllipsis) {
      for (int axis = ellipsis_rank; axis > 0; --axis) labels.push_back(kEinsumLabels - axis);
      has_ellipsis = true;
      i += kEllipsis.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else {
      throw Error("equation term '{}' has '{}' where a letter or one ellipsis is needed", term, term[i]);
    }
  }
  return labels;
}

bool is_ellipsis(int label) { return label >= 128; }

// Axes that the ellipsis of an input term stands for.
int ellipsis_rank(std::string_view term, int rank) {
  const bool has_ellipsis = term.find(kEllipsis) != std::string_view::npos;
  const int letters = labels_of(term, 0).size();
  if (has_ellipsis ? rank < letters : rank != letters) {
    throw Error("equation term '{}' needs {}{} axes, the input has {}", term, has_ellipsis ? "at least " : "",
                letters, rank);
  }
  return rank - letters;
}

// Without "->": the ellipsis, then in alphabetical order the letters that appear once.
std::vector<int> implicit_output(const std::vector<std::vector<int>>& inputs) {
  std::array<int, kEinsumLabels> uses{};
  for (const std::vector<int>& labels : inputs) {
    for (int label : labels) ++uses[label];
  }
  std::vector<int> output;
  for (int label = 128; label < kEinsumLabels; ++label) {
    if (uses[label] > 0) output.push_back(label);
  }
  for (int label = 0; label < 128; ++label) {
    if (uses[label] == 1) output.push_back(label);
  }
  return output;
}

void check_output(const EinsumEquation& equation, std::string_view term) {
  for (auto label = equation.output.begin(); label != equation.output.end(); ++label) {
    const bool is_known =
        is_ellipsis(*label) ||
        std::any_of(equation.inputs.begin(), equation.inputs.end(), [&](const auto& labels) {
          return std::find(labels.begin(), labels.end(), *label) != labels.end();
        });
    if (!is_known) throw Error("equation output '{}' has a letter that no input has", term);
    if (std::find(equation.output.begin(), label, *label) != label) {
      throw Error("equation output '{}' has a letter twice", term);
    }
  }
}

}  // namespace

EinsumEquation read_einsum(std::string_view equation, std::span<const int> ranks) {
  std::string text(equation);
  std::erase_if(text, [](char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; });
  const std::size_t arrow = text.find("->");
  const std::vector<std::string_view> terms = split(std::string_view(text).substr(0, arrow));
  if (terms.size() != ranks.size()) {
    throw Error("equation '{}' has {} terms, the op has {} inputs", equation, terms.size(), ranks.size());
  }
  EinsumEquation result;
  int widest = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const int rank = ellipsis_rank(terms[i], ranks[i]);
    if (rank > 64) throw Error("an ellipsis of {} axes is more than the 64 that are supported", rank);
    widest = std::max(widest, rank);
    result.inputs.push_back(labels_of(terms[i], rank));
  }
  if (arrow == std::string::npos) {
    result.output = implicit_output(result.inputs);
  } else {
    const std::string_view term = std::string_view(text).substr(arrow + 2);
    result.output = labels_of(term, widest);
    check_output(result, term);
  }
  return result;
}

Dims einsum_sizes(const EinsumEquation& equation, std::span<const Dims> inputs) {
  Dims sizes(kEinsumLabels, kUnknown);
  std::vector<bool> is_open(kEinsumLabels, false);  // an axis of it is unknown and may be larger than 1
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t axis = 0; axis < inputs[i].size(); ++axis) {
      const int label = equation.inputs[i][axis];
      const std::int64_t size = inputs[i][axis];
      if (size == kUnknown) {
        is_open[label] = true;
      } else if (sizes[label] == kUnknown || sizes[label] == 1) {
        sizes[label] = size;
      } else if (size != 1 && size != sizes[label]) {
        throw Error("axes of one letter have sizes {} and {}", sizes[label], size);
      }
    }
  }
  for (std::size_t label = 0; label < sizes.size(); ++label) {
    if (is_open[label] && sizes[label] == 1) sizes[label] = kUnknown;
  }
  return sizes;
}

}  // namespace podium::ir
