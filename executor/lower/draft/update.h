// What follows once the gradients of an update are complete: they meet over the replicas, then blocks update
// the variables.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "executor/lower/draft/draft.h"
#include "executor/lower/draft/host_io.h"

namespace podium::lower {

class UpdateSteps {
 public:
  /// The processors that hold a value, the one that had it first in front; what is brought is added.
  using Places = std::function<std::vector<int>&(ir::ValueId)>;

  UpdateSteps(Draft& draft, HostIo& io, Places places);

  /// Parts come in an order in which they can run, after everything that makes gradients.
  void add(Part& part, const std::string& name);
  /// The reductions, then the parts; what is off chip is reduced right before the part that reads it first.
  std::vector<executor::Step> take();

 private:
  void reduce_off_chip(const Part& part);

  Draft& draft_;
  HostIo& io_;
  Places places_;
  std::set<ir::ValueId> waits_;  ///< off chip, and no part has read it
  std::set<ir::ValueId> is_reduced_;
  std::vector<executor::Step> steps_;
};

/// Sums, or averages, what a processor of every replica holds.
executor::Step reduction(Draft& draft, ir::ValueId value, int processor);

}  // namespace podium::lower
