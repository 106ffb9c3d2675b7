#include <gtest/gtest.h>

#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using testing::run_text;
using testing::tensor;
using testing::values;

TEST(Relu, CutsWhatIsNegative) {
  const auto y = run_text("g (float[3] x) => (float[3] y) { y = Relu(x) }", {tensor<float>({3}, {-1, 0, 2})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{0, 0, 2}));
}

}  // namespace
}  // namespace podium::kernels
