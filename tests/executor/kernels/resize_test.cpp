#include <gtest/gtest.h>
#include <cmath>
#include <functional>

#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

const ir::Datum kNoRoi = tensor<float>({0}, {});
const ir::Datum kNoScales = tensor<float>({0}, {});

std::string attribute_text(const std::string& attributes) {
  return attributes.empty() ? "" : " <" + attributes + ">";
}

template <class T>
std::vector<T> resize_by_scales(const std::string& type, const std::string& attributes, const ir::Dims& dims,
                                const std::vector<T>& x, const std::vector<float>& scales,
                                const std::vector<float>& roi = {}) {
  const auto results = run_text("agraph (" + type + "[] x, float[R] r, float[S] s) => (" + type +
                                    "[] y) {"
                                    " y = Resize" +
                                    attribute_text(attributes) + " (x, r, s) }",
                                {tensor<T>(dims, x), tensor<float>({std::ssize(roi)}, roi),
                                 tensor<float>({std::ssize(scales)}, scales)});
  return values<T>(results[0]);
}

ir::Datum resize_to(const std::string& attributes, const ir::Dims& dims, const std::vector<float>& x,
                    const std::vector<std::int64_t>& sizes) {
  return run_text(
      "agraph (float[] x, float[R] r, float[S] s, int64[I] i) => (float[] y) {"
      " y = Resize" +
          attribute_text(attributes) + " (x, r, s, i) }",
      {tensor<float>(dims, x), kNoRoi, kNoScales, ir::Tensor::ints(sizes)})[0];
}

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>((i * 31 + 5) % 47) * 0.5F - 8.0F);
  }
  return numbers;
}

