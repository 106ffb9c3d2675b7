// The shapes of what a node cuts are those of the graph as it was imported, with all that can be inferred:
// after the passes its values are not the file's any more. Tensors of bodies and functions have names of
// their own, so their shapes are not looked for.
#include "executor/cli/device_configurations.h"

#include <fmt/ranges.h>

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
    const auto elements = static_cast<double>(annotate::elements_of(shard.box));
    rows.push_back({node.node, node.stage, tensor.name, shard.devices, annotate::to_string(shard.box, dims),
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

std::string table_of(const std::vector<ShardRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"node", "stage", "tensor", "devices", "holds", "bytes"}};
  for (const ShardRow& row : rows) {
    cells.push_back({row.node, row.stage ? std::to_string(*row.stage) : "-", row.tensor,
                     fmt::format("{}", fmt::join(row.devices, ",")), row.box,
                     row.bytes ? report::bytes(*row.bytes) : "?"});
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
