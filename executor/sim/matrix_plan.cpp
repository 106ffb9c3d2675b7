// A product is cut over tiles in four ways: by count, rows, inner elements and columns. Numbers of parts that
// give the same largest part are tried once, and the plan with the fewest cycles wins, whichever operand the
// unit holds. A plan that takes more memory than is available gives way to parts that come one after the
// other.
#include "executor/sim/matrix_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace podium::sim {
namespace {

constexpr double kBlock = kUnitColumns;  // also inner elements that the unit takes at once
constexpr double kGroupInner = 64;       // inner elements of a group of weights

double part(double size, int parts) { return std::ceil(size / parts); }

// Numbers of parts of `size` things that are worth trying: the fewest for each size of the largest part.
std::vector<int> cuts(double size, int most) {
  std::set<int> found;
  const int end = static_cast<int>(std::min<double>(size, most));
  for (int parts = 1; parts <= end; ++parts)
    found.insert(static_cast<int>(std::ceil(size / part(size, parts))));
  return {found.begin(), found.end()};
}

// Many products are dealt out evenly. The other dimensions share the tiles that are left, so powers of two
// are close enough.
std::vector<int> deals(double count, int tiles) {
  const int end = static_cast<int>(std::min<double>(count, tiles));
  std::vector<int> found;
  for (int parts = 1; parts < end; parts *= 2) found.push_back(parts);
  found.push_back(end);
  return found;
}

MatrixPlan with_cost(MatrixPlan plan, const Product& product, const MatrixUnit& unit) {
  const double count = part(product.count, plan.counts);
  const double rows = part(product.rows, plan.rows);
  const double inner = kBlock * part(std::ceil(product.inner / kBlock), plan.inners);
  const double columns = kBlock * part(std::ceil(product.columns / kBlock), plan.columns);
  const double groups = columns / kBlock * inner / kGroupInner;
  plan.compute_cycles =
      unit.overhead_cycles +
      count * (rows * inner * columns / unit.multiply_adds_per_cycle + unit.weights_cycles * groups);
  const double operands = rows * inner * product.stored_share + (plan.rows > 1 ? columns * inner : 0);
  plan.exchange_cycles = count * operands * unit.element_bytes / unit.exchange_bytes_per_cycle;
  plan.temporary_bytes = count * operands * unit.element_bytes;
  if (plan.inners > 1) {
    const double partials = count * rows * columns * unit.partial_bytes;
    plan.exchange_cycles += partials / unit.exchange_bytes_per_cycle;
    plan.compute_cycles += partials / unit.copy_bytes_per_cycle;
    plan.temporary_bytes += partials;
  }
  return plan;
}

void search(const Product& product, const MatrixUnit& unit, MatrixPlan& best) {
  const auto consider = [&](MatrixPlan plan) {
    plan = with_cost(plan, product, unit);
    if (best.compute_cycles == 0 || plan.cycles() < best.cycles()) best = plan;
  };
  for (int counts : deals(product.count, unit.tiles)) {
    const int each = unit.tiles / counts;
    for (int columns : cuts(std::ceil(product.columns / kBlock), each)) {
      for (int inners : cuts(std::ceil(product.inner / kBlock), each / columns)) {
        const int rows = static_cast<int>(std::min<double>(product.rows, each / columns / inners));
        consider({counts, 1, inners, columns});  // nobody else needs the weights then
        if (rows > 1) consider({counts, rows, inners, columns});
      }
    }
  }
}

// Either operand may be the one that the unit holds, unless windows of a convolution are read from one copy.
MatrixPlan fastest_at_once(const Product& product, const MatrixUnit& unit) {
  MatrixPlan best;
  search(product, unit, best);
  if (product.stored_share < 1) return best;
  Product turned = product;
  std::swap(turned.rows, turned.columns);
  search(turned, unit, best);
  return best;
}

// The fastest plan of a product whose rows are cut into `by_rows` parts and columns into `by_columns`, which
// come one after the other.
MatrixPlan in_parts(const Product& product, const MatrixUnit& unit, int by_rows, int by_columns) {
  Product one = product;
  one.rows = std::ceil(one.rows / by_rows);
  one.columns = std::ceil(one.columns / by_columns);
  MatrixPlan plan = fastest_at_once(one, unit);
  plan.serial = by_rows * by_columns;
  plan.compute_cycles *= plan.serial;
  plan.exchange_cycles *= plan.serial;
  return plan;
}

// Where the fastest plan takes more memory than is available, the product is cut into as few parts as fit; of
// as many, the fastest are taken. Where none fits, those that take least.
MatrixPlan fastest(const Product& product, const MatrixUnit& unit) {
  constexpr int kMostParts = 64;
  MatrixPlan least = fastest_at_once(product, unit);
  if (least.temporary_bytes <= unit.most_temporary_bytes) return least;
  for (int parts = 2; parts <= kMostParts; parts += parts < 8 ? 1 : parts / 2) {
    std::optional<MatrixPlan> best;
    for (int by_rows = 1; by_rows <= parts; ++by_rows) {
      if (parts % by_rows != 0) continue;
      const MatrixPlan plan = in_parts(product, unit, by_rows, parts / by_rows);
      const bool fits = plan.temporary_bytes <= unit.most_temporary_bytes;
      if (fits && (!best || plan.cycles() < best->cycles())) best = plan;
      if (plan.temporary_bytes < least.temporary_bytes) least = plan;
    }
    if (best) return *best;
  }
  return least;
}

using Key = std::array<double, 14>;

Key key_of(const Product& product, const MatrixUnit& unit) {
  return {product.count,
          product.rows,
          product.inner,
          product.columns,
          product.stored_share,
          static_cast<double>(unit.tiles),
          unit.multiply_adds_per_cycle,
          unit.overhead_cycles,
          unit.weights_cycles,
          unit.exchange_bytes_per_cycle,
          unit.copy_bytes_per_cycle,
          unit.element_bytes,
          unit.partial_bytes,
          unit.most_temporary_bytes};
}

}  // namespace

MatrixUnit matrix_unit(const device::Device& device, int tiles, double element_bytes, bool half_partials) {
  const bool is_half = element_bytes <= 2;
  const device::MatrixRate& rate = device.matrix;
  return {
      .tiles = tiles,
      .multiply_adds_per_cycle = device.matrix_share * (element_bytes <= 1 ? rate.quarter
                                                        : !is_half         ? rate.single
                                                        : half_partials    ? rate.half_half
                                                                           : rate.half_single),
      .overhead_cycles = is_half ? device.matrix_overhead_half_cycles : device.matrix_overhead_single_cycles,
      .weights_cycles = is_half ? device.matrix_weights_half_cycles : device.matrix_weights_single_cycles,
      .exchange_bytes_per_cycle = device.exchange_bytes_per_cycle,
      .copy_bytes_per_cycle = device.copy_bytes_per_cycle,
      .element_bytes = element_bytes,
      .partial_bytes = is_half && half_partials ? 2.0 : 4.0};
}

MatrixPlan plan_product(const Product& product, const MatrixUnit& unit) {
  if (product.count * product.rows * product.inner * product.columns <= 0) return {};
  thread_local std::map<Key, MatrixPlan> remembered;
  const auto [found, is_new] = remembered.try_emplace(key_of(product, unit));
  if (is_new) found->second = fastest(product, unit);
  return found->second;
}

}  // namespace podium::sim
