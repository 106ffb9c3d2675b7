#include "executor/cli/info_json.h"

#include <nlohmann/json.hpp>

namespace podium::cli {

nlohmann::json info_json(const importer::Model& model, const report::ModelSummary& summary) {
  nlohmann::json json{
      {"version", 1}, {"producer", model.info.producer}, {"irVersion", model.info.ir_version}};
  for (const auto& [domain, version] : model.info.opsets) json["opsets"][domain] = version;
  const auto port = [&](ir::ValueId id) -> nlohmann::json {
    const ir::Value& value = model.graph[id];
    return {{"name", value.name}, {"type", type_text(model.info.open, value.name, value.type)}};
  };
  for (ir::ValueId id : model.graph.inputs) json["inputs"].push_back(port(id));
  for (ir::ValueId id : model.graph.outputs) json["outputs"].push_back(port(id));
  if (!model.info.open.names.empty()) json["openDimensions"] = model.info.open.names;
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
