// The equation of an Einsum, read against the ranks of its inputs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/type.h"

namespace podium::ir {

/// One more than the largest label.
inline constexpr int kEinsumLabels = 256;

/// Axes carry labels: a letter is its character, the axes of an ellipsis count down from the largest label,
/// the last axis first, so that ellipses of different ranks align at the right. "ij,jk" is inputs
/// {{'i','j'},{'j','k'}} and output {'i','k'}.
struct EinsumEquation {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};

/// Error when the equation is malformed or does not fit the ranks.
EinsumEquation read_einsum(std::string_view equation, std::span<const int> ranks);

/// The size of each label; -1 (kUnknown) when data decides or no axis has it. Error when two axes of one
/// label differ and neither is 1.
Dims einsum_sizes(const EinsumEquation& equation, std::span<const Dims> inputs);

}  // namespace podium::ir
