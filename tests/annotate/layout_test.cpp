#include "annotate/layout.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/late_tensor.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using Dims = std::vector<std::int64_t>;

std::string printed(const ir::ShardingSpec& spec, const Dims& dims) {
  std::string text;
  for (const Shard& shard : layout_of(spec, dims))
    text += fmt::format("{}: {}\n", fmt::join(shard.devices, ","), to_string(shard.box, dims));
  return text;
}

std::string refusal(const ir::ShardingSpec& spec, const Dims& dims) {
  return testing::refusal([&] { layout_of(spec, dims); });
}

ir::ShardedAxis cut(std::int64_t axis, std::int64_t shards) { return {axis, {{.shards = shards}}}; }

const std::vector<std::vector<std::int64_t>> kTwo{{0}, {1}};
const std::vector<std::vector<std::int64_t>> kFour{{0}, {1}, {2}, {3}};

TEST(Layout, CutsAnAxis) {
  EXPECT_EQ(printed({kTwo, {cut(0, 2)}}, {2, 2}), "0: [0:1, :]\n1: [1:2, :]\n");
  EXPECT_EQ(printed({kTwo, {cut(-1, 2)}}, {2, 2}), "0: [:, 0:1]\n1: [:, 1:2]\n");
}

TEST(Layout, NestsAxesInTheOrderOfTheList) {
  EXPECT_EQ(printed({kFour, {cut(0, 2), cut(1, 2)}}, {2, 2}),
            "0: [0:1, 0:1]\n1: [0:1, 1:2]\n2: [1:2, 0:1]\n3: [1:2, 1:2]\n");
  EXPECT_EQ(printed({kFour, {cut(1, 2), cut(0, 2)}}, {2, 2}),
            "0: [0:1, 0:1]\n1: [1:2, 0:1]\n2: [0:1, 1:2]\n3: [1:2, 1:2]\n");
}

TEST(Layout, GivesAShardToAllOfAGroup) {
  EXPECT_EQ(printed({{{0, 1}, {2, 3}}, {cut(0, 2)}}, {2, 2}), "0,1: [0:1, :]\n2,3: [1:2, :]\n");
  EXPECT_EQ(printed({{{0, 3}}, {}}, {2}), "0,3: [:]\n");
}

TEST(Layout, LeavesLessToTheLastOfUnevenShards) {
  EXPECT_EQ(printed({kFour, {cut(0, 4)}}, {10}), "0: [0:3]\n1: [3:6]\n2: [6:9]\n3: [9:10]\n");
  EXPECT_EQ(printed({kFour, {cut(0, 4)}}, {5}), "0: [0:2]\n1: [2:4]\n2: [4:5]\n3: [none]\n");
  EXPECT_EQ(elements_of(layout_of({kFour, {cut(0, 4)}}, Dims{5, 7})[2].box), 7);
  EXPECT_EQ(elements_of(layout_of({kFour, {cut(0, 4)}}, Dims{5, 7})[3].box), 0);
}

// [2,4,6] cut along 4 and reshaped to [8,6].
TEST(Layout, HasSeveralRangesWhereAnAxisWasFused) {
  const ir::ShardedAxis fused{0, {{.size = 2, .shards = 1}, {.size = 4, .shards = 2}}};
  EXPECT_EQ(printed({kTwo, {fused}}, {8, 6}), "0: [0:2+4:6, :]\n1: [2:4+6:8, :]\n");
}

TEST(Layout, FindsTheSizeOfOneFactorByTheOthers) {
  const ir::ShardedAxis fused{0, {{.shards = 2}, {.size = 3, .shards = 1}}};
  EXPECT_EQ(printed({kTwo, {fused}}, {12}), "0: [0:6]\n1: [6:12]\n");
}

TEST(Layout, RefusesAxesThatTheTensorHasNot) {
  EXPECT_EQ(refusal({kTwo, {cut(2, 2)}}, {2, 2}), "axis 2 of a tensor of rank 2 found, -2 to 1 needed");
  EXPECT_EQ(refusal({kFour, {cut(1, 2), cut(-1, 2)}}, {2, 2}), "axis 1 is sharded twice");
}

TEST(Layout, RefusesFactorsThatDoNotMakeTheAxis) {
  const ir::ShardedAxis other{0, {{.size = 4, .shards = 2}}};
  EXPECT_EQ(refusal({kTwo, {other}}, {8}), "axis 0 has factors of 4 elements, 8 needed");
  const ir::ShardedAxis open{0, {{.size = 3, .shards = 1}, {.shards = 2}}};
  EXPECT_EQ(refusal({kTwo, {open}}, {8}), "axis 0 has factors of 3 x ? elements, 8 needed");
  const ir::ShardedAxis huge{
      0, {{.size = std::int64_t{1} << 40, .shards = 1}, {.size = std::int64_t{1} << 40, .shards = 2}}};
  EXPECT_NE(refusal({kTwo, {huge}}, {8}), "");
}

TEST(Layout, RefusesShardsOfTooManyRanges) {
  const ir::ShardedAxis fused{0, {{.size = 5000, .shards = 1}, {.size = 2, .shards = 2}}};
  EXPECT_EQ(refusal({kTwo, {fused}}, {10000}), "more than 1024 ranges a shard found");
}

TEST(Layout, AFactorWithoutElementsLeavesNothingOfTheOthers) {
  const std::int64_t many = std::int64_t{1} << 60;
  const ir::ShardedAxis fused{0, {{.size = many, .shards = 2}, {.size = 0, .shards = 1}}};
  EXPECT_EQ(printed({kTwo, {fused}}, {0}), "0: [none]\n1: [none]\n");
}

// Of 256 rows of 512 numbers, which nobody makes before they are read.
TEST(Layout, CutsALateTensorOnlyWhenThePartIsRead) {
  int times_made = 0;
  const auto numbers = [&times_made] {
    ++times_made;
    ir::Tensor whole(ir::DataType::Float, {256, 512});
    float next = 0;
    for (float& number : whole.values<float>()) number = next++;
    return whole;
  };
  const ir::Tensor whole =
      ir::late_tensor(ir::Type::tensor(ir::DataType::Float, {256, 512}), numbers, [](ir::Digests&) {
        return ir::Digest{1, 2};
      });
  const Box box{{{128, 256}}, {{0, 512}}};
  const ir::Tensor part = cut_out(whole, box);
  EXPECT_EQ(part.dims(), (ir::Dims{128, 512}));
  EXPECT_EQ(times_made, 0);
  const ir::Tensor now = cut_out(numbers(), box);
  EXPECT_TRUE(std::ranges::equal(part.values<float>(), now.values<float>()));
  EXPECT_EQ(times_made, 2);
}

}  // namespace
}  // namespace podium::annotate
