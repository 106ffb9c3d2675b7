#include "tests/support/conv_calls.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/run_op.h"

namespace podium::testing {
namespace {

ir::Tensor in_doubles(const ir::Tensor& x) {
  ir::Tensor doubles(ir::DataType::Double, x.dims());
  std::copy_n(x.data<float>(), x.size(), doubles.data<double>());
  return doubles;
}

}  // namespace

ir::Tensor ConvCall::run() const {
  return run_op_outputs(domain, name, {left, right}, attributes, 1)[0].tensor;
}

ir::Tensor ConvCall::run_in_doubles() const {
  return ConvCall{domain, name, in_doubles(left), in_doubles(right), attributes}.run();
}

std::vector<ir::Attribute> window_attributes(const ir::IntList& kernel, const ir::IntList& strides,
                                             const ir::IntList& pads, const ir::IntList& dilations) {
  return {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
}

void expect_near(const ir::Tensor& found, const ir::Tensor& wanted, double tolerance) {
  ASSERT_EQ(found.dims(), wanted.dims());
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const double number = wanted.data<double>()[i];
    if (std::isnan(number)) {
      ASSERT_TRUE(std::isnan(found.data<float>()[i])) << i;
    } else if (std::isinf(number)) {
      ASSERT_EQ(static_cast<double>(found.data<float>()[i]), number) << i;
    } else {
      ASSERT_NEAR(static_cast<double>(found.data<float>()[i]), number, tolerance) << i;
    }
  }
}

}  // namespace podium::testing
