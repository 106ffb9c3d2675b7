#include "executor/kernels/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "tests/support/conv_calls.h"
#include "tests/support/fusing.h"

namespace podium::kernels {
namespace {

using testing::ConvCall;
using testing::random_floats;

// The three convolutions of training, of two images.
std::vector<ConvCall> calls() {
  const std::vector<ir::Attribute> window = testing::window_attributes({3, 3}, {1, 1}, {1, 1, 1, 1});
  return {
      {"", "Conv", random_floats({2, 32, 30, 29}, 1), random_floats({48, 32, 3, 3}, 2), window},
      {"", "ConvTranspose", random_floats({2, 48, 30, 29}, 3), random_floats({48, 32, 3, 3}, 4), window},
      {"podium", "ConvWeightGradient", random_floats({2, 32, 30, 29}, 5), random_floats({2, 48, 30, 29}, 6),
       window},
  };
}

// Tiles of several blocks, channels that do not fill a last strip, windows that stand half outside, or not at
// all.
TEST(Winograd, TakesImagesOfAnySizeAndPadding) {
  for (const std::int64_t pad : {0, 1, 2}) {
    const std::vector<ir::Attribute> window =
        testing::window_attributes({3, 3}, {1, 1}, {pad, pad, pad, pad});
    const std::int64_t more = 2 * pad - 2;
    for (const ConvCall& call :
         {ConvCall{"", "Conv", random_floats({5, 32, 31, 33}, 1), random_floats({40, 32, 3, 3}, 2), window},
          ConvCall{"", "ConvTranspose", random_floats({5, 40, 31 + more, 33 + more}, 3),
                   random_floats({40, 32, 3, 3}, 4), window},
          ConvCall{"podium", "ConvWeightGradient", random_floats({5, 32, 31, 33}, 5),
                   random_floats({5, 40, 31 + more, 33 + more}, 6), window}}) {
      SCOPED_TRACE(call.name);
      testing::expect_near(call.run(), call.run_in_doubles(), 1e-3);
    }
  }
}

// Windows that no second-level cache keeps, more tiles than a block has then, and strips without an empty
// column, which the weights' gradient needs.
TEST(Winograd, TakesManyChannels) {
  const std::vector<ir::Attribute> window = testing::window_attributes({3, 3}, {1, 1}, {1, 1, 1, 1});
  for (const ConvCall& call :
       {ConvCall{"", "Conv", random_floats({3, 64, 26, 27}, 1), random_floats({128, 64, 3, 3}, 2), window},
        ConvCall{"", "ConvTranspose", random_floats({3, 128, 26, 27}, 3), random_floats({128, 64, 3, 3}, 4),
                 window},
        ConvCall{"podium", "ConvWeightGradient", random_floats({3, 64, 26, 27}, 5),
                 random_floats({3, 128, 26, 27}, 6), window}}) {
    SCOPED_TRACE(call.name);
    testing::expect_near(call.run(), call.run_in_doubles(), 1e-3);
  }
}

TEST(Winograd, RoundsAboutAsTheSumDoes) {
  for (const ConvCall& call : calls()) {
    SCOPED_TRACE(call.name);
    testing::expect_near(call.run(), call.run_in_doubles(), 2e-4);
  }
}

TEST(Winograd, KeepsInfiniteAndMissingNumbersWhereTheSumHasThem) {
  for (const float number :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<ConvCall> all = calls();
    for (ConvCall& call : all) {
      SCOPED_TRACE(call.name);
      call.left.data<float>()[call.left.size() / 2] = number;
      testing::expect_near(call.run(), call.run_in_doubles(), 2e-4);
    }
  }
}

// Each number is a float, but the sums of the transforms are not.
TEST(Winograd, OverflowsWhereTheSumDoesAlone) {
  std::vector<ConvCall> all = calls();
  for (ConvCall& call : all) {
    SCOPED_TRACE(call.name);
    const float large = std::numeric_limits<float>::max() / 4;
    for (float& element : call.left.values<float>()) element *= large;
    for (float& element : call.right.values<float>()) element *= 1e-4F;
    const Tensor found = call.run();
    for (const float element : found.values<float>()) ASSERT_TRUE(std::isfinite(element));
  }
}

TEST(Winograd, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const ConvCall& call : calls()) {
    const Tensor on_all = call.run();
    const ThreadLimit limit(1);
    EXPECT_TRUE(identical(on_all, call.run())) << call.name;
  }
}

}  // namespace
}  // namespace podium::kernels
