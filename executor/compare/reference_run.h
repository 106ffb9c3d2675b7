// The numbers that every strategy is held against: the model on one processor.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/compare/trial.h"
#include "executor/session/session.h"

namespace podium::compare {

/// Inputs of some micro-batches and what one processor makes of them.
class ReferenceRun {
 public:
  /// Runs `model` over `micro_batches`, the most that a strategy takes in its steps. `given` are inputs from
  /// files, in the model's precision: they hold whole micro-batches and start over where there are too few;
  /// the others are drawn.
  ReferenceRun(importer::Model model, int micro_batches, const std::map<std::string, ir::Datum>& given,
               const Setting& setting);

  /// For a session whose replicas take that many micro-batches together, in the order of its inputs, from a
  /// first one on.
  std::vector<ir::Datum> inputs(int micro_batches, int first = 0) const;
  /// The largest |a - b| / max(1, |b|) over the outputs of such a run, infinite where one is no number alone;
  /// nothing when none of them is a tensor of numbers that comes back in full.
  std::optional<double> difference(std::span<const ir::Datum> outputs, int micro_batches) const;

 private:
  int micro_batches_;
  std::vector<ir::Type> types_;  // of one micro-batch
  std::vector<ir::Tensor> inputs_;
  std::vector<ir::Datum> outputs_;
};

}  // namespace podium::compare
