#include "executor/cli/training_data.h"

#include <algorithm>

#include "executor/cli/run_inputs.h"
#include "importer/tensor_file.h"

namespace podium::cli {

namespace {

ir::Type declared_type(const importer::Signature& signature, const std::string& name) {
  const auto found = std::find_if(signature.inputs.begin(), signature.inputs.end(),
                                  [&](const auto& input) { return input.first == name; });
  return found == signature.inputs.end() ? ir::Type::tensor(ir::DataType::Undefined, {}) : found->second;
}

// The samples of an array first. Where samples are not, an array may hold micro-batches in the shape of the
// input, one after the other along the first axis.
ir::Tensor rows_of(const ir::Tensor& array, const ir::Type& declared, int axis) {
  const auto is_input = [&](std::size_t skipped) {
    return declared.is_static() && declared.rank() > axis &&
           std::equal(declared.dims.begin() + std::ptrdiff_t(skipped), declared.dims.end(),
                      array.dims().end() - (declared.rank() - std::ptrdiff_t(skipped)));
  };
  if (array.rank() == declared.rank() + 1 && is_input(0)) return samples_first(array, axis, 1);
  const bool is_joined = axis > 0 && array.rank() == declared.rank() && is_input(1) && declared.dims[0] > 0 &&
                         array.dim(0) % declared.dims[0] == 0;
  if (!is_joined) return samples_first(array, axis, 0);
  ir::Dims dims = declared.dims;
  dims.insert(dims.begin(), array.dim(0) / declared.dims[0]);
  return samples_first(array.reshaped(std::move(dims)), axis, 1);
}

void add_file(Samples& samples, const std::string& option, const std::pair<std::string, std::string>& named,
              const ir::Type& declared) {
  const auto& [name, file] = named;
  const std::string where = fmt::format("--{} {}={}", option, name, file);
  const ir::Datum datum = importer::read_tensor_file(file, declared);
  const int axis = axis_of(samples.axes, name);
  if (!datum.is_tensor() || datum.tensor.rank() <= axis || datum.tensor.size() == 0) {
    throw Error("{}: {} found, a tensor with samples along {} needed", where, to_string(type_of(datum)),
                axis == 0 ? "its leading dimension" : fmt::format("axis {}", axis));
  }
  const ir::Tensor rows = rows_of(datum.tensor, declared, axis);
  const std::int64_t count = rows.dim(0);
  if (samples.arrays.empty()) samples.count = count;
  if (count != samples.count) {
    throw Error("{}: {} samples found, {} needed as in {} (on axis {}; --sample-axis {}=N names another)",
                where, count, samples.count, samples.files.begin()->second, axis, name);
  }
  if (!samples.arrays.emplace(name, rows).second) throw Error("{}: the input has a file already", where);
  samples.files.emplace(name, where);
}

// Of one micro-batch: the data's own dimensions, samples first, where they have the rank that the model
// declares. A batch that nobody gave stays open.
ir::Type bound_type(const ir::Type& declared, const ir::Tensor* array, int sample_axis, std::int64_t batch) {
  ir::Type type = declared;
  type.dims[sample_axis] = batch;
  if (array == nullptr || array->rank() != declared.rank()) return type;
  for (int axis = 0; axis < array->rank(); ++axis) {
    std::int64_t& dim = type.dims[axis];
    if (axis != sample_axis && dim == ir::kUnknown) dim = array->dim(axis < sample_axis ? axis + 1 : axis);
  }
  return type;
}

}  // namespace

Samples read_samples(const std::pair<const char*, const char*>& options, const NamedFiles& inputs,
                     const NamedFiles& targets, const importer::Signature& signature,
                     const SampleAxes& axes) {
  Samples samples{.axes = axes, .flag = fmt::format("--{}", options.first)};
  for (const auto& named : inputs) {
    add_file(samples, options.first, named, type_of_input(signature, options.first, named.first));
  }
  for (const auto& named : targets) {
    add_file(samples, options.second, named, declared_type(signature, named.first));
  }
  return samples;
}

std::map<std::string, ir::Type> micro_batch_types(const Samples& samples,
                                                  const importer::Signature& signature, int micro_batch) {
  std::map<std::string, ir::Type> types;
  for (const auto& [name, declared] : signature.inputs) {
    const auto array = samples.arrays.find(name);
    const bool has_array = array != samples.arrays.end();
    if (!has_array && !samples.arrays.empty()) continue;
    const int axis = axis_of(samples.axes, name);
    if (!declared.is_tensor() || !declared.has_rank || declared.rank() <= axis) continue;
    const std::int64_t batch = declared.dims[axis];
    if (batch != ir::kUnknown && micro_batch != 0 && batch != micro_batch) {
      throw Error("input '{}': the model has a {} of {}, {} needed (--micro-batch)", name,
                  axis == 0 ? "leading dimension" : fmt::format("dimension {}", axis), batch, micro_batch);
    }
    const ir::Type type = bound_type(declared, has_array ? &array->second : nullptr, axis,
                                     batch == ir::kUnknown && micro_batch != 0 ? micro_batch : batch);
    types.emplace(name, type);
  }
  return types;
}

}  // namespace podium::cli
