// Inputs come from files, by name or by number, or are drawn. Their shapes bind dimensions that the model
// leaves open: an array of a whole run is taken apart into micro-batches for that.
#include "executor/cli/run_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "executor/cli/session_options.h"
#include "executor/cli/usage_error.h"
#include "executor/cli/write_file.h"
#include "executor/session/host_arrays.h"
#include "executor/session/random_input.h"
#include "executor/session/working_sizes.h"
#include "importer/tensor_file.h"
#include "ir/files.h"
#include "ir/nearest.h"
#include "ir/passes/set_precision.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;

// Whether integers of one type are all numbers of the other: labels of a file of bytes are int64 to a model.
bool is_wider(ir::DataType wide, ir::DataType narrow) {
  if (!ir::is_integer(wide) || !ir::is_integer(narrow)) return false;
  const int bits = ir::bit_width(wide);
  const int needed = ir::bit_width(narrow);
  return ir::is_signed(wide) == ir::is_signed(narrow) ? bits > needed : ir::is_signed(wide) && bits > needed;
}

ir::Datum widened(ir::Datum datum, const ir::Type& declared, const std::string& name,
                  std::vector<std::string>& noted) {
  if (!declared.is_tensor() || !datum.is_tensor() || !is_wider(declared.element, datum.tensor.type()))
    return datum;
  noted.push_back(fmt::format("input '{}': {} found, taken as the {} that the model declares", name,
                              to_string(datum.tensor.type_and_dims()), ir::name_of(declared.element)));
  return cast(datum.tensor, declared.element);
}

// A scalar may come as an array of one element, as other runtimes take it; `noted` gets its name.
ir::Datum as_declared(ir::Datum given, const ir::Type& declared, const std::string& name,
                      std::vector<std::string>& noted) {
  ir::Datum datum = widened(std::move(given), declared, name, noted);
  const bool is_scalar = declared.is_tensor() && declared.has_rank && declared.rank() == 0;
  if (!is_scalar || !datum.is_tensor() || datum.tensor.rank() == 0 || datum.tensor.size() != 1) return datum;
  noted.push_back(fmt::format("input '{}': {} found, taken as the scalar that the model declares", name,
                              to_string(datum.tensor.type_and_dims())));
  return datum.tensor.reshaped({});
}

}  // namespace

const ir::Type& type_of_input(const importer::Signature& signature, std::string_view option,
                              const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [known, type] : signature.inputs) {
    if (known == name) return type;
    names.push_back(known);
  }
  throw Error("--{} {}: the model has no such input, the nearest is '{}'", option, name,
              ir::nearest(name, names));
}

namespace {

void read_folder(const fs::path& folder, const importer::Signature& signature,
                 std::map<std::string, ir::Datum>& inputs, std::vector<std::string>& noted) {
  if (!ir::is_folder(folder)) throw Error("--inputs {}: no such folder", folder.string());
  const std::size_t before = inputs.size();
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const auto& [name, type] = signature.inputs[i];
    const fs::path numbered = folder / fmt::format("input_{}.pb", i);
    const fs::path named = folder / (name + ".npy");
    if (inputs.contains(name)) continue;
    if (ir::is_there(numbered)) {
      inputs[name] = as_declared(importer::read_tensor_file(numbered.string(), type), type, name, noted);
    } else if (ir::is_there(named)) {
      inputs[name] = as_declared(importer::read_tensor_file(named.string(), type), type, name, noted);
    }
  }
  if (inputs.size() == before) {
    throw Error("--inputs {}: neither input_0.pb nor {}.npy found", folder.string(),
                signature.inputs.empty() ? "NAME" : signature.inputs[0].first);
  }
}

}  // namespace

std::map<std::string, ir::Datum> read_inputs(const Options& options, const importer::Signature& signature) {
  std::map<std::string, ir::Datum> inputs;
  std::vector<std::string> noted;
  for (const auto& [name, file] : options.inputs) {
    const ir::Type& type = type_of_input(signature, "input", name);
    if (options.constants.contains(name)) throw UsageError("--input {}: --constant gives it already", name);
    inputs[name] = as_declared(importer::read_tensor_file(file, type), type, name, noted);
  }
  if (!options.inputs_folder.empty()) read_folder(options.inputs_folder, signature, inputs, noted);
  print_notes(noted, options);
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
                                                  const Strategy& strategy) {
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

namespace {

importer::Model in_precision(importer::Model model, const Options& options) {
  if (options.precision) ir::set_precision(model.graph, *options.precision);
  return model;
}

}  // namespace

importer::Model import(const Options& options, const std::map<std::string, ir::Type>& types) {
  return in_precision(
      importer::import_model(options.paths[0],
                             {.dims = options.dims,
                              .input_types = types,
                              .constants = options.constants,
                              .large_data = importer::LargeData::InFile}),
      options);
}

importer::Model import_sized(const Options& options, const std::map<std::string, ir::Type>& types,
                             importer::LargeData large) {
  const importer::ImportOptions given{.dims = options.dims,
                                      .input_types = types,
                                      .assumed = importer::kOneForAll,
                                      .constants = options.constants,
                                      .large_data = large};
  SizedModel sized = with_working_sizes(importer::import_model(options.paths[0], given));
  if (!sized.taken.empty()) print_notes({sized.taken}, options);
  return in_precision(std::move(sized.model), options);
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
    if (micro_batches > 1 && type.is_tensor()) type.dims.insert(type.dims.begin(), micro_batches);
    inputs.push_back(random_input(input.name, type, session.ids(), options.random_seed));
    drawn += (drawn.empty() ? "" : ", ") + input.name;
  }
  if (!drawn.empty())
    print_notes({fmt::format("random values (seed {}) for {}", options.random_seed, drawn)}, options);
  return inputs;
}

}  // namespace podium::cli
