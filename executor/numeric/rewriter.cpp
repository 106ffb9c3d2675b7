// Two maps lead from each value to its producer and to its readers (an op that reads it twice is listed
// twice). Every erase and replace changes the maps, so a later match sees the graph as it has become. Ops do
// not move: an erased op is only marked. finish walks backwards, erases the ops that nobody reads any more,
// and then closes the gaps.
#include "executor/numeric/rewriter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "ir/infer.h"

namespace podium::numeric {

using ir::Op;
using ir::OpId;
using ir::ValueId;

Rewriter::Rewriter(ir::Graph& graph) : graph_(graph), alive_(std::ssize(graph.ops), true) {
  grow();
  for (ValueId id : graph.inputs) is_input_[id] = true;
  for (ValueId id : graph.outputs) is_output_[id] = true;
  for (OpId id : op_ids()) attach(id);
}

void Rewriter::grow() {
  const auto count = std::ssize(graph_.values);
  producers_.resize(count);
  readers_.resize(count);
  is_input_.resize(count, false);
  is_output_.resize(count, false);
}

void Rewriter::attach(OpId id) {
  grow();
  for (ValueId input : inputs_of(op(id))) readers_[input].push_back(id);
  for (ValueId output : outputs_of(op(id))) producers_[output] = id;
}

std::optional<OpId> Rewriter::producer(ValueId id, std::string_view name, std::string_view domain) const {
  if (!id.valid()) return std::nullopt;
  const OpId found = producer(id);
  if (!found.valid() || !op(found).is(name, domain)) return std::nullopt;
  return found;
}

OpId Rewriter::only_reader(ValueId id) const {
  if (is_output(id) || readers(id).size() != 1) return {};
  return readers(id).front();
}

std::optional<OpId> Rewriter::only_reader(ValueId id, std::string_view name, std::string_view domain) const {
  const OpId found = only_reader(id);
  if (!found.valid() || !op(found).is(name, domain)) return std::nullopt;
  return found;
}

const ir::Tensor* Rewriter::constant(ValueId id) const {
  return graph_.is_constant(id) && !is_input_[id] ? &*graph_[id].constant : nullptr;
}

std::optional<double> Rewriter::number(ValueId id) const {
  const ir::Tensor* tensor = constant(id);
  if (tensor == nullptr || tensor->size() != 1 || tensor->type() != ir::DataType::Float) return std::nullopt;
  return tensor->to_number();
}

std::optional<ValueId> Rewriter::other_than_number(OpId id, double wanted) const {
  const Op& found = op(id);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto value = number(found.inputs[i]);
    const double tolerance = 2e-6 * std::max(1.0, std::abs(wanted));
    if (value && std::abs(*value - wanted) < tolerance) return found.inputs[1 - i];
  }
  return std::nullopt;
}

ValueId Rewriter::other_input(OpId id, ValueId value) const {
  const Op& found = op(id);
  return found.inputs[0] == value ? found.inputs[1] : found.inputs[0];
}

void Rewriter::erase(OpId id) {
  for (ValueId input : inputs_of(op(id))) std::erase(readers_[input], id);
  for (ValueId output : outputs_of(op(id))) {
    if (producers_[output] == id) producers_[output] = {};
  }
  alive_[id] = false;
  changed_ = true;
}

void Rewriter::replace(OpId id, Op replacement) {
  if (is_alive(id)) erase(id);
  graph_[id] = std::move(replacement);
  alive_[id] = true;
  attach(id);
}

bool Rewriter::finish() {
  if (!changed_) return false;
  for (OpId id : op_ids() | std::views::reverse) {
    const bool is_read = std::ranges::any_of(
        outputs_of(op(id)), [&](ValueId output) { return is_output(output) || !readers(output).empty(); });
    if (is_alive(id) && !is_read) erase(id);
  }
  std::vector<Op> kept;
  kept.reserve(graph_.ops.size());
  for (OpId id : op_ids()) {
    if (is_alive(id)) kept.push_back(std::move(graph_[id]));
  }
  graph_.ops = std::move(kept);
  return true;
}

bool rewrite_ops(ir::Graph& graph, const std::function<void(Rewriter&, ir::OpId)>& at) {
  Rewriter rewriter(graph);
  for (ir::OpId id : rewriter.op_ids()) {
    if (rewriter.is_alive(id)) at(rewriter, id);
  }
  return rewriter.finish();
}

