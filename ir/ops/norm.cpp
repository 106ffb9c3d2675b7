// Normalisations and Dropout.
// Outputs are like X; what is checked are parameters: one per channel for batch, instance and group
// normalisation, anything that stretches to X for layer and RMS normalisation. Running statistics are outputs
// of BatchNormalization in training mode alone; LayerNormalization's mean and deviation have the stash type.
#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {

namespace {

const AttributeSpec kEpsilon = with_default("epsilon", 1e-5F);

// Input i holds one number for each of `count`.
void check_per_channel(const InferContext& context, std::size_t i, std::int64_t count) {
  if (!context.has_input(i) || !context.has_rank(i)) return;
  const Dims& dims = context.dims(i);
  const bool fits = dims.size() == 1 && (dims[0] == count || dims[0] == kUnknown || count == kUnknown);
  if (!fits) {
    throw Error("{} has shape {}, [{}] needed", context.op.spec->inputs[i].name, to_string(dims), count);
  }
}

std::int64_t channels_of(const InferContext& context) {
  const Dims& x = context.dims(0);
  if (x.empty()) throw Error("input is a scalar, at least [N] needed");
  return x.size() == 1 ? 1 : x[1];
}

void infer_batch_normalization(InferContext& context) {
  same_as_input(context);
  const bool training = context.get_int("training_mode") != 0;
  for (std::size_t i = 1; i < 3; ++i) {
    if (!context.has_output(i)) continue;
    if (!training) throw Error("output {} is there only in training mode", context.op.spec->outputs[i].name);
    context.set_output(i, context.input(i + 2));
  }
  if (!context.has_rank(0)) return;
  const std::int64_t channels = channels_of(context);
  for (std::size_t i = 1; i < 5; ++i) check_per_channel(context, i, channels);
}

void infer_per_channel(InferContext& context) {
  same_as_input(context);
  if (!context.has_rank(0)) return;
  if (context.dims(0).size() < 2) {
    throw Error("input has shape {}, [N, C, ...] needed", to_string(context.dims(0)));
  }
  for (std::size_t i = 1; i < 3; ++i) check_per_channel(context, i, context.dims(0)[1]);
}

void infer_group_normalization(InferContext& context) {
  infer_per_channel(context);
  const std::int64_t groups = context.get_int("num_groups");
  if (groups < 1) throw Error("num_groups is {}, at least 1 needed", groups);
  if (!context.has_rank(0)) return;
  const std::int64_t channels = context.dims(0)[1];
  if (channels != kUnknown && channels % groups != 0) {
    throw Error("num_groups {} does not divide the {} channels", groups, channels);
  }
}

// Inputs [first, ...) stretch to the shape of input 0.
void check_stretch(const InferContext& context, std::size_t first) {
  for (std::size_t i = first; i < context.input_count(); ++i) {
    if (!context.has_input(i) || !context.has_rank(i) || !context.has_rank(0)) continue;
    const Dims joined = broadcast(context.dims(0), context.dims(i));
    bool fits = joined.size() == context.dims(0).size();
    for (std::size_t axis = 0; fits && axis < joined.size(); ++axis) {
      fits = joined[axis] == context.dims(0)[axis] || context.dims(0)[axis] == kUnknown;
    }
    if (!fits) {
      throw Error("{} has shape {}, which does not stretch to {}", context.op.spec->inputs[i].name,
                  to_string(context.dims(i)), to_string(context.dims(0)));
    }
  }
}

void infer_layer_normalization(InferContext& context) {
  same_as_input(context);
  const DataType stash = *named_type(context, "stash_type", {DataType::Float, DataType::Bfloat16});
  if (!context.has_rank(0)) {
    for (std::size_t i = 1; i < 3; ++i) context.set_output_element(i, stash);
    return;
  }
  Dims reduced = context.dims(0);
  const auto rank = std::ssize(reduced);
  const std::int64_t axis = normalized_axis(context.get_int("axis"), rank);
  for (std::int64_t i = axis; i < rank; ++i) reduced[i] = 1;
  for (std::size_t i = 1; i < 3; ++i) context.set_output(i, stash, reduced);
  check_stretch(context, 1);
}

void infer_rms_normalization(InferContext& context) {
  Type type = context.input(0);
  type.element = context.element(1);
  context.set_output(0, std::move(type));
  if (context.has_rank(0)) normalized_axis(context.get_int("axis"), context.input(0).rank());
  check_stretch(context, 1);
}

void infer_over_axes(InferContext& context) {
  if (context.has_rank(0)) {
    for (std::int64_t axis : context.get<IntList>("axes")) normalized_axis(axis, context.input(0).rank());
  }
  same_as_input(context);
}

void infer_lrn(InferContext& context) {
  if (context.get_int("size") < 1) throw Error("size is {}, at least 1 needed", context.get_int("size"));
  if (context.has_rank(0) && context.dims(0).size() < 2) {
    throw Error("input has shape {}, [N, C, ...] needed", to_string(context.dims(0)));
  }
  same_as_input(context);
}

void infer_dropout(InferContext& context) {
  for (const std::size_t i : {1, 2}) {  // ratio and training_mode
    if (!context.has_input(i)) continue;
    const Type& type = context.input(i);
    const bool fits_rank = !context.has_rank(0) || type.rank() <= context.input(0).rank();
    if (!type.is_static() || (type.element_count() == 1 && fits_rank)) continue;
    throw Error("input '{}' is {}, one number needed", context.op.spec->inputs[i].name, to_string(type));
  }
  same_as_input(context);
  Type mask = context.input(0);
  mask.element = DataType::Bool;
  context.set_output(1, std::move(mask));
}

Work lrn_work(const TypedOp& op) {
  const std::int64_t count = op.input(0).element_count();
  const double each = 2.0 * static_cast<double>(op.get_int("size")) + 4;
  return {.flop = count < 0 ? 0 : static_cast<double>(count) * each, .bytes = io_bytes(op)};
}

bool batch_normalization_samples(const SampledOp& op) {
  return op.typed.get_int("training_mode") == 0 && first_axis(op);
}

// Works over the axes from its attribute's on.
bool from_attribute_on(const SampledOp& op) {
  return one_input(op) && op.inputs[0] < axis_attribute(op, op.typed.input(0).rank());
}

bool mean_variance_samples(const SampledOp& op) {
  const auto& axes = op.typed.get<std::vector<std::int64_t>>("axes");
  return std::none_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    return normalized_axis(axis, op.typed.input(0).rank()) == op.inputs[0];
  });
}

