#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {
namespace {

// How many tensors an optimizer updates, when each comes with `parts` inputs after R and T.
std::size_t updated_tensors(const InferContext& context, std::size_t parts) {
  const std::size_t given = context.input_count() - 2;
  if (given == 0 || given % parts != 0)
    throw Error("{} inputs after R and T found, a multiple of {} needed", given, parts);
  return given / parts;
}

// Inputs after R and T: all X, all G, then the states; outputs: all new X, then the new states.
template <std::size_t kParts>
void infer_optimizer(InferContext& context) {
  const std::size_t count = updated_tensors(context, kParts);
  if (context.output_count() != count * (kParts - 1)) {
    throw Error("{} outputs found, {} needed for {} tensors", context.output_count(), count * (kParts - 1),
                count);
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    for (std::size_t i = 0; i < count; ++i) {
      const Type& updated = context.input(2 + i);
      const Type& other = context.input(2 + part * count + i);
      const bool both_known = updated.is_static() && other.is_static();
      if (both_known && updated != other) {
        throw Error("input {} is {}, {} needed as in input {}", 2 + part * count + i, to_string(other),
                    to_string(updated), 2 + i);
      }
    }
  }
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set_output(i, context.input(2 + i % count));
}

template <int kPerElement>
Work work_of_optimizer(const TypedOp& op) {
  double elements = 0;
  for (const Type& type : op.output_types) {
    if (type.is_static()) elements += static_cast<double>(type.element_count());
  }
  return {.flop = elements * kPerElement, .bytes = io_bytes(op)};
}

// Until it is differentiated, a Gradient only has types: those of the tensors by which it differentiates.
void infer_gradient(InferContext& context) {
  for (std::size_t i = 0; i < context.output_count() && i < context.input_count(); ++i) {
    context.set_output(i, context.input(i));
  }
}

void infer_zeros(InferContext& context) {
  context.set_output(0, *named_type(context, "dtype", kAnyType), context.get<IntList>("shape"));
}

const std::vector<TypeConstraint> kOptimizerTypes{
    {'R', {DataType::Float, DataType::Double}}, {'I', kInt64}, {'T', {DataType::Float, DataType::Double}}};
const std::vector<Parameter> kOptimizerInputs{
    {"R", 'R'}, {"T", 'I'}, {"inputs", 'T', Formal::Variadic, true}};
const std::vector<Parameter> kOptimizerOutputs{{"outputs", 'T', Formal::Variadic, true}};

OpSpec adagrad() {
  return {.name = "Adagrad",
          .domain = "ai.onnx.preview.training",
          .inputs = kOptimizerInputs,
          .outputs = kOptimizerOutputs,
          .types = kOptimizerTypes,
          .attributes = {with_default("decay_factor", 0.0F), with_default("epsilon", 1e-6F),
                         with_default("norm_coefficient", 0.0F)},
          .infer = infer_optimizer<3>,
          .work = work_of_optimizer<4>};
}

OpSpec adam() {
  return {.name = "Adam",
          .domain = "ai.onnx.preview.training",
          .inputs = kOptimizerInputs,
          .outputs = kOptimizerOutputs,
          .types = kOptimizerTypes,
          .attributes = {with_default("alpha", 0.9F), with_default("beta", 0.999F),
                         with_default("epsilon", 1e-6F), with_default("norm_coefficient", 0.0F),
                         with_default("norm_coefficient_post", 0.0F)},
          .infer = infer_optimizer<4>,
          .work = work_of_optimizer<5>};
}

OpSpec momentum() {
  return {.name = "Momentum",
          .domain = "ai.onnx.preview.training",
          .inputs = kOptimizerInputs,
          .outputs = kOptimizerOutputs,
          .types = kOptimizerTypes,
          .attributes = {must_have("alpha", AttributeKind::Float), must_have("beta", AttributeKind::Float),
                         must_have("mode", AttributeKind::String),
                         must_have("norm_coefficient", AttributeKind::Float)},
          .infer = infer_optimizer<3>,
          .work = work_of_optimizer<4>};
}

OpSpec gradient() {
  return {.name = "Gradient",
          .domain = "ai.onnx.preview.training",
          .inputs = {{"Inputs", 'A', Formal::Variadic, true}},
          .outputs = {{"Outputs", 'F', Formal::Variadic, true}},
          .types = {{'A', kAnyType}, {'F', kFloats}},
          .attributes = {must_have("xs", AttributeKind::Strings), must_have("y", AttributeKind::String),
                         may_have("zs", AttributeKind::Strings)},
          .infer = infer_gradient,
          .work = no_work,
          .no_gradient = "it is replaced by the ops that compute it, which have gradients"};
}

// Accumulators become zeros after an update. No model contains the op: graphs that train get it when they are
// lowered.
OpSpec zeros() {
  return {.name = "Zeros",
          .domain = "podium",
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = {must_have("shape", AttributeKind::Ints), must_have("dtype", AttributeKind::Int)},
          .infer = infer_zeros,
          .work = work_of_moving,
          .no_gradient = "its result does not depend on the elements"};
}

}  // namespace

std::span<const OpSpec> training_ops() {
  static const std::vector<OpSpec> kRows = family({.category = Category::Plain, .no_samples = kNoSamplesIn},
                                                  {adagrad(), adam(), momentum(), gradient(), zeros()});
  return kRows;
}

}  // namespace podium::ir
