#include "executor/kernels/image/image.h"

#include <algorithm>
#include <string_view>

#include "executor/kernels/vision.h"

namespace podium::kernels {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

bool begins(FileBytes file, std::string_view with, std::size_t at = 0) {
  return file.size() >= at + with.size() &&
         std::equal(with.begin(), with.end(), file.begin() + at,
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

}  // namespace

bool Image::resize(std::int64_t new_height, std::int64_t new_width) {
  if (new_height < 1 || new_width < 1 || new_height > kMostPixels / new_width) return false;
  height = new_height;
  width = new_width;
  pixels.assign(height * width * 3, 0);
  return true;
}

std::optional<Image> decode_image(FileBytes file) {
  using namespace std::string_view_literals;
  if (begins(file, "\xFF\xD8\xFF")) return decode_jpeg(file);
  if (begins(file, "\x89PNG\r\n\x1A\n")) return decode_png(file);
  if (begins(file, "BM")) return decode_bmp(file);
  if (begins(file, "RIFF") && begins(file, "WEBP", 8)) return decode_webp(file);
  if (begins(file, "II*\0"sv) || begins(file, "MM\0*"sv) || begins(file, "II+\0"sv) ||
      begins(file, "MM\0+"sv)) {
    return decode_tiff(file);
  }
  if (begins(file, "\0\0\0\x0CjP  "sv) || begins(file, "\xFF\x4F\xFF\x51")) return decode_jpeg2000(file);
  if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6') return decode_pnm(file);
  return std::nullopt;
}

namespace {

// Luma of ITU-R 601 in 16-bit fixed point, rounded.
std::uint8_t luma(const std::uint8_t* pixel) {
  return static_cast<std::uint8_t>((pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >>
                                   16U);
}

Tensor as_grey(const Image& image) {
  Tensor result(DataType::Uint8, {image.height, image.width, 1});
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.data<std::uint8_t>()[i] = luma(image.pixels.data() + i * 3);
  return result;
}

Tensor as_colour(const Image& image, bool blue_first) {
  Tensor result(DataType::Uint8, {image.height, image.width, 3});
  std::uint8_t* out =
      std::copy(image.pixels.begin(), image.pixels.end(), result.data<std::uint8_t>()) - image.pixels.size();
  for (std::int64_t i = 0; blue_first && i < result.size(); i += 3) std::swap(out[i], out[i + 2]);
  return result;
}

}  // namespace

PreparedKernel image_decoder(PrepareContext& context) {
  const std::string format = context.get_string("pixel_format");
  return [format](const RunContext& run) {
    // ONNX: an image that cannot be decoded gives an empty matrix.
    const Image image = decode_image(run.input(0).values<std::uint8_t>()).value_or(Image());
    run.set(0, format == "Grayscale" ? as_grey(image) : as_colour(image, format == "BGR"));
  };
}

}  // namespace podium::kernels
