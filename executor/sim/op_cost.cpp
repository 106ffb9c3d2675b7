// The category of an op's row says how its work lies on tiles:
//   products        each on matrix units (matrix_plan) or, where these would idle, on vector units
//   normalizing     two statistics of every row over all tiles that hold a part of it, then each element
//   elementwise     operands lie where the result will be; what is stretched is brought there
//   plain           a reduction (its result is smaller: partial results travel), a stretching, or a movement
//   control         the dearer branch, or the body for every trip
// On a machine that is not synchronous all of these are rooflines.
#include "executor/sim/op_cost.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "executor/sim/kept_rows.h"
#include "executor/sim/products.h"
#include "executor/sim/tiled_product.h"
#include "executor/sim/vector_cost.h"
#include "ir/annotation.h"
#include "ir/error.h"
#include "ir/late_tensor.h"
#include "ir/ops/attention.h"
#include "ir/ops/block_rounding.h"
#include "ir/ops/conv_algorithm.h"
#include "ir/passes/round_operands.h"
#include "ir/work.h"

namespace podium::sim {
namespace {

using device::Device;
using ir::ConvShape;
using ir::TypedOp;

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

// In what width an op computes: of its first input and output the wider.
double element_bytes(const TypedOp& op) {
  int bits = 8;
  if (!op.input_types.empty()) bits = std::max(bits, bit_width(op.input(0).element));
  if (!op.output_types.empty()) bits = std::max(bits, bit_width(op.output(0).element));
  return bits / 8.0;
}

void need_known_sizes(const TypedOp& op) {
  const auto need = [](const ir::Type& type) {
    if (type.is_tensor() && !type.is_static())
      throw Error("the size of {} is known only by a run", to_string(type));
  };
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.has_input(i)) need(op.input(i));
  }
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    if (op.has_output(i)) need(op.output(i));
  }
}

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

bool is_host(const Device& device) { return device.kind == device::ProcessorKind::Cpu; }

// The type that units multiply.
ir::DataType multiplied_type(const TypedOp& op, const Device& device) {
  if (multiplies_bytes(op.op, device)) return ir::DataType::Int8;
  const bool is_narrow = asks_for_narrow_operands(op.op) && ir::kFloats.contains(op.element(0));
  return is_narrow && is_faster_at_8_bits(device) ? ir::DataType::Float8E4M3FN : op.element(0);
}

