#include "ir/nesting.h"

#include <gtest/gtest.h>

#include "ir/error.h"

namespace podium::ir {
namespace {

std::string nested(int levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(Nesting, IsRefusedBeyondTheDeepestLevel) {
  EXPECT_NO_THROW(check_nesting(nested(10) + nested(10), 10));
  EXPECT_THROW(check_nesting(nested(11), 10), Error);
  EXPECT_THROW(check_nesting("({[", 2), Error);
  EXPECT_THROW(check_nesting(std::string(100'000, '{'), 200), Error);
}

TEST(Nesting, DoesNotCountWhatIsQuotedOrAComment) {
  EXPECT_NO_THROW(check_nesting("\"[[[\\\"[[[\" # [[[\n[", 1));
  EXPECT_THROW(check_nesting("# \"\n[[", 1), Error);
  EXPECT_THROW(check_nesting("\"#\" [[", 1), Error);
}

TEST(Nesting, ClosingBracketsOfNothingOpenNothing) { EXPECT_THROW(check_nesting("]]]][[", 1), Error); }

}  // namespace
}  // namespace podium::ir
