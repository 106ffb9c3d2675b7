#include <cstdio>  // before jpeglib.h, which needs FILE

#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>

#include "executor/kernels/image/image.h"

namespace podium::kernels {
namespace {

// Outside of the function that libjpeg jumps back into, so that its values survive the jump.
struct JpegReader {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  std::jmp_buf escape = {};
  std::vector<std::uint8_t> row = {};

  JpegReader() {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr common) {
      std::longjmp(static_cast<JpegReader*>(common->client_data)->escape, 1);
    };
    errors.output_message = [](j_common_ptr) {};
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info); }
};

// Photoshop, which writes nearly all files with four inks, writes them inverted.
void inks_to_colours(const std::uint8_t* inks, std::uint8_t* pixels, std::int64_t count, bool inverted) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int key = inverted ? inks[4 * i + 3] : 255 - inks[4 * i + 3];
    for (int c = 0; c < 3; ++c) {
      const int light = inverted ? inks[4 * i + c] : 255 - inks[4 * i + c];
      pixels[3 * i + c] = static_cast<std::uint8_t>((light * key + 127) / 255);
    }
  }
}

bool read_all(JpegReader& reader, FileBytes file, Image& image) {
  if (setjmp(reader.escape) != 0) return false;
  jpeg_decompress_struct& info = reader.info;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK) return false;
  const bool has_inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = has_inks ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  if (!image.resize(info.output_height, info.output_width)) return false;
  if (has_inks) reader.row.resize(image.width * 4);
  while (info.output_scanline < info.output_height) {
    std::uint8_t* to = image.row(info.output_scanline);
    JSAMPROW target = has_inks ? reader.row.data() : to;
    jpeg_read_scanlines(&info, &target, 1);
    if (has_inks) inks_to_colours(target, to, image.width, info.saw_Adobe_marker != 0);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

std::optional<Image> decode_jpeg(FileBytes file) {
  JpegReader reader;
  Image image;
  if (!read_all(reader, file, image)) return std::nullopt;
  return image;
}

}  // namespace podium::kernels
