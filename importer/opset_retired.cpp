// Ops that early exporters wrote and that ONNX dropped: each becomes what it did.
#include <array>
#include <limits>

#include "importer/opset_rewrite.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

// alpha * f(beta * x)
void scaled_function(Rewrite& node, std::string_view function, float alpha, float beta) {
  const ValueId x = node.input(0);
  const ValueId inside = node.before("Mul", {x, node.number_like(node.take_or("beta", beta), x)});
  const ValueId outside = node.before(function, {inside});
  node.become("Mul", {outside, node.number_like(node.take_or("alpha", alpha), x)});
}

void scaled_tanh(Rewrite& node) { scaled_function(node, "Tanh", 1.0F, 1.0F); }
void parametric_softplus(Rewrite& node) { scaled_function(node, "Softplus", 1.0F, 1.0F); }

void affine(Rewrite& node) {
  const ValueId x = node.input(0);
  const ValueId scaled = node.before("Mul", {x, node.number_like(node.take_or("alpha", 1.0F), x)});
  node.become("Add", {scaled, node.number_like(node.take_or("beta", 0.0F), x)});
}

void scale(Rewrite& node) {
  node.become("Mul", {node.input(0), node.number_like(node.take_or("scale", 1.0F), node.input(0))});
}

// The image times a scale, plus a bias a channel.
void image_scaler(Rewrite& node) {
  const ValueId x = node.input(0);
  const ValueId scaled = node.before("Mul", {x, node.number_like(node.take_or("scale", 1.0F), x)});
  const auto bias = node.take_or<ir::FloatList>("bias", {0.0F});
  const ValueId column = node.constant(Tensor::of({std::ssize(bias), 1, 1}, bias));
  node.become("Add", {scaled, node.before("CastLike", {column, x})});
}

// border: left, top, right, bottom. scale: the height and width that stay; without it the borders go.
void crop(Rewrite& node) {
  const auto border = node.take_or<IntList>("border", {0, 0, 0, 0});
  const auto size = node.take_or<IntList>("scale", {});
  if (border.size() != 4) throw Error("border has {} entries, 4 needed", border.size());
  for (const IntList* list : {&border, &size}) {
    for (const std::int64_t entry : *list) {
      constexpr std::int64_t kMost = std::int64_t{1} << 31;
      if (entry < 0 || entry > kMost)
        throw Error("{} in border or scale found, 0 to {} needed", entry, kMost);
    }
  }
  const auto end = [](std::int64_t from_the_end) {
    return from_the_end == 0 ? std::numeric_limits<std::int64_t>::max() : -from_the_end;
  };
  const IntList ends = size.size() == 2 ? IntList{border[1] + size[0], border[0] + size[1]}
                                        : IntList{end(border[3]), end(border[2])};
  node.become("Slice",
              {node.input(0), node.ints({border[1], border[0]}), node.ints(ends), node.ints({2, 3})});
}

void dynamic_slice(Rewrite& node) { node.node().type = "Slice"; }

void mean_variance_normalization(Rewrite& node) {
  const bool across_channels = node.take_or<std::int64_t>("across_channels", 0) != 0;
  const IntList axes = across_channels ? IntList{0, 1, 2, 3} : IntList{0, 2, 3};
  if (node.take_or<std::int64_t>("normalize_variance", 1) != 0) {
    node.set_default("axes", axes);
    return;
  }
  const ValueId mean = node.before("ReduceMean", {node.input(0), node.ints(axes)});
  node.become("Sub", {node.input(0), mean});
}

// The shape that a fill is asked for: an attribute, the input's shape or the input's numbers, then more
// dimensions.
ValueId filled_shape(Rewrite& node) {
  const auto extra = node.take_or<IntList>("extra_shape", {});
  const bool is_shape = node.take_or<std::int64_t>("input_as_shape", 0) != 0;
  const auto given = node.take<IntList>("shape");
  if (!node.has_input(0)) return node.ints(given.value_or(IntList{}));
  const ValueId shape = is_shape ? node.input(0) : node.before("Shape", {node.input(0)});
  return node.before("Concat", {shape, node.ints(extra)}, {{"axis", std::int64_t{0}}});
}

void given_tensor_fill(Rewrite& node) {
  const auto values = node.take_or<ir::FloatList>("values", {});
  const ValueId numbers = node.constant(Tensor::of({std::ssize(values)}, values));
  node.become("Reshape", {numbers, filled_shape(node)}, {{"allowzero", std::int64_t{1}}});
}

void constant_fill(Rewrite& node) {
  const float value = node.take_or("value", 0.0F);
  const std::int64_t type = node.take_or<std::int64_t>("dtype", static_cast<int>(DataType::Float));
  const ValueId filled =
      node.before("ConstantOfShape", {filled_shape(node)}, {{"value", Tensor::of<float>({1}, {value})}});
  node.become("Cast", {filled}, {{"to", type}});
}

}  // namespace

std::span<const Adapter> retired_adapters() {
  static constexpr std::array kTable{
      last_of("Affine", 10, affine),
      last_of("ConstantFill", 10, constant_fill),
      last_of("Crop", 10, crop),
      last_of("DynamicSlice", 10, dynamic_slice),
      last_of("GivenTensorFill", 10, given_tensor_fill),
      last_of("ImageScaler", 10, image_scaler),
      Adapter{"MeanVarianceNormalization", 9, mean_variance_normalization},
      last_of("ParametricSoftplus", 10, parametric_softplus),
      last_of("Scale", 10, scale),
      last_of("ScaledTanh", 10, scaled_tanh),
  };
  return kTable;
}

}  // namespace podium::importer
