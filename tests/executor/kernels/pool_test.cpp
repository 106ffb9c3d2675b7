#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <optional>

#include "tests/support/near.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

struct Pool {
  ir::Dims kernel, strides, dilations, pads;  // pads: begins, then ends
};

std::string dims_of(const ir::Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

std::string attributes(const Pool& pool) {
  return "kernel_shape = " + dims_of(pool.kernel) + ", strides = " + dims_of(pool.strides) +
         ", dilations = " + dims_of(pool.dilations) + ", pads = " + dims_of(pool.pads);
}

std::vector<float> shuffled(std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((i * 61 + 17) % 97) * 0.5F - 20.0F;
  }
  return numbers;
}

// The elements of one window: their positions in the plane in row-major order; nullopt for padding.
using Seen = std::vector<std::optional<std::int64_t>>;

Seen seen_by(const Pool& pool, const ir::Dims& sizes, const ir::Dims& output, std::int64_t window) {
  Seen seen;
  std::int64_t taps = 1;
  for (std::int64_t k : pool.kernel) taps *= k;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    std::int64_t rest = tap;
    std::int64_t place = window;
    std::int64_t stride = 1;
    std::optional<std::int64_t> position = 0;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      const std::int64_t at = place % output[axis] * pool.strides[axis] - pool.pads[axis] +
                              rest % pool.kernel[axis] * pool.dilations[axis];
      rest /= pool.kernel[axis];
      place /= output[axis];
      if (at < 0 || at >= sizes[axis]) position = std::nullopt;
      if (position) *position += at * stride;
      stride *= sizes[axis];
    }
    seen.push_back(position);
  }
  return seen;
}

std::vector<double> naive_pool(const Pool& pool, const std::vector<float>& x, const ir::Dims& sizes,
                               const ir::Tensor& like,
                               const std::function<double(const std::vector<float>&, std::size_t)>& reduce) {
  const ir::Dims output(like.dims().begin() + 2, like.dims().end());
  std::vector<double> y;
  for (std::int64_t plane = 0; plane < like.dim(0) * like.dim(1); ++plane) {
    for (std::int64_t window = 0; window < ir::element_count(output); ++window) {
      std::vector<float> numbers;
      const Seen seen = seen_by(pool, sizes, output, window);
      for (const auto& at : seen) {
        if (at) numbers.push_back(x[plane * ir::element_count(sizes) + *at]);
      }
      y.push_back(reduce(numbers, seen.size()));
    }
  }
  return y;
}

