// Numbers that are as wanted to rounding.
#pragma once

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "ir/datum.h"

namespace podium::testing {

/// As many as wanted, each within `tolerance`. Halves and their like count as floats.
template <class Found>
void expect_near(const Found& found, const std::vector<double>& wanted, double tolerance = 1e-12) {
  const auto number = [](auto element) {
    if constexpr (std::is_arithmetic_v<decltype(element)>) {
      return static_cast<double>(element);
    } else {
      return static_cast<double>(static_cast<float>(element));
    }
  };
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(number(found[i]), wanted[i], tolerance) << "element " << i;
}

/// The same of a tensor of T.
template <class T>
void expect_near(const ir::Datum& found, const std::vector<double>& wanted, double tolerance) {
  expect_near(found.tensor.values<T>(), wanted, tolerance);
}

}  // namespace podium::testing
