// Dimensions get their sizes in this order: those that options give by name, what fed inputs bind, what
// options give by position ("x:0"), the size of all others ("*"), and what the caller assumes. Open is what
// is left before the last of these.
#include "importer/input_types.h"

#include <algorithm>
#include <optional>
#include <set>

#include "importer/type_proto.h"
#include "ir/nearest.h"

namespace podium::importer {
namespace {

constexpr const char* kEvery = "*";

std::string suggestion(const std::string& name, const std::set<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string_view near = ir::nearest_if_near(name, candidates);
  return near.empty() ? "" : fmt::format(", the nearest is '{}'", near);
}

void add_symbols(const onnx::TypeProto& type, std::set<std::string>& symbols) {
  if (type.has_sequence_type()) return add_symbols(type.sequence_type().elem_type(), symbols);
  if (type.has_optional_type()) return add_symbols(type.optional_type().elem_type(), symbols);
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (!dim.dim_param().empty()) symbols.insert(dim.dim_param());
  }
}

// How a user names a dimension that the model leaves without a name.
std::string position(const std::string& input, int axis) { return fmt::format("{}:{}", input, axis); }

void add_positions(const onnx::ValueInfoProto& input, std::set<std::string>& symbols) {
  const auto& shape = input.type().tensor_type().shape();
  for (int axis = 0; axis < shape.dim_size(); ++axis) {
    const bool is_open = !shape.dim(axis).has_dim_value() || shape.dim(axis).dim_value() < 0;
    if (is_open && shape.dim(axis).dim_param().empty()) symbols.insert(position(input.name(), axis));
  }
}

void check_options(const onnx::GraphProto& graph, const ImportOptions& options) {
  std::set<std::string> inputs;
  std::set<std::string> symbols;
  for (const auto& input : graph.input()) {
    inputs.insert(input.name());
    add_symbols(input.type(), symbols);
    add_positions(input, symbols);
  }
  for (const auto& output : graph.output()) add_symbols(output.type(), symbols);
  for (const auto& value : graph.value_info()) add_symbols(value.type(), symbols);
  for (const auto& [name, type] : options.input_types) {
    if (!inputs.contains(name))
      throw Error("input '{}' is fed, but the model has none of that name{}", name, suggestion(name, inputs));
  }
  for (const auto& [name, size] : options.dims) {
    if (!symbols.contains(name) && name != kEvery)
      throw Error("dimension '{}' is not in the model{}", name, suggestion(name, symbols));
    if (size < 0) throw Error("dimension '{}' is {}, 0 or more needed", name, size);
  }
}

// Walks the fed inputs and remembers who gave each symbol its value.
class Binder {
 public:
  explicit Binder(const ImportOptions& options) : symbols_(options.dims), fed_wins_(options.fed_shapes_win) {}

  void bind(const onnx::ValueInfoProto& input, const ir::Type& fed) {
    const ir::Type declared = type_from_proto(input.type(), symbols_);
    // The contents of an optional, a sequence or a map are known only once it is there.
    if (!declared.is_tensor()) return;
    const bool wrong_element = declared.element != ir::DataType::Undefined &&
                               fed.element != declared.element && fed.element != ir::DataType::Undefined;
    const bool wrong_rank = declared.has_rank && fed.has_rank && declared.rank() != fed.rank();
    if (!fed.is_tensor() || wrong_element || (wrong_rank && !fed_wins_)) {
      throw Error("input '{}': {} found, {} needed", input.name(), to_string(fed), to_string(declared));
    }
    if (!declared.has_rank || !fed.has_rank || wrong_rank) return;
    const auto& shape = input.type().tensor_type().shape();
    for (int i = 0; i < shape.dim_size(); ++i) bind_dim(input.name(), i, shape.dim(i), fed);
  }

  Symbols take() { return std::move(symbols_); }

 private:
  void bind_dim(const std::string& input, int axis, const onnx::TensorShapeProto::Dimension& declared,
                const ir::Type& fed) {
    const std::int64_t size = fed.dims[axis];
    if (size == ir::kUnknown) return;
    if (declared.dim_param().empty()) {
      if (!declared.has_dim_value() || declared.dim_value() < 0 || declared.dim_value() == size || fed_wins_)
        return;
      throw Error("input '{}': dimension {} is {}, {} needed", input, axis, size, declared.dim_value());
    }
    const auto [bound, is_new] = symbols_.emplace(declared.dim_param(), size);
    if (is_new) givers_[declared.dim_param()] = input;
    if (bound->second == size || fed_wins_) return;
    const auto giver = givers_.find(declared.dim_param());
    throw Error("input '{}': dimension {} is {}, {} needed because {} gives '{}' this value", input, axis,
                size, bound->second, giver == givers_.end() ? "the caller" : "input '" + giver->second + "'",
                declared.dim_param());
  }

