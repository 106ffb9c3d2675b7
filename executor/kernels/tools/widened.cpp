#include "executor/kernels/tools/widened.h"

#include <memory>

#include "executor/kernels/tools/convert.h"

namespace podium::kernels {

namespace {

bool is_narrow(const ir::Type& type) {
  return type.is_tensor() && (type.element == DataType::Float16 || type.element == DataType::Bfloat16);
}

// A tensor that the inner kernel sees as float.
struct Stand {
  std::size_t index = 0;   // among inputs or outputs
  std::size_t offset = 0;  // where its floats are in the scratch memory
  Dims dims = {};
  Datum constant = {};  // the floats themselves, when they are known
};

struct Widening {
  PreparedKernel inner;
  std::vector<Stand> inputs;
  std::vector<Stand> outputs;
  std::size_t bytes = 0;

  void make_room(Stand& stand) {
    stand.offset = bytes;
    const std::size_t count = ir::element_count(stand.dims);
    bytes += (count * sizeof(float) + 63) / 64 * 64;
  }
};

void run_widened(const Widening& widening, const RunContext& run) {
  std::vector<const Datum*> inputs(run.inputs.begin(), run.inputs.end());
  std::vector<Datum*> outputs(run.outputs.begin(), run.outputs.end());
  std::vector<Datum> floats;
  floats.reserve(widening.inputs.size() + widening.outputs.size());
  const auto make_floats = [&](const Stand& stand) -> Datum* {
    floats.emplace_back(Tensor::view(DataType::Float, stand.dims, run.scratch_memory + stand.offset));
    return &floats.back();
  };
  for (const Stand& stand : widening.inputs) {
    if (stand.constant.is_tensor()) {
      inputs[stand.index] = &stand.constant;
      continue;
    }
    Datum* datum = make_floats(stand);
    to_float(run.input(stand.index), 0, run.input(stand.index).size(), datum->tensor.data<float>());
    inputs[stand.index] = datum;
  }
  for (const Stand& stand : widening.outputs) outputs[stand.index] = make_floats(stand);
  widening.inner({inputs, outputs, run.scratch_memory});
  for (const Stand& stand : widening.outputs) {
    const Tensor& result = outputs[stand.index]->tensor;
    from_float(result.data<float>(), run.output(stand.index), 0, result.size());
  }
}

}  // namespace

PreparedKernel prepare_widened(PrepareContext& context, Prepare prepare) {
  auto widening = std::make_shared<Widening>();
  PrepareContext inner(context);
  inner.constants.resize(context.input_count(), nullptr);
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i) || !is_narrow(context.input(i))) continue;
    Stand stand{.index = i, .dims = context.dims(i)};
    if (const Tensor* known = context.constant(i)) stand.constant = as_float(*known);
    inner.input_types[i].element = DataType::Float;
    widening->inputs.push_back(std::move(stand));
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    if (!context.has_output(i) || !is_narrow(context.output(i))) continue;
    widening->outputs.push_back({.index = i, .dims = context.output(i).dims});
    inner.output_types[i].element = DataType::Float;
  }
  if (widening->inputs.empty() && widening->outputs.empty()) return prepare(context);

  for (const Stand& stand : widening->inputs) {
    if (stand.constant.is_tensor()) inner.constants[stand.index] = &stand.constant.tensor;
  }
  widening->inner = prepare(inner);
  widening->bytes = (inner.scratch_bytes + 63) / 64 * 64;
  for (Stand& stand : widening->inputs) {
    if (!stand.constant.is_tensor()) widening->make_room(stand);
  }
  for (Stand& stand : widening->outputs) widening->make_room(stand);
  context.need_scratch(widening->bytes);
  return [widening](const RunContext& run) { run_widened(*widening, run); };
}

}  // namespace podium::kernels
