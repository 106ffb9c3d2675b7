// A random model that trains under a random strategy, and what one processor has to do to train it alike.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "executor/session/training_session.h"
#include "tests/strategies/random_model.h"

namespace podium::testing {

struct RandomCase {
  RandomModel model;
  TrainingOptions options = {.session = {.clock = true}, .loss = "loss"};
  bool combined = false;   ///< velocities hold more the more of an update is accumulated
  bool broadcast = false;  ///< every replica gets the same z
  bool in_half = false;    ///< float16 weights and data
  bool resumes = false;    ///< from a file, before the last step
  bool stale = false;      ///< a pipeline without accumulation: every replica gets the same
  std::map<std::string, ir::ReplicaGroup> groups = {};  ///< of weights that not all replicas share
};

RandomCase random_case(unsigned seed, Layers layers = Layers::Few);

ir::TensorLocation random_location(Random& random, int replicas);

/// Whether sums come in the order of one processor, apart from what blocks make of them that are rewritten.
bool keeps_order(const RandomCase& made);

/// The micro-batches of an input in a step, with those that all replicas share as often as there are
/// replicas.
std::vector<ir::Tensor> micro_batches(const std::string& input, const RandomCase& made, std::mt19937& random);

/// One processor that sees what all replicas see, and gives all of each anchor.
TrainingOptions alone(const RandomCase& made);

}  // namespace podium::testing