  Symbols symbols_;
  bool fed_wins_;
  std::map<std::string, std::string> givers_;  // symbol to the input that gave its value
};

// Without the size of those that nothing binds.
Symbols bound_symbols(const onnx::GraphProto& graph, const ImportOptions& options) {
  Binder binder(options);
  for (const auto& input : graph.input()) {
    const auto fed = options.input_types.find(input.name());
    if (fed != options.input_types.end()) binder.bind(input, fed->second);
  }
  return binder.take();
}

// The size of a dimension that nothing else binds.
std::int64_t size_of_rest(const ImportOptions& options, const std::string& name) {
  for (const auto& [sizes, key] : {std::pair(&options.dims, std::string(kEvery)), {&options.assumed, name},
                                   {&options.assumed, kEvery}}) {
    if (const auto found = sizes->find(key); found != sizes->end()) return found->second;
  }
  return ir::kUnknown;
}

// The declared type with the symbols' values and the sizes that the options give by position.
ir::Type declared_type(const onnx::ValueInfoProto& input, const Symbols& symbols,
                       const ImportOptions& options) {
  ir::Type type = type_from_proto(input.type(), symbols);
  for (int axis = 0; type.is_tensor() && axis < type.rank(); ++axis) {
    const auto given = options.dims.find(position(input.name(), axis));
    if (given != options.dims.end() && type.dims[axis] == ir::kUnknown) type.dims[axis] = given->second;
  }
  return type;
}

// The declared type as far as options and fed inputs know it.
ir::Type known_type(const onnx::ValueInfoProto& input, const Symbols& symbols, const ImportOptions& options) {
  ir::Type type = declared_type(input, symbols, options);
  const auto fed = options.input_types.find(input.name());
  if (fed == options.input_types.end() || !type.is_tensor()) return type;
  if (type.element == ir::DataType::Undefined) type.element = fed->second.element;
  if (!fed->second.has_rank) return type;
  const bool is_free = !type.has_rank || (options.fed_shapes_win && type.rank() != fed->second.rank());
  if (is_free) type.dims.assign(fed->second.dims.size(), ir::kUnknown);
  type.has_rank = true;
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    const bool is_open =
        type.dims[i] == ir::kUnknown || (options.fed_shapes_win && fed->second.dims[i] != ir::kUnknown);
    if (is_open) type.dims[i] = fed->second.dims[i];
  }
  return type;
}

void add_open(const onnx::ValueInfoProto& value, const ir::Type& type, OpenDims& open) {
  if (!type.is_tensor() || type.is_static() || !type.has_rank) return;
  std::vector<std::string>& names = open.of_values[value.name()];
  for (int axis = 0; axis < type.rank(); ++axis) {
    const auto& shape = value.type().tensor_type().shape();
    const std::string name = axis < shape.dim_size() ? shape.dim(axis).dim_param() : "";
    names.push_back(type.dims[axis] != ir::kUnknown ? "" : name.empty() ? "?" : name);
  }
}

}  // namespace

Symbols bind_symbols(const onnx::GraphProto& graph, const ImportOptions& options) {
  check_options(graph, options);
  Symbols symbols = bound_symbols(graph, options);
  std::set<std::string> names;
  for (const auto& input : graph.input()) add_symbols(input.type(), names);
  for (const std::string& name : names) {
    const std::int64_t size = size_of_rest(options, name);
    if (size != ir::kUnknown) symbols.emplace(name, size);
  }
  return symbols;
}

OpenDims find_open_dims(const onnx::GraphProto& graph, const ImportOptions& options) {
  OpenDims open;
  if (options.dims.contains(kEvery)) return open;
  const Symbols symbols = bound_symbols(graph, options);
  for (const auto& input : graph.input()) {
    add_open(input, known_type(input, symbols, options), open);
    const auto found = open.of_values.find(input.name());
    for (std::size_t axis = 0; found != open.of_values.end() && axis < found->second.size(); ++axis) {
      std::string name = found->second[axis];
      if (name == "?") name = position(input.name(), static_cast<int>(axis));
      if (!name.empty() && std::ranges::count(open.names, name) == 0) open.names.push_back(std::move(name));
    }
  }
  for (const std::string& name : open.names) {
    const std::int64_t size = size_of_rest(options, name);
    if (size != ir::kUnknown) open.assumed.emplace(name, size);
  }
  for (const auto& output : graph.output()) add_open(output, type_from_proto(output.type(), symbols), open);
  return open;
}

ir::Type input_type(const onnx::ValueInfoProto& input, const Symbols& symbols, const ImportOptions& options) {
  ir::Type type = known_type(input, symbols, options);
  for (int axis = 0; type.is_tensor() && axis < type.rank(); ++axis) {
    std::int64_t& dim = type.dims[axis];
    if (dim == ir::kUnknown) dim = size_of_rest(options, position(input.name(), axis));
  }
  return type;
}

}  // namespace podium::importer
