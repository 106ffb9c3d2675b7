// The rows of the table of ops whose derivatives have been compared with differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string_view>

#include "ir/gradients/gradient.h"
#include "tests/support/gradients.h"

namespace podium::testing {
namespace {

// Attributes that change no number of what is compared in double.
const std::set<std::string>& without_effect() {
  static const std::set<std::string> kNames{
      "Cast.saturate",
      "CastLike.saturate",
      "Cast.round_mode",  // of numbers of 8 bits
      "CastLike.round_mode",
      "LinearAttention.chunk_size",  // how it is computed
      "Optional.type",               // of one that holds nothing
      "FlexAttention.softmax_precision",
      "Range.stash_type",
      "GroupNormalization.stash_type",
      "LayerNormalization.stash_type",
      "RMSNormalization.stash_type",  // in which precision
  };
  return kNames;
}

void expect_all_is_checked(const ir::OpSpec& spec) {
  const auto found = checked_rows().find(&spec);
  if (found == checked_rows().end()) {
    ADD_FAILURE() << spec.name << ": its derivative is compared with no differences";
    return;
  }
  for (const ir::AttributeSpec& attribute : spec.attributes) {
    const std::string name = fmt::format("{}.{}", spec.name, attribute.name);
    EXPECT_TRUE(found->second.attributes.contains(std::string(attribute.name)) ||
                without_effect().contains(name))
        << name << ": no derivative is compared where it has a value of its own";
  }
}

// Some rows and attributes are only in cases newer than those that Debian packages.
bool has_newer_cases() {
  const std::string_view places = PODIUM_CASES;
  return std::filesystem::exists(places.substr(places.rfind(':') + 1));
}

// After all tests of this program, unless some were chosen.
class EveryRowIsChecked : public ::testing::Environment {
 public:
  void TearDown() override {
    if (::testing::GTEST_FLAG(filter) != "*" || !has_newer_cases()) return;
    for (const ir::OpSpec* spec : ir::all_ops()) {
      // Podium's own ops are compared where they are the gradients of others.
      if (spec->domain != "podium" && is_differentiable(*spec)) expect_all_is_checked(*spec);
    }
  }
};

const ::testing::Environment* const kRows = ::testing::AddGlobalTestEnvironment(new EveryRowIsChecked);

TEST(RowsWithoutADerivative, SayWhy) {
  for (const ir::OpSpec* spec : ir::all_ops()) {
    EXPECT_NE(is_differentiable(*spec), !spec->no_gradient.empty()) << spec->name;
  }
}

}  // namespace
}  // namespace podium::testing
