#include "importer/fixed_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/nearest.h"
#include "ir/passes/inline_branches.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::Tensor;

// What is as large as what folding makes of a small file at most. One number would fill all of the machine.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
// From here on a double stands for several whole numbers.
constexpr double kFirstInexact = 9007199254740992.0;

template <class T>
bool is_one_of(double number) {
  using Limits = std::numeric_limits<T>;
  const bool is_in_range =
      number >= static_cast<double>(Limits::lowest()) && number <= static_cast<double>(Limits::max());
  if constexpr (std::is_floating_point_v<T>) return is_in_range || !std::isfinite(number);
  return is_in_range && std::floor(number) == number;
}

template <class T>
void fill(Tensor& tensor, const std::vector<double>& numbers) {
  for (const double number : numbers) {
    if (!std::is_floating_point_v<T> && std::fabs(number) >= kFirstInexact && std::isfinite(number))
      throw Error("{} found, whole numbers below 2^53 needed", number);
    if (!is_one_of<T>(number)) throw Error("{} found, numbers of {} needed", number, name_of(tensor.type()));
  }
  std::size_t next = 0;
  for (T& element : tensor.values<T>()) element = static_cast<T>(numbers[numbers.size() == 1 ? 0 : next++]);
}

Tensor tensor_of(const ir::Type& type, const std::vector<double>& numbers) {
  if (type.element_count() > kMostBytes / static_cast<std::int64_t>(storage_bytes(type.element)))
    throw Error("{} found, at most 64 MiB needed", to_string(type));
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
