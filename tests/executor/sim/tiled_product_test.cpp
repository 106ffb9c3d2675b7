#include "executor/sim/tiled_product.h"

#include <gtest/gtest.h>

#include "executor/device/presets.h"

namespace podium::sim {
namespace {

double seconds(const device::Device& device, const Product& product) {
  const double bytes =
      2 * (product.rows * product.inner + product.inner * product.columns + product.rows * product.columns);
  return tiled_seconds(product, matrix_unit(device, device.tiles, 2), {.beside = bytes}, device);
}

const device::Device& a100() { return *device::find_preset("a100-80"); }

// 108 units take 108 pieces of 256 x 128 at once; one row more is a second wave.
TEST(TiledSeconds, StepUpWithEachWave) {
  const double full = seconds(a100(), {.rows = 256 * 9, .inner = 8192, .columns = 128 * 12});
  const double more = seconds(a100(), {.rows = 256 * 9 + 1, .inner = 8192, .columns = 128 * 12});
  EXPECT_GT(more, 1.08 * full);
}

TEST(TiledSeconds, OfFewRowsAreThoseOfTheWeights) {
  const Product product{.rows = 1, .inner = 8192, .columns = 8192};
  const double memory =
      2.0 * 8192 * 8192 / (a100().exchange_bytes_per_cycle * a100().tiles * a100().clock_hertz);
  EXPECT_NEAR(seconds(a100(), product), memory, 0.1 * memory);
}

TEST(TiledSeconds, NeverFallWithWork) {
  for (double rows : {1.0, 17.0, 100.0, 1000.0, 5000.0}) {
    for (double inner : {32.0, 500.0, 4096.0}) {
      const double less = seconds(a100(), {.rows = rows, .inner = inner, .columns = 1024});
      EXPECT_GE(seconds(a100(), {.rows = 2 * rows, .inner = inner, .columns = 1024}), less)
          << rows << " " << inner;
      EXPECT_GE(seconds(a100(), {.rows = rows, .inner = 2 * inner, .columns = 1024}), less)
          << rows << " " << inner;
    }
  }
}

TEST(TiledSeconds, HoldWhatComesBeforeTheProductAndHideWhatComesBeside) {
  const Product product{.rows = 4096, .inner = 4096, .columns = 4096};
  const MatrixUnit unit = matrix_unit(a100(), a100().tiles, 2);
  const double computed = tiled_seconds(product, unit, {}, a100());
  const double bytes = 0.1 * computed * unit.exchange_bytes_per_cycle * unit.tiles * a100().clock_hertz;
  EXPECT_NEAR(tiled_seconds(product, unit, {.beside = bytes}, a100()) / computed, 1, 1e-4);
  EXPECT_NEAR(tiled_seconds(product, unit, {.before = bytes}, a100()) / computed, 1.1, 1e-4);
}

TEST(TiledSeconds, OfWeightsThatChangeHoldTheirPacking) {
  const Product product{.rows = 1024, .inner = 1024, .columns = 1024};
  MatrixUnit unit = matrix_unit(a100(), a100().tiles, 2);
  const double packed = tiled_seconds(product, unit, {}, a100());
  unit.weights_cycles = 540;  // for each of 1024 groups, over 108 units
  EXPECT_NEAR(tiled_seconds(product, unit, {}, a100()) - packed, 1024 * 5 / a100().clock_hertz, 1e-9);
}

}  // namespace
}  // namespace podium::sim
