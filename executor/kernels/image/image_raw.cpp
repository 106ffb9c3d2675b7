// BMP and the PNM family (PBM, PGM, PPM): formats small enough to read by hand.
// BMP: a header of 12 or at least 40 bytes with size, bits per pixel and compression; then colour masks or a
// palette (blue first); then rows from the bottom up, each padded to 4 bytes. Runs (RLE8, RLE4) are pairs of
// a count and a pixel, or 0 and an escape: 0 ends a row, 1 the image, 2 moves, a larger number is that many
// plain pixels. PNM: "P1" to "P6", then width, height and largest level as text, then levels as text or
// bytes. A size that the file cannot hold is refused before memory is taken.
#include <algorithm>
#include <array>

#include "executor/kernels/image/image.h"

namespace podium::kernels {
namespace {

constexpr std::uint32_t kRunLength8 = 1;
constexpr std::uint32_t kRunLength4 = 2;
constexpr std::uint32_t kBitFields = 3;
constexpr std::uint32_t kAlphaBitFields = 6;

// Little-endian numbers; zero beyond the end.
std::uint32_t number(FileBytes file, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes && at + i < file.size(); ++i) {
    value |= static_cast<std::uint32_t>(file[at + i]) << (8 * i);
  }
  return value;
}

// The bits of one colour in a pixel, and how to stretch them to 8.
struct Field {
  std::uint32_t mask = 0;

  std::uint8_t of(std::uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = __builtin_ctz(mask);
    const std::uint64_t most = mask >> shift;
    const std::uint64_t value = (pixel & mask) >> shift;
    return static_cast<std::uint8_t>((value * 255 + most / 2) / most);
  }
};

struct Bmp {
  FileBytes file;
  std::size_t header = 0;
  std::size_t pixels_at = 0;
  std::uint32_t bits = 0;
  std::uint32_t compression = 0;
  bool top_down = false;
  std::size_t palette_at = 0;
  std::size_t palette_entry = 4;
  std::array<Field, 3> fields = {};

  bool read_header(Image& image);
  bool choose_fields();
  void put(Image& image, std::int64_t y, std::int64_t x, std::uint32_t pixel) const;
  void read_plain(Image& image) const;
  void read_runs(Image& image) const;
};

bool Bmp::read_header(Image& image) {
  header = number(file, 14, 4);
  pixels_at = number(file, 10, 4);
  const bool is_old = header == 12;
  if (file.size() < 26 || (!is_old && header < 40)) return false;
  const auto width = is_old ? number(file, 18, 2) : number(file, 18, 4);
  const auto height = is_old ? static_cast<std::int32_t>(number(file, 20, 2))
                             : static_cast<std::int32_t>(number(file, 22, 4));
  bits = number(file, is_old ? 24 : 28, 2);
  compression = is_old ? 0 : number(file, 30, 4);
  top_down = height < 0;
  palette_entry = is_old ? 3 : 4;
  const bool has_masks = header == 40 && (compression == kBitFields || compression == kAlphaBitFields);
  palette_at = 14 + header + (has_masks ? 12 : 0);
  const std::int64_t rows = top_down ? -std::int64_t{height} : height;
  constexpr std::int64_t kLargestSide = 1 << 28;  // so that nothing below overflows
  if (rows > kLargestSide || width > kLargestSide || !choose_fields()) return false;
  // Only runs say more than they hold.
  const bool is_run = compression == kRunLength8 || compression == kRunLength4;
  const bool fits = is_run || rows * ((std::int64_t{width} * bits + 31) / 32 * 4) <= std::ssize(file);
  return fits && image.resize(rows, width);
}

bool Bmp::choose_fields() {
  const bool has_fields = compression == kBitFields || compression == kAlphaBitFields;
  switch (bits) {
    case 1:
    case 4:
    case 8:
      return compression == 0 || (compression == kRunLength8 && bits == 8) ||
             (compression == kRunLength4 && bits == 4);
    case 16:
      fields = {Field{0x7C00}, Field{0x03E0}, Field{0x001F}};
      break;
    case 24:
    case 32:
      fields = {Field{0xFF0000}, Field{0xFF00}, Field{0xFF}};
      break;
    default:
      return false;
  }
  for (std::size_t c = 0; has_fields && c < 3; ++c) fields[c].mask = number(file, 54 + 4 * c, 4);
  return compression == 0 || (has_fields && bits != 24);
}

void Bmp::put(Image& image, std::int64_t y, std::int64_t x, std::uint32_t pixel) const {
  if (y < 0 || y >= image.height || x < 0 || x >= image.width) return;
  std::uint8_t* out = image.row(top_down ? y : image.height - 1 - y) + x * 3;
  for (std::size_t c = 0; c < 3; ++c) {
    // A palette holds blue first.
    const bool has_palette = bits <= 8;
    out[c] = has_palette
                 ? static_cast<std::uint8_t>(number(file, palette_at + pixel * palette_entry + 2 - c, 1))
                 : fields[c].of(pixel);
  }
}

void Bmp::read_plain(Image& image) const {
  const std::size_t stride = (image.width * bits + 31) / 32 * 4;
  for (std::int64_t y = 0; y < image.height; ++y) {
    const std::size_t row = pixels_at + y * stride;
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::size_t bit = x * bits;
      const std::uint32_t raw = number(file, row + bit / 8, std::max(bits / 8, 1U));
      put(image, y, x, bits < 8 ? raw >> (8 - bits - bit % 8) & ((1U << bits) - 1) : raw);
    }
  }
}

