#include "annotate/shard_rule.h"

#include <algorithm>
#include <set>

#include "ir/error.h"
#include "ir/number_text.h"

namespace podium::annotate {
namespace {

constexpr std::int64_t kMostShards = 65'536;

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (char letter : text) {
    if (letter == separator) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

std::int64_t read_number(const std::string& text, const char* what, std::int64_t least, std::int64_t most) {
  const auto found = ir::number_of<std::int64_t>(text, least, most);
  if (!found) throw Error("{} '{}' found, a whole number from {} to {} needed", what, text, least, most);
  return *found;
}

std::vector<ir::ShardedAxis> read_axes(const std::string& text) {
  constexpr std::int64_t kMostAxis = 63;
  std::vector<ir::ShardedAxis> axes;
  if (text.empty()) return axes;
  std::int64_t shards = 1;
  for (const std::string& part : parts_of(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) throw Error("'{}' found, 'AXIS=SHARDS' needed, as in 0=2", part);
    const std::int64_t axis = read_number(part.substr(0, equals), "axis", -kMostAxis - 1, kMostAxis);
    const std::int64_t count = read_number(part.substr(equals + 1), "number of shards", 1, kMostShards);
    if (std::ranges::find(axes, axis, &ir::ShardedAxis::axis) != axes.end())
      throw Error("axis {} found twice, once needed", axis);
    if (shards > kMostShards / count) throw Error("more than {} shards found", kMostShards);
    shards *= count;
    axes.push_back({.axis = axis, .factors = {{.size = {}, .shards = count}}});
  }
  return axes;
}

std::vector<std::vector<std::int64_t>> read_rule_holders(const std::string& text) {
  std::vector<std::vector<std::int64_t>> holders;
  std::set<std::int64_t> seen;
  for (const std::string& shard : parts_of(text, ',')) {
    std::vector<std::int64_t>& devices = holders.emplace_back();
    for (const std::string& device : parts_of(shard, '+')) {
      devices.push_back(read_number(device, "device", 0, kMostShards - 1));
      if (!seen.insert(devices.back()).second)
        throw Error("device {} found twice, once needed", devices.back());
    }
    std::ranges::sort(devices);
  }
  return holders;
}

}  // namespace

ShardRule read_shard_rule(const std::string& text) try {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    throw Error("'PATTERN:AXIS=SHARDS' needed, as in 'encoder/*.weight:0=2'");
  const std::string cut = text.substr(colon + 1);
  const std::size_t at = cut.find('@');
  ShardRule rule{.text = text, .pattern = text.substr(0, colon), .axes = read_axes(cut.substr(0, at))};
  if (at == std::string::npos) return rule;
  rule.holders = read_rule_holders(cut.substr(at + 1));
  if (std::ssize(rule.holders) != shards_of(rule)) {
    throw Error("{} devices or groups found for {} shards, as many needed{}", rule.holders.size(),
                shards_of(rule), rule.axes.empty() ? ", those of one group with '+' between them" : "");
  }
  return rule;
} catch (const Error& error) {
  throw error.at("'" + text + "'");
}

std::int64_t shards_of(const ShardRule& rule) {
  std::int64_t shards = 1;
  for (const ir::ShardedAxis& axis : rule.axes) shards *= axis.factors.front().shards;
  return shards;
}

std::int64_t devices_of(const ShardRule& rule) {
  if (rule.holders.empty()) return shards_of(rule);
  std::int64_t most = 0;
  for (const auto& shard : rule.holders) most = std::max(most, shard.back() + 1);
  return most;
}

ir::ShardingSpec spec_of(const ShardRule& rule, std::int64_t devices) {
  ir::ShardingSpec spec{.holders = rule.holders, .axes = rule.axes};
  if (devices_of(rule) > devices)
    throw Error("'{}': {} devices needed, {} found", rule.text, devices_of(rule), devices);
  if (!rule.holders.empty()) return spec;
  if (shards_of(rule) != devices) {
    throw Error("'{}': {} shards found for {} devices, as many or the devices of each needed: @0+1,2+3",
                rule.text, shards_of(rule), devices);
  }
  for (std::int64_t device = 0; device < devices; ++device) spec.holders.push_back({device});
  return spec;
}

}  // namespace podium::annotate