const Pool kPools[] = {
    {{3}, {2}, {1}, {1, 1}},
    {{3, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {{3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {{2, 3}, {3, 1}, {2, 2}, {1, 0, 0, 2}},
    {{2, 3, 2}, {1, 2, 2}, {1, 1, 3}, {1, 1, 0, 0, 1, 1}},
    {{2, 2, 1, 2}, {1, 2, 1, 1}, {1, 1, 1, 1}, {0, 1, 0, 0, 0, 0, 0, 1}},
};

TEST(Pool, AgreesWithANaiveLoopInEveryRank) {
  for (const Pool& pool : kPools) {
    ir::Dims dims{2, 3};
    for (std::size_t i = 0; i < pool.kernel.size(); ++i) dims.push_back(7 + static_cast<std::int64_t>(i));
    const std::vector<float> x = shuffled(ir::element_count(dims));
    const ir::Dims sizes(dims.begin() + 2, dims.end());
    const std::string shape = "float" + dims_of(dims);
    const std::string given = attributes(pool);
    const auto results = run_text("agraph (" + shape +
                                      " x) => (float[] y, float[] z, float[] w, float[] v) {"
                                      " y = MaxPool <" +
                                      given + "> (x)  z = AveragePool <" + given +
                                      "> (x)"
                                      " w = AveragePool <" +
                                      given +
                                      ", count_include_pad = 1> (x)"
                                      " v = LpPool <" +
                                      given + ", p = 3> (x) }",
                                  {tensor<float>(dims, x)});
    const auto check = [&](std::size_t i,
                           const std::function<double(const std::vector<float>&, std::size_t)>& reduce) {
      expect_near<float>(results[i], naive_pool(pool, x, sizes, results[i].tensor, reduce), 1e-4);
    };
    const auto sum = [](const std::vector<float>& seen) {
      double total = 0;
      for (float number : seen) total += number;
      return total;
    };
    check(0, [](const auto& seen, std::size_t) { return *std::max_element(seen.begin(), seen.end()); });
    check(1, [&](const auto& seen, std::size_t) { return sum(seen) / static_cast<double>(seen.size()); });
    check(2, [&](const auto& seen, std::size_t all) { return sum(seen) / static_cast<double>(all); });
    check(3, [](const auto& seen, std::size_t) {
      double total = 0;
      for (float number : seen) total += std::pow(std::fabs(number), 3);
      return std::cbrt(total);
    });
  }
}

TEST(MaxPool, SaysWhereTheFirstMaximumWas) {
  const auto results = run_text(
      "agraph (float[1,2,3,4] x) => (float[] y, int64[] i, float[] z, int64[] j) {"
      " y, i = MaxPool <kernel_shape = [2,2], strides = [1,2]> (x)"
      " z, j = MaxPool <kernel_shape = [2,2], strides = [1,2], storage_order = 1> (x) }",
      {tensor<float>({1, 2, 3, 4},
                     {5, 5, 1, 2, 5, 5, 3, 3, 0, 9, 9, 3, 1, 2, 3, 4, 4, 3, 2, 1, 0, 0, 0, 0})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{5, 3, 9, 9, 4, 4, 4, 2}));
  EXPECT_EQ(values<std::int64_t>(results[1]), (std::vector<std::int64_t>{0, 6, 9, 10, 16, 15, 16, 18}));
  // Column by column: row h, column w is h + 3 w.
  EXPECT_EQ(values<std::int64_t>(results[3]), (std::vector<std::int64_t>{0, 7, 5, 8, 13, 21, 13, 19}));
}

TEST(MaxPool, TakesNaNForLargerThanAnyNumber) {
  const auto results = run_text(
      "agraph (float[1,1,6] x) => (float[] y, float[] z, int64[] i, float[] w) {"
      " y = MaxPool <kernel_shape = [2], strides = [2]> (x)"
      " z, i = MaxPool <kernel_shape = [2], strides = [2]> (x)"
      " w = GlobalMaxPool (x) }",
      {tensor<float>({1, 1, 6}, {kNan, 1, 2, kNan, -kInfinity, -kInfinity})});
  for (const int of : {0, 1}) {
    const auto found = values<float>(results[of]);
    EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1])) << of;
    EXPECT_EQ(found[2], -kInfinity) << of;
  }
  EXPECT_EQ(values<std::int64_t>(results[2]), (std::vector<std::int64_t>{0, 3, 4}));
  EXPECT_TRUE(std::isnan(values<float>(results[3])[0]));
}

TEST(MaxPool, TakesBytesAndDoublesAndHalves) {
  const auto bytes =
      run_text("agraph (int8[1,1,4] x) => (int8[] y) { y = MaxPool <kernel_shape = [2], pads = [1,0]> (x) }",
               {tensor<std::int8_t>({1, 1, 4}, {-128, -3, -5, 7})});
  EXPECT_EQ(values<std::int8_t>(bytes[0]), (std::vector<std::int8_t>{-128, -3, -3, 7}));
  const auto unsigned_bytes =
      run_text("agraph (uint8[1,1,3] x) => (uint8[] y) { y = MaxPool <kernel_shape = [2]> (x) }",
               {tensor<std::uint8_t>({1, 1, 3}, {200, 3, 255})});
  EXPECT_EQ(values<std::uint8_t>(unsigned_bytes[0]), (std::vector<std::uint8_t>{200, 255}));
  const auto doubles =
      run_text("agraph (double[1,1,3] x) => (double[] y) { y = MaxPool <kernel_shape = [2]> (x) }",
               {tensor<double>({1, 1, 3}, {1e300, 3, -1e300})});
  EXPECT_EQ(values<double>(doubles[0]), (std::vector<double>{1e300, 3}));
  const auto halves = run_text(
      "agraph (float16[1,1,3] x) => (float16[] y, int64[] i) { y, i = MaxPool <kernel_shape = [2]> (x) }",
      {tensor<ir::Float16>({1, 1, 3}, {ir::Float16(1), ir::Float16(3), ir::Float16(2)})});
  EXPECT_EQ(halves[0].tensor.data<ir::Float16>()[0].bits, ir::Float16(3).bits);
  EXPECT_EQ(values<std::int64_t>(halves[1]), (std::vector<std::int64_t>{1, 1}));
}

TEST(Pool, CeilModeLeavesOutWindowsThatStartInTheEndPadding) {
  const auto results = run_text(
      "agraph (float[1,1,4] x) => (float[] y, float[] z) {"
      " y = MaxPool <kernel_shape = [1], strides = [2], pads = [0,1], ceil_mode = 1> (x)"
      " z = MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 1> (x) }",
      {tensor<float>({1, 1, 4}, {1, 2, 3, 4})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{1, 3}));
  EXPECT_EQ(values<float>(results[1]), (std::vector<float>{3, 4}));
}

TEST(AveragePool, CountsPaddingButNotWhatCeilModeAddsBeyondIt) {
  const auto results = run_text(
      "agraph (float[1,1,4] x) => (float[] y, float[] z) {"
      " y = AveragePool <kernel_shape = [3], strides = [2], pads = [1,0], ceil_mode = 1, count_include_pad = "
      "1> (x)"
      " z = AveragePool <kernel_shape = [3], strides = [2], pads = [1,0], ceil_mode = 1> (x) }",
      {tensor<float>({1, 1, 4}, {1, 2, 3, 6})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{1, 11.0F / 3}));
  EXPECT_EQ(values<float>(results[1]), (std::vector<float>{1.5F, 11.0F / 3}));
}

TEST(Pool, SamePaddingPutsTheLargerHalfWhereItsNameSays) {
  const auto results = run_text(
      "agraph (float[1,1,4] x) => (float[] y, float[] z, float[] w) {"
      " y = MaxPool <kernel_shape = [2], auto_pad = \"SAME_UPPER\"> (x)"
      " z = MaxPool <kernel_shape = [2], auto_pad = \"SAME_LOWER\"> (x)"
      " w = MaxPool <kernel_shape = [2], auto_pad = \"VALID\"> (x) }",
      {tensor<float>({1, 1, 4}, {4, 3, 2, 1})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{4, 3, 2, 1}));
  EXPECT_EQ(values<float>(results[1]), (std::vector<float>{4, 4, 3, 2}));
  EXPECT_EQ(values<float>(results[2]), (std::vector<float>{4, 3, 2}));
}

TEST(Pool, RefusesWhatDoesNotFit) {
  const ir::Datum x = tensor<float>({1, 1, 2}, {1, 2});
  const auto run = [&](const std::string& given) {
    return run_text("agraph (float[1,1,2] x) => (float[] y) { y = MaxPool <" + given + "> (x) }", {x});
  };
  EXPECT_THROW(run("kernel_shape = [2,2]"), Error);
  EXPECT_THROW(run("kernel_shape = [0]"), Error);
  EXPECT_THROW(run("kernel_shape = [2], strides = [0]"), Error);
  EXPECT_THROW(run("kernel_shape = [2], pads = [0]"), Error);
  EXPECT_THROW(run("kernel_shape = [5]"), Error);
  EXPECT_THROW(run("kernel_shape = [2], auto_pad = \"SAME\""), Error);
}

TEST(GlobalPool, ReducesEveryChannel) {
  const auto results = run_text(
      "agraph (double[1,2,2,2] x) => (double[] a, double[] m, double[] l, double[] k) {"
      " a = GlobalAveragePool(x)  m = GlobalMaxPool(x)  l = GlobalLpPool(x)  k = GlobalLpPool <p = 1> (x) }",
      {tensor<double>({1, 2, 2, 2}, {1, 2, 3, 4, -3, 0, 4, 0})});
  EXPECT_EQ(values<double>(results[0]), (std::vector<double>{2.5, 0.25}));
  EXPECT_EQ(values<double>(results[1]), (std::vector<double>{4, 4}));
  EXPECT_EQ(values<double>(results[2]), (std::vector<double>{std::sqrt(30.0), 5}));
  EXPECT_EQ(values<double>(results[3]), (std::vector<double>{10, 7}));
  EXPECT_EQ(results[0].tensor.dims(), (ir::Dims{1, 2, 1, 1}));
}

TEST(MaxUnpool, UndoesMaxPoolAndStretchesToTheShapeAskedFor) {
  const auto results = run_text(
      "agraph (float[1,1,2,2] x, int64[1,1,2,2] i, int64[4] s) => (float[] y, float[] z) {"
      " y = MaxUnpool <kernel_shape = [2,2], strides = [2,2]> (x, i)"
      " z = MaxUnpool <kernel_shape = [2,2], strides = [2,2]> (x, i, s) }",
      {tensor<float>({1, 1, 2, 2}, {5, 6, 7, 8}), tensor<std::int64_t>({1, 1, 2, 2}, {5, 7, 13, 15}),
       ir::Tensor::ints({1, 1, 5, 4})});
  const std::vector<float> expected{0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8};
  EXPECT_EQ(values<float>(results[0]), expected);
  EXPECT_EQ(results[1].tensor.dims(), (ir::Dims{1, 1, 5, 4}));
  std::vector<float> longer = expected;
  longer.resize(20, 0);
  EXPECT_EQ(values<float>(results[1]), longer);
}

TEST(MaxUnpool, RefusesAKernelOfNoElements) {
  for (const char* size : {"0", "-9223372036854775808"}) {
    EXPECT_THROW(run_text("agraph (float[1,1,2] x, int64[1,1,2] i) => (float[] y) {"
                          " y = MaxUnpool <kernel_shape = [" +
                              std::string(size) + "], pads = [1,1]> (x, i) }",
                          {tensor<float>({1, 1, 2}, {1, 2}), tensor<std::int64_t>({1, 1, 2}, {0, 1})}),
                 Error);
  }
}

TEST(MaxUnpool, RefusesAnIndexOutOfRange) {
  EXPECT_THROW(
      run_text("agraph (float[1,1,1] x, int64[1,1,1] i) => (float[] y) { y = MaxUnpool <kernel_shape "
               "= [2]> (x, i) }",
               {tensor<float>({1, 1, 1}, {5}), tensor<std::int64_t>({1, 1, 1}, {2})}),
      Error);
}

TEST(MaxRoiPool, PoolsEachRegionOfItsImage) {
  std::vector<float> x(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto results = run_text(
      "agraph (float[2,1,4,4] x, float[2,5] r) => (float[] y) {"
      " y = MaxRoiPool <pooled_shape = [2,2], spatial_scale = 0.5> (x, r) }",
      {tensor<float>({2, 1, 4, 4}, x), tensor<float>({2, 5}, {0, 0, 0, 6, 6, 1, 2, 4, 4, 4})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{5, 7, 13, 15, 25, 26, 25, 26}));
}

TEST(MaxRoiPool, RefusesARegionOfNoImage) {
  for (const float image : {1.0F, -1.0F, 1e30F, INFINITY, NAN}) {
    EXPECT_THROW(
        run_text("agraph (float[1,1,2,2] x, float[1,5] r) => (float[] y) { y = MaxRoiPool <pooled_shape "
                 "= [1,1]> (x, r) }",
                 {tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}), tensor<float>({1, 5}, {image, 0, 0, 1, 1})}),
        Error)
        << image;
  }
}

