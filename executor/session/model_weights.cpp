// The rules that tell weights from numbers of formulas. Initializers without dimensions are told by what they
// are combined with, and by their names, for exporters store a learnable scalar under its parameter's name
// and a number of a formula under one that they make up. Others are told by who reads them.
#include "executor/session/model_weights.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

#include "ir/infer.h"
#include "ir/passes/make_training.h"

namespace podium {

bool is_weight(const ir::Value& value) {
  return (value.constant || value.data_left_out) && value.type.is_tensor() &&
         ir::is_float(value.type.element);
}

namespace {

std::vector<ir::ValueId> float_initializer_ids(const importer::Model& model) {
  const ir::Graph& graph = model.graph;
  const std::map<std::string, ir::Type> known = importer::initializer_types(model);
  const auto uses = use_counts(graph);
  std::vector<ir::ValueId> ids;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph[id];
    if (uses[id] == 0 || !is_weight(value)) continue;
    if (model.source == nullptr || known.contains(value.name)) ids.push_back(id);
  }
  return ids;
}

std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  std::vector<std::string> names;
  for (ir::ValueId id : ids) names.push_back(graph[id].name);
  return names;
}

bool is_all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Names under which exporters store what their constant folding leaves of a formula.
bool is_made_up(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const std::string_view text = lower;
  constexpr std::array<std::string_view, 4> kParts{"onnx::", "const", "scalar", "ortshared"};
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (std::any_of(kParts.begin(), kParts.end(), has) || text.starts_with('/')) return true;
  if (text.ends_with("eps") || text.ends_with("epsilon")) return true;
  if (text.ends_with("/x:0") || text.ends_with("/y:0")) return true;
  for (std::string_view start : {"", "val_", "_val_"}) {
    if (text.starts_with(start) && is_all_digits(text.substr(start.size()))) return true;
  }
  return false;
}

// Whether the input says how large results are, or which numbers stand for classes.
bool is_setting(const ir::Op& op, std::size_t input) {
  if (op.is("Resize")) return input == 1 || input == 2;
  return op.is("OneHot") && input == 2;
}

bool combines(const ir::Op& op) {
  return op.is("Add") || op.is("Div") || op.is("Mul") || op.is("PRelu") || op.is("Sub");
}

// Which values depend on weights that have dimensions, and which of the scalars, alone or after ops of their
// own, are combined with such a value.
class Dependence {
 public:
  Dependence(const ir::Graph& graph, const std::vector<ir::ValueId>& weights)
      : graph_(graph), depends_(std::ssize(graph.values), false), readers_(consumers(graph)) {
    for (ir::ValueId id : weights) depends_[id] = true;
    for (const ir::Op& op : graph.ops) {
      if (!ir::any_of(inputs_of(op), depends_)) continue;
      for (ir::ValueId id : outputs_of(op)) depends_[id] = true;
    }
  }

  bool meets_weights(ir::ValueId scalar) const {
    return std::ranges::any_of(readers_[scalar], [&](ir::OpId reader) {
      const ir::Op& op = graph_[reader];
      if (combines(op) && scales_many(op)) return true;
      return is_alone(op, scalar) && !op.outputs.empty() && meets_weights(op.outputs[0]);
    });
  }

  // Whether all who read it, at once or after ops of its own, read it as a setting.
  bool is_setting_alone(ir::ValueId number) const {
    const std::span<const ir::OpId> readers = readers_[number];
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](ir::OpId reader) {
      const ir::Op& op = graph_[reader];
      bool is_read_so = true;
      for (std::size_t i = 0; i < op.inputs.size(); ++i)
        is_read_so = is_read_so && (op.inputs[i] != number || is_setting(op, i));
      return is_read_so ||
             (is_alone(op, number) && op.outputs.size() == 1 && is_setting_alone(op.outputs[0]));
    });
  }

 private:
  bool is_alone(const ir::Op& op, ir::ValueId number) const {
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [&](ir::ValueId id) { return !id.valid() || id == number || graph_.is_constant(id); });
  }

  // What is multiplied with one number, a loss, is a factor that somebody has chosen.
  bool scales_many(const ir::Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](ir::ValueId id) {
      return id.valid() && depends_[id] && !(graph_[id].type.has_rank && graph_[id].type.rank() == 0);
    });
  }

  const ir::Graph& graph_;
  ir::IdMap<ir::ValueId, bool> depends_;
  ir::Consumers readers_;
};

}  // namespace

WeightChoice choose_weights(const importer::Model& model) {
  const ir::Graph& graph = model.graph;
  std::vector<ir::ValueId> weights = float_initializer_ids(model);
  std::vector<ir::ValueId> scalars;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(scalars),
               [&](ir::ValueId id) { return graph[id].type.rank() == 0; });
  if (scalars.size() == weights.size()) return {.weights = names_of(graph, weights), .numbers = {}};
  std::erase_if(weights, [&](ir::ValueId id) { return graph[id].type.rank() == 0; });
  WeightChoice choice;
  const auto has_a_name = [&](ir::ValueId id) { return !is_made_up(graph[id].name); };
  ir::Graph typed = graph;
  if (std::any_of(scalars.begin(), scalars.end(), has_a_name)) ir::infer(typed);
  const Dependence dependence(typed, weights);
  std::erase_if(weights, [&](ir::ValueId id) {
    if (!dependence.is_setting_alone(id)) return false;
    choice.numbers.push_back(graph[id].name);
    return true;
  });
  for (ir::ValueId id : scalars) {
    if (has_a_name(id) && dependence.meets_weights(id)) {
      weights.push_back(id);
    } else {
      choice.numbers.push_back(graph[id].name);
    }
  }
  std::sort(weights.begin(), weights.end());
  choice.weights = names_of(graph, weights);
  return choice;
}

std::vector<std::string> weight_names(const importer::Model& model) { return choose_weights(model).weights; }

std::vector<std::string> float_initializers(const importer::Model& model) {
  return names_of(model.graph, float_initializer_ids(model));
}

ir::Training with_variables(ir::Graph graph, const std::vector<std::string>& names) {
  std::vector<ir::Variable> weights = ir::take_weights(graph, names);
  return {.graph = std::move(graph), .variables = std::move(weights)};
}

ir::Graph with_constants(const ir::Training& forward) {
  ir::Graph graph = forward.graph;
  std::set<ir::ValueId> constants;
  for (const ir::Variable& weight : forward.variables) {
    constants.insert(weight.value);
    if (weight.initial.defined()) graph[weight.value].constant = weight.initial;
    graph[weight.value].data_left_out = !weight.initial.defined();
  }
  std::erase_if(graph.inputs, [&](ir::ValueId id) { return constants.contains(id); });
  return graph;
}

}  // namespace podium
