// How often a model that tells classes is right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "executor/cli/training_data.h"
#include "ir/graph.h"

namespace podium::cli {

/// What the loss of a classifier compares.
struct Classes {
  std::string scores;          ///< name of a tensor [samples, classes, ...]: the largest is the class
  std::string labels;          ///< name of the input [samples, ...] with the numbers of classes
  std::int64_t count = 0;      ///< of classes
  std::int64_t positions = 1;  ///< labels of a sample
  std::optional<std::int64_t> ignored = {};  ///< a label that stands for none
};

/// Nothing when the loss is no cross-entropy of labels that are an input. Types are inferred.
std::optional<Classes> find_classes(const ir::Graph& graph, const std::string& loss);

/// Error names the first label that is no class.
void check_labels(const Classes& classes, const Samples& samples);

/// Right answers and answers in all, over any number of micro-batches.
struct Tally {
  std::int64_t right = 0;
  std::int64_t all = 0;

  void add(const Classes& classes, const ir::Tensor& scores, const ir::Tensor& labels);
  double percent() const {
    return all == 0 ? 0 : 100.0 * static_cast<double>(right) / static_cast<double>(all);
  }
};

}  // namespace podium::cli
