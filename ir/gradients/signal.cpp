// Fourier transforms, whose transposes are transforms, determinants and what is read out of quantised
// numbers.
#include <algorithm>

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

std::int64_t known_int(GradientContext& context, std::size_t i, std::int64_t otherwise) {
  return context.has_input(i) ? context.known(i).to_ints().at(0) : otherwise;
}

// The first `length` entries of an axis; zeros where there are fewer.
Term fitted(Term x, std::int64_t axis, std::int64_t length) {
  TermBuilder& context = *x.builder;
  const Dims dims = context.static_dims(x);
  const std::int64_t found = dims[axis];
  if (found == length) return x;
  if (found > length) {
    return term(context,
                context.call("Slice", {x, context.ints({0}), context.ints({length}), context.ints({axis})}));
  }
  Dims pads(2 * dims.size(), 0);
  pads[dims.size() + axis] = length - found;
  return x.with("Pad", context.ints(pads));
}

Term transformed(Term x, std::int64_t axis, bool inverse, bool onesided) {
  TermBuilder& context = *x.builder;
  const ValueId along = context.builder.constant(Tensor::scalar(axis));
  return term(context,
              context.call("DFT", {x, kNoValue, along},
                           {{"inverse", std::int64_t{inverse}}, {"onesided", std::int64_t{onesided}}}));
}

// Each number of half a spectrum stands for its mirror image, too, except for the first and, when the count
// of points is even, the last.
Tensor mirror_counts(std::int64_t count, std::int64_t points) {
  Tensor counts(DataType::Double, {count, 1});
  for (std::int64_t k = 0; k < count; ++k) counts.data<double>()[k] = k == 0 || 2 * k == points ? 1 : 2;
  return counts;
}

// Frames of the signal, windowed, then transformed.
std::vector<ValueId> stft_outputs(GradientContext& context) {
  const Dims signal = context.static_dims(context.input(0));
  const std::int64_t step = known_int(context, 1, 0);
  const std::int64_t size =
      context.has_input(2) ? context.static_dims(context.input(2))[0] : known_int(context, 3, 0);
  const std::int64_t frames = (signal[1] - size) / step + 1;
  const std::int64_t parts = signal.size() == 3 ? signal[2] : 1;
  std::vector<std::int64_t> places;
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    for (std::int64_t i = 0; i < size; ++i) places.push_back(frame * step + i);
  }
  const Term rows =
      term(context, context.input(0)).with("Reshape", context.ints({signal[0], signal[1], parts}));
  const ValueId indices = context.builder.constant(Tensor::ints(places).reshaped({frames, size}));
  Term cut = rows.with("Gather", indices, {{"axis", std::int64_t{1}}});
  if (context.has_input(2)) cut = cut * term(context, context.input(2)).with("Unsqueeze", context.ints({1}));
  return {transformed(cut, 2, false, attribute<std::int64_t>(context.op, "onesided") != 0)};
}

// Per element of an n x n matrix, which elements of it the matrix without its row and column has.
Tensor minors(std::int64_t n) {
  std::vector<std::int64_t> places;
  for (std::int64_t element = 0; element < n * n; ++element) {
    for (std::int64_t place = 0; place < n * n; ++place) {
      if (place / n != element / n && place % n != element % n) places.push_back(place);
    }
  }
  return Tensor::ints(places).reshaped({n, n, n - 1, n - 1});
}

// The cofactors as determinants.
std::vector<ValueId> cofactor_outputs(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const Dims dims = context.static_dims(x);
  const std::int64_t n = dims.back();
  Dims flat(dims.begin(), dims.end() - 1);
  flat.back() = n * n;
  const Term parts = x.with("Reshape", context.ints(flat))
                         .with("Gather", context.builder.constant(minors(n)), {{"axis", std::int64_t{-1}}});
  Tensor signs(DataType::Double, {n, n});
  for (std::int64_t i = 0; i < n * n; ++i) signs.data<double>()[i] = (i / n + i % n) % 2 == 0 ? 1 : -1;
  const ValueId sign = context.builder.constant(multiplied(signs, 1, context.type(x).element));
  return {term(context, sign) * parts.call("Det")};
}

