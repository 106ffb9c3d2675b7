// One survey of the graph, then one function per rule, each of which throws on the first node that breaks it
// (semantics, section 1.4). Rules come in an order in which each may rely on those before it: hints and
// metadata, what the mode needs, whether annotations are complete, where inheritance puts every op, and what
// must hold of these spots (processors exist; stages are dense and on one processor each; phases fit). Ops
// are exempt that need no place of their own: forward over the graph those that handle constants and shapes,
// backward those that no output depends on.
#include "annotate/check.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "annotate/spots.h"
#include "annotate/variable.h"
#include "ir/passes/differentiate_loss.h"
#include "ir/training.h"

namespace podium::annotate {
namespace {

using Ops = std::vector<ir::OpId>;

// A graph with the annotations of its nodes, and the nodes that need some.
struct Survey {
  const ir::Graph& graph;
  const Request& request;
  AllAnnotations annotations;
  ir::IdMap<ir::OpId, bool> exempt;
  AllSpots spots = {};

  template <class Condition>
  Ops select(Condition condition) const {
    Ops found;
    for (ir::OpId op : graph.op_ids()) {
      if (!exempt[op] && condition(annotations[op])) found.push_back(op);
    }
    return found;
  }
  std::string describe(ir::OpId op) const { return graph.describe(graph[op]); }
};

// The ops that only pass a value on, or that handle only values known before the run.
ir::IdMap<ir::OpId, bool> find_known(const ir::Graph& graph) {
  ir::IdMap<ir::ValueId, bool> known;
  for (const ir::Value& value : graph.values) known.push_back(value.constant || value.data_left_out);
  ir::IdMap<ir::OpId, bool> found;
  for (const ir::Op& op : graph.ops) {
    const bool is_known =
        !op.spec->random && std::ranges::all_of(inputs_of(op), [&](ir::ValueId id) { return known[id]; });
    const bool asks_shape = op.is("Shape") || op.is("Size");
    for (ir::ValueId id : outputs_of(op)) known[id] = is_known || asks_shape;
    found.push_back(is_known || asks_shape || op.is("Identity"));
  }
  return found;
}

// The ops that need no annotation: known ones, and ops that no output depends on.
ir::IdMap<ir::OpId, bool> find_exempt(const ir::Graph& graph) {
  ir::IdMap<ir::OpId, bool> exempt = find_known(graph);
  ir::IdMap<ir::ValueId, bool> live(std::ssize(graph.values), false);
  for (ir::ValueId id : graph.outputs) live[id] = true;
  for (ir::OpId id : graph.op_ids() | std::views::reverse) {
    if (any_of(outputs_of(graph[id]), live)) {
      for (ir::ValueId input : inputs_of(graph[id])) live[input] = true;
    } else {
      exempt[id] = true;
    }
  }
  return exempt;
}

void check_all_have_processor(const Survey& survey) {
  const Ops missing = survey.select([](const Annotations& op) { return !op.processor; });
  if (missing.empty()) return;
  std::map<int, int> counts;
  for (ir::OpId op : survey.select([](const Annotations& a) { return a.processor.has_value(); })) {
    ++counts[*survey.annotations[op].processor];
  }
  if (counts.empty()) {
    throw Error(
        "virtualGraphMode is manual, but no node has a virtual graph ({}): annotate the nodes, or use auto",
        kVirtualGraph);
  }
  std::string per_graph;
  for (const auto& [processor, count] : counts) {
    per_graph += fmt::format("{}{} of {}", per_graph.empty() ? "" : ", ", count, processor);
  }
  throw Error("either all nodes have a virtual graph or none: {} have none: {}; nodes per virtual graph: {}",
              missing.size(), list(survey.graph, missing), per_graph);
}

void check_processors_exist(const Survey& survey) {
  const int there = survey.request.processors;
  if (there == 0) return;
  const auto processor_of = [&](ir::OpId op) { return survey.spots[op].processor; };
  int needed = 0;
  for (ir::OpId op : survey.spots.ids()) needed = std::max(needed, processor_of(op) + 1);
  for (ir::OpId op : survey.spots.ids()) {
    if (processor_of(op) < there) continue;
    throw LacksProcessors(
        fmt::format("{} is on virtual graph {}, a replica has {} processor{}: 0 to {} needed",
                    survey.describe(op), processor_of(op), there, there == 1 ? "" : "s", there - 1),
        needed);
  }
}

// Stages of ops that are exempt count, but none has to be there for their sake.
void check_stages_are_dense(const Survey& survey) {
  std::set<int> stages;
  int highest = 0;
  for (ir::OpId op : survey.spots.ids()) {
    stages.insert(survey.spots[op].stage);
    if (!survey.exempt[op]) highest = std::max(highest, survey.spots[op].stage);
  }
  int next = 0;
  for (auto stage = stages.begin(); next <= highest; ++stage, ++next) {
    if (*stage == next) continue;
    throw Error("the nodes have {} pipeline stages, but stage {} is missing: stages 0 to {} needed",
                stages.size(), next, highest);
  }
}

void check_stage_on_one_processor(const Survey& survey) {
  std::map<int, ir::OpId> first_of_stage;
  for (ir::OpId op : survey.spots.ids()) {
    if (survey.exempt[op]) continue;
    const ir::OpId first = first_of_stage.emplace(survey.spots[op].stage, op).first->second;
    if (survey.spots[first].processor == survey.spots[op].processor) continue;
    throw Error(
        "{} and {} have the same pipeline stage {}, but are on virtual graphs {} and {}: one stage is on one "
        "virtual graph",
        survey.describe(first), survey.describe(op), survey.spots[op].stage, survey.spots[first].processor,
        survey.spots[op].processor);
  }
}

void check_all_have_stage(const Survey& survey) {
  if (infers_stages(survey.annotations, survey.request)) return;
  const Ops missing = survey.select([](const Annotations& op) { return !op.stage; });
  if (missing.empty()) return;
  throw Error("only some nodes have a pipeline stage: {} have none: {}", missing.size(),
              list(survey.graph, missing));
}

void check_pipeline(const Survey& survey) {
  std::set<int> processors;
  for (const Spot& spot : survey.spots) processors.insert(spot.processor);
  if (processors.size() < 2) throw Error("pipelining needs more than 1 processor, all nodes are on one");
  check_stages_are_dense(survey);
  check_stage_on_one_processor(survey);
}

void check_phases(const Survey& survey, const Ops& untold) {
  for (ir::OpId op : untold) {
    if (survey.exempt[op]) continue;
    throw Error("{}: its execution phase is not given, nor that of an op before or after it",
                survey.describe(op));
  }
  const int stages = survey.request.phase_stages;
  for (ir::OpId op : survey.spots.ids()) {
    const Spot& spot = survey.spots[op];
    if (spot.phase >= survey.request.phases) {
      throw Error("{} has execution phase {}, the highest of {} phases is {}", survey.describe(op),
                  spot.phase, survey.request.phases, survey.request.phases - 1);
    }
    if (!survey.exempt[op] && spot.phase % stages != spot.processor % stages) {
      throw Error(
          "{} has execution phase {} and virtual graph {}: with {} processors that take turns, both must "
          "leave the same remainder divided by {}",
          survey.describe(op), spot.phase, spot.processor, stages, stages);
    }
    const auto* context = ir::attribute_if<std::int64_t>(survey.graph[op], kExecutionContext);
    if (context != nullptr && *context != 0 && survey.annotations[op].phase) {
      throw Error("{} has execution phase {} and execution context {}: phases are for the normal context, 0",
                  survey.describe(op), spot.phase, *context);
    }
  }
}

// Two, or as many as the nodes are placed on.
int needed_by_pipeline(const Survey& survey) {
  if (survey.request.mode != Mode::Manual) return 2;
  int needed = 1;
  for (const Annotations& op : survey.annotations) needed = std::max(needed, op.processor.value_or(0) + 1);
  return needed;
}

void check_more_than_one_processor(const Survey& survey) {
  if (survey.request.processors != 1) return;
  const std::string text = "pipelining needs more than 1 processor, 1 found";
  const int needed = needed_by_pipeline(survey);
  if (needed == 1) throw Error(text);
  throw LacksProcessors(text, needed);
}

void check_all_hints(const ir::Graph& graph) {
  for (const ir::Op& op : graph.ops) {
    try {
      check_compiler_hints(op);
    } catch (const Error& error) {
      throw error.at(graph.describe(op));
    }
  }
}

}  // namespace

void check(const ir::Graph& graph, const Metadata& metadata, const Request& request) {
  check_settings(graph, read_metadata(metadata));
  check_all_hints(graph);
  Survey survey{graph, request, read_all(graph), find_exempt(graph)};
  if (request.pipelining && request.mode == Mode::Off) {
    throw Error("pipelining needs virtualGraphMode to be other than off");
  }
  if (request.pipelining) check_more_than_one_processor(survey);
  if (request.mode == Mode::Off || request.mode == Mode::Auto) return;
  if (request.mode == Mode::Manual) check_all_have_processor(survey);
  if (request.pipelining) check_all_have_stage(survey);
  Spots found = find_spots(graph, survey.annotations, request);
  survey.spots = std::move(found.of_ops);
  check_processors_exist(survey);
  if (request.pipelining) check_pipeline(survey);
  if (has_phases(request)) check_phases(survey, found.untold);
  check_order(graph, survey.spots, survey.exempt);
}

void check_contexts(const ir::Graph& graph, std::string_view loss) {
  const ir::IdMap<ir::OpId, bool> known = find_known(graph);
  const ir::IdMap<ir::ValueId, ir::OpId> makers = ir::producers(graph);
  const auto is_late = [&](ir::ValueId id) {
    const ir::OpId maker = makers[id];
    return maker.valid() && ir::is_outer(graph[maker]) && !known[maker];
  };
  const auto late = [&](ir::ValueId id) {
    return fmt::format("{}, which runs once per update ({} = {})", graph.describe(graph[makers[id]]),
                       kExecutionContext, ir::kOuterContext);
  };
  for (const ir::Op& op : graph.ops) {
    if (ir::is_outer(op)) continue;
    for (ir::ValueId id : inputs_of(op)) {
      if (!is_late(id)) continue;
      throw Error("{} runs for each micro-batch and reads '{}' of {}: {} needed there", graph.describe(op),
                  graph[id].name, late(id), ir::kNormalContext);
    }
  }
  const ir::ValueId made = ir::find_value(graph, loss);
  if (!made.valid() || !is_late(made)) return;
  throw Error("loss '{}' is made by {}: derivatives need it for each micro-batch, {} needed there", loss,
              late(made), ir::kNormalContext);
}

}  // namespace podium::annotate
