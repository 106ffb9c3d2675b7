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

#include "executor/sim/kept_rows.h"
#include "executor/sim/matrix_plan.h"
#include "executor/sim/product_cost.h"
#include "executor/sim/products.h"
#include "executor/sim/vector_cost.h"
#include "ir/annotation.h"
#include "ir/error.h"
#include "ir/late_tensor.h"
#include "ir/ops/block_rounding.h"
#include "ir/passes/round_operands.h"
#include "ir/work.h"

namespace podium::sim {
namespace {

using device::Device;
using ir::TypedOp;

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

OpCost operator*(OpCost cost, double times) {
  for (double* number : {&cost.seconds, &cost.compute_cycles, &cost.exchange_cycles, &cost.sync_cycles,
                         &cost.flop, &cost.matrix_flop, &cost.ideal_seconds}) {
    *number *= times;
  }
  return cost;
}

bool is_host(const Device& device) { return device.kind == device::ProcessorKind::Cpu; }

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
