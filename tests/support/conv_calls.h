// One of the convolutions of training, run in floats and, to hold it against, in doubles.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace podium::testing {

struct ConvCall {
  std::string_view domain;
  std::string_view name;  ///< Conv, ConvTranspose or ConvWeightGradient
  ir::Tensor left;
  ir::Tensor right;
  std::vector<ir::Attribute> attributes;

  ir::Tensor run() const;
  ir::Tensor run_in_doubles() const;
};

/// The attributes of a window; the dilations are those of one in two dimensions.
std::vector<ir::Attribute> window_attributes(const ir::IntList& kernel, const ir::IntList& strides,
                                             const ir::IntList& pads, const ir::IntList& dilations = {1, 1});

/// Fails where floats are further from doubles than `tolerance`, or infinite or NaN elsewhere than they.
void expect_near(const ir::Tensor& found, const ir::Tensor& wanted, double tolerance);

}  // namespace podium::testing
