// What a person says of the devices that tensors are cut over: "PATTERN:AXIS=SHARDS,...@DEVICES".
#pragma once

#include <string>
#include <vector>

#include "ir/sharding_spec.h"

namespace podium::annotate {

/// How tensors whose names match a pattern are cut.
struct ShardRule {
  std::string text;     ///< as typed
  std::string pattern;  ///< a glob on names of tensors
  std::vector<ir::ShardedAxis> axes;
  /// Those of each shard; empty: one device each, all that there are.
  std::vector<std::vector<std::int64_t>> holders = {};
};

/// "w:0=2" cuts axis 0 in 2 shards, on devices 0 and 1; "w:0=2,1=2@3,2,1,0" has four shards, row-major, on
/// the devices in that order; "w:0=2@0+1,2+3" two, each on two devices; "w:@0+1" is whole on two devices.
/// Names may have colons. Error for any other text.
ShardRule read_shard_rule(const std::string& text);

/// How many shards the axes make; at most 65,536, which is as many devices as a configuration may have.
std::int64_t shards_of(const ShardRule& rule);

/// The spec over `devices` devices. Error when the rule names no devices and has not as many shards.
ir::ShardingSpec spec_of(const ShardRule& rule, std::int64_t devices);

/// The fewest devices that the rule can do with.
std::int64_t devices_of(const ShardRule& rule);

}  // namespace podium::annotate