OpSpec batch_normalization_row() {
  return {.name = "BatchNormalization",
          .since = 15,
          .inputs = {{"X"}, {"scale", 'S'}, {"B", 'S'}, {"input_mean", 'M'}, {"input_var", 'M'}},
          .outputs = {{"Y"}, {"running_mean", 'M', Formal::Optional}, {"running_var", 'M', Formal::Optional}},
          .types = {{'T', kFloats}, {'S', kFloats}, {'M', kFloats}},
          .attributes = {kEpsilon, with_default("momentum", 0.9F),
                         with_default("training_mode", std::int64_t{0})},
          .infer = infer_batch_normalization,
          .work = work_per_element<4>,
          .norm = true,
          .in_place = kFirstInput,
          .samples = batch_normalization_samples};
}

OpSpec layer_normalization_row() {
  return {.name = "LayerNormalization",
          .since = 17,
          .gained = 17,
          .inputs = {{"X"}, {"Scale"}, {"B", 'T', Formal::Optional}},
          .outputs = {{"Y"}, {"Mean", 'U', Formal::Optional}, {"InvStdDev", 'U', Formal::Optional}},
          .types = {{'T', kFloats}, {'U', {DataType::Float, DataType::Bfloat16}}},
          .attributes = {with_default("axis", std::int64_t{-1}), kEpsilon,
                         with_default("stash_type", std::int64_t{1})},
          .infer = infer_layer_normalization,
          .work = work_per_element<8>,
          .norm = true,
          .in_place = kFirstInput,
          .samples = from_attribute_on};
}

