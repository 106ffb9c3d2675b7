#include "executor/cli/info_json.h"

#include <nlohmann/json.hpp>

namespace podium::cli {

nlohmann::json info_json(const importer::Model& model, const report::ModelSummary& summary) {
  nlohmann::json json{
      {"version", 1}, {"producer", model.info.producer}, {"irVersion", model.info.ir_version}};
  for (const auto& [domain, version] : model.info.opsets) json["opsets"][domain] = version;
  for (ir::ValueId id : model.graph.inputs) {
    json["inputs"].push_back({{"name", model.graph[id].name}, {"type", to_string(model.graph[id].type)}});
  }
  for (ir::ValueId id : model.graph.outputs) {
    json["outputs"].push_back({{"name", model.graph[id].name}, {"type", to_string(model.graph[id].type)}});
  }
  json["ops"] = summary.op_counts;
  json["parameters"] = summary.parameters;
  json["parameterBytes"] = summary.parameter_bytes;
  json["flop"] = summary.flop;
  json["activationBytes"] = summary.activation_bytes;
  json["peakActivationBytes"] = summary.peak_activation_bytes;
  json["annotations"] = summary.annotated_ops;
  return json;
}

}  // namespace podium::cli
