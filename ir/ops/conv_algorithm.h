// By what algorithm the host computes a float convolution: its kernels choose by these rules, and its clock
// reckons with them.
#pragma once

#include "ir/ops/conv_shape.h"

namespace podium::ir {

/// Results along each side of a tile of Winograd's algorithm.
inline constexpr std::int64_t kWinogradTile = 4;
/// Numbers of a transformed window for each of its taps.
inline constexpr double kWinogradNumbers = 36.0 / 9;
/// Multiply-adds of a tile's sum for each of the algorithm's: 16 results of 9 taps by 36 products.
inline constexpr double kWinogradSaves = 16.0 * 9 / 36;
/// What the transforms of weights in a run take, in tiles.
inline constexpr std::int64_t kWinogradWeights = 13;
/// What the transform of a tile takes of X or of Y, in channels of the other that multiply it.
inline constexpr double kWinogradTransform = 24;
/// The tiles of all images; 0 where the algorithm has no such windows: it has those of 3 x 3 of one group
/// that move by one.
std::int64_t winograd_tiles(const ConvShape& shape);

/// Whether a convolution with this window, a transposed one or the gradient of the weights is faster by the
/// algorithm than by its sum: of weights that change, so that they are transformed in every run. Rounding
/// differs as between two orders of adding.
bool pays_by_winograd(const ConvShape& shape);
/// The same of a convolution of tensors channels-last, whose weights never change and are transformed
/// beforehand.
bool pays_by_packed_winograd(const ConvShape& shape);

/// Results of a row that one vector holds, where vectors lie along rows.
inline constexpr std::int64_t kRowLanes = 8;

/// The multiply-adds that take as long as a convolution with vectors along rows does, of lines or planes: of
/// rows that are rounded up to whole vectors, and what results cost beside.
double multiply_adds_by_rows(const ConvShape& shape);

/// Whether a convolution of lines or planes or a transposed one, or the gradient of its weights, is faster
/// with vectors along its rows than in the library on tensors as ONNX has them.
bool pays_by_rows(const ConvShape& shape);
/// Whether it is also where tensors around it lie channels-last, so that X and Y are moved.
bool pays_by_rows_among_channels_last(const ConvShape& shape);

/// Whether a depthwise convolution of tensors as ONNX has them, a transposed one, or the gradient of its
/// weights is computed plane by plane.
bool pays_by_planes(const ConvShape& shape);
/// The multiply-adds of products that take as long as one of such convolutions does in a cache: of rows that
/// are rounded up to whole vectors.
double multiply_adds_by_planes(const ConvShape& shape);
/// Whether it is also where tensors around it lie channels-last: where the library has no vectors for it.
bool pays_by_planes_among_channels_last(const ConvShape& shape);

/// Of one image, in bytes: what depthwise convolutions hand on to those around them, and these to them, inside
/// of a cache. On a machine with a second-level cache of 1 MiB, 0.6 MB gained nothing, 1.8 MB a twentieth and
/// 4.8 MB a fifth.
inline constexpr std::int64_t kLeastHandedOn = std::int64_t{1} << 20;

/// Whether a window of one element of one group stands inside of X everywhere (transposed: of Y), so that
/// there is a product without a layout of its own.
bool has_one_element(const ConvShape& shape);
/// Whether one product for all images, with a column for each element of each, is faster than one for each
/// image: weights that fill a cache would be read once for a few columns each time.
bool pays_to_join_images(const ConvShape& shape);

}  // namespace podium::ir