double keys(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

double triangle(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

// The weight of input i for a point of one axis: the sum over where copies of the edge lie.
using Weight = std::function<double(double point, std::int64_t i)>;
using Point = std::function<double(double o, double in, double out)>;

// y [n, out0, out1] from x [n, in0, in1] with the product of the weights of both axes.
std::vector<double> naive_resize(const std::vector<float>& x, const ir::Dims& in, const ir::Dims& out,
                                 const Point& point,
                                 const std::function<double(double distance, double scale)>& kernel,
                                 bool exclude) {
  const auto weights = [&](std::size_t axis, std::int64_t o) {
    const double scale = static_cast<double>(out[axis]) / static_cast<double>(in[axis]);
    const double at =
        point(static_cast<double>(o), static_cast<double>(in[axis]), static_cast<double>(out[axis]));
    std::vector<double> result(static_cast<std::size_t>(in[axis]), 0);
    double sum = 0;
    for (std::int64_t i = -40; i < in[axis] + 40; ++i) {
      const bool outside = i < 0 || i >= in[axis];
      const double weight = exclude && outside ? 0 : kernel(static_cast<double>(i) - at, scale);
      result[std::clamp<std::int64_t>(i, 0, in[axis] - 1)] += weight;
      sum += weight;
    }
    for (double& weight : result) weight /= sum;
    return result;
  };
  std::vector<double> y;
  for (std::int64_t n = 0; n < in[0]; ++n) {
    for (std::int64_t o = 0; o < out[1]; ++o) {
      const auto rows = weights(1, o);
      for (std::int64_t p = 0; p < out[2]; ++p) {
        const auto columns = weights(2, p);
        double sum = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          for (std::size_t j = 0; j < columns.size(); ++j) {
            const std::size_t row = static_cast<std::size_t>(n) * rows.size() + i;
            sum += rows[i] * columns[j] * static_cast<double>(x[row * columns.size() + j]);
          }
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

double half_pixel(double o, double in, double out) { return (o + 0.5) * in / out - 0.5; }

TEST(Resize, AgreesWithTheSumOverAllWeights) {
  const std::vector<std::pair<std::string, Point>> points{
      {"half_pixel", half_pixel},
      {"half_pixel_symmetric", half_pixel},
      {"pytorch_half_pixel", half_pixel},
      {"asymmetric", [](double o, double in, double out) { return o * in / out; }},
      {"align_corners", [](double o, double in, double out) { return o * (in - 1) / (out - 1); }}};
  const ir::Dims in{2, 6, 9};
  const std::vector<float> x = ramp(108);
  for (const ir::Dims& out :
       {ir::Dims{2, 11, 14}, ir::Dims{2, 4, 5}, ir::Dims{2, 6, 20}, ir::Dims{2, 3, 9}}) {
    for (const auto& [name, point] : points) {
      for (int variant = 0; variant < 6; ++variant) {
        const bool cubic = variant % 2 == 1;
        const bool exclude = variant / 2 == 1;
        const bool antialias = variant / 2 == 2;
        const std::string given = std::string("mode = \"") + (cubic ? "cubic" : "linear") +
                                  "\", coordinate_transformation_mode = \"" + name + "\"" +
                                  (cubic ? ", cubic_coeff_a = -0.5" : "") +
                                  (exclude ? ", exclude_outside = 1" : "") +
                                  (antialias ? ", antialias = 1" : "");
        const auto kernel = [&](double distance, double scale) {
          if (antialias && scale < 1) distance *= scale;
          return cubic ? keys(distance, -0.5) : triangle(distance);
        };
        const auto found = values<float>(resize_to(given, in, x, out));
        const auto expected = naive_resize(x, in, out, point, kernel, exclude);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(found[i], expected[i], 2e-5) << given << " " << i;
        }
      }
    }
  }
}

TEST(Resize, NearestRoundsAsItsModeSays) {
  const auto run = [](const std::string& mode, float scale) {
    return resize_by_scales<float>(
        "float", "coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"" + mode + "\"", {4},
        {0, 1, 2, 3}, {scale});
  };
  // Looks at 0 0.5 1 1.5 2 2.5 3 3.5.
  EXPECT_EQ(run("round_prefer_floor", 2), (std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(run("round_prefer_ceil", 2), (std::vector<float>{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(run("ceil", 2), (std::vector<float>{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(run("floor", 2), (std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3}));
  // Looks at 0 1.333 2.667.
  EXPECT_EQ(run("floor", 0.75F), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(run("round_prefer_floor", 0.75F), (std::vector<float>{0, 1, 3}));
}

TEST(Resize, NearestMovesElementsOfEveryType) {
  EXPECT_EQ(resize_by_scales<std::string>("string", "", {2}, {"a", "b"}, {2}),
            (std::vector<std::string>{"a", "a", "b", "b"}));
  EXPECT_EQ(resize_by_scales<bool>("bool", "", {1, 2}, {true, false}, {2, 1}),
            (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(resize_by_scales<std::complex<double>>("complex128", "", {2}, {{1, 2}, {3, 4}}, {0.5F}),
            (std::vector<std::complex<double>>{{1, 2}}));
  EXPECT_EQ(resize_by_scales<std::int64_t>("int64", "", {2}, {INT64_MAX, 3}, {2}),
            (std::vector<std::int64_t>{INT64_MAX, INT64_MAX, 3, 3}));
  const auto half = resize_by_scales<ir::Float16>("float16", "", {1}, {ir::Float16(1.5F)}, {2});
  EXPECT_EQ(half[1].bits, ir::Float16(1.5F).bits);
}

TEST(Resize, CutsIntegersToTheirRange) {
  const std::string linear = "mode = \"linear\"";
  EXPECT_EQ(resize_by_scales<std::uint8_t>("uint8", linear, {2}, {10, 13}, {2}),
            (std::vector<std::uint8_t>{10, 10, 12, 13}));
  EXPECT_EQ(resize_by_scales<std::int8_t>("int8", linear, {2}, {-10, -13}, {2}),
            (std::vector<std::int8_t>{-10, -10, -12, -13}));
  // Cubic overshoots at both ends.
  EXPECT_EQ(resize_by_scales<std::uint8_t>("uint8", "mode = \"cubic\"", {4}, {0, 0, 255, 255}, {2})[2], 0);
  EXPECT_EQ(resize_by_scales<std::uint8_t>("uint8", "mode = \"cubic\"", {4}, {0, 0, 255, 255}, {2})[5], 255);
  const auto same =
      resize_by_scales<std::uint8_t>("uint8", linear, {7}, std::vector<std::uint8_t>(7, 201), {3.7F});
  EXPECT_EQ(same, std::vector<std::uint8_t>(25, 201));
  EXPECT_EQ(resize_by_scales<std::int32_t>("int32", linear, {2}, {2000000001, 2000000003}, {2})[1],
            2000000001);
}

TEST(Resize, KeepsDoublesExactAndRoundsHalvesOnce) {
  const auto wide = resize_by_scales<double>("double", "mode = \"linear\"", {2}, {1, 1 + 1e-12}, {2});
  EXPECT_EQ(wide[1], 0.75 * 1 + 0.25 * (1 + 1e-12));
  const auto half = resize_by_scales<ir::Float16>("float16", "mode = \"linear\"", {2},
                                                  {ir::Float16(1), ir::Float16(2)}, {2});
  EXPECT_EQ(half[1].bits, ir::Float16(1.25F).bits);
}

TEST(Resize, CropsToTheRegionAndFillsWhatIsOutside) {
  const auto y = resize_by_scales<float>(
      "float",
      "mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", extrapolation_value = 9.0",
      {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 1}, {0, 0.5F, 1, 1.5F});
  EXPECT_EQ(y, (std::vector<float>{1, 2, 9, 4, 5, 9, 7, 8, 9}));
  const auto middle = resize_by_scales<float>(
      "float", "mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\"", {5},
      {0, 1, 2, 3, 4}, {0.2F}, {0.25F, 1});
  EXPECT_EQ(middle, (std::vector<float>{2.5F}));
  const auto bytes = resize_by_scales<std::int8_t>(
      "int8", "coordinate_transformation_mode = \"tf_crop_and_resize\", extrapolation_value = -3.0", {2},
      {7, 8}, {1}, {-1, 0});
  EXPECT_EQ(bytes, (std::vector<std::int8_t>{-3, 7}));
}

TEST(Resize, SpeaksOfTheAxesGivenInTheirOrder) {
  const auto y = resize_to("axes = [2, -2]", {1, 2, 2}, {1, 2, 3, 4}, {4, 2});
  EXPECT_EQ(y.tensor.dims(), (ir::Dims{1, 2, 4}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(Resize, KeepsTheAspectRatioWhenAsked) {
  const std::vector<float> x = ramp(2 * 4 * 6);
  EXPECT_EQ(resize_to("axes = [1,2], keep_aspect_ratio_policy = \"not_larger\"", {2, 4, 6}, x, {7, 8})
                .tensor.dims(),
            (ir::Dims{2, 5, 8}));
  EXPECT_EQ(resize_to("axes = [1,2], keep_aspect_ratio_policy = \"not_smaller\"", {2, 4, 6}, x, {7, 8})
                .tensor.dims(),
            (ir::Dims{2, 7, 11}));
  EXPECT_EQ(resize_to("", {2, 4, 6}, x, {2, 7, 8}).tensor.dims(), (ir::Dims{2, 7, 8}));
}

TEST(Resize, CountsAFractionalLengthForAlignedCorners) {
  const auto y = resize_by_scales<float>(
      "float", "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"", {4}, {1, 2, 3, 4},
      {0.6F});
  ASSERT_EQ(y.size(), 2U);
  EXPECT_NEAR(y[1], 1 + 3 / 1.4, 1e-6);
}

TEST(Resize, KnowsTheCoordinatesOfVersion11) {
  const auto y = resize_by_scales<float>(
      "float", "coordinate_transformation_mode = \"tf_half_pixel_for_nn\", nearest_mode = \"floor\"", {6},
      {0, 1, 2, 3, 4, 5}, {0.5F});
  EXPECT_EQ(y, (std::vector<float>{1, 3, 5}));
}

TEST(Resize, ReadsScalesThatOnlyTheRunKnows) {
  const auto results = run_text(
      "agraph (float[N] x, float[R] r, float[1] s) => (float[] y) {"
      " t = Add(s, s)  y = Resize(x, r, t) }",
      {tensor<float>({2}, {1, 2}), kNoRoi, tensor<float>({1}, {0.75F})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{1, 1, 2}));
}

TEST(Resize, OfNothingIsNothing) {
  EXPECT_EQ(resize_to("mode = \"linear\"", {0, 2}, {}, {0, 4}).tensor.dims(), (ir::Dims{0, 4}));
  EXPECT_THROW(resize_to("mode = \"linear\"", {0, 2}, {}, {1, 4}), Error);
}

TEST(Resize, RefusesWhatItsDefinitionExcludes) {
  EXPECT_THROW(resize_to("mode = \"area\"", {2}, {1, 2}, {4}), Error);
  EXPECT_THROW(resize_to("antialias = 1", {2}, {1, 2}, {4}), Error);
  EXPECT_THROW(resize_to("", {2}, {1, 2}, {4, 4}), Error);
  EXPECT_THROW(resize_to("coordinate_transformation_mode = \"tf_crop_and_resize\"", {2}, {1, 2}, {4}), Error);
  EXPECT_THROW(resize_by_scales<float>("float", "", {2}, {1, 2}, {0}), Error);
  EXPECT_THROW(resize_by_scales<bool>("bool", "mode = \"linear\"", {2}, {true, false}, {2}), Error);
}

template <class T>
std::vector<T> sample(const std::string& type, const std::string& attributes, const ir::Dims& dims,
                      const std::vector<T>& x, const ir::Dims& grid_dims, const std::vector<float>& grid) {
  const auto results = run_text("agraph (" + type + "[] x, float[] g) => (" + type +
                                    "[] y) { y = GridSample" + attribute_text(attributes) + " (x, g) }",
                                {tensor<T>(dims, x), tensor<float>(grid_dims, grid)});
  return values<T>(results[0]);
}

TEST(GridSample, LooksBetweenElements) {
  // 2 rows of 3: the grid names the column first. (0,0) is the middle of the image.
  const std::vector<float> x{0, 1, 2, 3, 4, 5};
  const std::vector<float> grid{0, 0, -1, -1, 1, 1, 0.5F, -0.5F, -3, 0};
  EXPECT_EQ(sample<float>("float", "align_corners = 1", {1, 1, 2, 3}, x, {1, 1, 5, 2}, grid),
            (std::vector<float>{2.5F, 0, 5, 2.25F, 0}));
  EXPECT_EQ(sample<float>("float", "", {1, 1, 2, 3}, x, {1, 1, 5, 2}, grid),
            (std::vector<float>{2.5F, 0, 1.25F, 1.75F, 0}));
  EXPECT_EQ(sample<float>("float", "padding_mode = \"border\"", {1, 1, 2, 3}, x, {1, 1, 5, 2}, grid),
            (std::vector<float>{2.5F, 0, 5, 1.75F, 1.5F}));
  EXPECT_EQ(sample<float>("float", "padding_mode = \"reflection\"", {1, 1, 2, 3}, x, {1, 1, 5, 2}, grid),
            (std::vector<float>{2.5F, 0, 5, 1.75F, 3.5F}));
}

TEST(GridSample, ReflectsAsOftenAsNeeded) {
  // Columns 0 to 3, corners aligned: -1.5, 4.5, 7.5 reflect to 1.5, 1.5, 1.5.
  const std::vector<float> grid{-2, 0, 2, 0, 4, 0};
  EXPECT_EQ(sample<float>("float", "align_corners = 1, padding_mode = \"reflection\"", {1, 1, 1, 4},
                          {0, 1, 2, 3}, {1, 1, 3, 2}, grid),
            (std::vector<float>{1.5F, 1.5F, 1.5F}));
}

TEST(GridSample, CubicAgreesWithResizeOnAnEvenGrid) {
  std::vector<float> grid;
  for (int o = 0; o < 11; ++o) {
    for (int p = 0; p < 12; ++p) {
      grid.push_back((static_cast<float>(p) + 0.5F) / 6 - 1);
      grid.push_back((static_cast<float>(o) + 0.5F) / 5.5F - 1);
    }
  }
  const std::vector<float> x = ramp(2 * 3 * 5 * 7);
  std::vector<float> twice = grid;
  twice.insert(twice.end(), grid.begin(), grid.end());
  const auto sampled = sample<float>("float", "mode = \"cubic\", padding_mode = \"border\"", {2, 3, 5, 7}, x,
                                     {2, 11, 12, 2}, twice);
  const auto resized = values<float>(resize_to("mode = \"cubic\"", {2, 3, 5, 7}, x, {2, 3, 11, 12}));
  ASSERT_EQ(sampled.size(), resized.size());
  for (std::size_t i = 0; i < sampled.size(); ++i) ASSERT_NEAR(sampled[i], resized[i], 1e-4) << i;
}

TEST(GridSample, TakesVolumesAndEveryType) {
  std::vector<double> volume(8);
  for (std::size_t i = 0; i < volume.size(); ++i) volume[i] = static_cast<double>(i);
  EXPECT_EQ(sample<double>("double", "align_corners = 1", {1, 1, 2, 2, 2}, volume, {1, 1, 1, 2, 3},
                           {0, 0, 0, 1, -1, 1}),
            (std::vector<double>{3.5, 5}));
  const std::string nearest = "mode = \"nearest\", align_corners = 1";
  EXPECT_EQ(sample<std::string>("string", nearest, {1, 1, 1, 3}, {"a", "b", "c"}, {1, 1, 3, 2},
                                {-1, 0, 0.9F, 0, 3, 0}),
            (std::vector<std::string>{"a", "c", ""}));
  EXPECT_EQ(sample<std::int64_t>("int64", nearest, {1, 1, 1, 2}, {INT64_MAX, 5}, {1, 1, 1, 2}, {-1, 0}),
            (std::vector<std::int64_t>{INT64_MAX}));
  EXPECT_EQ(sample<std::int32_t>("int32", "align_corners = 1", {1, 1, 1, 2}, {1, 4}, {1, 1, 1, 2}, {0, 0}),
            (std::vector<std::int32_t>{2}));
  // A half goes to the even neighbour.
  EXPECT_EQ(
      sample<float>("float", nearest, {1, 1, 1, 1, 3}, {1, 4, 9}, {1, 1, 1, 2, 3}, {-0.5F, 0, 0, 0.5F, 0, 0}),
      (std::vector<float>{1, 9}));
}

TEST(GridSample, RefusesAGridOfAnotherRank) {
  EXPECT_THROW(sample<float>("float", "", {1, 1, 1, 2}, {1, 4}, {1, 1, 3}, {0, 0, 0}), Error);
}

TEST(AffineGrid, MapsTheMiddlesOrTheCorners) {
  const auto run = [](const std::string& attributes) {
    return values<float>(
        run_text("agraph (float[1,2,3] t, int64[4] s) => (float[] g) { g = AffineGrid" +
                     attribute_text(attributes) + " (t, s) }",
                 {tensor<float>({1, 2, 3}, {2, 0, 1, 0, 1, 0}), ir::Tensor::ints({1, 1, 1, 2})})[0]);
  };
  EXPECT_EQ(run(""), (std::vector<float>{0, 0, 2, 0}));
  EXPECT_EQ(run("align_corners = 1"), (std::vector<float>{-1, 0, 3, 0}));
}

TEST(AffineGrid, TakesVolumesInHalf) {
  const auto results = run_text(
      "agraph (float16[1,3,4] t, int64[5] s) => (float16[] g) { g = AffineGrid <align_corners = 1> (t, s) }",
      {tensor<ir::Float16>({1, 3, 4}, {ir::Float16(1), ir::Float16(0), ir::Float16(0), ir::Float16(0),
                                       ir::Float16(0), ir::Float16(2), ir::Float16(0), ir::Float16(0),
                                       ir::Float16(0), ir::Float16(0), ir::Float16(3), ir::Float16(4)}),
       ir::Tensor::ints({1, 2, 2, 2, 2})});
  EXPECT_EQ(results[0].tensor.dims(), (ir::Dims{1, 2, 2, 2, 3}));
  std::vector<float> last;
  for (int i = 21; i < 24; ++i) last.push_back(static_cast<float>(results[0].tensor.data<ir::Float16>()[i]));
  EXPECT_EQ(last, (std::vector<float>{1, 2, 7}));
}

}  // namespace
}  // namespace podium::testing
