#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <utility>

#include "executor/kernels/image/image.h"

namespace podium::kernels {
namespace {

// Outside of the function that libpng jumps back into, so that its values survive the jump.
struct PngReader {
  FileBytes left;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<png_bytep> rows = {};

  explicit PngReader(FileBytes file) : left(file) {
    const auto fail = [](png_structp failed, png_const_charp) { png_longjmp(failed, 1); };
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, [](png_structp, png_const_charp) {});
    if (png != nullptr) info = png_create_info_struct(png);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  FileBytes& left = static_cast<PngReader*>(png_get_io_ptr(png))->left;
  if (count > left.size()) png_error(png, "the file ends early");
  std::copy_n(left.begin(), count, to);
  left = left.subspan(count);
}

bool read_all(PngReader& reader, Image& image) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, read_bytes);
  png_read_info(reader.png, reader.info);
  // Whatever the file holds comes out as 8-bit red, green, blue.
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  if (!image.resize(png_get_image_height(reader.png, reader.info),
                    png_get_image_width(reader.png, reader.info))) {
    return false;
  }
  if (std::cmp_not_equal(png_get_rowbytes(reader.png, reader.info), image.width * 3)) return false;
  for (std::int64_t y = 0; y < image.height; ++y) reader.rows.push_back(image.row(y));
  png_read_image(reader.png, reader.rows.data());
  return true;
}

}  // namespace

std::optional<Image> decode_png(FileBytes file) {
  PngReader reader(file);
  Image image;
  if (reader.info == nullptr || !read_all(reader, image)) return std::nullopt;
  return image;
}

}  // namespace podium::kernels
