// WebP, TIFF and JPEG 2000, each by its own library, from a file in memory to rows of red, green and blue.
// libtiff and OpenJPEG read through callbacks on a Stream. JPEG 2000 gives planes of their own resolution,
// depth and sign: each is brought to 0..255, stretched, and turned from YCC to RGB where the file says so.
#include <openjpeg.h>
#include <tiffio.h>
#include <webp/decode.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "executor/kernels/image/image.h"

namespace podium::kernels {

std::optional<Image> decode_webp(FileBytes file) {
  int width = 0;
  int height = 0;
  Image image;
  if (WebPGetInfo(file.data(), file.size(), &width, &height) == 0 || !image.resize(height, width))
    return std::nullopt;
  if (WebPDecodeRGBInto(file.data(), file.size(), image.pixels.data(), image.pixels.size(), width * 3) ==
      nullptr) {
    return std::nullopt;
  }
  return image;
}

namespace {

// A file in memory with a place in it, for libraries that read by callbacks.
struct Stream {
  FileBytes file;
  std::size_t at = 0;

  std::size_t read(void* to, std::size_t count) {
    const std::size_t taken = at < file.size() ? std::min(count, file.size() - at) : 0;
    if (taken > 0) std::memcpy(to, file.data() + at, taken);
    at += taken;
    return taken;
  }
};

tmsize_t tiff_read(thandle_t handle, void* to, tmsize_t count) {
  return static_cast<tmsize_t>(static_cast<Stream*>(handle)->read(to, count));
}

toff_t tiff_seek(thandle_t handle, toff_t offset, int whence) {
  Stream& stream = *static_cast<Stream*>(handle);
  if (whence == SEEK_CUR) offset += stream.at;
  if (whence == SEEK_END) offset += stream.file.size();
  stream.at = offset;
  return offset;
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};

TIFF* open_tiff(Stream& stream) {
  return TIFFClientOpen(
      "memory", "rm", &stream, tiff_read, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; }, tiff_seek,
      [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return static_cast<Stream*>(handle)->file.size(); }, nullptr, nullptr);
}

void silence_tiff() {
  static const bool once = [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace

std::optional<Image> decode_tiff(FileBytes file) {
  silence_tiff();
  Stream stream{file};
  const std::unique_ptr<TIFF, CloseTiff> tiff(open_tiff(stream));
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Image image;
  if (!tiff || TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0 || !image.resize(height, width)) {
    return std::nullopt;
  }
  std::vector<std::uint32_t> raster(image.pixels.size() / 3);
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1) == 0) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < raster.size(); ++i) {
    image.pixels[3 * i] = static_cast<std::uint8_t>(TIFFGetR(raster[i]));
    image.pixels[3 * i + 1] = static_cast<std::uint8_t>(TIFFGetG(raster[i]));
    image.pixels[3 * i + 2] = static_cast<std::uint8_t>(TIFFGetB(raster[i]));
  }
  return image;
}

namespace {

// The library's codec and stream are both void*, so each needs a type of its own here.
struct FreeCodec {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct FreeStream {
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};
struct FreePlanes {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};
using ImagePlanes = std::unique_ptr<opj_image_t, FreePlanes>;

OPJ_SIZE_T read_jpeg2000(void* to, OPJ_SIZE_T count, void* user) {
  const std::size_t taken = static_cast<Stream*>(user)->read(to, count);
  return taken == 0 ? static_cast<OPJ_SIZE_T>(-1) : taken;
}

OPJ_OFF_T skip_jpeg2000(OPJ_OFF_T count, void* user) {
  static_cast<Stream*>(user)->at += count;
  return count;
}

OPJ_BOOL seek_jpeg2000(OPJ_OFF_T offset, void* user) {
  static_cast<Stream*>(user)->at = offset;
  return OPJ_TRUE;
}

ImagePlanes read_planes(FileBytes file) {
  Stream source{file};
  const std::unique_ptr<opj_stream_t, FreeStream> stream(opj_stream_default_create(OPJ_TRUE));
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), read_jpeg2000);
  opj_stream_set_skip_function(stream.get(), skip_jpeg2000);
  opj_stream_set_seek_function(stream.get(), seek_jpeg2000);
  const bool is_bare = file[0] == 0xFF;
  const std::unique_ptr<opj_codec_t, FreeCodec> codec(
      opj_create_decompress(is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (opj_setup_decoder(codec.get(), &parameters) == OPJ_FALSE) return nullptr;
  opj_image_t* header = nullptr;
  const bool has_header = opj_read_header(stream.get(), codec.get(), &header) != OPJ_FALSE;
  ImagePlanes image(header);
  if (!has_header || opj_decode(codec.get(), stream.get(), header) == OPJ_FALSE ||
      opj_end_decompress(codec.get(), stream.get()) == OPJ_FALSE) {
    return nullptr;
  }
  return image;
}

// One plane's number at a pixel, as 0 to 255; planes of lower resolution are stretched.
int plane_at(const opj_image_comp_t& plane, std::uint32_t y, std::uint32_t x) {
  const std::uint32_t row = std::min(y / plane.dy, plane.h - 1);
  const std::uint32_t column = std::min(x / plane.dx, plane.w - 1);
  int value = plane.data[static_cast<std::size_t>(row) * plane.w + column];
  if (plane.sgnd != 0) value += 1 << (plane.prec - 1);
  return plane.prec > 8 ? value >> (plane.prec - 8) : value << (8 - plane.prec);
}

std::uint8_t clamped(double value) { return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

}  // namespace

std::optional<Image> decode_jpeg2000(FileBytes file) {
  const auto planes = read_planes(file);
  Image image;
  if (!planes || planes->numcomps == 0 || !image.resize(planes->y1 - planes->y0, planes->x1 - planes->x0)) {
    return std::nullopt;
  }
  const bool has_colours = planes->numcomps >= 3;
  for (std::uint32_t c = 0; c < planes->numcomps; ++c) {
    const opj_image_comp_t& plane = planes->comps[c];
    if (plane.data == nullptr || plane.w == 0 || plane.h == 0 || plane.prec == 0 || plane.prec > 31)
      return std::nullopt;
  }
  std::uint8_t* out = image.pixels.data();
  for (std::uint32_t y = 0; y < image.height; ++y) {
    for (std::uint32_t x = 0; x < image.width; ++x, out += 3) {
      for (int c = 0; c < 3; ++c) out[c] = clamped(plane_at(planes->comps[has_colours ? c : 0], y, x));
      if (planes->color_space != OPJ_CLRSPC_SYCC || !has_colours) continue;
      const double luma = out[0];
      const double blue = out[1] - 128.0;
      const double red = out[2] - 128.0;
      out[0] = clamped(luma + 1.402 * red);
      out[1] = clamped(luma - 0.344136 * blue - 0.714136 * red);
      out[2] = clamped(luma + 1.772 * blue);
    }
  }
  return image;
}

}  // namespace podium::kernels
