// Chains of which some operands are stretched to the shape of the others by NumPy's rule: the factors of
// channels, a bias, a mean of each row. They are computed row by row, along each of which such an operand
// goes along or stays, by a chain's machine code.
#pragma once

#include <memory>
#include <vector>

#include "executor/kernels/fused/chain_code.h"
#include "executor/kernels/tools/broadcast_plan.h"
#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

class StretchedChain {
 public:
  /// Whether an input has more elements than one and fewer than what the chain makes.
  static bool has_stretched_input(const ir::Graph& body);
  /// nullptr where there is no code for the chain (chain_code.h), more than kMostOperands inputs are
  /// stretched, or rows are so short that calls for them cost more than they compute.
  static std::shared_ptr<const StretchedChain> of(const ir::Graph& body);

  void operator()(const RunContext& run) const;

 private:
  // Where an operand of the code lies: a full one is as far as the row, a number stays.
  enum class Place : std::uint8_t { Full, Number, Stretched };
  struct Operand {
    Place place = Place::Full;
    std::size_t stretched = 0;  // its place among the plan's
    std::int64_t bytes = 0;     // of an element
  };

  StretchedChain() = default;
  void compute_rows(const RunContext& run, std::int64_t begin, std::int64_t end) const;

  BroadcastPlan plan_;
  std::vector<Operand> operands_;  // the body's inputs, then its outputs
  std::size_t inputs_ = 0;
  std::int64_t cost_ = 0;  // of a row
  std::shared_ptr<const ChainCode> code_;
};

}  // namespace podium::kernels
