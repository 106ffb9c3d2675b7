#include "executor/compare/reference_run.h"

#include <algorithm>
#include <cstring>

#include "executor/compare/results.h"
#include "executor/session/random_input.h"

namespace podium::compare {
namespace {

ir::Type of_micro_batches(const ir::Type& type, int micro_batches) {
  ir::Dims dims = type.dims;
  if (micro_batches > 1) dims.insert(dims.begin(), micro_batches);
  return ir::Type::tensor(type.element, std::move(dims));
}

// As many micro-batches as asked for, from the first on and over again.
ir::Tensor repeated(const std::string& name, const ir::Datum& given, const ir::Type& type,
                    int micro_batches) {
  const std::int64_t elements = type.element_count();
  const bool has_type = given.is_tensor() && given.tensor.type() == type.element;
  // Micro-batches of no elements, such as a past of no positions, are as many as anybody wants.
  const bool fits =
      has_type && (elements == 0 ? given.tensor.size() == 0
                                 : given.tensor.size() > 0 && given.tensor.size() % elements == 0);
  if (!fits || type.element == ir::DataType::String) {
    throw Error("input '{}': {} found, micro-batches of {} needed", name, to_string(type_of(given)),
                to_string(type));
  }
  const ir::Type whole = of_micro_batches(type, micro_batches);
  ir::Tensor tensor(whole.element, whole.dims);
  const std::size_t bytes = given.tensor.bytes();
  for (std::size_t at = 0; at < tensor.bytes(); at += bytes) {
    std::memcpy(static_cast<char*>(tensor.raw()) + at, given.tensor.raw(),
                std::min(bytes, tensor.bytes() - at));
  }
  return tensor;
}

bool has_numbers(const ir::Datum& datum) {
  return datum.is_tensor() && datum.tensor.type() != ir::DataType::String && !is_complex(datum.tensor.type());
}

}  // namespace

ReferenceRun::ReferenceRun(importer::Model model, int micro_batches,
                           const std::map<std::string, ir::Datum>& given, const Setting& setting)
    : micro_batches_(micro_batches) {
  InferenceSession session(std::move(model), {.seed = setting.seed,
                                              .threads = setting.threads,
                                              .optimized = true,
                                              .strategy = {.batches_per_step = micro_batches}});
  // Micro-batches whose outputs have sizes of their own are not put into one array: then all are the same.
  const bool one_shape =
      std::all_of(session.outputs().begin(), session.outputs().end(),
                  [](const executor::HostTensor& output) { return output.type.is_static(); });
  for (const executor::HostTensor& input : session.inputs()) {
    types_.push_back(input.type);
    const ir::Type drawn = of_micro_batches(input.type, one_shape ? micro_batches : 1);
    const auto found = given.find(input.name);
    const ir::Datum first = found != given.end()
                                ? found->second
                                : random_input(input.name, drawn, session.ids(), setting.random_seed);
    inputs_.push_back(repeated(input.name, first, input.type, micro_batches));
  }
  for (const ir::Datum& output : session.run(inputs(micro_batches))) {
    outputs_.push_back(has_numbers(output) ? ir::Datum(output.tensor.clone()) : output);
  }
}

std::vector<ir::Datum> ReferenceRun::inputs(int micro_batches, int first) const {
  IR_CHECK(first + micro_batches <= micro_batches_, "{} micro-batches of {}", micro_batches, micro_batches_);
  std::vector<ir::Datum> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ir::Type type = of_micro_batches(types_[i], micro_batches);
    const std::size_t before =
        inputs_[i].bytes() / static_cast<std::size_t>(micro_batches_) * static_cast<std::size_t>(first);
    // Some micro-batches of all: memory that inputs_ keeps alive.
    inputs.push_back(ir::Tensor::adopt(type.element, type.dims,
                                       static_cast<const std::byte*>(inputs_[i].raw()) + before, nullptr));
  }
  return inputs;
}

std::optional<double> ReferenceRun::difference(std::span<const ir::Datum> outputs, int micro_batches) const {
  std::optional<double> largest;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!has_numbers(outputs[i]) || !has_numbers(outputs_[i])) continue;
    const ir::Tensor& found = outputs[i].tensor;
    const ir::Tensor& wanted = outputs_[i].tensor;
    if (found.size() * micro_batches_ != wanted.size() * micro_batches)
      continue;  // not everything comes back
    const ir::Tensor first = ir::Tensor::adopt(wanted.type(), found.dims(), wanted.raw(), nullptr);
    largest = std::max(largest.value_or(0), largest_difference(found, first));
  }
  return largest;
}

}  // namespace podium::compare
