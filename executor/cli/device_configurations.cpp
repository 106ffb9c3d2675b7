// The shapes of what a node cuts are those of the graph as it was imported, with all that can be inferred:
// after the passes its values are not the file's any more. Tensors of bodies and functions have names of
// their own, so their shapes are not looked for.
#include "executor/cli/device_configurations.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "annotate/layout.h"
#include "executor/report/table.h"
#include "executor/session/sized_graph.h"

namespace podium::cli {
namespace {

using Types = std::map<std::string, ir::Type>;

Types types_of(const importer::Model& model) {
  Types types;
  const SizedGraph sized = infer_sizes(model.graph);
  // What folding took away has its type in the imported graph still.
  for (const ir::Graph* graph : {&sized.graph, &model.graph}) {
    for (const ir::Value& value : graph->values)
      if (value.type.is_tensor() && value.type.is_static()) types.emplace(value.name, value.type);
  }
  return types;
}

void append_shards(const importer::NodeSharding& node, const importer::ShardedTensor& tensor,
                   const Types& types, std::vector<ShardRow>& rows) {
  const auto type = node.is_in_main_graph ? types.find(tensor.name) : types.end();
  if (type == types.end()) {
    for (const auto& devices : tensor.spec.holders)
      rows.push_back({node.node, node.stage, tensor.name, devices, "?", {}});
    return;
  }
  const auto& dims = type->second.dims;
  for (const annotate::Shard& shard : annotate::layout_of(tensor.spec, dims)) {
    const auto elements = static_cast<double>(ir::elements_of(shard.box));
    rows.push_back({node.node, node.stage, tensor.name, shard.devices, ir::to_string(shard.box, dims),
                    elements * static_cast<double>(storage_bytes(type->second.element))});
  }
}

struct Counts {
  std::size_t nodes = 0;
  std::set<std::int64_t> stages = {};
};

Counts counts_of(const importer::Sharding& sharding, const std::string& configuration) {
  Counts counts;
  for (const importer::NodeSharding& node : sharding.nodes) {
    if (node.configuration != configuration) continue;
    ++counts.nodes;
    if (node.stage) counts.stages.insert(*node.stage);
  }
  return counts;
}

}  // namespace

std::vector<ShardRow> shard_rows(const importer::Model& model, const importer::Sharding& sharding,
                                 const std::string& configuration) {
  find_configuration(sharding, configuration);
  const Types types = types_of(model);
  std::vector<ShardRow> rows;
  for (const importer::NodeSharding& node : sharding.nodes) {
    if (node.configuration != configuration) continue;
    for (const importer::ShardedTensor& tensor : node.tensors) {
      try {
        append_shards(node, tensor, types, rows);
      } catch (const Error& error) {
        throw error.at(fmt::format("node '{}': tensor '{}'", node.node, tensor.name));
      }
    }
  }
  return rows;
}

std::string text_of(const importer::Sharding& sharding, const importer::DeviceConfiguration& configuration) {
  const Counts counts = counts_of(sharding, configuration.name);
  return fmt::format("{}: {} device{}, {} node{}, {} stage{}", configuration.name, configuration.devices,
                     configuration.devices == 1 ? "" : "s", counts.nodes, counts.nodes == 1 ? "" : "s",
                     counts.stages.size(), counts.stages.size() == 1 ? "" : "s");
}

namespace {

// "0-3,8"
std::string ranges_of(const std::vector<std::int64_t>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    const bool is_range = end - i > 2;
    if (!is_range) end = i + 1;
    text += fmt::format("{}{}", text.empty() ? "" : ",", devices[i]);
    if (is_range) text += fmt::format("-{}", devices[end - 1]);
    i = end;
  }
  return text;
}

// Shards of one tensor that follow one another and are as large.
bool are_alike(const ShardRow& a, const ShardRow& b) {
  return a.node == b.node && a.stage == b.stage && a.tensor == b.tensor && a.bytes == b.bytes &&
         a.devices.size() == b.devices.size();
}

}  // namespace

std::string table_of(const std::vector<ShardRow>& rows) {
  constexpr std::size_t kMostAlike = 8;
  std::vector<std::vector<std::string>> cells{{"node", "stage", "tensor", "devices", "holds", "bytes"}};
  const auto add = [&](const ShardRow& row, const std::string& devices, const std::string& box) {
    cells.push_back({row.node, row.stage ? std::to_string(*row.stage) : "-", row.tensor, devices, box,
                     row.bytes ? report::bytes(*row.bytes) : "?"});
  };
  for (auto first = rows.begin(); first != rows.end();) {
    const auto end =
        std::find_if_not(first, rows.end(), [&](const ShardRow& row) { return are_alike(*first, row); });
    if (static_cast<std::size_t>(end - first) > kMostAlike) {
      const ShardRow& last = *(end - 1);
      add(*first, fmt::format("{} to {}", ranges_of(first->devices), ranges_of(last.devices)),
          first->box == last.box ? first->box : fmt::format("{} to {}", first->box, last.box));
      first = end;
    }
    for (; first != end; ++first) add(*first, ranges_of(first->devices), first->box);
  }
  return report::table(cells);
}

nlohmann::json json_of(const importer::Sharding& sharding) {
  nlohmann::json json = nlohmann::json::array();
  for (const importer::DeviceConfiguration& configuration : sharding.configurations) {
    const Counts counts = counts_of(sharding, configuration.name);
    json.push_back({{"name", configuration.name},
                    {"devices", configuration.devices},
                    {"nodes", counts.nodes},
                    {"stages", counts.stages.size()}});
  }
  return json;
}

nlohmann::json json_of(const std::vector<ShardRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const ShardRow& row : rows) {
    nlohmann::json& shard = json.emplace_back();
    shard = {{"node", row.node}, {"tensor", row.tensor}, {"devices", row.devices}, {"holds", row.box}};
    if (row.stage) shard["stage"] = *row.stage;
    if (row.bytes) shard["bytes"] = *row.bytes;
  }
  return json;
}

}  // namespace podium::cli