OpSpec rms_normalization_row() {
  return {.name = "RMSNormalization",
          .since = 23,
          .gained = 23,
          .inputs = {{"X"}, {"scale", 'V'}},
          .outputs = {{"Y", 'V'}},
          .types = {{'T', kFloats}, {'V', kFloats}},
          .attributes = {with_default("axis", std::int64_t{-1}), kEpsilon,
                         with_default("stash_type", std::int64_t{1})},
          .infer = infer_rms_normalization,
          .work = work_per_element<4>,
          .norm = true,
          .samples = from_attribute_on};
}

// Dropout that drops nothing.
bool is_inference(const TypedOp& op) {
  constexpr std::size_t kTrainingMode = 2;
  if (!op.has_input(kTrainingMode)) return true;
  const Tensor* training = op.constant(kTrainingMode);
  return training != nullptr && training->size() == 1 && !*training->data<bool>();
}

OpSpec dropout_row() {
  return {.name = "Dropout",
          .since = 22,
          .inputs = {{"data"}, {"ratio", 'R', Formal::Optional}, {"training_mode", 'B', Formal::Optional}},
          .outputs = {{"output"}, {"mask", 'B', Formal::Optional}},
          .types = {{'T', kFloats | kFloat8s}, {'R', kFloats | kFloat8s}, {'B', kBool}},
          .attributes = {may_have("seed", AttributeKind::Int)},
          .infer = infer_dropout,
          .work = work_per_element<1>,
          .category = Category::Elementwise,  // a mask is no statistics of a row
          .in_place = kFirstInput,
          .hands_on = is_inference,
          .random = true,
          .samples = one_input};
}

OpSpec simple_row(std::string_view name, int since, std::vector<AttributeSpec> attributes,
                  InferFunction infer, WorkFunction work) {
  return {.name = name,
          .since = since,
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = std::move(attributes),
          .infer = infer,
          .work = work};
}

OpSpec simple_norm(std::string_view name, int since, std::vector<AttributeSpec> attributes,
                   InferFunction infer, WorkFunction work, SampleRule samples) {
  OpSpec row = simple_row(name, since, std::move(attributes), infer, work);
  row.norm = true;
  row.in_place = kFirstInput;
  row.samples = samples;
  return row;
}

OpSpec per_channel_row(std::string_view name, int since, std::vector<AttributeSpec> attributes,
                       InferFunction infer) {
  OpSpec row = simple_norm(name, since, std::move(attributes), infer, work_per_element<8>, first_axis);
  row.inputs = {{"X"}, {"scale"}, {"B"}};
  return row;
}

}  // namespace

std::span<const OpSpec> norm_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Normalizing, .samples = first_axis},
             {
                 batch_normalization_row(),
                 per_channel_row("InstanceNormalization", 22, {kEpsilon}, infer_per_channel),
                 gained(18, per_channel_row("GroupNormalization", 21,
                                            {kEpsilon, must_have("num_groups", AttributeKind::Int),
                                             with_default("stash_type", std::int64_t{1})},
                                            infer_group_normalization)),
                 layer_normalization_row(),
                 rms_normalization_row(),
                 simple_norm("LpNormalization", 22,
                             {with_default("axis", std::int64_t{-1}), with_default("p", std::int64_t{2})},
                             infer_along_axis, work_per_element<3>, along_attribute),
                 simple_norm("MeanVarianceNormalization", 13, {with_default("axes", IntList{0, 2, 3})},
                             infer_over_axes, work_per_element<6>, mean_variance_samples),
                 simple_row("LRN", 13,
                            {with_default("alpha", 1e-4F), with_default("beta", 0.75F),
                             with_default("bias", 1.0F), must_have("size", AttributeKind::Int)},
                            infer_lrn, lrn_work),
                 dropout_row(),
             });
  return kRows;
}

}  // namespace podium::ir
