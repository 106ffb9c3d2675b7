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

TEST(MatrixPlan, ComesNearTheVendorsPeakOnALargeProduct) {
  const Product product{.rows = 1 << 20, .inner = 4096, .columns = 4096};
  const double rate = flop_per_second(product, matrix_unit(bow(), bow().tiles, 4), bow());
  EXPECT_GT(rate, 0.75 * 87.1e12);
  EXPECT_LT(rate, 87.2e12);
}

// With half of the memory the product is done in parts; less than there can be ends with the smallest part.
TEST(MatrixPlan, TakesNoMoreMemoryThanIsAvailable) {
  const Product product{.rows = 512, .inner = 512, .columns = 512};
  MatrixUnit unit = matrix_unit(bow(), bow().tiles, 2);
  const MatrixPlan fastest = plan_product(product, unit);
  EXPECT_EQ(fastest.serial, 1);
  unit.most_temporary_bytes = fastest.temporary_bytes / 2;
  const MatrixPlan smaller = plan_product(product, unit);
  EXPECT_LE(smaller.temporary_bytes, unit.most_temporary_bytes);
  EXPECT_GT(smaller.serial, 1);
  EXPECT_GT(smaller.cycles(), fastest.cycles());
  unit.most_temporary_bytes = 1;
  const MatrixPlan smallest = plan_product(product, unit);
  EXPECT_LE(smallest.temporary_bytes, smaller.temporary_bytes);
  EXPECT_GE(smallest.cycles(), smaller.cycles());
}

// One tile, 32 rows, 64 inner elements, 16 columns: nothing is cut, so only one operand comes from elsewhere.
// It is faster to hold two groups of the larger one and to bring the smaller.
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
  EXPECT_DOUBLE_EQ(plan.compute_cycles, 100 + 32 * 64 * 16 / 16 + 2 * 1000);
  EXPECT_DOUBLE_EQ(plan.exchange_cycles, 16 * 64 * 4 / 4);
  EXPECT_DOUBLE_EQ(plan.temporary_bytes, 16 * 64 * 4);
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

TEST(MatrixPlan, IsTheSameForBothOrdersOfTheOperands) {
  const MatrixUnit unit = matrix_unit(bow(), bow().tiles, 2);
  EXPECT_EQ(plan_product({.rows = 100, .inner = 768, .columns = 3072}, unit).cycles(),
            plan_product({.rows = 3072, .inner = 768, .columns = 100}, unit).cycles());
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
