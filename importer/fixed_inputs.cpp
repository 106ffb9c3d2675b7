#include "importer/fixed_inputs.h"

#include <algorithm>

#include "ir/nearest.h"
#include "ir/passes/inline_branches.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::Tensor;

template <class T>
void fill(Tensor& tensor, const std::vector<double>& numbers) {
  std::size_t next = 0;
  for (T& element : tensor.values<T>()) {
    const double number = numbers[numbers.size() == 1 ? 0 : next++];
    // Both ends of a type of 64 bits are beyond it as doubles.
    const bool is_in_range =
        std::is_floating_point_v<T> || (number >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
                                        number < static_cast<double>(std::numeric_limits<T>::max()) + 1);
    if (is_in_range) element = static_cast<T>(number);
    if (!is_in_range || (!std::is_floating_point_v<T> && static_cast<double>(element) != number))
      throw Error("{} found, numbers of {} needed", number, name_of(tensor.type()));
  }
}

Tensor tensor_of(const ir::Type& type, const std::vector<double>& numbers) {
  Tensor tensor(type.element, type.dims);
  if (numbers.size() != 1 && std::ssize(numbers) != tensor.size())
    throw Error("{} numbers found, 1 or {} needed", numbers.size(), tensor.size());
  switch (type.element) {
    case DataType::Bool:
      fill<bool>(tensor, numbers);
      return tensor;
    case DataType::Int8:
      fill<std::int8_t>(tensor, numbers);
      return tensor;
    case DataType::Uint8:
      fill<std::uint8_t>(tensor, numbers);
      return tensor;
    case DataType::Int16:
      fill<std::int16_t>(tensor, numbers);
      return tensor;
    case DataType::Int32:
      fill<std::int32_t>(tensor, numbers);
      return tensor;
    case DataType::Int64:
      fill<std::int64_t>(tensor, numbers);
      return tensor;
    case DataType::Float:
      fill<float>(tensor, numbers);
      return tensor;
    case DataType::Double:
      fill<double>(tensor, numbers);
      return tensor;
    default:
      throw Error("{} found, bool, int8 to int64, uint8, float or double needed", name_of(type.element));
  }
}

ir::ValueId input_named(const ir::Graph& graph, const std::string& name) {
  std::vector<std::string_view> names;
  for (ir::ValueId id : graph.inputs) {
    if (graph[id].name == name) return id;
    names.emplace_back(graph[id].name);
  }
  throw Error("there is no input '{}', the nearest is '{}'", name, ir::nearest(name, names));
}

}  // namespace

void fix_inputs(Model& model, const std::map<std::string, std::vector<double>>& numbers) {
  if (numbers.empty()) return;
  ir::Graph& graph = model.graph;
  for (const auto& [name, of_input] : numbers) {
    const ir::ValueId id = input_named(graph, name);
    ir::Value& input = graph[id];
    if (!input.type.is_tensor() || !input.type.is_static())
      throw Error("input '{}' cannot be a constant: {} found, a tensor of known sizes needed (--dim)", name,
                  type_text(model.info.open, name, input.type));
    try {
      input.constant = tensor_of(input.type, of_input);
    } catch (const Error& error) {
      throw error.at(fmt::format("input '{}' as a constant", name));
    }
    std::erase(graph.inputs, id);
  }
  const std::vector<ir::OpId> origins = ir::inline_branches(graph);
  if (origins.empty()) return;
  std::vector<std::int32_t> nodes;
  for (ir::OpId origin : origins) nodes.push_back(model.nodes_of_ops.at(origin.index));
  model.nodes_of_ops = std::move(nodes);
}

}  // namespace podium::importer
