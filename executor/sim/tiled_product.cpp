#include "executor/sim/tiled_product.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace podium::sim {
namespace {

struct Piece {
  double rows;
  double columns;
};

// What libraries of products have kernels for. Dimensions are padded to whole pieces.
constexpr std::array<Piece, 14> kPieces{{{256, 128},
                                         {128, 256},
                                         {192, 128},
                                         {128, 192},
                                         {128, 128},
                                         {128, 64},
                                         {64, 128},
                                         {64, 64},
                                         {64, 32},
                                         {32, 64},
                                         {128, 16},
                                         {16, 128},
                                         {16, 64},
                                         {16, 32}}};
constexpr double kInnerStep = 32;
constexpr double kBestArea = 128.0 * 128.0;
constexpr int kMostSplits = 16;  // of the inner dimension, where there are fewer pieces than units
constexpr double kPartialBytes = 4;
constexpr double kGroupOfWeights = 16.0 * 64;  // as MatrixUnit counts them

// Vectors of columns: rows and the inner dimension end where they end.
double vector_cycles(const Product& product, const MatrixUnit& unit, const device::Device& device) {
  constexpr double kVector = 16;
  const double columns = kVector * std::ceil(product.columns / kVector);
  const double inner = product.inner + device.matrix_fill;
  return product.count * product.rows * columns * inner / unit.multiply_adds_per_cycle / unit.tiles;
}

double piece_cycles(const Product& product, const MatrixUnit& unit, const device::Device& device) {
  double best = 0;
  for (const Piece& piece : kPieces) {
    const double pieces =
        product.count * std::ceil(product.rows / piece.rows) * std::ceil(product.columns / piece.columns);
    const double area = piece.rows * piece.columns;
    const double rate =
        unit.multiply_adds_per_cycle * std::min(1.0, std::pow(area / kBestArea, device.matrix_tile_exponent));
    for (int splits = 1; splits <= kMostSplits; splits *= 2) {
      if (splits > 1 && pieces * splits / 2 >= unit.tiles) break;
      const double waves = std::ceil(pieces * splits / unit.tiles);
      const double inner = kInnerStep * std::ceil(product.inner / splits / kInnerStep) + device.matrix_fill;
      double cycles = waves * area * inner / rate;
      if (splits > 1) {
        const double partials = 2 * splits * product.count * product.rows * product.columns * kPartialBytes;
        cycles += partials / (unit.exchange_bytes_per_cycle * std::max(1.0, device.cache_speed)) / unit.tiles;
      }
      if (best == 0 || cycles < best) best = cycles;
    }
  }
  return best;
}

double tiled_cycles(const Product& product, const MatrixUnit& unit, const device::Device& device) {
  const bool has_vectors = device.kind == device::ProcessorKind::Cpu;
  const double groups = product.count * product.inner * product.columns / kGroupOfWeights;
  return (has_vectors ? vector_cycles : piece_cycles)(product, unit, device) +
         groups * unit.weights_cycles / unit.tiles;
}

}  // namespace

double tiled_seconds(const Product& product, const MatrixUnit& unit, const Delivered& bytes,
                     const device::Device& device) {
  const double compute = tiled_cycles(product, unit, device);
  const double memory = bytes.beside / unit.exchange_bytes_per_cycle / unit.tiles;
  const double waiting = bytes.before / unit.exchange_bytes_per_cycle / unit.tiles;
  // Where both take as long they hinder each other.
  constexpr double kSharpness = 4;
  const double both = std::pow(std::pow(compute, kSharpness) + std::pow(memory, kSharpness), 1 / kSharpness);
  return (both + waiting + unit.overhead_cycles + device.phase_overhead_cycles) / device.clock_hertz;
}

}  // namespace podium::sim
