#include "tests/support/graph_equations.h"

#include "ir/training.h"

namespace podium::testing {
namespace {

using ir::ValueId;

// A colon is in names that Graph::fresh_name gives.
bool has_own_name(const ir::Value& value) { return value.name.find(':') == std::string::npos; }

class Equations {
 public:
  explicit Equations(const ir::Graph& graph) : graph_(graph), producers_(producers(graph)) {}

  std::string right_side(ValueId id) const { return producers_[id].valid() ? call(id) : operand(id); }
  bool is_outer(ValueId id) const { return producers_[id].valid() && ir::is_outer(graph_[producers_[id]]); }

 private:
  std::string operand(ValueId id) const {
    const ir::Value& value = graph_[id];
    if (value.constant && value.type.element_count() == 1)
      return fmt::format("{:.6g}", value.constant->to_number());
    if (!producers_[id].valid() || has_own_name(value)) return value.name.substr(0, value.name.find(':'));
    return call(id);
  }
  std::string call(ValueId id) const {
    const ir::Op& op = graph_[producers_[id]];
    std::string operands;
    for (ValueId input : inputs_of(op)) operands += (operands.empty() ? "" : ", ") + operand(input);
    return fmt::format("{}({})", op.spec->name, operands);
  }

  const ir::Graph& graph_;
  ir::IdMap<ValueId, ir::OpId> producers_;
};

}  // namespace

std::string equation_of(const ir::Graph& graph, ValueId id) { return Equations(graph).right_side(id); }

std::string equation_of(const ir::Graph& graph, const std::string& name) {
  for (ValueId id : graph.value_ids()) {
    if (graph[id].name == name) return equation_of(graph, id);
  }
  return "";
}

std::string equations_of(const ir::Graph& graph, std::size_t known) {
  const Equations equations(graph);
  std::string lines;
  for (std::size_t i = known; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i];
    lines += (equations.is_outer(id) ? "outer: " : "") + equations.right_side(id) + "\n";
  }
  return lines;
}

}  // namespace podium::testing