TEST(MaxRoiPool, TakesCornersHoweverFarButNoneThatIsNoNumber) {
  const auto pooled = [](float first, float last) {
    return values<float>(
        run_text(
            "agraph (float[1,1,2,2] x, float[1,5] r) => (float[] y) { y = MaxRoiPool <pooled_shape "
            "= [1,1]> (x, r) }",
            {tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}), tensor<float>({1, 5}, {0, first, first, last, last})})
            .at(0));
  };
  EXPECT_EQ(pooled(-1e30F, 1e30F), (std::vector<float>{4}));
  EXPECT_EQ(pooled(-3e38F, 3e38F), (std::vector<float>{4}));  // whose distance is infinite
  for (const float corner : {INFINITY, -INFINITY, NAN}) EXPECT_THROW(pooled(0, corner), Error) << corner;
}

TEST(Pools, OfAnAxisWithoutElementsAreEmpty) {
  for (const std::string op : {"AveragePool", "MaxPool", "LpPool"}) {
    const auto results = testing::run_text("g (float[1,1,4,0] x) => (float[a,b,c,d] y) { y = " + op +
                                               "<kernel_shape = [2, 2], strides = [2, 2]>(x) }",
                                           {ir::Tensor(ir::DataType::Float, {1, 1, 4, 0})});
    EXPECT_EQ(results[0].tensor.size(), 0) << op;
  }
}

}  // namespace
}  // namespace podium::testing
