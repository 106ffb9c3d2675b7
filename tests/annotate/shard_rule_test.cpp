#include "annotate/shard_rule.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using testing::refusal;

std::string read(const std::string& text, std::int64_t devices) {
  const ShardRule rule = read_shard_rule(text);
  const ir::ShardingSpec spec = spec_of(rule, devices);
  std::string printed = fmt::format("{} {}", rule.pattern, spec.holders);
  for (const ir::ShardedAxis& axis : spec.axes)
    printed += fmt::format(" {}/{}", axis.axis, axis.factors.at(0).shards);
  return printed;
}

TEST(ShardRule, TakesAsManyDevicesAsItHasShards) {
  EXPECT_EQ(read("w:0=2", 2), "w [[0], [1]] 0/2");
  EXPECT_EQ(read("h*.w:-1=2,0=2", 4), "h*.w [[0], [1], [2], [3]] -1/2 0/2");
  EXPECT_EQ(read("scope/w:0:1=2", 2), "scope/w:0 [[0], [1]] 1/2");
}

TEST(ShardRule, NamesDevicesAndGroups) {
  EXPECT_EQ(read("w:0=2@3,1", 4), "w [[3], [1]] 0/2");
  EXPECT_EQ(read("w:0=2@0+1,3+2", 4), "w [[0, 1], [2, 3]] 0/2");
  EXPECT_EQ(read("w:@0+1", 2), "w [[0, 1]]");
  EXPECT_EQ(devices_of(read_shard_rule("w:0=2@5,1")), 6);
}

TEST(ShardRule, RefusesNumbersOfDevicesThatDoNotAgree) {
  const ShardRule rule = read_shard_rule("w:0=2");
  EXPECT_EQ(refusal([&] { spec_of(rule, 4); }),
            "'w:0=2': 2 shards found for 4 devices, as many or the devices of each needed: @0+1,2+3");
  EXPECT_EQ(refusal([&] { spec_of(rule, 1); }), "'w:0=2': 2 devices needed, 1 found");
  EXPECT_EQ(refusal([] { read_shard_rule("w:0=2@0,1,2"); }),
            "'w:0=2@0,1,2': 3 devices or groups found for 2 shards, as many needed");
  EXPECT_EQ(refusal([] { read_shard_rule("w:@0,1"); }),
            "'w:@0,1': 2 devices or groups found for 1 shards, as many needed, those of one group with '+' "
            "between them");
}

TEST(ShardRule, RefusesWhatIsNoRule) {
  EXPECT_EQ(refusal([] { read_shard_rule("w"); }),
            "'w': 'PATTERN:AXIS=SHARDS' needed, as in 'encoder/*.weight:0=2'");
  EXPECT_EQ(refusal([] { read_shard_rule("w:2"); }), "'w:2': '2' found, 'AXIS=SHARDS' needed, as in 0=2");
  EXPECT_EQ(refusal([] { read_shard_rule("w:x=2"); }),
            "'w:x=2': axis 'x' found, a whole number from -64 to 63 needed");
  EXPECT_EQ(refusal([] { read_shard_rule("w:0=0"); }),
            "'w:0=0': number of shards '0' found, a whole number from 1 to 65536 needed");
  EXPECT_EQ(refusal([] { read_shard_rule("w:0=2,0=2"); }), "'w:0=2,0=2': axis 0 found twice, once needed");
  EXPECT_EQ(refusal([] { read_shard_rule("w:0=2@1,1"); }), "'w:0=2@1,1': device 1 found twice, once needed");
  EXPECT_EQ(refusal([] { read_shard_rule("w:0=65536,1=2"); }),
            "'w:0=65536,1=2': more than 65536 shards found");
}

}  // namespace
}  // namespace podium::annotate
