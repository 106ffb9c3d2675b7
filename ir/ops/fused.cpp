// Ops that no model contains: the numeric engine makes them of ONNX's ops while it prepares a block, after
// differentiation and placement. Domain "podium", which gradient_ops.cpp has too.
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/permutation.h"
#include "ir/work.h"

namespace podium::ir {
namespace {

constexpr std::string_view kNoGradient = "made while a block is prepared, after differentiation";
constexpr std::string_view kNoSlices = "made while a block is prepared, after its batch is sliced";

// Channels-last [N, spatial..., C]: the spatial dimensions after a window of kernel dims has passed.
Dims windowed(const InferContext& context, const Dims& x, const Dims& kernel) {
  const IntList& pads = context.get<IntList>("pads");
  const IntList& strides = context.get<IntList>("strides");
  const IntList& dilations = context.get<IntList>("dilations");
  Dims y = x;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    y[i + 1] = (x[i + 1] + pads[i] + pads[i + kernel.size()] - reach) / strides[i] + 1;
  }
  return y;
}

void infer_convolution_to(InferContext& context, DataType element) {
  const Dims& weights = context.dims(1);
  Dims y = windowed(context, context.dims(0), Dims(weights.begin() + 2, weights.end()));
  y.back() = weights[0];
  context.set_output(0, element, std::move(y));
}

void infer_convolution(InferContext& context) { infer_convolution_to(context, context.element(0)); }

// Quantised anew where there is a zero point for it.
constexpr std::size_t kZeroPointOfY = 6;

DataType element_of_byte_product(const InferContext& context) {
  return context.has_input(kZeroPointOfY) ? context.element(kZeroPointOfY) : DataType::Float;
}

void infer_byte_convolution(InferContext& context) {
  infer_convolution_to(context, element_of_byte_product(context));
}

Work work_of_convolution(const TypedOp& op) {
  const Dims& weights = op.dims(1);
  const std::int64_t per_output = element_count(weights) / std::max<std::int64_t>(weights[0], 1);
  return {.flop = 2.0 * static_cast<double>(op.output(0).element_count()) * static_cast<double>(per_output),
          .bytes = io_bytes(op)};
}

// W is [C, M, height, width], a patch of Y for each position of X.
void infer_patches(InferContext& context) {
  Dims y = context.dims(0);
  const Dims& weights = context.dims(1);
  for (std::size_t i = 2; i < weights.size(); ++i) y[i - 1] *= weights[i];
  y.back() = weights[1];
  context.set_output(0, context.element(0), std::move(y));
}

Work work_of_patches(const TypedOp& op) {
  const double results = static_cast<double>(op.output(0).element_count());
  return {.flop = 2.0 * results * static_cast<double>(op.dims(1)[0]), .bytes = io_bytes(op)};
}

void infer_fused_pool(InferContext& context) {
  context.set_output(0, context.element(0),
                     windowed(context, context.dims(0), context.get<IntList>("kernel_shape")));
}

void infer_matmul_to(InferContext& context, DataType element) {
  Dims y = context.dims(0);
  y.back() = context.dims(1)[context.get_int("transB") != 0 ? 0 : 1];
  context.set_output(0, element, std::move(y));
}

void infer_fused_matmul(InferContext& context) { infer_matmul_to(context, context.element(0)); }

void infer_byte_matmul(InferContext& context) { infer_matmul_to(context, element_of_byte_product(context)); }

// The sums per channel stretch over X.
void infer_batch_norm_gradient(InferContext& context) {
  const Dims& x = context.dims(0);
  Dims channels(x.size(), 1);
  channels[1] = x[1];
  context.set_output(0, context.element(0), x);
  for (std::size_t i = 1; i < 3; ++i) {
    if (context.has_output(i)) context.set_output(i, context.element(0), channels);
  }
}

// The sums of all rows stretch over X, too.
void infer_layer_norm_gradient(InferContext& context) {
  const Dims& x = context.dims(0);
  Dims columns = x;
  std::fill_n(columns.begin(), context.get_int("axis"), 1);
  context.set_output(0, context.element(0), x);
  for (std::size_t i = 1; i < 3; ++i) {
    if (context.has_output(i)) context.set_output(i, context.element(0), columns);
  }
}

Work work_of_matmul(const TypedOp& op) {
  const double inner = static_cast<double>(op.dims(0).back());
  return {.flop = 2 * inner * static_cast<double>(op.output(0).element_count()), .bytes = io_bytes(op)};
}

void infer_strided_matmul(InferContext& context) {
  Dims y = permuted(context.dims(0), context.get<IntList>("perm_a"));
  y.back() = permuted(context.dims(1), context.get<IntList>("perm_b")).back();
  context.set_output(0, context.element(0), permuted(y, context.get<IntList>("perm_y")));
}

Work work_of_strided_matmul(const TypedOp& op) {
  const double inner = static_cast<double>(permuted(op.dims(0), op.get<IntList>("perm_a")).back());
  return {.flop = 2 * inner * static_cast<double>(op.output(0).element_count()), .bytes = io_bytes(op)};
}

// K is read as [head, positions].
void infer_strided_attention(InferContext& context) {
  Dims y = permuted(context.dims(0), context.get<IntList>("perm_q"));
  y.back() = permuted(context.dims(2), context.get<IntList>("perm_v")).back();
  context.set_output(0, context.element(0), permuted(y, context.get<IntList>("perm_y")));
}

Work work_of_strided_attention(const TypedOp& op) {
  const Dims q = permuted(op.dims(0), op.get<IntList>("perm_q"));
  const auto positions = static_cast<double>(permuted(op.dims(1), op.get<IntList>("perm_k")).back());
  constexpr double kOfSoftmax = 5;
  const double rows = static_cast<double>(element_count(q)) / static_cast<double>(q.back());
  const double products =
      2 * positions * static_cast<double>(op.input(0).element_count() + op.output(0).element_count());
  return {.flop = products + kOfSoftmax * rows * positions, .bytes = io_bytes(op)};
}

void infer_channels_last(InferContext& context) {
  Dims dims = context.dims(0);
  dims.push_back(dims[1]);
  dims.erase(dims.begin() + 1);
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_channels_first(InferContext& context) {
  Dims dims = context.dims(0);
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_view(InferContext& context) {
  context.set_output(0, context.element(0), context.get<IntList>("shape"));
}

const Graph& body_of(const TypedOp& op) { return *op.get<Body>("body"); }

void infer_with_body(InferContext& context) {
  const Graph& body = body_of(context);
  for (std::size_t i = 0; i < body.outputs.size(); ++i) context.set_output(i, body[body.outputs[i]].type);
}

Work work_of_body(const TypedOp& op) {
  Work work{.bytes = io_bytes(op)};
  for (const Op& member : body_of(op).ops) work.flop += work_of(TypedOp(body_of(op), member)).flop;
  return work;
}

// An op that stands for those of its body.
OpSpec row_with_body(std::string_view name) {
  return {.name = name,
          .domain = "podium",
          .inputs = {{"inputs", 'V', Formal::Variadic, true}},
          .outputs = {{"outputs", 'V', Formal::Variadic, true}},
          .types = {{'V', {}, true}},
          .attributes = {must_have("body", AttributeKind::Graph)},
          .infer = infer_with_body,
          .work = work_of_body,
          .no_gradient = kNoGradient};
}

std::vector<AttributeSpec> with_activation(std::vector<AttributeSpec> attributes) {
  attributes.push_back(with_default("activation", std::string()));
  attributes.push_back(with_default("alpha", 0.0F));
  attributes.push_back(with_default("beta", 0.0F));
  return attributes;
}

std::vector<AttributeSpec> fused_window_attributes(std::vector<AttributeSpec> attributes) {
  attributes.push_back(must_have("strides", AttributeKind::Ints));
  attributes.push_back(must_have("pads", AttributeKind::Ints));
  attributes.push_back(must_have("dilations", AttributeKind::Ints));
  return attributes;
}

// activation(X * W + B + Z)
constexpr unsigned kResidual = 1U << 3;
const std::vector<Parameter> kProductInputs{
    {"X"}, {"W"}, {"B", 'T', Formal::Optional}, {"Z", 'T', Formal::Optional}};
const std::vector<TypeConstraint> kSingleFloat{{'T', {DataType::Float}}};
const std::vector<TypeConstraint> kWeightsOfAnyWidth{
    {'T', {DataType::Float}}, {'W', {DataType::Float, DataType::Float16, DataType::Bfloat16}}};

OpSpec row(std::string_view name, std::vector<Parameter> inputs, std::vector<AttributeSpec> attributes,
           InferFunction infer, WorkFunction work) {
  return {.name = name,
          .domain = "podium",
          .inputs = std::move(inputs),
          .outputs = {{"Y"}},
          .types = kSingleFloat,
          .attributes = std::move(attributes),
          .infer = infer,
          .work = work,
          .no_gradient = kNoGradient};
}

OpSpec matmul_row() {
  OpSpec made =
      row("MatMul", {{"X"}, {"W", 'W'}, {"B", 'T', Formal::Optional}, {"Z", 'T', Formal::Optional}},
          with_activation({with_default("transB", std::int64_t{0})}), infer_fused_matmul, work_of_matmul);
  made.types = kWeightsOfAnyWidth;
  return made;
}

// X times DequantizeLinear(W, scale, zero point) or its transpose, and a bias.
OpSpec dequantized_matmul_row() {
  return {
      .name = "DequantizedMatMul",
      .domain = "podium",
      .inputs = {{"X"}, {"W", 'Q'}, {"scale"}, {"zero_point", 'Q', Formal::Optional}},
      .outputs = {{"Y"}},
      .types = {{'T', {DataType::Float}},
                {'Q', {DataType::Int8, DataType::Uint8, DataType::Int4, DataType::Uint4}}},
      .attributes = {with_default("transB", std::int64_t{0}), with_default("block_size", std::int64_t{0})},
      .infer = infer_fused_matmul,
      .work = work_of_matmul,
      .no_gradient = kNoGradient};
}

// activation((X - x_zero_point) * W scale + B), quantised where there is a scale for it; with B in 32 bits
// ((X - x_zero_point) * W + B) scale + y_zero_point.
OpSpec byte_product_row(std::string_view name, std::vector<AttributeSpec> attributes, InferFunction infer,
                        WorkFunction work) {
  const TypeSet bytes{DataType::Int8, DataType::Uint8};
  OpSpec made = row(name,
                    {{"X", 'X'},
                     {"W", 'W'},
                     {"scale", 'T', Formal::Optional},
                     {"B", 'B', Formal::Optional},
                     {"x_zero_point", 'X', Formal::Optional},
                     {"y_scale", 'T', Formal::Optional},
                     {"y_zero_point", 'Z', Formal::Optional},
                     {"w_shift", 'S', Formal::Optional}},
                    with_activation(std::move(attributes)), infer, work);
  made.outputs = {{"Y", 'Y'}};
  made.types = {{'X', bytes},
                {'W', {DataType::Int8}},
                {'T', {DataType::Float}},
                {'B', {DataType::Float, DataType::Int32}},
                {'Z', bytes},
                {'S', {DataType::Int32}},
                {'Y', {DataType::Float, DataType::Int8, DataType::Uint8}}};
  return made;
}

// Of floats of any width, and of bytes that stand for them.
OpSpec layout_row(OpSpec made) {
  made.types = {
      {'T', {DataType::Float, DataType::Float16, DataType::Bfloat16, DataType::Int8, DataType::Uint8}}};
  return made;
}

// dX may take the memory of X or of what flows.
OpSpec norm_gradient_row(std::string_view name, std::vector<AttributeSpec> attributes, InferFunction infer) {
  constexpr unsigned kEither = 3U;
  attributes.push_back(must_have("epsilon", AttributeKind::Float));
  OpSpec made = in_place(
      kEither, row(name, {{"X"}, {"dY"}, {"scale"}}, std::move(attributes), infer, work_per_element<12>));
  made.outputs = {{"dX"}, {"dScale", 'T', Formal::Optional}, {"dB", 'T', Formal::Optional}};
  return made;
}

// Of rows of scores, with the label of each and what flows into its loss.
OpSpec cross_entropy_gradient_row() {
  OpSpec made = in_place(kFirstInput, row("CrossEntropyGradient", {{"X"}, {"labels", 'L'}, {"flow"}}, {},
                                          same_as_input, work_per_element<8>));
  made.types = {{'T', {DataType::Float}}, {'L', {DataType::Int64}}};
  return made;
}

// X is cut into so many stretches of whole channels, each of which was normalised by itself. Without a scale,
// and so without sums, they may be any rows of X.
OpSpec group_norm_gradient_row() {
  OpSpec made = norm_gradient_row("GroupNormalizationGradient", {must_have("stretches", AttributeKind::Int)},
                                  infer_batch_norm_gradient);
  made.inputs[2].formal = Formal::Optional;
  return made;
}

}  // namespace

std::span<const OpSpec> fused_ops() {
  static const std::vector<OpSpec> kRows = [] {
    std::vector<OpSpec> rows{
        in_place(kResidual,
                 row("Convolution", kProductInputs,
                     fused_window_attributes(with_activation({with_default("group", std::int64_t{1})})),
                     infer_convolution, work_of_convolution)),
        row("Patches", {{"X"}, {"W"}, {"B", 'T', Formal::Optional}}, {}, infer_patches, work_of_patches),
        row("Pool", {{"X"}},
            fused_window_attributes(
                {must_have("kind", AttributeKind::String), must_have("kernel_shape", AttributeKind::Ints)}),
            infer_fused_pool, work_per_element<1>),
        in_place(kResidual, matmul_row()),
        dequantized_matmul_row(),
        row("StridedMatMul", {{"A"}, {"B"}},
            {must_have("perm_a", AttributeKind::Ints), must_have("perm_b", AttributeKind::Ints),
             must_have("perm_y", AttributeKind::Ints), with_default("scale", 1.0F)},
            infer_strided_matmul, work_of_strided_matmul),
        row("StridedAttention", {{"Q"}, {"K"}, {"V"}, {"mask", 'T', Formal::Optional}},
            {must_have("perm_q", AttributeKind::Ints), must_have("perm_k", AttributeKind::Ints),
             must_have("perm_v", AttributeKind::Ints), must_have("perm_y", AttributeKind::Ints),
             with_default("scale", 1.0F)},
            infer_strided_attention, work_of_strided_attention),
        in_place(kFirstInput,
                 row("MaskedSoftmax", {{"X"}, {"mask"}}, {}, same_as_input, work_per_element<5>)),
        in_place(kFirstInput, row("GroupNormalization", {{"X"}, {"scale"}, {"B"}},
                                  with_activation({must_have("epsilon", AttributeKind::Float),
                                                   must_have("num_groups", AttributeKind::Int)}),
                                  same_as_input, work_per_element<8>)),
        byte_product_row("ByteConvolution", fused_window_attributes({with_default("group", std::int64_t{1})}),
                         infer_byte_convolution, work_of_convolution),
        byte_product_row("ByteMatMul", {with_default("transB", std::int64_t{0})}, infer_byte_matmul,
                         work_of_matmul),
        layout_row(row("ToChannelsLast", {{"X"}}, {}, infer_channels_last, work_of_moving)),
        layout_row(row("ToChannelsFirst", {{"X"}}, {}, infer_channels_first, work_of_moving)),
        layout_row(in_place(kFirstInput, row("View", {{"X"}}, {must_have("shape", AttributeKind::Ints)},
                                             infer_view, no_work))),
    };
    rows.back().view = true;
    rows.push_back(row_with_body("Chain"));
    rows.push_back(row_with_body("DepthwiseBlock"));
    rows.push_back(norm_gradient_row("BatchNormalizationGradient", {}, infer_batch_norm_gradient));
    rows.push_back(norm_gradient_row("LayerNormalizationGradient", {must_have("axis", AttributeKind::Int)},
                                     infer_layer_norm_gradient));
    rows.push_back(group_norm_gradient_row());
    rows.push_back(cross_entropy_gradient_row());
    rows.push_back(
        in_place(0b11, row("SoftmaxGradient", {{"Y"}, {"dY"}}, {}, same_as_input, work_per_element<4>)));
    return family({.category = Category::Plain, .no_samples = kNoSlices}, std::move(rows));
  }();
  return kRows;
}

}  // namespace podium::ir
