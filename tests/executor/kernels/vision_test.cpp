#include <gtest/gtest.h>

#include <algorithm>

#include "executor/kernels/image/image.h"
#include "ir/error.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using testing::run_text;
using testing::tensor;
using testing::values;
using Pixels = std::vector<std::uint8_t>;

Pixels from_hex(const std::string& text) {
  Pixels bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

Pixels from_text(const std::string& text) { return {text.begin(), text.end()}; }

ir::Tensor decoded(const Pixels& file, const std::string& format = "RGB") {
  const auto y = run_text(
      "g (uint8[N] x) => (uint8[H,W,C] y) { y = ImageDecoder <pixel_format = \"" + format + "\"> (x) }",
      {tensor<std::uint8_t>({std::ssize(file)}, file)});
  return y[0].tensor;
}

Pixels pixels(const ir::Tensor& image) {
  return {image.values<std::uint8_t>().begin(), image.values<std::uint8_t>().end()};
}

// Two pixels: (255, 0, 0) wholly transparent and (10, 20, 30) half so.
const char* const kPngWithAlpha =
    "89504e470d0a1a0a0000000d4948445200000002000000010806000000f4227f8a000000114944415478da63"
    "f8cfc0c0c02522d70000092101bcab3e04760000000049454e44ae426082";
// Two pixels of one bit: entries 0 and 1 of the palette (1, 2, 3), (4, 5, 6).
const char* const kPngWithPalette =
    "89504e470d0a1a0a0000000d4948445200000002000000010103000000ceecedc900000006504c5445010203"
    "04050695536f480000000a4944415478da637000000042004184bf8e620000000049454e44ae426082";
// Two rows of one pixel of 16 bits: 0xC801 and 0x07FF.
const char* const kPngOf16Bits =
    "89504e470d0a1a0a0000000d4948445200000001000000021000000000ec7a35b80000000e4944415478da63"
    "38c1c8c0fe1f0004ff01d08ef3fc4e0000000049454e44ae426082";
// (255, 0, 0) and (10, 20, 30), uncompressed.
const char* const kTiff =
    "49492a0018000000ff00000a141e000008000800080000000900000103000100000002000000010103000100"
    "0000010000000201030003000000100000000301030001000000010000000601030001000000020000001101"
    "0400010000000800000015010300010000000300000016010300010000000100000017010400010000000600"
    "000000000000";
// Lossless: (255, 0, 0), (0, 255, 0) over (0, 0, 255), (10, 20, 30).
const char* const kJpeg2000 =
    "0000000c6a5020200d0a870a00000014667479706a703220000000006a7032200000002d6a70326800000016"
    "6968647200000002000000020003070700000000000f636f6c7201000000000010000000a06a703263ff4fff"
    "51002f0000000000020000000200000000000000000000000200000002000000000000000000030701010701"
    "01070101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f7065"
    "6e4a5045472076657273696f6e20322e352e30ff90000a0000000000280001ff93df80280bec64654cdf8030"
    "08f27ee8cdcbdf80300641240fab5fffd9";

TEST(ImageDecoder, DropsTheAlphaOfAPng) {
  EXPECT_EQ(pixels(decoded(from_hex(kPngWithAlpha))), (Pixels{255, 0, 0, 10, 20, 30}));
}

TEST(ImageDecoder, LooksUpThePaletteOfAPng) {
  EXPECT_EQ(pixels(decoded(from_hex(kPngWithPalette))), (Pixels{1, 2, 3, 4, 5, 6}));
}

TEST(ImageDecoder, KeepsTheHighBytesOfA16BitPng) {
  EXPECT_EQ(pixels(decoded(from_hex(kPngOf16Bits), "Grayscale")), (Pixels{0xC8, 0x07}));
}

TEST(ImageDecoder, ReadsTiffWithBlueFirst) {
  EXPECT_EQ(pixels(decoded(from_hex(kTiff), "BGR")), (Pixels{0, 0, 255, 30, 20, 10}));
}

TEST(ImageDecoder, ReadsJpeg2000InItsBoxAndBare) {
  const Pixels expected{255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30};
  Pixels file = from_hex(kJpeg2000);
  const ir::Tensor image = decoded(file);
  EXPECT_EQ(image.dims(), (ir::Dims{2, 2, 3}));
  EXPECT_EQ(pixels(image), expected);
  const Pixels start{0xFF, 0x4F, 0xFF, 0x51};
  const auto bare = std::search(file.begin(), file.end(), start.begin(), start.end());
  EXPECT_EQ(pixels(decoded(Pixels(bare, file.end()))), expected);
}

TEST(ImageDecoder, WeighsColoursForGrey) {
  EXPECT_EQ(pixels(decoded(from_text("P3 3 1 255 255 0 0 0 255 0 0 0 255"), "Grayscale")),
            (Pixels{76, 150, 29}));
}

TEST(ImageDecoder, ReadsEveryKindOfPnm) {
  EXPECT_EQ(pixels(decoded(from_text("P1\n# ink\n3 1\n101"), "Grayscale")), (Pixels{0, 255, 0}));
  EXPECT_EQ(pixels(decoded(from_text("P2 2 1 3 1 3"), "Grayscale")), (Pixels{85, 255}));
  EXPECT_EQ(pixels(decoded(from_text("P4 9 1\n\x7F\x80"), "Grayscale")),
            (Pixels{255, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(pixels(decoded(from_text(std::string("P5 1 1 65535\n\x80\x00", 16)), "Grayscale")),
            (Pixels{128}));
  EXPECT_EQ(pixels(decoded(from_text("P6 1 1 255\nabc"))), (Pixels{'a', 'b', 'c'}));
}

// A BMP of one row: the 40-byte header and what comes after it.
Pixels bmp(int width, int height, int bits, int compression, const std::string& rest, int before_pixels) {
  Pixels file = from_text("BM");
  const auto add = [&](int number, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
  };
  for (const int number : {0, 0, 54 + before_pixels, 40, width, height}) add(number, 4);
  add(1, 2);
  add(bits, 2);
  for (const int number : {compression, 0, 0, 0, 0, 0}) add(number, 4);
  const Pixels more = from_hex(rest);
  file.insert(file.end(), more.begin(), more.end());
  return file;
}

TEST(ImageDecoder, ReadsBmpFromTheBottomUnlessItsHeightIsNegative) {
  EXPECT_EQ(pixels(decoded(bmp(1, 2, 24, 0, "0102030004050600", 0))), (Pixels{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(pixels(decoded(bmp(1, -2, 24, 0, "0102030004050600", 0))), (Pixels{3, 2, 1, 6, 5, 4}));
}

TEST(ImageDecoder, ReadsBmpWithPaletteMasksAndRuns) {
  EXPECT_EQ(pixels(decoded(bmp(2, 1, 1, 0,
                               "0102030004050600"
                               "40000000",
                               8))),
            (Pixels{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(pixels(decoded(bmp(1, 1, 16, 3,
                               "00f80000"
                               "e0070000"
                               "1f000000"
                               "00f80000",
                               12))),
            (Pixels{255, 0, 0}));
  // Three of entry 1, then two given one by one, then the end.
  EXPECT_EQ(pixels(decoded(bmp(5, 1, 8, 1,
                               "0000000001010100"
                               "0301"
                               "0003"
                               "00010000"
                               "0001",
                               8),
                           "Grayscale")),
            (Pixels{1, 1, 1, 0, 1}));
}

TEST(ImageDecoder, GivesAnEmptyMatrixForWhatItCannotDecode) {
  EXPECT_EQ(decoded(from_text("no image")).dims(), (ir::Dims{0, 0, 3}));
  EXPECT_EQ(decoded({}, "Grayscale").dims(), (ir::Dims{0, 0, 1}));
}

TEST(ImageDecoder, SurvivesFilesThatEndEarly) {
  const std::vector<Pixels> files{from_hex(kPngWithAlpha), from_hex(kTiff), from_hex(kJpeg2000),
                                  bmp(1, 2, 24, 0, "0102030004050600", 0), from_text("P6 1 1 255\nabc")};
  for (const Pixels& file : files) {
    for (std::size_t length = 0; length < file.size(); ++length) {
      const Image image = decode_image(FileBytes(file).first(length)).value_or(Image());
      EXPECT_EQ(std::ssize(image.pixels), image.height * image.width * 3);
    }
  }
  EXPECT_FALSE(decode_image(FileBytes(files[0]).first(files[0].size() / 2)));
}

TEST(ImageDecoder, RefusesAnUnknownPixelFormat) {
  EXPECT_THROW(decoded(from_text("P1 1 1 1"), "HSV"), Error);
}

std::string suppression(const std::string& inputs) {
  return "g (float[1,3,4] boxes, float[1,1,3] scores, int64 most, float overlap, float least) => (int64[N,3] y)"
         " { y = NonMaxSuppression (" +
         inputs + ") }";
}

std::vector<ir::Datum> boxes(float least) {
  return {tensor<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F, 5, 5, 6, 6}),
          tensor<float>({1, 1, 3}, {0.5F, 0.9F, 0.3F}), ir::Tensor::scalar<std::int64_t>(3),
          ir::Tensor::scalar<float>(0.5F), ir::Tensor::scalar<float>(least)};
}

TEST(NonMaxSuppression, SelectsNothingWithoutALimit) {
  const auto y = run_text(suppression("boxes, scores"), boxes(0));
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{0, 3}));
}

TEST(NonMaxSuppression, KeepsTheBestOfWhatOverlaps) {
  const auto y = run_text(suppression("boxes, scores, most, overlap, least"), boxes(0));
  EXPECT_EQ(values<std::int64_t>(y[0]), (std::vector<std::int64_t>{0, 0, 1, 0, 0, 2}));
}

TEST(NonMaxSuppression, NeedsAScoreAboveTheThreshold) {
  const auto y = run_text(suppression("boxes, scores, most, overlap, least"), boxes(0.3F));
  EXPECT_EQ(values<std::int64_t>(y[0]), (std::vector<std::int64_t>{0, 0, 1}));
}

std::string align(const std::string& type, const std::string& attributes) {
  return "g (" + type + "[1,1,2,2] x, " + type + "[1,4] rois, int64[1] batch) => (" + type +
         "[1,1,H,W] y) { y = RoiAlign <" + attributes + "> (x, rois, batch) }";
}

TEST(RoiAlign, TakesDoublesAndHalvesAlike) {
  const std::string attributes =
      "output_height = 1, output_width = 1, sampling_ratio = 1, coordinate_transformation_mode ="
      " \"output_half_pixel\"";
  const auto batch = tensor<std::int64_t>({1}, {0});
  const auto wide = run_text(align("double", attributes), {tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4}),
                                                           tensor<double>({1, 4}, {0, 0, 1, 1}), batch});
  EXPECT_EQ(values<double>(wide[0]), (std::vector<double>{2.5}));
  std::vector<ir::Float16> x;
  for (const float number : {1, 2, 3, 4}) x.emplace_back(number);
  std::vector<ir::Float16> roi;
  for (const float number : {0, 0, 1, 1}) roi.emplace_back(number);
  const auto half = run_text(align("float16", attributes),
                             {tensor<ir::Float16>({1, 1, 2, 2}, x), tensor<ir::Float16>({1, 4}, roi), batch});
  EXPECT_EQ(static_cast<float>(values<ir::Float16>(half[0])[0]), 2.5F);
}

TEST(RoiAlign, RefusesABatchThatIsNotThere) {
  EXPECT_THROW(run_text(align("float", "output_height = 1"),
                        {tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}), tensor<float>({1, 4}, {0, 0, 1, 1}),
                         tensor<std::int64_t>({1}, {1})}),
               Error);
}

TEST(RoiAlign, RefusesMoreSamplesThanMemoryHolds) {
  EXPECT_THROW(run_text(align("float", "output_height = 4, sampling_ratio = 4611686018427387904"),
                        {tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}), tensor<float>({1, 4}, {0, 0, 1, 1}),
                         tensor<std::int64_t>({1}, {0})}),
               Error);
}

