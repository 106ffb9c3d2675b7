// Runs a graph that trains, micro-batch by micro-batch, without a Program of training around it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "ir/training.h"

namespace podium::testing {

using TensorsByName = std::map<std::string, ir::Tensor>;

class GraphTrainer {
 public:
  explicit GraphTrainer(ir::Training training, int replicas = 1);

  /// One update. `micro_batches` holds the data inputs of each micro-batch, replica fastest;
  /// `hyper_parameters` are in the order of Training::hyper_parameters. The loss of the last micro-batch on
  /// replica 0.
  double step(const std::vector<TensorsByName>& micro_batches,
              const std::vector<ir::Tensor>& hyper_parameters = {});

  const ir::Tensor& variable(const std::string& name, int replica = 0) const {
    return variables_[replica].at(name);
  }
  const ir::Training& training() const { return training_; }

 private:
  ir::Training training_;
  std::vector<TensorsByName> variables_;  // per replica
  std::vector<std::string> handed_over_;  // made in a micro-batch, read in the outer context
  std::unique_ptr<InferenceSession> inner_;
  std::unique_ptr<InferenceSession> outer_;
};

}  // namespace podium::testing
