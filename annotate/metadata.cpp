#include "annotate/metadata.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "annotate/annotations.h"
#include "ir/nearest.h"
#include "ir/number_text.h"

namespace podium::annotate {
namespace {

constexpr ir::AttributeName kExchangeStrategy = "__exchange_strategy";
constexpr ir::AttributeName kStreamMode = "__replicated_stream_mode";
constexpr ir::AttributeName kGroupType = "__comm_group_type";
constexpr ir::AttributeName kGroupSize = "__comm_group_size";

int whole_number(const std::string& key, const std::string& text, int most) {
  if (const auto value = ir::number_of(text, 0, most)) return *value;
  throw Error("metadata '{}': '{}' found, a whole number from 0 to {} needed", key, text, most);
}

void read_entry(const std::string& key, const std::string& text, TensorSettings& settings) {
  const std::size_t slash = key.find('/');
  if (slash == std::string::npos) return;
  const std::string_view setting = std::string_view(key).substr(0, slash);
  const std::string tensor = key.substr(slash + 1);
  const auto number = [&](int most) { return whole_number(key, text, most); };
  constexpr int kMostReplicas = 1 << 20;
  if (setting == kTileSet) {
    settings.inputs[tensor].tiles = static_cast<ir::TileSet>(number(1));
  } else if (setting == kExchangeStrategy) {
    settings.inputs[tensor].exchange = static_cast<ir::ExchangeStrategy>(number(3));
  } else if (setting == kStreamMode) {
    settings.inputs[tensor].broadcast = number(1) == 1;
  } else if (setting == kGroupType) {
    settings.variable_groups[tensor].type = static_cast<ir::GroupType>(number(3));
  } else if (setting == kGroupSize) {
    settings.variable_groups[tensor].size = number(kMostReplicas);
  }
}

// `known` is sorted.
void check_name(const std::string& name, const std::vector<std::string_view>& known, std::string_view what) {
  if (std::binary_search(known.begin(), known.end(), name)) return;
  throw Error("metadata for {} '{}': there is none of that name{}", what, name,
              known.empty() ? "" : fmt::format(", the nearest is '{}'", ir::nearest(name, known)));
}

}  // namespace

TensorSettings read_metadata(const Metadata& metadata) {
  TensorSettings settings;
  for (const auto& [key, text] : metadata) read_entry(key, text, settings);
  for (const auto& [name, group] : settings.variable_groups) {
    const bool sized = group.type == ir::GroupType::Consecutive || group.type == ir::GroupType::Orthogonal;
    if (sized && group.size == 0) {
      throw Error("metadata '{}/{}': 0 found, the number of replicas of a group needed", kGroupSize, name);
    }
  }
  return settings;
}

Metadata write_metadata(const TensorSettings& settings) {
  Metadata metadata;
  const auto write = [&](std::string_view setting, const std::string& tensor, auto value) {
    metadata[fmt::format("{}/{}", setting, tensor)] = std::to_string(static_cast<int>(value));
  };
  for (const auto& [name, input] : settings.inputs) {
    if (input.tiles) write(kTileSet, name, *input.tiles);
    if (input.exchange) write(kExchangeStrategy, name, *input.exchange);
    if (input.broadcast) write(kStreamMode, name, 1);
  }
  for (const auto& [name, group] : settings.variable_groups) {
    write(kGroupType, name, group.type);
    write(kGroupSize, name, group.size);
  }
  return metadata;
}

Metadata without_variable_groups(Metadata metadata) {
  std::erase_if(metadata, [](const auto& entry) {
    const std::string_view key = entry.first;
    return key.substr(0, key.find('/')) == kGroupType || key.substr(0, key.find('/')) == kGroupSize;
  });
  return metadata;
}

void check_settings(const ir::Graph& graph, const TensorSettings& settings) {
  if (settings.inputs.empty() && settings.variable_groups.empty()) return;
  std::vector<std::string_view> inputs;
  for (ir::ValueId id : graph.inputs) inputs.push_back(graph[id].name);
  std::sort(inputs.begin(), inputs.end());
  for (const auto& [name, ignored] : settings.inputs) check_name(name, inputs, "input");
  std::vector<std::string_view> initializers;
  for (const ir::Value& value : graph.values) {
    if (value.constant || value.data_left_out) initializers.push_back(value.name);
  }
  std::sort(initializers.begin(), initializers.end());
  for (const auto& [name, ignored] : settings.variable_groups) check_name(name, initializers, "initializer");
}

}  // namespace podium::annotate