Op make_op(std::string_view name, std::string_view domain, std::vector<ValueId> inputs,
           std::vector<ValueId> outputs, std::vector<ir::Attribute> attributes) {
  const ir::OpSpec* spec = ir::find_op(domain, name);
  IR_CHECK(spec != nullptr, "there is no op {} in domain '{}'", name, domain);
  return {.spec = spec,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attributes = std::move(attributes)};
}

ir::Op make_cast(ir::ValueId from, ir::DataType to) {
  return make_op("Cast", "", {from}, {}, {{"to", std::int64_t{static_cast<int>(to)}}});
}

ir::Op op_over(const ir::Graph& graph, std::string_view name, std::vector<ir::Op> members,
               const std::function<bool(ir::ValueId)>& leaves) {
  ir::Graph body;
  ir::Op op = make_op(name, "podium", {}, {});
  op.name = members.back().name;
  std::map<ir::ValueId, ir::ValueId> inside;
  for (ir::Op& member : members) {
    for (ir::ValueId& id : member.inputs) {
      if (!id.valid()) continue;
      const auto [entry, is_new] = inside.try_emplace(id);
      if (is_new) {
        entry->second = body.add_value(graph[id].name, graph[id].type);
        body.inputs.push_back(entry->second);
        op.inputs.push_back(id);
      }
      id = entry->second;
    }
    const ir::ValueId made = member.outputs[0];
    member.outputs[0] = inside[made] = body.add_value(graph[made].name, graph[made].type);
  }
  const std::set<ir::ValueId> brought(body.inputs.begin(), body.inputs.end());
  for (const auto& [outer, inner] : inside) {
    if (brought.contains(inner) || !leaves(outer)) continue;
    body.outputs.push_back(inner);
    op.outputs.push_back(outer);
  }
  body.ops = std::move(members);
  ir::set_attribute(op, "body", std::make_shared<const ir::Graph>(std::move(body)));
  return op;
}

void infer_types(ir::Graph& graph, const Op& op) {
  ir::InferContext context(graph, op);
  op.spec->infer(context);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid()) graph[op.outputs[i]].type = std::move(context.output_types[i]);
  }
}

bool has_input(const Op& op, std::size_t i) { return i < op.inputs.size() && op.inputs[i].valid(); }

bool is_vector(const Rewriter& rewriter, ir::ValueId id, std::int64_t count) {
  const ir::Tensor* tensor = rewriter.constant(id);
  return tensor != nullptr && tensor->size() == count && tensor->rank() >= 1 &&
         tensor->dim(tensor->rank() - 1) == count;
}

ir::ValueId as_vector(ir::Graph& graph, ir::ValueId constant) {
  const ir::Tensor& numbers = *graph[constant].constant;
  if (numbers.rank() == 1) return constant;
  return graph.add_constant(graph.fresh_name(graph[constant].name), numbers.reshaped({numbers.size()}));
}

bool is_static_float(const ir::Graph& graph, const Op& op) {
  const auto fits = [&](ValueId id) {
    const ir::Type& type = graph[id].type;
    return type.is_static() && type.element == ir::DataType::Float && type.element_count() > 0;
  };
  return std::ranges::all_of(inputs_of(op), fits) && std::ranges::all_of(outputs_of(op), fits);
}

std::optional<ir::Dims> axes_of(const Rewriter& rewriter, const ir::Op& op) {
  if (op.inputs.size() < 2 || ir::attribute<std::int64_t>(op, "keepdims") == 0) return std::nullopt;
  const ir::Tensor* given = op.inputs[1].valid() ? rewriter.constant(op.inputs[1]) : nullptr;
  if (given == nullptr) return std::nullopt;
  const std::int64_t rank = rewriter.type(op.inputs[0]).rank();
  ir::Dims axes;
  for (const std::int64_t axis : given->to_ints()) axes.push_back(ir::normalized_axis(axis, rank));
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::optional<ir::ValueId> averaged(const Rewriter& rewriter, ir::ValueId id, const ir::Dims& axes) {
  const auto mean = rewriter.producer(id, "ReduceMean");
  if (!mean || axes_of(rewriter, rewriter.op(*mean)) != axes) return std::nullopt;
  return rewriter.op(*mean).inputs[0];
}

std::optional<ir::ValueId> centered(const Rewriter& rewriter, ir::ValueId id, const ir::Dims& axes) {
  const auto sub = rewriter.producer(id, "Sub");
  if (!sub) return std::nullopt;
  const ir::ValueId x = rewriter.op(*sub).inputs[0];
  return averaged(rewriter, rewriter.op(*sub).inputs[1], axes) == x ? std::optional(x) : std::nullopt;
}

}  // namespace podium::numeric