TEST(RoiAlign, GivesZeroFarOutside) {
  const auto y = run_text(align("float", "output_height = 2, output_width = 1"),
                          {tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}), tensor<float>({1, 4}, {50, 50, 60, 60}),
                           tensor<std::int64_t>({1}, {0})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{0, 0}));
}

TEST(RoiAlign, GivesZeroOutsideAnImageThatBeginsWithNaN) {
  const auto y = run_text(align("float", "output_height = 1, output_width = 1"),
                          {tensor<float>({1, 1, 2, 2}, {testing::kNan, 2, 3, 4}),
                           tensor<float>({1, 4}, {50, 50, 60, 60}), tensor<std::int64_t>({1}, {0})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{0}));
}

// A million samples along each side of one bin, of which three lie in the image: at 0, 1 and 2, where the
// last pixel counts again.
TEST(RoiAlign, LooksOnlyAtTheSamplesInTheImage) {
  const auto y = run_text(align("float", "output_height = 1, output_width = 1"),
                          {tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}),
                           tensor<float>({1, 4}, {0, 0, 1e6F, 1e6F}), tensor<std::int64_t>({1}, {0})});
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], (1 + 2 * 2 + 3 * 2 + 4 * 4) / 1e12F);
}

}  // namespace
}  // namespace podium::kernels
