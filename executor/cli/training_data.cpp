#include "executor/cli/training_data.h"

#include <algorithm>

#include "importer/tensor_file.h"

namespace podium::cli {

namespace {

ir::Type declared_type(const importer::Signature& signature, const std::string& name) {
  const auto found = std::find_if(signature.inputs.begin(), signature.inputs.end(),
                                  [&](const auto& input) { return input.first == name; });
  return found == signature.inputs.end() ? ir::Type::tensor(ir::DataType::Undefined, {}) : found->second;
}

void add_file(Samples& samples, const std::string& option, const std::pair<std::string, std::string>& named,
              const importer::Signature& signature) {
  const auto& [name, file] = named;
  const std::string where = fmt::format("--{} {}={}", option, name, file);
  const ir::Datum datum = importer::read_tensor_file(file, declared_type(signature, name));
  if (!datum.is_tensor() || datum.tensor.rank() == 0 || datum.tensor.size() == 0) {
    throw Error("{}: {} found, a tensor with samples along its leading dimension needed", where,
                to_string(type_of(datum)));
  }
  const std::int64_t count = datum.tensor.dim(0);
  if (samples.arrays.empty()) samples.count = count;
  if (count != samples.count) {
    throw Error("{}: {} samples found, {} needed as in {}", where, count, samples.count,
                samples.files.begin()->second);
  }
  if (!samples.arrays.emplace(name, datum.tensor).second)
    throw Error("{}: the input has a file already", where);
  samples.files.emplace(name, where);
}

// Of one micro-batch: the data's own dimensions where they have the rank that the model declares.
ir::Type bound_type(const ir::Type& declared, const ir::Tensor* array, std::int64_t leading) {
  ir::Type type = declared;
  type.dims[0] = leading;
  if (array == nullptr || array->rank() != declared.rank()) return type;
  for (int axis = 1; axis < array->rank(); ++axis) {
    std::int64_t& dim = type.dims[axis];
    if (dim == ir::kUnknown) dim = array->dim(axis);
  }
  return type;
}

}  // namespace

Samples read_samples(const std::pair<const char*, const char*>& options, const NamedFiles& inputs,
                     const NamedFiles& targets, const importer::Signature& signature) {
  Samples samples;
  for (const auto& named : inputs) add_file(samples, options.first, named, signature);
  for (const auto& named : targets) add_file(samples, options.second, named, signature);
  return samples;
}

std::map<std::string, ir::Type> micro_batch_types(const Samples& samples,
                                                  const importer::Signature& signature, int micro_batch) {
  std::map<std::string, ir::Type> types;
  for (const auto& [name, declared] : signature.inputs) {
    const auto array = samples.arrays.find(name);
    const bool has_array = array != samples.arrays.end();
    if (!has_array && !samples.arrays.empty()) continue;
    if (!declared.is_tensor() || !declared.has_rank || declared.rank() == 0) continue;
    const std::int64_t leading = declared.dims[0];
    if (leading == ir::kUnknown && micro_batch == 0) continue;
    if (leading != ir::kUnknown && micro_batch != 0 && leading != micro_batch) {
      throw Error("input '{}': the model has a leading dimension of {}, {} needed (--micro-batch)", name,
                  leading, micro_batch);
    }
    const ir::Type type = bound_type(declared, has_array ? &array->second : nullptr,
                                     leading == ir::kUnknown ? micro_batch : leading);
    if (type.is_static()) types.emplace(name, type);
  }
  return types;
}

}  // namespace podium::cli
