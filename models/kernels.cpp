// Single kernels, as machines are measured by them: products, of floats or of quantised numbers,
// convolutions, what goes element by element or row by row, attention, and a weight that replicas exchange.
#include "ir/error.h"
#include "models/families.h"
#include "models/recipe.h"

namespace podium::models {
namespace {

using ir::DataType;
using ir::ValueId;

// Bytes and what they stand for, as tools that quantise networks write them.
BuiltModel product_of_bytes(const Recipe& recipe) {
  if (recipe.number("batch") != 1)
    throw Error("parameter batch: {} found, 1 needed with operands=byte", recipe.number("batch"));
  Net net(recipe);
  const std::int64_t inner = recipe.number("inner");
  const std::int64_t columns = recipe.number("columns");
  const ValueId bytes = net.input("x", DataType::Uint8, {recipe.number("rows"), inner});
  ir::Tensor zero(DataType::Uint8, {});
  *zero.data<std::uint8_t>() = 128;
  ir::Tensor weights(DataType::Int8, {inner, columns});
  std::uint32_t next = 0;
  for (std::int8_t& number : weights.values<std::int8_t>())
    number = static_cast<std::int8_t>(next++ * 37 >> 2);
  const ValueId x = net.op("x_floats", "DequantizeLinear", {bytes, net.scalar(0.01F), net.constant(zero)});
  const ValueId weight = net.op("weight", "DequantizeLinear", {net.constant(weights), net.scalar(0.01F)});
  net.output(net.op("product", "MatMul", {x, weight}), "y");
  return net.finish(20);
}

// [rows, inner] x [inner, columns], `batch` of them.
BuiltModel product(const Recipe& recipe) {
  if (recipe.is("operands", "byte")) return product_of_bytes(recipe);
  if (!recipe.is("operands", "float"))
    throw Error("parameter operands: '{}' found, float or byte needed", recipe.word("operands"));
  Net net(recipe);
  const std::int64_t batch = recipe.number("batch");
  const std::int64_t inner = recipe.number("inner");
  const std::int64_t rows = recipe.number("rows");
  const std::int64_t columns = recipe.number("columns");
  const ValueId x =
      net.input("x", DataType::Float, batch == 1 ? ir::Dims{rows, inner} : ir::Dims{batch, rows, inner});
  const ValueId weight = batch == 1 ? net.weight("weight", {inner, columns}, static_cast<double>(inner))
                                    : net.input("weight", DataType::Float, {batch, inner, columns});
  net.output(net.op("product", "MatMul", {x, weight}), "y");
  return net.finish(20);
}

// Images of `image` pixels each way, whose size a convolution keeps at a stride of 1. `layers` of them follow
// each other.
BuiltModel convolution(const Recipe& recipe) {
  Net net(recipe);
  const std::int64_t channels = recipe.number("channels");
  const std::int64_t image = recipe.number("image");
  const std::int64_t kernel = recipe.number("kernel");
  const std::int64_t filters = recipe.number("filters");
  const std::int64_t stride = recipe.number("stride");
  ValueId y = net.input("x", DataType::Float, {recipe.number("batch"), channels, image, image});
  for (std::int64_t layer = 0; layer < recipe.number("layers"); ++layer) {
    y = net.convolution(layer == 0 ? "conv" : fmt::format("conv{}", layer), y,
                        layer == 0 ? channels : filters, filters, kernel, stride, kernel / 2);
  }
  net.output(y, "y");
  return net.finish(20);
}

// a + s b, of `size` elements.
BuiltModel triad(const Recipe& recipe) {
  Net net(recipe);
  const ir::Dims dims{recipe.number("size")};
  const ValueId a = net.input("a", DataType::Float, dims);
  const ValueId b = net.input("b", DataType::Float, dims);
  net.output(net.op("sum", "Add", {a, net.op("scaled", "Mul", {b, net.scalar(3)})}), "c");
  return net.finish(20);
}

// One weight and a loss, whose gradient replicas exchange.
BuiltModel weight(const Recipe& recipe) {
  Net net(recipe);
  const std::int64_t size = recipe.number("size");
  const ValueId weight = net.weight("weight", {size}, 1);
  const ValueId scaled = net.op("scaled", "Mul", {weight, net.input("x", DataType::Float, {1})});
  net.output(net.op("mean", "ReduceMean", {scaled}, {{"keepdims", std::int64_t{0}}}), "loss");
  return net.finish(20);
}

// One op over rows of `columns` elements.
BuiltModel rowwise(const Recipe& recipe) {
  Net net(recipe);
  const std::int64_t columns = recipe.number("columns");
  const ValueId x = net.input("x", DataType::Float, {recipe.number("rows"), columns});
  ValueId y = x;
  if (recipe.is("op", "softmax")) {
    y = net.op("softmax", "Softmax", {x}, {{"axis", std::int64_t{-1}}});
  } else if (recipe.is("op", "layer-norm")) {
    y = net.layer_norm("norm", x, columns);
  } else if (recipe.is("op", "gelu")) {
    y = net.gelu("gelu", x);
  } else if (recipe.is("op", "add")) {
    y = net.op("add", "Add", {x, net.input("z", DataType::Float, {recipe.number("rows"), columns})});
  } else {
    throw Error("parameter op: '{}' found, softmax, layer-norm, gelu or add needed", recipe.word("op"));
  }
  net.output(y, "y");
  return net.finish(20);
}

// softmax(Q K^T / sqrt(d)) V of `heads` heads, as one op.
BuiltModel attention(const Recipe& recipe) {
  Net net(recipe);
  const std::int64_t sequence = recipe.number("sequence");
  const ir::Dims dims{recipe.number("batch"), recipe.number("heads"), sequence, recipe.number("head")};
  const std::vector<ValueId> inputs{net.input("query", DataType::Float, dims),
                                    net.input("key", DataType::Float, dims),
                                    net.input("value", DataType::Float, dims)};
  net.output(net.op("attention", "Attention", inputs, {{"is_causal", recipe.count("causal")}}), "y");
  return net.finish(23);
}

}  // namespace

std::vector<ModelSpec> kernel_models() {
  const ParameterSpec batch{"batch", "1", "at once"};
  const ParameterSpec rows{"rows", "1024", "rows of x"};
  const ParameterSpec columns{"columns", "1024", "columns of the result"};
  return {
      {"product",
       "one matrix product",
       {batch,
        rows,
        {"inner", "1024", "columns of x"},
        columns,
        {"operands", "float", "float, or byte: numbers that are quantised"}},
       product},
      {"convolution",
       "one convolution, or more",
       {{"layers", "1", "one after the other"},
        batch,
        {"channels", "64", "of x"},
        {"filters", "64", "channels of the result"},
        {"image", "56", "height and width in pixels"},
        {"kernel", "3", "height and width of a filter, an odd number"},
        {"stride", "1", "pixels from one window to the next"}},
       convolution},
      {"triad", "a + s b", {{"size", "1048576", "elements"}}, triad},
      {"weight",
       "one weight and a loss, to measure how replicas exchange",
       {{"size", "1048576", "elements"}},
       weight},
      {"rowwise",
       "one op over rows",
       {rows, columns, {"op", "softmax", "softmax, layer-norm, gelu or add"}},
       rowwise},
      {"attention",
       "one attention",
       {batch,
        {"heads", "16", "of each sequence"},
        {"sequence", "1024", "tokens"},
        {"head", "128", "features of a head"},
        {"causal", "0", "1: tokens look back alone"}},
       attention},
  };
}

}  // namespace podium::models
