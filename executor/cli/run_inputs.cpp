#include "executor/cli/run_inputs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>

#include "executor/cli/session_options.h"
#include "executor/cli/write_file.h"
#include "importer/tensor_file.h"
#include "ir/nearest.h"
#include "ir/passes/set_precision.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;

const ir::Type& type_of_input(const importer::Signature& signature, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [known, type] : signature.inputs) {
    if (known == name) return type;
    names.push_back(known);
  }
  throw Error("--input {}: the model has no such input, the nearest is '{}'", name, ir::nearest(name, names));
}

void read_folder(const fs::path& folder, const importer::Signature& signature,
                 std::map<std::string, ir::Datum>& inputs) {
  if (!fs::is_directory(folder)) throw Error("--inputs {}: no such folder", folder.string());
  const std::size_t before = inputs.size();
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const auto& [name, type] = signature.inputs[i];
    const fs::path numbered = folder / fmt::format("input_{}.pb", i);
    const fs::path named = folder / (name + ".npy");
    if (inputs.contains(name)) continue;
    if (fs::exists(numbered)) {
      inputs[name] = importer::read_tensor_file(numbered.string(), type);
    } else if (fs::exists(named)) {
      inputs[name] = importer::read_tensor_file(named.string(), type);
    }
  }
  if (inputs.size() == before) {
    throw Error("--inputs {}: neither input_0.pb nor {}.npy found", folder.string(),
                signature.inputs.empty() ? "NAME" : signature.inputs[0].first);
  }
}

std::uint64_t mix(std::uint64_t seed, const std::string& name) {
  for (char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return seed + 0x9E3779B97F4A7C15U;
}

// Widths of a mt19937 draw, by hand: the standard distributions differ between libraries.
float unit(std::mt19937_64& random) { return static_cast<float>(random() >> 40) * 0x1p-24F; }

template <class T>
void fill(ir::Tensor& tensor, std::mt19937_64& random, T (*draw)(std::mt19937_64&)) {
  for (T& element : tensor.values<T>()) element = draw(random);
}

template <class T>
T draw_float(std::mt19937_64& random) {
  return T(2 * unit(random) - 1);
}

template <class T>
T draw_small(std::mt19937_64& random) {
  return static_cast<T>(random() >> 63);
}

void fill_random(ir::Tensor& tensor, std::mt19937_64& random) {
  using ir::DataType;
  switch (tensor.type()) {
    case DataType::Float:
      return fill<float>(tensor, random, draw_float<float>);
    case DataType::Double:
      return fill<double>(tensor, random, draw_float<double>);
    case DataType::Float16:
      return fill<ir::Float16>(tensor, random, draw_float<ir::Float16>);
    case DataType::Bfloat16:
      return fill<ir::Bfloat16>(tensor, random, draw_float<ir::Bfloat16>);
    case DataType::Int64:
      return fill<std::int64_t>(tensor, random, draw_small<std::int64_t>);
    case DataType::Int32:
      return fill<std::int32_t>(tensor, random, draw_small<std::int32_t>);
    case DataType::Uint8:
      return fill<std::uint8_t>(tensor, random, draw_small<std::uint8_t>);
    case DataType::Int8:
      return fill<std::int8_t>(tensor, random, draw_small<std::int8_t>);
    case DataType::Bool:
      return fill<bool>(tensor, random, draw_small<bool>);
    default:
      throw Error("inputs of type {} cannot be drawn at random, a file is needed", name_of(tensor.type()));
  }
}

}  // namespace

std::map<std::string, ir::Datum> read_inputs(const Options& options, const importer::Signature& signature) {
  std::map<std::string, ir::Datum> inputs;
  for (const auto& [name, file] : options.inputs) {
    inputs[name] = importer::read_tensor_file(file, type_of_input(signature, name));
  }
  if (!options.inputs_folder.empty()) read_folder(options.inputs_folder, signature, inputs);
  return inputs;
}

namespace {

// Nothing when the array holds no whole micro-batches of the declared rank.
std::optional<ir::Type> micro_batch_type(const ir::Type& array, const ir::Type& declared,
                                         std::int64_t count) {
  if (count == 1 || !array.is_tensor()) return array;
  if (!declared.has_rank || declared.is_static()) return std::nullopt;
  ir::Dims dims = array.dims;
  std::int64_t leading = 1;
  while (dims.size() > declared.dims.size()) {
    leading *= dims.front();
    dims.erase(dims.begin());
  }
  if (dims.size() < declared.dims.size()) return std::nullopt;
  if (leading == count) return ir::Type::tensor(array.element, dims);
  if (leading != 1 || dims.empty() || dims.front() % count != 0) return std::nullopt;
  dims.front() /= count;
  return ir::Type::tensor(array.element, dims);
}

}  // namespace

std::map<std::string, ir::Type> micro_batch_types(const std::map<std::string, ir::Datum>& given,
                                                  const importer::Signature& signature,
                                                  const podium::Options& strategy) {
  const std::int64_t count = std::int64_t{strategy.batches_per_step} * strategy.replicas;
  std::map<std::string, ir::Type> types;
  for (const auto& [name, declared] : signature.inputs) {
    const auto found = given.find(name);
    if (found == given.end()) continue;
    const auto type = micro_batch_type(type_of(found->second), declared, count);
    if (type) types[name] = *type;
  }
  return types;
}

importer::Model import(const Options& options, const std::map<std::string, ir::Type>& types) {
  importer::Model model =
      importer::import_model(options.paths[0], {.dims = options.dims, .input_types = types});
  if (options.precision) ir::set_precision(model.graph, *options.precision);
  return model;
}

std::int64_t samples_of(const ir::Graph& graph) {
  if (graph.inputs.empty()) return 1;
  const ir::Type& type = graph[graph.inputs[0]].type;
  return type.rank() > 0 && type.dims[0] > 0 ? type.dims[0] : 1;
}

ir::Datum in_precision(const ir::Datum& datum, const Options& options) {
  if (!options.precision || !datum.is_tensor()) return datum;
  return ir::in_precision(datum.tensor, *options.precision);
}

std::vector<ir::Datum> gather(const InferenceSession& session, const std::map<std::string, ir::Datum>& given,
                              const Options& options) {
  std::vector<ir::Datum> inputs;
  std::string drawn;
  for (const executor::HostTensor& input : session.inputs()) {
    const auto found = given.find(input.name);
    if (found != given.end()) {
      inputs.push_back(in_precision(found->second, options));
      continue;
    }
    ir::Type type = whole_type(input);
    const int micro_batches = input.micro_batches * (input.broadcast ? 1 : session.program().replicas);
    if (micro_batches > 1) type.dims.insert(type.dims.begin(), micro_batches);
    inputs.push_back(random_input(input.name, type, options.random_seed));
    drawn += (drawn.empty() ? "" : ", ") + input.name;
  }
  if (!drawn.empty())
    print_notes({fmt::format("random values (seed {}) for {}", options.random_seed, drawn)}, options);
  return inputs;
}

ir::Datum random_input(const std::string& name, const ir::Type& type, std::uint64_t seed) {
  if (!type.is_static()) {
    throw Error("input '{}' is {}: give its file, or every symbolic dimension by --dim", name,
                to_string(type));
  }
  ir::Tensor tensor(type.element, type.dims);
  std::mt19937_64 random(mix(seed, name));
  try {
    fill_random(tensor, random);
  } catch (const Error& error) {
    throw error.at(fmt::format("input '{}'", name));
  }
  return tensor;
}

}  // namespace podium::cli
