#include "executor/sim/matrix_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/device/presets.h"

namespace podium::sim {
namespace {

const device::Device& bow() { return *device::find_preset("bow-2000"); }

double flop_per_second(const Product& product, const MatrixUnit& unit, const device::Device& device) {
  const double flop = 2 * product.count * product.rows * product.inner * product.columns;
  return flop / (plan_product(product, unit).cycles() / device.clock_hertz);
}

struct Published {
  double size;  // of the square weights
  std::vector<std::pair<double, double>> rows_and_teraflop;
};

// Mean of |predicted / published - 1| over all points, and the largest.
std::pair<double, double> errors(const std::vector<Published>& figures, const MatrixUnit& unit) {
  double sum = 0;
  double largest = 0;
  int count = 0;
  for (const Published& figure : figures) {
    for (const auto& [rows, teraflop] : figure.rows_and_teraflop) {
      const Product product{.rows = rows, .inner = figure.size, .columns = figure.size};
      const double error = std::abs(flop_per_second(product, unit, bow()) / (teraflop * 1e12) - 1);
      sum += error;
      largest = std::max(largest, error);
      ++count;
    }
  }
  return {sum / count, largest};
}

TEST(MatrixPlan, PredictsPublishedProductsOfHalves) {
  const std::vector<Published> figures{
      {1024,
       {{4, 6.0},
        {16, 20.1},
        {64, 44.8},
        {256, 87.5},
        {1024, 117.5},
        {2048, 149.6},
        {4096, 175.6},
        {8192, 200.8},
        {16384, 217.6},
        {32768, 217.6},
        {65536, 229.5}}},
      {4096, {{4, 18.0}, {16, 60.2}, {64, 127.4}, {256, 171.0}, {1024, 203.5}, {2048, 217.6}}}};
  const auto [mean, largest] = errors(figures, matrix_unit(bow(), bow().tiles, 2, true));
  EXPECT_LT(mean, 0.08);
  EXPECT_LT(largest, 0.16);
}

TEST(MatrixPlan, PredictsPublishedProductsOfSingles) {
  const std::vector<Published> figures{{1024,
                                        {{4, 3.7},
                                         {8, 6.5},
                                         {16, 11.1},
                                         {32, 16.2},
                                         {64, 21.2},
                                         {128, 29.2},
                                         {256, 34.3},
                                         {512, 36.2},
                                         {1024, 43.6},
                                         {2048, 49.9},
                                         {4096, 55.5},
                                         {8192, 57.0},
                                         {16384, 58.6},
                                         {32768, 58.6}}}};
  const auto [mean, largest] = errors(figures, matrix_unit(bow(), bow().tiles, 4));
  EXPECT_LT(mean, 0.08);
  EXPECT_LT(largest, 0.16);
}

TEST(MatrixPlan, ComesNearTheVendorsPeakOnALargeProduct) {
  const Product product{.rows = 1 << 20, .inner = 4096, .columns = 4096};
  const double rate = flop_per_second(product, matrix_unit(bow(), bow().tiles, 4), bow());
  EXPECT_GT(rate, 0.75 * 87.1e12);
  EXPECT_LT(rate, 87.2e12);
}

// One tile, 32 rows, 64 inner elements, 16 columns: nothing is cut, so only the rows come from elsewhere.
TEST(MatrixPlan, OfOneTileAddsUpByHand) {
  const MatrixUnit unit{.tiles = 1,
                        .multiply_adds_per_cycle = 16,
                        .overhead_cycles = 100,
                        .weights_cycles = 1000,
                        .exchange_bytes_per_cycle = 4,
                        .copy_bytes_per_cycle = 8,
                        .element_bytes = 4,
                        .partial_bytes = 4};
  const MatrixPlan plan = plan_product({.rows = 32, .inner = 64, .columns = 16}, unit);
  EXPECT_DOUBLE_EQ(plan.compute_cycles, 100 + 32 * 64 * 16 / 16 + 1000);
  EXPECT_DOUBLE_EQ(plan.exchange_cycles, 32 * 64 * 4 / 4);
  EXPECT_DOUBLE_EQ(plan.temporary_bytes, 32 * 64 * 4);
}

TEST(MatrixPlan, NeverUsesMoreTilesThanThereAre) {
  for (int tiles : {1, 7, 64, 1472}) {
    for (double count : {1.0, 12.0, 5000.0}) {
      const Product product{.count = count, .rows = 100, .inner = 768, .columns = 3072};
      const MatrixPlan plan = plan_product(product, matrix_unit(bow(), tiles, 2));
      EXPECT_LE(plan.counts * plan.rows * plan.inners * plan.columns, tiles);
      EXPECT_GT(plan.cycles(), 0);
    }
  }
}

TEST(MatrixPlan, TakesLessTimeOnMoreTiles) {
  const Product product{.rows = 512, .inner = 1024, .columns = 1024};
  double before = 1e300;
  for (int tiles : {1, 16, 368, 1344, 1472}) {
    const double now = plan_product(product, matrix_unit(bow(), tiles, 2)).cycles();
    EXPECT_LE(now, before) << tiles;
    before = now;
  }
}

TEST(MatrixPlan, OfWindowsThatOverlapReceivesLess) {
  const MatrixUnit unit = matrix_unit(bow(), bow().tiles, 2);
  const Product spread{.rows = 3136, .inner = 576, .columns = 64};
  Product window = spread;
  window.stored_share = 1.0 / 9;
  EXPECT_LT(plan_product(window, unit).cycles(), plan_product(spread, unit).cycles());
}

TEST(MatrixPlan, OfNothingIsNothing) {
  EXPECT_EQ(plan_product({.rows = 0, .inner = 8, .columns = 8}, matrix_unit(bow(), 4, 2)).cycles(), 0);
}

}  // namespace
}  // namespace podium::sim
