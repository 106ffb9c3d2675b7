// A product is laid over tiles that have memories of their own (matrix_plan) or over units that share one
// (tiled_product). The host has its engine's algorithms: convolutions by their sum, by Winograd's tiles, with
// vectors along rows, plane by plane, or image by image. Operands in a thread's own cache come while it
// multiplies; what lies further away it waits for, but for weights that it asks for ahead.
#include "executor/sim/product_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "executor/sim/tiled_product.h"
#include "executor/sim/vector_cost.h"
#include "ir/annotation.h"
#include "ir/late_tensor.h"
#include "ir/ops/attention.h"
#include "ir/ops/conv_algorithm.h"
#include "ir/passes/round_operands.h"
#include "ir/work.h"

namespace podium::sim {
namespace {

using device::Device;
using ir::ConvShape;
using ir::TypedOp;

bool has_half_partials(const TypedOp& op) {
  const auto* partials = op.get_if<std::string>(ir::kPartialsType);
  return partials != nullptr && *partials == "half";
}

// Where nothing is said: fitted on the products of halves and singles. Poplar's own planner takes 0.6.
constexpr double kAvailableMemory = 0.7;

// The share of a tile's memory that the node's plan may take: a number, or one for each product of the node.
std::optional<double> available_memory(const TypedOp& op) {
  if (const auto* share = op.get_if<float>(ir::kAvailableMemory)) return *share;
  const auto* shares = op.get_if<ir::FloatList>(ir::kAvailableMemory);
  if (shares == nullptr || shares->empty()) return std::nullopt;
  return shares->front();
}

// Weights that never change lie packed from the first run on, and a cell packs its own once for all steps.
bool packs_weights(const TypedOp& op) {
  return op.op.spec->factors.has_value() && op.constant(op.op.spec->factors->right) == nullptr;
}

// nullptr where a run makes them.
const ir::Tensor* known_weights(const TypedOp& op) {
  const auto& factors = op.op.spec->factors;
  return factors ? op.constant(factors->right) : nullptr;
}

double weights_share(const TypedOp& op) {
  const ir::Tensor* weights = known_weights(op);
  return weights == nullptr ? 1 : ir::stored_share(*weights);
}

// What a CPU takes to make floats of known weights of few bits: bytes are widened and converted, of fewer
// bits are taken apart first and are less their zero point. A vector instruction takes as long as one of
// multiply-adds.
double widening_seconds(const TypedOp& op, const Product& product, const MatrixUnit& unit,
                        const Device& device) {
  const ir::Tensor* weights = known_weights(op);
  const ir::DataType narrow = weights == nullptr ? ir::DataType::Undefined : ir::narrow_type(*weights);
  if (!is_host(device) || narrow == ir::DataType::Undefined) return 0;
  constexpr double kOfBytes = 2;
  constexpr double kOfFewerBits = 4;
  const double instructions = bit_width(narrow) < 8 ? kOfFewerBits : kOfBytes;
  return product.count * product.inner * product.columns * instructions / unit.multiply_adds_per_cycle /
         unit.tiles / device.clock_hertz;
}

bool makes_weights(const TypedOp& op) { return op.op.spec->category == ir::Category::WeightGradient; }

// A convolution, the gradient of its X, or that of its weights, of the host: with its weights between two
// runs.
bool is_convolution_in_training(const TypedOp& op) {
  return makes_weights(op) || (op.op.spec->category == ir::Category::Convolution && packs_weights(op));
}

// By what algorithm the host computes a convolution or one of its gradients. Images: windows of one element
// in training, whose images lie as ONNX has them.
enum class ConvWay { Sum, Winograd, Rows, Planes, Images };

ConvShape conv_shape_of(const TypedOp& op) {
  if (makes_weights(op)) return ir::weight_gradient_shape(op);
  return op.op.is("ConvTranspose") ? ir::conv_transpose_shape(op) : ir::conv_shape(op, 1);
}

ConvWay way_of(const TypedOp& op, const Device& device) {
  const bool is_one = op.op.is("Conv") || op.op.is("ConvTranspose") || makes_weights(op);
  if (!is_one || (!is_host(device) && device.winograd_share == 0)) return ConvWay::Sum;
  const ConvShape shape = conv_shape_of(op);
  const bool in_training = is_convolution_in_training(op);
  const bool lies_as_given = in_training || shape.transposed;  // else channels-last
  const bool has_rows = lies_as_given ? ir::pays_by_rows(shape) : ir::pays_by_rows_among_channels_last(shape);
  const bool has_planes =
      lies_as_given ? ir::pays_by_planes(shape) : ir::pays_by_planes_among_channels_last(shape);
  if (multiplies_bytes(op.op, device)) return ConvWay::Sum;
  if (is_host(device) && op.element(0) == ir::DataType::Float && (has_planes || has_rows))
    return has_planes ? ConvWay::Planes : ConvWay::Rows;
  if (is_host(device) && in_training && ir::has_one_element(shape)) return ConvWay::Images;
  const bool has_tiles = in_training ? ir::pays_by_winograd(shape) : ir::pays_by_packed_winograd(shape);
  return has_tiles && device.winograd_share > 0 ? ConvWay::Winograd : ConvWay::Sum;
}

// The weights by an image, or by all images where that is faster: vectors hold elements of images, not
// channels.
Product by_images(const TypedOp& op, const Product& product) {
  const ConvShape shape = conv_shape_of(op);
  const double images = ir::pays_to_join_images(shape) ? 1 : static_cast<double>(shape.batch);
  return {.count = product.count * images,
          .rows = product.columns,
          .inner = product.inner,
          .columns = product.rows / images,
          .stored_share = 1 / images};
}

// Results of a transposed convolution are added up where they are made, so that vectors hold their channels.
Product direct(const TypedOp& op, Product product) {
  const ConvShape shape = conv_shape_of(op);
  const double multiply_adds = product.rows * product.inner * product.columns;
  const double stored = product.rows * product.inner * product.stored_share;
  product.inner = static_cast<double>(shape.depth());
  product.columns = static_cast<double>(shape.out_channels);
  product.rows = multiply_adds / product.inner / product.columns;
  product.stored_share = std::min(1.0, stored / (product.rows * product.inner));
  return product;
}

// Whole tiles are computed, and the transforms of weights in training as results beside them; weights that
// never change are kept as windows.
Product by_tiles(const TypedOp& op, Product product) {
  constexpr double kTileResults = ir::kWinogradTile * ir::kWinogradTile;
  const ConvShape shape = conv_shape_of(op);
  const auto tiles = static_cast<double>(ir::winograd_tiles(shape));
  const double computed = tiles * kTileResults / static_cast<double>(shape.batch * shape.out_size);
  double& places = makes_weights(op) ? product.inner : product.rows;
  places *= computed;
  product.stored_share /= computed;
  if (is_convolution_in_training(op)) {
    places += ir::kWinogradWeights * kTileResults;
  } else {
    product.weights_share *= ir::kWinogradNumbers;
  }
  return product;
}

// Of the rate of Winograd's products with very many channels what the transforms of X and of Y leave.
double share_beside_transforms(const TypedOp& op) {
  const ConvShape shape = conv_shape_of(op);
  return 1 / (1 + ir::kWinogradTransform / static_cast<double>(shape.in_channels) +
              ir::kWinogradTransform / static_cast<double>(shape.out_channels));
}

// What a convolution is computed as.
Product as_computed(const TypedOp& op, Product product, ConvWay way, const Device& device) {
  if (way == ConvWay::Images && !makes_weights(op)) return by_images(op, product);
  if (is_host(device) && op.op.is("ConvTranspose")) product = direct(op, product);
  return way == ConvWay::Winograd ? by_tiles(op, product) : product;
}

// What a convolution in training reads and makes lies as ONNX has it; but for windows of one element,
// libraries bring it into blocks of channels and back, and so they do with weights. Blocks of a gradient of
// weights are turned, which takes twice as long; transformed windows are stored and read.
double brought_bytes(const TypedOp& op, ConvWay way, const Device& device) {
  if (!is_host(device) || !is_convolution_in_training(op)) return 0;
  if (way == ConvWay::Images && !makes_weights(op)) return 0;
  const double flow = bytes_of(makes_weights(op) ? op.input(1) : op.output(0));
  const double weights = bytes_of(makes_weights(op) ? op.output(0) : op.input(1));
  constexpr double kTurning = 2;
  const double in_order = makes_weights(op) ? kTurning : 1;
  const double moved = way == ConvWay::Winograd ? ir::kWinogradNumbers : in_order;
  return 2 * (bytes_of(op.input(0)) + flow + moved * weights);
}

MatrixUnit unit_for(const TypedOp& op, const Product& product, ConvWay way, double width,
                    const Device& device, int tiles) {
  MatrixUnit unit = matrix_unit(device, tiles, width, has_half_partials(op));
  const double share = available_memory(op).value_or(kAvailableMemory);
  unit.most_temporary_bytes = share * static_cast<double>(device.tile_memory_bytes);
  const bool is_convolution = op.op.spec->category == ir::Category::Convolution || makes_weights(op);
  if (is_convolution && way != ConvWay::Images)
    unit.multiply_adds_per_cycle *= way == ConvWay::Winograd
                                        ? device.winograd_share * share_beside_transforms(op)
                                        : device.convolution_share;
  if (device.synchronous) return unit;
  if (!is_convolution && packs_weights(op)) unit.multiply_adds_per_cycle *= device.changing_weights_share;
  if (way == ConvWay::Images && !makes_weights(op)) {
    unit.weights_cycles *= product.rows / product.columns / product.count;
  } else if (is_convolution || !packs_weights(op)) {
    unit.weights_cycles = 0;
  }
  return unit;
}

OpCost planned_product(const Product& product, const MatrixUnit& unit, const Device& device) {
  const MatrixPlan plan = plan_product(product, unit);
  OpCost cost;
  cost.compute_cycles = plan.compute_cycles;
  cost.exchange_cycles = plan.exchange_cycles;
  cost.temporary_bytes = plan.temporary_bytes * plan.counts * plan.rows * plan.inners * plan.columns;
  cost.seconds = (cost.compute_cycles + cost.exchange_cycles) / device.clock_hertz;
  return cost;
}

// Whether the weights of a product, not those of a convolution, never change.
enum class Weights : std::uint8_t { Known, Others };

Weights weights_of(const TypedOp& op) {
  const bool is_convolution = op.op.spec->category == ir::Category::Convolution || makes_weights(op);
  return is_convolution || packs_weights(op) ? Weights::Others : Weights::Known;
}

double weights_bytes(const Product& product, double width) {
  return product.count * width * product.inner * product.columns * product.weights_share;
}

double multiply_adds(const Product& product) {
  return product.count * product.rows * product.inner * product.columns;
}

// Bytes of both operands and the result, as they are stored.
double stored_bytes(const Product& product, double width) {
  const double left = product.rows * product.inner * product.stored_share;
  const double right = product.inner * product.columns * product.weights_share;
  return product.count * width * (left + right + product.rows * product.columns);
}

// Vectors of a CPU wait for results as they are stored, block by block: what products read and what they make
// takes time of its own.
double read_bytes(const Product& product, double width, const Device& device) {
  const double results = product.count * width * product.rows * product.columns;
  return stored_bytes(product, width) - (is_host(device) ? results : 0);
}

// What shared memory delivers of operands, at the rate of kernels that store as they read, in the time that
// reading alone takes. What is in a cache comes from there: on a CPU as much as the kernel finds, and what a
// product has that comes again and again, as that of a cell's state. The operands of others come from memory:
// what kernels did since has left nothing of them.
// Of known weights the engine asks for a share while it multiplies.
Delivered delivered_bytes(const RepeatedProduct& each, Weights weights, const MatrixUnit& unit,
                          const Device& device) {
  const double bytes = read_bytes(each.product, unit.element_bytes, device);
  CacheRoom room = cache_room(device, unit.tiles);
  if (each.times == 1 && !is_host(device)) room = {};
  const double all = memory_bytes(bytes, room, device) / device.read_speed;
  if (!is_host(device)) return {.beside = all};
  const double near = std::min(bytes, room.near) / device.near_cache_speed / device.read_speed;
  const double far = all - near;
  const double ahead = weights == Weights::Known ? device.ahead_share * far *
                                                       weights_bytes(each.product, unit.element_bytes) / bytes
                                                 : 0;
  return {.beside = near + ahead, .before = far - ahead};
}

// Of what is in the cache the operands come first.
double store_seconds(const TypedOp& op, const std::vector<RepeatedProduct>& products, const Device& device,
                     int tiles) {
  const double width = bit_width(multiplied_type(op, device)) / 8.0;
  double read = 0;
  for (const RepeatedProduct& each : products) read += read_bytes(each.product, width, device);
  const double bytes = output_bytes(op);
  const CacheRoom room = cache_room(device, tiles);
  const CacheRoom left{.all = std::max(0.0, room.all - read), .near = std::max(0.0, room.near - read)};
  return memory_bytes(bytes, left, device) / device.exchange_bytes_per_cycle / tiles / device.clock_hertz;
}

// As vector instructions, one for each vector of multiply-adds, which loads what it needs beside.
OpCost product_on_vectors(const Product& product, double width, const Device& device, int tiles) {
  if (is_host(device)) {
    // The vectors are what multiplies matrices, at half of its rate where each multiply-add needs a load.
    const double rate = matrix_unit(device, tiles, width).multiply_adds_per_cycle / 2;
    OpCost cost;
    cost.seconds = roofline_seconds(device, tiles, multiply_adds(product) / rate / tiles,
                                    read_bytes(product, width, device), 1);
    return cost;
  }
  const double left = product.count * product.rows * product.inner * product.stored_share * width;
  VectorWork work{.flop = multiply_adds(product), .element_bytes = width, .received_bytes = left / tiles};
  if (!device.synchronous) work.bytes = stored_bytes(product, width);
  return vector_cost(work, device, tiles);
}

// A kernel that does so many multiply-adds and uses the operands as they come.
OpCost unpacked_product(const RepeatedProduct& each, Weights weights, double done, const MatrixUnit& unit,
                        const Device& device) {
  const double tiles = unit.tiles;
  const double cycles = done / unit.multiply_adds_per_cycle / tiles;
  const double rate = unit.exchange_bytes_per_cycle * tiles;
  const Delivered bytes = delivered_bytes(each, weights, unit, device);
  OpCost cost;
  cost.seconds = (std::max(cycles, bytes.beside / rate) + bytes.before / rate + unit.overhead_cycles +
                  device.phase_overhead_cycles) /
                 device.clock_hertz;
  return cost;
}

// Planes are brought into the cache and computed there in turns.
OpCost cost_of_planes(const TypedOp& op, double flop, const MatrixUnit& unit, const Device& device) {
  const double tiles = unit.tiles;
  const double cycles = ir::multiply_adds_by_planes(conv_shape_of(op)) / unit.multiply_adds_per_cycle / tiles;
  const double brought =
      2 * bytes_of(op.input(0)) / device.cache_speed / device.exchange_bytes_per_cycle / tiles;
  OpCost cost;
  cost.flop = cost.matrix_flop = flop;
  cost.seconds = roofline_seconds(device, unit.tiles, cycles + brought, 0, 1) +
                 roofline_seconds(device, unit.tiles, 0, input_bytes(op), 0);
  return cost;
}

OpCost product_on_matrix_units(const RepeatedProduct& each, Weights weights, const MatrixUnit& unit,
                               ConvWay way, const Device& device) {
  if (device.synchronous) return planned_product(each.product, unit, device);
  OpCost cost;
  Delivered bytes = delivered_bytes(each, weights, unit, device);
  // Windows are asked for ahead.
  if (way == ConvWay::Winograd) bytes = {.beside = bytes.beside + bytes.before};
  cost.seconds = tiled_seconds(each.product, unit, bytes, device);
  if (each.product.rows >= kUnitColumns) return cost;
  // For fewer rows than a piece has, libraries have kernels that use the weights as they come; a CPU's rows
  // are not filled up to a piece, and it has no others for them.
  const OpCost few =
      unpacked_product(each, weights, multiply_adds(each.product) / device.few_rows_share, unit, device);
  return is_host(device) || few.seconds < cost.seconds ? few : cost;
}

// Narrow products, such as a group of a depthwise convolution, would leave most of a matrix unit idle: they
// go where they are faster.
OpCost product_cost(const TypedOp& op, RepeatedProduct each, const Device& device, int tiles) {
  Product& product = each.product;
  if (!device.synchronous && !multiplies_bytes(op.op, device)) product.weights_share = weights_share(op);
  const double flop = 2 * multiply_adds(product);
  const double width = bit_width(multiplied_type(op, device)) / 8.0;
  const ConvWay way = way_of(op, device);
  const Weights weights = weights_of(op);
  if (way == ConvWay::Planes) return cost_of_planes(op, flop, matrix_unit(device, tiles, width), device);
  OpCost cost;
  if (way == ConvWay::Rows) {
    const double done = ir::multiply_adds_by_rows(conv_shape_of(op)) / device.row_convolution_share;
    cost = unpacked_product(each, weights, done, matrix_unit(device, tiles, width), device);
    cost.matrix_flop = flop;
  } else if (has_matrix_unit(op.element(0))) {
    const RepeatedProduct computed{as_computed(op, product, way, device), each.times};
    cost = product_on_matrix_units(computed, weights,
                                   unit_for(op, computed.product, way, width, device, tiles), way, device);
    cost.seconds += roofline_seconds(device, tiles, 0, brought_bytes(op, way, device), 0);
    if (product.weights_share < 1)
      cost.seconds += widening_seconds(op, product, matrix_unit(device, tiles, width), device);
    cost.matrix_flop = flop;
  }
  if (cost.matrix_flop == 0 || product.columns < kUnitColumns) {
    const OpCost vectors = product_on_vectors(product, width, device, tiles);
    if (cost.matrix_flop == 0 || vectors.seconds < cost.seconds) cost = vectors;
  }
  cost.flop = flop;
  return cost;
}

// What of keys and values is there already, behind which new ones are written.
double kept_bytes(const TypedOp& op, const Device& device) {
  using In = ir::AttentionInput;
  using Out = ir::AttentionOutput;
  if (!appends_in_place(device) || !op.op.is("Attention")) return 0;
  double bytes = 0;
  for (const auto& [past, present] :
       {std::pair(In::kPastKey, Out::kPresentKey), {In::kPastValue, Out::kPresentValue}}) {
    if (op.has_input(past) && op.has_output(present)) bytes += bytes_of(op.input(past));
  }
  return bytes;
}

// One kernel: scores stay in the units.
OpCost fused_attention_cost(const TypedOp& op, const std::vector<RepeatedProduct>& products,
                            const Device& device, int tiles) {
  const Product& scores = products[0].product;
  const double seen = ir::share_seen(op);
  OpCost cost;
  for (const RepeatedProduct& each : products) cost.flop += 2 * multiply_adds(each.product) * seen;
  const double width = bit_width(op.element(0)) / 8.0;
  const double cycles = attention_cycles(cost.flop, scores.columns * seen, width, device, tiles);
  const double bytes = input_bytes(op) + output_bytes(op) - kept_bytes(op, device);
  cost.seconds = roofline_seconds(device, tiles, cycles, bytes, 1);
  cost.matrix_flop = cost.flop;
  return cost;
}

}  // namespace

double bytes_of(const ir::Type& type) { return static_cast<double>(ir::packed_bytes(type)); }

double output_bytes(const TypedOp& op) {
  double bytes = 0;
  for (const ir::Type& type : op.output_types) bytes += bytes_of(type);
  return bytes;
}

double input_bytes(const TypedOp& op) {
  double bytes = 0;
  for (const ir::Type& type : op.input_types) bytes += bytes_of(type);
  return bytes;
}

double element_bytes(const TypedOp& op) {
  int bits = 8;
  if (!op.input_types.empty()) bits = std::max(bits, bit_width(op.input(0).element));
  if (!op.output_types.empty()) bits = std::max(bits, bit_width(op.output(0).element));
  return bits / 8.0;
}

ir::DataType multiplied_type(const TypedOp& op, const Device& device) {
  if (multiplies_bytes(op.op, device)) return ir::DataType::Int8;
  const bool is_narrow = asks_for_narrow_operands(op.op) && ir::kFloats.contains(op.element(0));
  return is_narrow && is_faster_at_8_bits(device) ? ir::DataType::Float8E4M3FN : op.element(0);
}

OpCost products_cost(const TypedOp& op, const std::vector<RepeatedProduct>& products, const Device& device,
                     int tiles) {
  if (op.op.spec->category == ir::Category::Attention && device.attention_share > 0 &&
      !(is_host(device) && products[0].product.rows < ir::kPackedRows))
    return fused_attention_cost(op, products, device, tiles);
  OpCost cost;
  for (const RepeatedProduct& each : products) cost += product_cost(op, each, device, tiles) * each.times;
  const bool is_recurrent = op.op.spec->category == ir::Category::Recurrent;
  if (is_host(device)) cost.seconds += store_seconds(op, products, device, tiles);
  if (products.size() < 2 && !is_recurrent) return cost;
  const RepeatedProduct& inner = is_recurrent ? products.back() : products[0];
  // A step's gates are what its product makes, or what it starts from on the way back: the wider side.
  const double columns =
      is_recurrent ? std::max(inner.product.inner, inner.product.columns) : inner.product.columns;
  const double results = inner.product.count * inner.product.rows * columns;
  constexpr double kFlopEach = 4;  // as ops/softmax.cpp counts; gates are like it
  const double width = element_bytes(op);
  cost += vector_cost({.bytes = 2 * results * width, .flop = kFlopEach * results, .element_bytes = width},
                      device, tiles) *
          inner.times;
  return cost;
}

double attention_cycles(double flop, double positions, double width, const Device& device, int tiles) {
  // docs/cost-model.md: figures of FlashAttention. The host's kernel takes as long for each position.
  const double fill = is_host(device) ? 0 : 160;
  const MatrixUnit unit = matrix_unit(device, tiles, width, true);
  const double rate = 2 * unit.multiply_adds_per_cycle / device.matrix_share * device.attention_share * tiles;
  return flop / rate * (1 + fill / positions);
}

}  // namespace podium::sim
