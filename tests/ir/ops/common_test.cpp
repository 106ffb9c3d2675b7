#include "ir/ops/common.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/builder.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string refusal_of(std::string_view op, const std::vector<Dims>& shapes,
                       std::vector<Attribute> attributes) {
  Graph graph;
  Builder build(graph);
  std::vector<ValueId> inputs;
  for (const Dims& dims : shapes) inputs.push_back(build.input("x", Type::tensor(DataType::Float, dims)));
  return testing::refusal([&] { build.op(op, inputs, std::move(attributes)); });
}

// 257 is 1, float, in 8 bits.
TEST(NamedType, IsTheNumberOfAnElementType) {
  struct Naming {
    std::string_view op;
    std::vector<Dims> shapes;
    std::string_view attribute;
    std::vector<Attribute> others = {};
  };
  const std::vector<Naming> all{{"Cast", {{2}}, "to"},
                                {"BitCast", {{2}}, "to"},
                                {"SequenceEmpty", {}, "dtype"},
                                {"EyeLike", {{2, 2}}, "dtype"},
                                {"RandomNormalLike", {{2}}, "dtype"},
                                {"Bernoulli", {{2}}, "dtype"},
                                {"QuantizeLinear", {{2}, {}}, "output_dtype"},
                                {"QuantizeLinear", {{2}, {}}, "precision"},
                                {"LayerNormalization", {{2, 2}, {2}}, "stash_type"}};
  for (const Naming& naming : all) {
    for (const std::int64_t number :
         {std::int64_t{-1}, std::int64_t{29}, std::int64_t{255}, std::int64_t{257}, kMost}) {
      EXPECT_THAT(refusal_of(naming.op, naming.shapes, {{std::string(naming.attribute), number}}),
                  HasSubstr(fmt::format("{} is {}, which is not the number of an element type",
                                        naming.attribute, number)))
          << naming.op;
    }
  }
  EXPECT_THAT(refusal_of("SequenceEmpty", {}, {{"dtype", std::int64_t{0}}}), HasSubstr("dtype is 0"));
  EXPECT_THAT(refusal_of("EyeLike", {{2, 2}}, {{"dtype", std::int64_t{8}}}),
              HasSubstr("dtype is string, which it"));
}

TEST(Times, RefusesWhatNoNumberHolds) {
  EXPECT_EQ(times(kUnknown, 3), kUnknown);
  EXPECT_EQ(times(5, 3), 15);
  EXPECT_EQ(testing::refusal([] { times(kMost, 2); }),
            "9223372036854775807 times 2 found, a product of at most 63 bits needed");
}

TEST(RecurrentInfers, NoNegativeHiddenSize) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(refusal_of("LSTM", {{1, 1, 1}, {1, 4, kUnknown}, {1, 4, kUnknown}}, {{"hidden_size", least}}),
              HasSubstr("hidden_size is -9223372036854775808, at least 0 needed"));
}

}  // namespace
}  // namespace podium::ir