// Pairs of bytes: a count and a pixel (two for 4 bits), or 0 and an escape.
void Bmp::read_runs(Image& image) const {
  std::int64_t y = 0;
  std::int64_t x = 0;
  std::size_t at = pixels_at;
  const auto pixel_of = [&](std::size_t first, std::size_t i) {
    if (bits == 8) return number(file, first + i, 1);
    return number(file, first + i / 2, 1) >> (i % 2 == 0 ? 4 : 0) & 15U;
  };
  while (at + 1 < file.size() && y < image.height) {
    const std::uint32_t count = file[at];
    const std::uint32_t code = file[at + 1];
    at += 2;
    if (count > 0) {
      for (std::uint32_t i = 0; i < count; ++i) put(image, y, x++, pixel_of(at - 1, bits == 8 ? 0 : i % 2));
    } else if (code == 0) {
      ++y;
      x = 0;
    } else if (code == 1) {
      return;
    } else if (code == 2) {
      x += number(file, at, 1);
      y += number(file, at + 1, 1);
      at += 2;
    } else {
      for (std::uint32_t i = 0; i < code; ++i) put(image, y, x++, pixel_of(at, i));
      const std::size_t bytes = bits == 8 ? code : (code + 1) / 2;
      at += (bytes + 1) / 2 * 2;
    }
  }
}

// The numbers of a PNM file.
struct PnmReader {
  FileBytes file;
  std::size_t at = 2;

  void skip_space() {
    while (at < file.size() && (file[at] <= ' ' || file[at] == '#')) {
      if (file[at] == '#') {
        while (at < file.size() && file[at] != '\n') ++at;
      } else {
        ++at;
      }
    }
  }
  // -1 when there is none.
  std::int64_t text_number(int most_digits = 9) {
    skip_space();
    std::int64_t value = -1;
    for (int i = 0; i < most_digits && at < file.size() && file[at] >= '0' && file[at] <= '9'; ++i, ++at) {
      value = std::max<std::int64_t>(value, 0) * 10 + (file[at] - '0');
    }
    return value;
  }
  std::int64_t raw_number(bool is_wide) {
    const std::size_t bytes = is_wide ? 2 : 1;
    if (at + bytes > file.size()) return -1;
    const std::int64_t value = is_wide ? file[at] * 256 + file[at + 1] : file[at];
    at += bytes;
    return value;
  }
};

struct Pnm {
  bool is_text = false;
  bool is_bits = false;
  std::int64_t channels = 1;
  std::int64_t most = 1;
};

// One number as 0 to 255; -1 at the end of the file. Bits say where there is ink.
std::int64_t next_level(PnmReader& reader, const Pnm& kind, std::int64_t x) {
  std::int64_t value = 0;
  if (kind.is_bits && kind.is_text) {
    value = reader.text_number(1);
    return value < 0 ? -1 : (value == 0 ? 255 : 0);
  }
  if (kind.is_bits) {
    if (reader.at >= reader.file.size()) return -1;
    return (reader.file[reader.at] >> (7 - x % 8) & 1) == 0 ? 255 : 0;
  }
  value = kind.is_text ? reader.text_number() : reader.raw_number(kind.most > 255);
  if (value < 0) return -1;
  return kind.most == 255 ? std::min<std::int64_t>(value, 255)
                          : (std::min(value, kind.most) * 255 + kind.most / 2) / kind.most;
}

bool read_levels(PnmReader& reader, const Pnm& kind, Image& image) {
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      std::uint8_t* out = image.row(y) + x * 3;
      for (std::int64_t c = 0; c < kind.channels; ++c) {
        const std::int64_t level = next_level(reader, kind, x);
        if (level < 0) return false;
        out[c] = static_cast<std::uint8_t>(level);
      }
      if (kind.channels == 1) out[1] = out[2] = out[0];
      const bool ends_byte = kind.is_bits && !kind.is_text && (x % 8 == 7 || x + 1 == image.width);
      if (ends_byte) ++reader.at;
    }
  }
  return true;
}

}  // namespace

std::optional<Image> decode_bmp(FileBytes file) {
  Bmp bmp{.file = file};
  Image image;
  if (!bmp.read_header(image)) return std::nullopt;
  const bool is_run = bmp.compression == kRunLength8 || bmp.compression == kRunLength4;
  is_run ? bmp.read_runs(image) : bmp.read_plain(image);
  return image;
}

std::optional<Image> decode_pnm(FileBytes file) {
  PnmReader reader{.file = file};
  const int number_of_kind = file[1] - '0';
  Pnm kind{.is_text = number_of_kind <= 3,
           .is_bits = number_of_kind % 3 == 1,
           .channels = number_of_kind % 3 == 0 ? 3 : 1};
  const std::int64_t width = reader.text_number();
  const std::int64_t height = reader.text_number();
  if (!kind.is_bits) kind.most = reader.text_number();
  if (!kind.is_text) ++reader.at;  // the one space before the pixels
  Image image;
  const bool fits = width > 0 && height > 0 && height <= 8 * std::ssize(file) / width;
  if (!fits || kind.most < 1 || kind.most > 65535 || !image.resize(height, width)) return std::nullopt;
  if (!read_levels(reader, kind, image)) return std::nullopt;
  return image;
}

}  // namespace podium::kernels