// The scale is the range of x and 0 in 255 steps; y and its zero point are no smooth numbers.
std::vector<ValueId> dynamic_quantize_outputs(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const std::vector<Attribute> flat{{"keepdims", std::int64_t{0}}};
  const Term high = x.call("ReduceMax", flat).with("Max", x.like(0));
  const Term low = x.call("ReduceMin", flat).with("Min", x.like(0));
  constexpr double kSteps = 255;
  return {kNoValue, (high - low) * (1 / kSteps), kNoValue};
}

void dynamic_quantize_gradient(GradientContext& context) {
  differentiate_expansion(context, dynamic_quantize_outputs);
}

// A transform is its own transpose; that of the complex conjugate is the other direction.
void dft_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  const Dims x = context.static_dims(context.input(0));
  const Dims y = context.static_dims(context.output());
  const std::int64_t axis = normalized_axis(known_int(context, 2, -2), std::ssize(x));
  const bool inverse = attribute<std::int64_t>(context.op, "inverse") != 0;
  const bool onesided = attribute<std::int64_t>(context.op, "onesided") != 0;
  const std::int64_t points = onesided && !inverse ? known_int(context, 1, x[axis]) : y[axis];
  const auto count = static_cast<double>(points);
  Term flow = flow_of(context);
  if (onesided && inverse) {
    Tensor counts = mirror_counts(points / 2 + 1, points);
    Dims shape(x.size(), 1);
    shape[axis] = points / 2 + 1;
    const ValueId known =
        context.builder.constant(multiplied(counts, 1 / count, context.type(flow).element).reshaped(shape));
    flow = transformed(flow, axis, false, true) * term(context, known);
  } else {
    flow = transformed(fitted(flow, axis, points), axis, !inverse, false) * (inverse ? 1 / count : count);
  }
  if (x.back() == 1) flow = fitted(flow, std::ssize(x) - 1, 1);
  context.set(0, fitted(flow, axis, x[axis]));
}

void stft_gradient(GradientContext& context) { differentiate_expansion(context, stft_outputs); }

// Cofactors are there, too, where a matrix has no inverse.
void det_gradient(GradientContext& context) {
  const ValueId cofactors = context.builder.ops("podium", "Cofactors", {context.input(0)}, 1)[0];
  context.set(0, flow_of(context).with("Unsqueeze", context.ints({-2, -1})) * term(context, cofactors));
}

void cofactors_gradient(GradientContext& context) {
  if (context.static_dims(context.input(0)).back() > 1) differentiate_expansion(context, cofactor_outputs);
}

// y = (x - zero) * scale, of which only the scale is a smooth number.
void dequantize_gradient(GradientContext& context) {
  if (!context.wants(1)) return;
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[1] = context.filled_like(context.input(1), 1);
  const ValueId steps = context.builder.ops("", "DequantizeLinear", inputs, 1, context.op.attributes)[0];
  const DataType element = context.type(context.input(1)).element;
  const Term product = (flow_of(context) * term(context, steps)).cast(element);
  const Dims x = context.static_dims(context.input(0));
  const Dims scale = context.static_dims(context.input(1));
  if (element_count(scale) == 1) {
    return context.set(1, context.reshape_like(product.call("ReduceSum", {{"keepdims", std::int64_t{0}}}),
                                               context.input(1)));
  }
  const std::int64_t at = normalized_axis(attribute<std::int64_t>(context.op, "axis"), std::ssize(x));
  const std::int64_t block = attribute<std::int64_t>(context.op, "block_size");
  IntList axes;
  if (block == 0) {
    for (std::int64_t i = 0; i < std::ssize(x); ++i) {
      if (i != at) axes.push_back(i);
    }
    const std::vector<Attribute> flat{{"keepdims", std::int64_t{0}}};
    return context.set(1, context.call("ReduceSum", {product, context.ints(axes)}, flat));
  }
  const Term whole = fitted(product, at, scale[at] * block);
  Dims blocks = scale;
  blocks.insert(blocks.begin() + at + 1, block);
  const ValueId sums =
      context.call("ReduceSum", {whole.with("Reshape", context.ints(blocks)), context.ints({at + 1})},
                   {{"keepdims", std::int64_t{0}}});
  context.set(1, sums);
}

}  // namespace

std::span<const GradientRow> signal_gradients() {
  static constexpr GradientRow kRows[]{
      {"DequantizeLinear", dequantize_gradient},
      {"DynamicQuantizeLinear", dynamic_quantize_gradient},
      {"Det", det_gradient},
      {"DFT", dft_gradient},
      {"STFT", stft_gradient},
      {"Cofactors", cofactors_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
