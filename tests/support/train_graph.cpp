#include "tests/support/train_graph.h"

#include <algorithm>

#include "ir/gradients/gradient.h"
#include "ir/passes/make_training.h"

namespace podium::testing {
namespace {

ir::Datum find_input(const std::string& name, const std::vector<const TensorsByName*>& sources) {
  for (const TensorsByName* source : sources) {
    if (const auto found = source->find(name); found != source->end()) return found->second;
  }
  throw InternalError("nothing feeds '" + name + "'");
}

TensorsByName run(InferenceSession& session, const std::vector<const TensorsByName*>& sources) {
  std::vector<ir::Datum> inputs;
  for (const auto& input : session.inputs()) inputs.push_back(find_input(input.name, sources));
  const auto results = session.run(inputs);
  TensorsByName outputs;
  for (std::size_t i = 0; i < results.size(); ++i)
    outputs[session.outputs()[i].name] = results[i].tensor.clone();
  return outputs;
}

// Replicas that reduce a value all hold the sum, or the mean.
void reduce(std::vector<TensorsByName>& replicas, const std::string& name, bool by_mean) {
  ir::Tensor total = replicas[0].at(name).clone();
  for (std::size_t i = 0; i < static_cast<std::size_t>(total.size()); ++i) {
    float& sum = total.values<float>()[i];
    for (std::size_t r = 1; r < replicas.size(); ++r) sum += replicas[r].at(name).values<float>()[i];
    if (by_mean) sum /= static_cast<float>(replicas.size());
  }
  for (TensorsByName& replica : replicas) replica[name] = total;
}

// The ops of one context; what they read and nothing of them makes is an input.
ir::Graph part(const ir::Training& training, bool outer, const std::vector<ir::ValueId>& more_outputs) {
  ir::Graph graph = training.graph;
  std::erase_if(graph.ops, [&](const ir::Op& op) { return ir::is_outer(op) != outer; });
  graph.inputs.clear();
  graph.outputs = more_outputs;
  for (const ir::Update& update : training.updates) {
    const ir::ValueId output = training.graph.outputs[update.output];
    if (update.outer == outer) graph.outputs.push_back(output);
  }
  const auto makers = ir::producers(graph);
  const auto uses = ir::use_counts(graph);
  for (ir::ValueId id : graph.value_ids()) {
    if (uses[id] == 0 || makers[id].valid() || graph[id].constant) continue;
    graph.inputs.push_back(id);
  }
  return graph;
}

std::vector<ir::ValueId> handed_over(const ir::Training& training) {
  const auto makers = ir::producers(training.graph);
  std::vector<ir::ValueId> values;
  for (const ir::Op& op : training.graph.ops) {
    if (!ir::is_outer(op)) continue;
    for (ir::ValueId id : op.inputs) {
      if (!id.valid()) continue;
      const ir::OpId maker = makers[id];
      const bool is_data = !maker.valid() && !training.graph.is_constant(id);
      if ((maker.valid() && !ir::is_outer(training.graph[maker])) || is_data) values.push_back(id);
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void apply(const ir::Training& training, bool outer, const TensorsByName& results, TensorsByName& variables) {
  TensorsByName next = variables;
  for (const ir::Update& update : training.updates) {
    if (update.outer != outer) continue;
    next[training.graph[update.variable].name] =
        results.at(training.graph[training.graph.outputs[update.output]].name);
  }
  variables = std::move(next);
}

std::unique_ptr<InferenceSession> session_of(ir::Graph graph) {
  return std::make_unique<InferenceSession>(
      importer::Model{.graph = std::move(graph), .info = {}, .source = nullptr}, SessionOptions{});
}

}  // namespace

GraphTrainer::GraphTrainer(ir::Training training, int replicas)
    : training_(std::move(training)), variables_(static_cast<std::size_t>(replicas)) {
  TensorsByName first;
  for (const ir::Variable& variable : training_.variables)
    first[training_.graph[variable.value].name] = variable.initial;
  std::fill(variables_.begin(), variables_.end(), first);
  std::vector<ir::ValueId> inner_outputs{training_.graph.outputs[training_.loss]};
  for (ir::ValueId id : handed_over(training_)) {
    const std::string& name = training_.graph[id].name;
    if (first.contains(name)) continue;
    const auto& hyper = training_.hyper_parameters;
    if (std::any_of(hyper.begin(), hyper.end(), [&](const auto& one) { return one.value == id; })) continue;
    handed_over_.push_back(name);
    inner_outputs.push_back(id);
  }
  inner_ = session_of(part(training_, false, inner_outputs));
  outer_ = session_of(part(training_, true, {}));
}

double GraphTrainer::step(const std::vector<TensorsByName>& micro_batches,
                          const std::vector<ir::Tensor>& hyper_parameters) {
  TensorsByName hyper;
  for (std::size_t i = 0; i < hyper_parameters.size(); ++i)
    hyper[training_.graph[training_.hyper_parameters[i].value].name] = hyper_parameters[i];
  std::vector<TensorsByName> made(variables_.size());
  double loss = 0;
  for (std::size_t m = 0; m < micro_batches.size(); ++m) {
    const std::size_t replica = m % variables_.size();
    made[replica] = run(*inner_, {&micro_batches[m], &variables_[replica], &hyper});
    apply(training_, false, made[replica], variables_[replica]);
    const std::string& name = training_.graph[training_.graph.outputs[training_.loss]].name;
    if (replica == 0) loss = made[replica].at(name).to_number();
  }
  for (ir::ValueId id : training_.reduced) {
    const std::string& name = training_.graph[id].name;
    if (variables_.size() > 1)
      reduce(made[0].contains(name) ? made : variables_, name, training_.reduces_by_mean);
  }
  for (std::size_t r = 0; r < variables_.size(); ++r) {
    apply(training_, true, run(*outer_, {&made[r], &variables_[r], &hyper}), variables_[r]);
  }
  return loss;
}

}  // namespace podium::testing
