// A session is run step by step, and each run is followed op by op (follow.h). Between steps what the session
// holds has to be what the last op of an update made, and, where no sum was added up in another order on the
// way, what one processor holds.
#include "executor/compare/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "executor/compare/differences.h"
#include "executor/compare/results.h"
#include "ir/accumulated_values.h"
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

// What a micro-batch computes, but for accumulation, in its order.
std::vector<std::string_view> ops_of_micro_batch(const Watched& watched) {
  const ir::IdMap<ir::ValueId, bool> accumulated = ir::accumulated_values(watched.whole);
  std::vector<std::string_view> ops;
  for (const ir::Op& op : watched.whole.graph.ops) {
    if (!ir::is_outer(op) && !any_of(inputs_of(op), accumulated)) ops.push_back(op.spec->name);
  }
  return ops;
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
  PlainSteps plain{.weights = weights_of(session),
                   .ops = ops_of_micro_batch(*session.watched()),
                   .adds_to_state = adds_to_state(*session.watched())};
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
  Between(Follower& follower, double tolerance, bool has_same_ops)
      : follower_(follower), tolerance_(tolerance), has_same_ops_(has_same_ops) {}

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
      if (!differences(found->second, wanted).any()) continue;
      const bool is_exact = follower_.is_exact(name);
      if (step == 0 || apart > tolerance_ || (is_exact && has_same_ops_))
        return follower_.part_at(
            name, found->second, wanted, when,
            is_exact ? "" : "each op is right by itself, or within the bound of its sum");
      if (is_exact) note_merged_ops(name, apart);
    }
    follower_.verdict().difference = largest;
  }

  // Nodes that say how their tensors are cut are not merged with equal ones, so that gradients which flow
  // into one op there flow into several here, and are added up later.
  void note_merged_ops(const std::string& weight, double apart) {
    std::vector<report::Reassociation>& explained = follower_.verdict().explained;
    const auto is_known = [&](const report::Reassociation& one) {
      return one.op.empty() && one.tensor == weight;
    };
    const auto known = std::ranges::find_if(explained, is_known);
    if (known != explained.end()) {
      known->difference = std::max(known->difference, apart);
      return;
    }
    explained.push_back({.op = "",
                         .tensor = weight,
                         .why = "gradients of equal ops that one processor merges added up apart",
                         .difference = apart,
                         .bound = tolerance_,
                         .is_estimate = true});
  }

 private:
  Follower& follower_;
  double tolerance_;
  bool has_same_ops_;  ///< as one processor
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
  Between between(follower, rules.tolerance, ops_of_micro_batch(watched) == plain.ops);
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
  for (auto& [name, anchor] : options.strategy.anchors) anchor = {};
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
