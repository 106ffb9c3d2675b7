// A session is run step by step, and each run is followed op by op (follow.h). Between steps what the session
// holds has to be what the last op of an update made, and, where no sum was added up in another order on the
// way, what one processor holds.
#include "executor/compare/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "executor/compare/differences.h"
#include "executor/compare/results.h"
#include "ir/ops/replicated.h"

namespace podium::compare {
namespace {

using ir::Tensor;

bool adds_to_state(const Watched& watched) {
  const ir::Training& whole = watched.whole;
  return std::ranges::any_of(whole.variables, [&](const ir::Variable& variable) {
    return variable.kind == ir::VariableKind::OptimizerState &&
           std::ranges::count(whole.reduced, variable.value) > 0;
  });
}

bool exchanges(const ir::Graph& graph) {
  return std::ranges::any_of(graph.ops, [](const ir::Op& op) { return ir::exchanges_between_replicas(op); });
}

bool shares_state(const Strategy& strategy) {
  if (strategy.replicas == 1) return false;
  const auto is_shared = [](const LocationSettings& settings) { return settings.location.sharded; };
  return is_shared(strategy.weights) || is_shared(strategy.optimizer_state) ||
         is_shared(strategy.accumulators) ||
         std::ranges::any_of(strategy.location_overrides, [](const auto& one) { return one.second.sharded; });
}

// The statistics are each replica's own.
TensorsByName weights_of(const TrainingSession& session) {
  TensorsByName weights = session.weights();
  for (const auto& [name, value] : session.statistics()) weights.erase(name);
  return weights;
}
TensorsByName weights_of(const InferenceSession& /*session*/) { return {}; }

TensorsByName variables_of(const TrainingSession& session) {
  TensorsByName variables = session.weights();
  variables.merge(session.optimizer_state());
  return variables;
}
TensorsByName variables_of(const InferenceSession& /*session*/) { return {}; }

TensorsByName named(const std::vector<executor::HostTensor>& outputs, std::span<const ir::Datum> results) {
  TensorsByName tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (results[i].is_tensor()) tensors.emplace(outputs[i].name, results[i].tensor.clone());
  }
  return tensors;
}

template <class Session>
PlainSteps plain_steps(Session& session, int steps, const InputsOfStep& inputs) {
  PlainSteps plain{.weights = weights_of(session), .adds_to_state = adds_to_state(*session.watched())};
  for (auto& [name, weight] : plain.weights) weight = weight.clone();
  for (int step = 0; step < steps; ++step) {
    const auto results = session.run(inputs(step, session.inputs()));
    plain.steps.push_back({named(session.outputs(), results), weights_of(session)});
    for (auto& [name, weight] : plain.steps.back().weights) weight = weight.clone();
  }
  return plain;
}

// What a session holds between steps.
class Between {
 public:
  Between(Follower& follower, double tolerance) : follower_(follower), tolerance_(tolerance) {}

  void hold_together(const TensorsByName& held, const TensorsByName& plain, int step) {
    const std::string when = step == 0 ? "before the first step" : fmt::format("after step {}", step);
    for (const auto& [name, value] : held) {
      const Tensor* made = follower_.variable(name);
      if (made == nullptr) continue;
      if (differences(value, *made).any())
        return follower_.part_at(name, value, *made, when, "it is not what the update has made");
    }
    double largest = 0;
    for (const auto& [name, wanted] : plain) {
      const auto found = held.find(name);
      if (found == held.end()) continue;
      const double apart = largest_difference(found->second, wanted);
      largest = std::max(largest, apart);
      const bool may_differ = step > 0 && !follower_.is_exact(name) && apart <= tolerance_;
      if (may_differ || !differences(found->second, wanted).any()) continue;
      return follower_.part_at(
          name, found->second, wanted, when,
          follower_.is_exact(name) ? "" : "each op is right by itself, or within the bound of its sum");
    }
    follower_.verdict().difference = largest;
  }

 private:
  Follower& follower_;
  double tolerance_;
};

// A variable that the session gives with an axis of groups.
std::optional<std::string> grouped_weight(const TensorsByName& held, const ir::Training& whole) {
  for (const ir::Variable& variable : whole.variables) {
    const ir::Value& value = whole.graph[variable.value];
    const auto found = held.find(value.name);
    if (found != held.end() && found->second.dims() != value.type.dims) return value.name;
  }
  return std::nullopt;
}

template <class Session>
report::OracleVerdict verdict_of(Session& session, const PlainSteps& plain, const InputsOfStep& inputs,
                                 const OracleRules& rules) {
  const Watched& watched = *session.watched();
  const Strategy& strategy = session.strategy();
  if (exchanges(watched.whole.graph))
    return {.why_not = "the model exchanges tensors between replicas itself"};
  Follower follower(watched, {.batches = strategy.batches_per_step,
                              .accumulation = strategy.accumulation_factor,
                              .replicas = strategy.replicas,
                              .shares_state = shares_state(strategy),
                              .adds_to_state = plain.adds_to_state || adds_to_state(watched),
                              .prepare = {.seed = rules.seed, .threads = rules.threads}});
  Between between(follower, rules.tolerance);
  TensorsByName held = variables_of(session);
  if (const auto name = grouped_weight(held, watched.whole))
    return {.why_not = fmt::format("'{}' has a value for each group of replicas", *name)};
  follower.start(held);
  between.hold_together(held, plain.weights, 0);
  for (std::size_t step = 0; step < plain.steps.size() && !follower.verdict().parting; ++step) {
    const std::vector<ir::Datum> given = inputs(static_cast<int>(step), session.inputs());
    const auto results = session.run(given);
    follower.follow({session.inputs(), given, session.outputs(), results}, plain.steps[step].outputs);
    if (follower.verdict().parting) break;
    held = variables_of(session);
    between.hold_together(held, plain.steps[step].weights, static_cast<int>(step) + 1);
  }
  return follower.verdict();
}

}  // namespace

SessionOptions watching(SessionOptions options) {
  options.fuse = false;
  options.watches = true;
  options.clock = false;
  options.events = false;
  options.estimate = false;
  return options;
}

std::optional<std::string> why_not_judged(const Strategy& strategy, Task task) {
  if (strategy.batch_serialization.factor > 1)
    return fmt::format("its values are those of {} slices of a micro-batch",
                       strategy.batch_serialization.factor);
  const bool is_stale = task == Task::Training && strategy.pipelining && strategy.accumulation_factor == 1 &&
                        strategy.pipeline_order == PipelineOrder::Lockstep;
  if (is_stale) return "its pipeline updates with weights of earlier micro-batches (accumulation needed)";
  return std::nullopt;
}

PlainSteps run_plainly(TrainingSession& session, int steps, const InputsOfStep& inputs) {
  return plain_steps(session, steps, inputs);
}

PlainSteps run_plainly(InferenceSession& session, int steps, const InputsOfStep& inputs) {
  return plain_steps(session, steps, inputs);
}

report::OracleVerdict judge(TrainingSession& session, const PlainSteps& plain, const InputsOfStep& inputs,
                            const OracleRules& rules) {
  return verdict_of(session, plain, inputs, rules);
}

report::OracleVerdict judge(InferenceSession& session, const PlainSteps& plain, const InputsOfStep& inputs,
                            const OracleRules& rules) {
  return verdict_of(session, plain, inputs, rules);
}

}  // namespace podium::compare
