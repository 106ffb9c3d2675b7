// Decoders of image files in memory. Each gives nothing for what it cannot decode and never throws for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace podium::kernels {

using FileBytes = std::span<const std::uint8_t>;

/// Rows from the top, pixels from the left, each red, green, blue.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels = {};

  /// Makes room; false for sizes that no decoder should be talked into.
  bool resize(std::int64_t new_height, std::int64_t new_width);
  std::uint8_t* row(std::int64_t y) { return pixels.data() + y * width * 3; }
};

/// Tells the format from the first bytes.
std::optional<Image> decode_image(FileBytes file);

std::optional<Image> decode_bmp(FileBytes file);
std::optional<Image> decode_jpeg(FileBytes file);
std::optional<Image> decode_jpeg2000(FileBytes file);
std::optional<Image> decode_png(FileBytes file);
std::optional<Image> decode_pnm(FileBytes file);
std::optional<Image> decode_tiff(FileBytes file);
std::optional<Image> decode_webp(FileBytes file);

}  // namespace podium::kernels
