// A Gradient names x and y by value names. If its inputs are the values named, the graph is differentiated as
// it is; else the ops from the values to y are appended once more on what the inputs feed, and that is
// differentiated. Ops behind the Gradient are set aside and put back after the gradient's ops. Weights that
// are differentiated are no constants while types are inferred, so that nothing that depends on them is
// folded.
#include "ir/gradients/expand_gradients.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/gradients/differentiate.h"
#include "ir/infer.h"

namespace podium::ir {
namespace {

bool is_gradient(const Op& op) { return op.is("Gradient", "ai.onnx.preview.training"); }

ValueId value_named(const Graph& graph, const std::string& name) {
  for (ValueId id : graph.value_ids()) {
    if (graph[id].name == name) return id;
  }
  throw Error("there is no value '{}'", name);
}

// The values that attributes xs and zs name, in the order of the inputs.
struct Request {
  std::vector<ValueId> named;
  std::size_t xs = 0;  // how many of them are differentiated
  ValueId y;
};

Request read_request(const Graph& graph, const Op& op) {
  Request request;
  StringList names = attribute<StringList>(op, "xs");
  request.xs = names.size();
  if (const auto* zs = attribute_if<StringList>(op, "zs")) names.insert(names.end(), zs->begin(), zs->end());
  if (names.size() != op.inputs.size()) {
    throw Error("{} inputs found, {} needed for xs and zs", op.inputs.size(), names.size());
  }
  if (op.outputs.size() > request.xs)
    throw Error("{} outputs found, at most {} needed", op.outputs.size(), request.xs);
  for (const std::string& name : names) request.named.push_back(value_named(graph, name));
  request.y = value_named(graph, attribute<std::string>(op, "y"));
  return request;
}

// Takes the op and all that depends on it out of the graph; the op comes first.
std::vector<Op> take_dependents(Graph& graph, std::size_t index) {
  std::vector<Op> taken{std::move(graph.ops[index])};
  IdMap<ValueId, bool> depends(std::ssize(graph.values), false);
  const auto mark = [&](const Op& op) {
    for (ValueId id : outputs_of(op)) depends[id] = true;
  };
  mark(taken[0]);
  std::vector<Op> kept;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (i == index) continue;
    Op& op = graph.ops[i];
    const bool reads_one = any_of(inputs_of(op), depends);
    if (reads_one) mark(op);
    (reads_one ? taken : kept).push_back(std::move(op));
  }
  graph.ops = std::move(kept);
  return taken;
}

// Appends the ops from the replaced values to `y` once more. Gives the new y.
ValueId compute_again(Graph& graph, ValueId y, std::map<ValueId, ValueId> replaced) {
  const std::size_t count = graph.ops.size();
  for (std::size_t i = 0; i < count; ++i) {
    bool changes = false;
    Op copy = graph.ops[i];
    for (ValueId& id : copy.inputs) {
      const auto found = replaced.find(id);
      if (found == replaced.end()) continue;
      id = found->second;
      changes = true;
    }
    if (!changes) continue;
    for (ValueId& id : copy.outputs) {
      if (!id.valid()) continue;
      const std::string name = graph[id].name;
      const ValueId fresh = graph.add_value(graph.fresh_name(name), Type(graph[id].type));
      replaced.emplace(id, fresh);  // unless it is replaced by what is fed
      id = fresh;
    }
    graph.ops.push_back(std::move(copy));
  }
  const auto found = replaced.find(y);
  return found == replaced.end() ? y : found->second;
}

// Ops that the rest of the graph reads under the old names.
void hand_over(Graph& graph, const Op& from, const std::vector<ValueId>& gradients) {
  for (std::size_t i = 0; i < from.outputs.size(); ++i) {
    if (!from.outputs[i].valid()) continue;
    Op identity{.spec = find_op("", "Identity")};
    identity.inputs = {gradients[i]};
    identity.outputs = {from.outputs[i]};
    graph.ops.push_back(std::move(identity));
  }
}

// Weights that a Gradient differentiates by: values that depend on them must not be folded.
std::vector<ValueId> differentiated_constants(const Graph& graph) {
  std::vector<ValueId> found;
  for (const Op& op : graph.ops) {
    if (!is_gradient(op)) continue;
    const Request request = read_request(graph, op);
    for (std::size_t i = 0; i < request.xs; ++i) {
      for (ValueId id : {request.named[i], op.inputs[i]}) {
        if (graph.is_constant(id) && std::find(found.begin(), found.end(), id) == found.end())
          found.push_back(id);
      }
    }
  }
  return found;
}

void infer_around(Graph& graph, const std::vector<ValueId>& variables, const InferOptions& options) {
  std::vector<std::optional<Tensor>> numbers;
  for (ValueId id : variables) numbers.push_back(std::exchange(graph[id].constant, std::nullopt));
  infer(graph, options);
  for (std::size_t i = 0; i < variables.size(); ++i) graph[variables[i]].constant = std::move(numbers[i]);
}

void expand(Graph& graph, std::size_t index, const std::vector<ValueId>& variables,
            const InferOptions& options) {
  const Request request = read_request(graph, graph.ops[index]);
  std::vector<Op> later = take_dependents(graph, index);
  const Op op = std::move(later[0]);
  for (const Op& other : later) {
    if (std::find(other.outputs.begin(), other.outputs.end(), request.y) != other.outputs.end()) {
      throw Error("'{}' depends on its own gradient", graph[request.y].name);
    }
  }
  std::map<ValueId, ValueId> replaced;
  std::vector<ValueId> fed = request.named;
  for (std::size_t i = 0; i < fed.size(); ++i) {
    if (op.inputs[i] == fed[i]) continue;
    replaced.emplace(fed[i], op.inputs[i]);
    fed[i] = op.inputs[i];
  }
  ValueId y = request.y;
  if (!replaced.empty()) {
    y = compute_again(graph, y, std::move(replaced));
    infer_around(graph, variables, options);
  }
  hand_over(graph, op, differentiate(graph, y, std::span(fed).first(request.xs)));
  for (std::size_t i = 1; i < later.size(); ++i) graph.ops.push_back(std::move(later[i]));
}

}  // namespace

bool expand_gradients(Graph& graph, const InferOptions& options) {
  const auto next = [&] { return std::find_if(graph.ops.begin(), graph.ops.end(), is_gradient); };
  if (next() == graph.ops.end()) return false;
  const std::vector<ValueId> variables = differentiated_constants(graph);
  infer_around(graph, variables, options);
  for (auto found = next(); found != graph.ops.end(); found = next()) {
    const std::string where = graph.describe(*found);
    try {
      expand(graph, found - graph.ops.begin(), variables, options);
    } catch (const Error& error) {
      throw error.at(where);
    }
  }
  return true;
}

}  // namespace podium::ir