double weights_share(const TypedOp& op) {
  const auto& factors = op.op.spec->factors;
  const ir::Tensor* weights = factors ? op.constant(factors->right) : nullptr;
  return weights == nullptr ? 1 : ir::stored_share(*weights);
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

// What a convolution is computed as: by Winograd's algorithm in training with the transforms of its weights,
// as results beside its own.
Product as_computed(const TypedOp& op, Product product, ConvWay way, const Device& device) {
  if (way == ConvWay::Images && !makes_weights(op)) return by_images(op, product);
  if (is_host(device) && op.op.is("ConvTranspose")) product = direct(op, product);
  if (way != ConvWay::Winograd || !is_convolution_in_training(op)) return product;
  constexpr double kTransforms = ir::kWinogradWeights * ir::kWinogradTile * ir::kWinogradTile;
  (makes_weights(op) ? product.inner : product.rows) += kTransforms;
  return product;
}

// What a convolution in training reads and makes lies as ONNX has it; but for windows of one element,
// libraries bring it into blocks of channels and back.
double brought_bytes(const TypedOp& op, ConvWay way, const Device& device) {
  if (!is_host(device) || !is_convolution_in_training(op)) return 0;
  const double flow = bytes_of(makes_weights(op) ? op.input(1) : op.output(0));
  return way == ConvWay::Images && !makes_weights(op) ? 0 : 2 * (bytes_of(op.input(0)) + flow);
}

MatrixUnit unit_for(const TypedOp& op, const Product& product, ConvWay way, double width,
                    const Device& device, int tiles) {
  MatrixUnit unit = matrix_unit(device, tiles, width, has_half_partials(op));
  const double share = available_memory(op).value_or(kAvailableMemory);
  unit.most_temporary_bytes = share * static_cast<double>(device.tile_memory_bytes);
  const bool is_convolution = op.op.spec->category == ir::Category::Convolution || makes_weights(op);
  if (is_convolution && way != ConvWay::Images)
    unit.multiply_adds_per_cycle *=
        way == ConvWay::Winograd ? device.winograd_share : device.convolution_share;
  if (device.synchronous) return unit;
  if (!is_convolution && packs_weights(op)) unit.multiply_adds_per_cycle *= device.changing_weights_share;
  // Over shared memory the result of a gradient of weights is brought into another order, not the second
  // operand.
  if (makes_weights(op)) {
    unit.weights_cycles *= product.rows / product.inner;
  } else if (way == ConvWay::Images) {
    unit.weights_cycles *= product.rows / product.columns / product.count;
  } else if (!packs_weights(op)) {
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

double multiply_adds(const Product& product) {
  return product.count * product.rows * product.inner * product.columns;
}

// Bytes of both operands and the result, as they are stored.
double stored_bytes(const Product& product, double width) {
  const double left = product.rows * product.inner * product.stored_share;
  const double right = product.inner * product.columns * product.weights_share;
  return product.count * width * (left + right + product.rows * product.columns);
}

// Vectors of a CPU wait for results as they are stored, block by block, and compute while operands come: what
// products read and what they make takes time of its own.
double read_bytes(const Product& product, double width, const Device& device) {
  const double results = product.count * width * product.rows * product.columns;
  return stored_bytes(product, width) - (is_host(device) ? results : 0);
}

// What shared memory delivers of operands, at the rate of kernels that store as they read, in the time that
// reading alone takes. What is in the cache comes from there: on a CPU as much as the kernel finds, and what
// a product has that comes again and again, as that of a cell's state.
double delivered_bytes(const RepeatedProduct& each, double width, const Device& device) {
  const double bytes = read_bytes(each.product, width, device);
  const auto cache = static_cast<double>(device.cache_bytes);
  double cached = 0;
  if (each.times > 1) {
    cached = bytes <= cache ? bytes : 0;
  } else if (is_host(device)) {
    cached = std::min(bytes, cache);
  }
  return memory_bytes(bytes, cached, device) / device.read_speed;
}

// Of what is in the cache the operands come first.
double store_seconds(const TypedOp& op, const std::vector<RepeatedProduct>& products, const Device& device,
                     int tiles) {
  const double width = bit_width(multiplied_type(op, device)) / 8.0;
  double read = 0;
  for (const RepeatedProduct& each : products) read += read_bytes(each.product, width, device);
  const double bytes = output_bytes(op);
  const double cache = std::max(0.0, static_cast<double>(device.cache_bytes) - read);
  const double cached = std::min(bytes, cache);
  return memory_bytes(bytes, cached, device) / device.exchange_bytes_per_cycle / tiles / device.clock_hertz;
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
OpCost unpacked_product(const RepeatedProduct& each, double done, const MatrixUnit& unit,
                        const Device& device) {
  const double tiles = unit.tiles;
  const double cycles = done / unit.multiply_adds_per_cycle / tiles;
  const double memory =
      delivered_bytes(each, unit.element_bytes, device) / unit.exchange_bytes_per_cycle / tiles;
  OpCost cost;
  cost.seconds =
      (std::max(cycles, memory) + unit.overhead_cycles + device.phase_overhead_cycles) / device.clock_hertz;
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

OpCost product_on_matrix_units(const RepeatedProduct& each, const MatrixUnit& unit, const Device& device) {
  if (device.synchronous) return planned_product(each.product, unit, device);
  OpCost cost;
  cost.seconds = tiled_seconds(each.product, unit, delivered_bytes(each, unit.element_bytes, device), device);
  if (each.product.rows >= kUnitColumns) return cost;
  // For fewer rows than a piece has, libraries have kernels that use the weights as they come; a CPU's rows
  // are not filled up to a piece, and it has no others for them.
  const OpCost few =
      unpacked_product(each, multiply_adds(each.product) / device.few_rows_share, unit, device);
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
  if (way == ConvWay::Planes) return cost_of_planes(op, flop, matrix_unit(device, tiles, width), device);
  OpCost cost;
  if (way == ConvWay::Rows) {
    const double done = ir::multiply_adds_by_rows(conv_shape_of(op)) / device.row_convolution_share;
    cost = unpacked_product(each, done, matrix_unit(device, tiles, width), device);
    cost.matrix_flop = flop;
  } else if (has_matrix_unit(op.element(0))) {
    const RepeatedProduct computed{as_computed(op, product, way, device), each.times};
    cost =
        product_on_matrix_units(computed, unit_for(op, computed.product, way, width, device, tiles), device);
    cost.seconds += roofline_seconds(device, tiles, 0, brought_bytes(op, way, device), 0);
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

// Between products: gates of a cell, the softmax of scores.
OpCost products_cost(const TypedOp& op, const std::vector<RepeatedProduct>& products, const Device& device,
                     int tiles) {
  if (op.op.spec->category == ir::Category::Attention && device.attention_share > 0)
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

double dims_product(const ir::Dims& dims, std::size_t end) {
  double product = 1;
  for (std::size_t i = 0; i < end; ++i) product *= static_cast<double>(dims[i]);
  return product;
}

// Results that each tile has a part of and gives to others. Elements lie over the tiles in their order: those
// of a result that ends a row are on a tile or two, those of one that goes across rows are on all.
double partials_per_tile(const TypedOp& op, int tiles) {
  const ir::Dims& in = op.dims(0);
  ir::Dims out = op.output(0).dims;
  while (!out.empty() && out.back() == 1) out.pop_back();
  const bool ends_rows = out.size() <= in.size() && std::equal(out.begin(), out.end(), in.begin());
  const double results = static_cast<double>(op.output(0).element_count());
  const double held = static_cast<double>(op.input(0).element_count()) / tiles;
  return ends_rows ? std::ceil(results / tiles) : std::min(results, std::ceil(held));
}

// Two statistics (largest and sum, mean and variance) of every row, then each element once more.
OpCost normalizing_cost(const TypedOp& op, VectorWork work, const Device& device, int tiles) {
  constexpr double kStatistics = 2;
  constexpr double kStatisticBytes = 4;
  const ir::Dims& dims = op.dims(0);
  const auto* axis = op.get_if<std::int64_t>("axis");
  const auto rank = std::ssize(dims);
  const std::int64_t end =
      axis != nullptr ? ir::normalized_axis(*axis, rank) : std::min<std::int64_t>(2, rank);
  const double rows = dims_product(dims, static_cast<std::size_t>(end));
  work.received_bytes += kStatistics * kStatisticBytes * std::ceil(rows / tiles);
  work.phases += kStatistics;
  return vector_cost(work, device, tiles);
}

// What is smaller than the result and not one number is brought to each tile's part of it.
double broadcast_bytes(const TypedOp& op, int tiles) {
  const double part = std::ceil(output_bytes(op) / tiles);
  double bytes = 0;
  for (const ir::Type& type : op.input_types) {
    const double input = bytes_of(type);
    if (input < bytes_of(op.output(0))) bytes += std::min(input, part);
  }
  return bytes;
}

// Cycles to bring a byte into its new place. Where the elements of a row go apart, units of 8 bytes turn
// squares of elements, if both dimensions consist of such.
double rearrange_cycles(const TypedOp& op, const Device& device) {
  const auto* perm = op.op.is("Transpose") ? op.get_if<ir::IntList>("perm") : nullptr;
  if (perm == nullptr || perm->empty()) return 1 / device.copy_bytes_per_cycle;
  const double width = std::max(1.0, bit_width(op.element(0)) / 8.0);
  const auto is_square = [&](std::size_t axis) {
    return std::fmod(static_cast<double>(op.dims(0)[axis]), std::max(1.0, 8 / width)) == 0;
  };
  const auto last = static_cast<std::size_t>(perm->back());
  if (last + 1 == perm->size())
    return is_square(last) ? 1 / device.copy_bytes_per_cycle : device.rearrangement.wide;
  if (is_square(last) && is_square(perm->size() - 1)) return device.rearrangement.wide;
  return width >= 4 ? device.rearrangement.single : device.rearrangement.half;
}

// `counted`: bytes that the op reads and writes; 0 where its row counts none.
OpCost moving_cost(const TypedOp& op, double counted, const Device& device, int tiles) {
  const double part = output_bytes(op) / tiles;
  const double received = std::min(part, input_bytes(op));
  VectorWork work{.received_bytes = received,
                  .copied_bytes = part * rearrange_cycles(op, device) * device.copy_bytes_per_cycle};
  if (!device.synchronous) work.bytes = counted > 0 ? counted : input_bytes(op) + output_bytes(op);
  return vector_cost(work, device, tiles);
}

OpCost plain_cost(const TypedOp& op, const Device& device, int tiles) {
  const ir::Work counted = ir::work_of(op);
  const bool is_free =
      op.op.spec->view || (counted.flop == 0 && counted.bytes == 0 && op.op.spec->work != nullptr);
  if (is_free || op.output_types.empty()) return {};
  // Where, Cast and their like find their operands where the result will be.
  const bool stays = op.op.spec->category == ir::Category::Elementwise;
  if (counted.flop == 0 && !stays) return moving_cost(op, counted.bytes, device, tiles);
  VectorWork work{.bytes = counted.bytes, .flop = counted.flop, .element_bytes = element_bytes(op)};
  // Numbers are stored as they are rounded to.
  if (rounds_to_blocks(op.op) && is_faster_at_8_bits(device))
    work.bytes -= bytes_of(op.output(0)) - static_cast<double>(op.output(0).element_count());
  const bool has_rank = !op.input_types.empty() && op.input(0).is_tensor() && op.input(0).has_rank;
  if (has_rank && !device.synchronous) work.bytes += (operand_reads(op, device) - 1) * bytes_of(op.input(0));
  if (has_rank && op.op.spec->category == ir::Category::Normalizing)
    return normalizing_cost(op, work, device, tiles);
  if (has_rank && bytes_of(op.output(0)) < bytes_of(op.input(0)) && !stays) {
    work.received_bytes = partials_per_tile(op, tiles) * element_bytes(op);
    work.phases = 2;
  } else {
    work.received_bytes = broadcast_bytes(op, tiles);
  }
  return vector_cost(work, device, tiles);
}

OpCost body_cost(const ir::Graph& body, const Device& device, int tiles) {
  OpCost cost;
  for (const ir::Op& op : body.ops) {
    try {
      cost += op_cost(TypedOp(body, op), device, tiles);
    } catch (const Error& error) {
      throw error.at(body.describe(op));
    }
  }
  return cost;
}

double trips_of(const TypedOp& op) {
  if (op.op.is("Loop")) {
    const ir::Tensor* most = op.has_input(0) ? op.constant(0) : nullptr;
    if (most == nullptr || most->size() != 1) throw Error("the number of trips is known only by a run");
    return static_cast<double>(std::max<std::int64_t>(most->to_ints()[0], 0));
  }
  if (!op.op.is("Scan")) throw Error("the length of the sequence is known only by a run");
  const std::size_t first = op.op.formal_inputs() - static_cast<std::size_t>(op.get_int("num_scan_inputs"));
  if (!op.input(first).is_static()) throw Error("the number of trips is known only by a run");
  const ir::Dims& dims = op.dims(first);
  const auto* axes = op.get_if<ir::IntList>("scan_input_axes");
  const std::int64_t axis = axes == nullptr || axes->empty() ? 0 : axes->front();
  return static_cast<double>(dims[ir::normalized_axis(axis, std::ssize(dims))]);
}

OpCost control_cost(const TypedOp& op, const Device& device, int tiles) {
  if (op.op.is("If")) {
    const OpCost a = body_cost(*op.get<ir::Body>("then_branch"), device, tiles);
    const OpCost b = body_cost(*op.get<ir::Body>("else_branch"), device, tiles);
    return a.seconds < b.seconds ? b : a;
  }
  const double trips = trips_of(op);
  return body_cost(*op.get<ir::Body>("body"), device, tiles) * trips;
}

}  // namespace

OpCost& OpCost::operator+=(const OpCost& other) {
  seconds += other.seconds;
  compute_cycles += other.compute_cycles;
  exchange_cycles += other.exchange_cycles;
  sync_cycles += other.sync_cycles;
  flop += other.flop;
  ideal_seconds += other.ideal_seconds;
  matrix_flop += other.matrix_flop;
  temporary_bytes = std::max(temporary_bytes, other.temporary_bytes);
  return *this;
}

double attention_cycles(double flop, double positions, double width, const Device& device, int tiles) {
  constexpr double kFillPositions = 160;  // docs/cost-model.md: figures of FlashAttention
  const MatrixUnit unit = matrix_unit(device, tiles, width, true);
  const double rate = 2 * unit.multiply_adds_per_cycle / device.matrix_share * device.attention_share * tiles;
  return flop / rate * (1 + kFillPositions / positions);
}

OpCost operator*(OpCost cost, double times) {
  for (double* number : {&cost.seconds, &cost.compute_cycles, &cost.exchange_cycles, &cost.sync_cycles,
                         &cost.flop, &cost.matrix_flop, &cost.ideal_seconds}) {
    *number *= times;
  }
  return cost;
}

bool is_faster_at_8_bits(const Device& device) {
  return !is_host(device) && device.matrix.quarter > device.matrix.half_half;
}

bool appends_in_place(const Device& device) {
  return !device.synchronous && !is_host(device) && device.fusion == device::Fusion::All;
}

bool multiplies_bytes(const ir::Op& op, const Device& device) {
  return !device.synchronous && device.matrix.quarter > device.matrix.single &&
         ir::attribute_if<std::int64_t>(op, ir::kMultipliesBytes) != nullptr;
}

OpCost op_cost(const TypedOp& op, const Device& device, int tiles) {
  IR_CHECK(tiles > 0, "an op on {} tiles", tiles);
  if (ir::attribute_if<std::int64_t>(op.op, ir::kLoadedWithProgram) != nullptr) return {};
  if (op.op.spec->category == ir::Category::Control) return control_cost(op, device, tiles);
  need_known_sizes(op);
  const std::vector<RepeatedProduct> products = products_of(op);
  OpCost cost = products.empty() ? plain_cost(op, device, tiles) : products_cost(op, products, device, tiles);
  if (cost.flop > 0 && !op.input_types.empty())
    cost.ideal_seconds = cost.flop / peak_flop_per_second(device, multiplied_type(op, device));
  return cost;
}

double peak_flop_per_second(const Device& device, ir::DataType type) {
  const double width = std::max(bit_width(type), 8) / 8.0;
  double per_cycle = device.vector_bytes_per_cycle / width;
  if (has_matrix_unit(type)) {
    per_cycle = width <= 1   ? std::max(device.matrix.quarter, device.matrix.half_half)
                : width <= 2 ? device.matrix.half_half
                             : device.matrix.single;
  }
  return 2 * per_cycle * device.tiles * device.clock_hertz;
}

}  // namespace podium::sim
