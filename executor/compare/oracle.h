// A strategy beside one processor, op by op: equal to the bit, equal but for the order of sums, or the first
// tensor where they part (semantics, section 10.6).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/compare/follow.h"
#include "executor/report/oracle.h"
#include "executor/session/check_options.h"
#include "executor/session/training_session.h"

namespace podium::compare {

/// Settings of a session that can be followed: its values, anchors too, come back in full, each op has its
/// own kernel, and nothing is clocked, so that nothing has to fit into a memory either.
SessionOptions watching(SessionOptions options);

/// Why the values of such a session would not be those of one processor op by op; nothing where they are.
std::optional<std::string> why_not_judged(const Strategy& strategy, Task task);

/// The inputs of a step, in the order of the session's.
using InputsOfStep =
    std::function<std::vector<ir::Datum>(int step, const std::vector<executor::HostTensor>& inputs)>;

/// What one processor made of some steps.
struct PlainSteps {
  struct Step {
    TensorsByName outputs;
    TensorsByName weights;  ///< after it
  };
  TensorsByName weights = {};  ///< before all
  std::vector<Step> steps = {};
  std::vector<std::string_view> ops = {};  ///< the ops of its graph that make no accumulators
  bool adds_to_state = false;              ///< its accumulators are states of the optimizer
};

/// Runs a session that watches and takes all micro-batches in turn.
PlainSteps run_plainly(TrainingSession& session, int steps, const InputsOfStep& inputs);
PlainSteps run_plainly(InferenceSession& session, int steps, const InputsOfStep& inputs);

struct OracleRules {
  /// How far weights may lie apart after a step, as |a - b| / max(1, |b|), where each op is right by itself.
  double tolerance = 1e-3;
  std::uint64_t seed = 0;  ///< of the session
  int threads = 0;
};

/// Runs a session that watches, from its beginning, on the same micro-batches. Error as its run gives it.
report::OracleVerdict judge(TrainingSession& session, const PlainSteps& plain, const InputsOfStep& inputs,
                            const OracleRules& rules);
report::OracleVerdict judge(InferenceSession& session, const PlainSteps& plain, const InputsOfStep& inputs,
                            const OracleRules& rules);

}  // namespace podium::compare
