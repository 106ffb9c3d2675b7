// `podium info`: what a model is, or what Podium supports. A model is optimized first, with sizes that work
// where nobody gives any; where none does, it is described as it was imported.
#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "executor/cli/device_configurations.h"
#include "executor/cli/info_json.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/session_options.h"
#include "executor/cli/supported_ops.h"
#include "executor/cli/supported_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/usage_error.h"
#include "executor/cli/write_file.h"
#include "executor/device/fields.h"
#include "executor/device/read_device.h"
#include "executor/report/model_summary.h"
#include "executor/report/table.h"
#include "executor/session/json_rows.h"
#include "executor/session/session.h"
#include "executor/session/working_sizes.h"

namespace podium::cli {
namespace {

void print_meanings() {
  std::vector<std::vector<std::string>> rows{{"field", "unit", "meaning"}};
  for (const device::Field& field : device::fields()) {
    rows.push_back({std::string(field.name), std::string(field.unit), std::string(field.what)});
  }
  show(fmt::format("\n{}", report::table(rows)));
}

std::vector<std::vector<std::string>> value_rows(const importer::Model& model, const char* what,
                                                 const std::vector<ir::ValueId>& ids) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(ids.size());
  for (ir::ValueId id : ids) {
    const ir::Value& value = model.graph[id];
    rows.push_back({what, value.name + "  " + type_text(model.info.open, value.name, value.type)});
  }
  return rows;
}

void print_model(const std::string& path, const importer::Model& model, const importer::Sharding& sharding,
                 const report::ModelSummary& summary) {
  std::vector<std::vector<std::string>> rows{{"model", path}};
  if (!model.info.producer.empty()) rows.push_back({"producer", model.info.producer});
  std::string opsets = fmt::format("ir {}", model.info.ir_version);
  for (const auto& [domain, version] : model.info.opsets) {
    opsets += fmt::format(", {} {}", domain.empty() ? "ai.onnx" : domain, version);
  }
  rows.push_back({"versions", opsets});
  for (const auto& list :
       {value_rows(model, "input", model.graph.inputs), value_rows(model, "output", model.graph.outputs)}) {
    rows.insert(rows.end(), list.begin(), list.end());
  }
  rows.push_back(
      {"parameters", fmt::format("{}, {}", report::quantity(static_cast<double>(summary.parameters)),
                                 report::bytes(summary.parameter_bytes))});
  rows.push_back({"work", report::quantity(summary.flop) + " FLOP a run"});
  rows.push_back({"activations", fmt::format("{} in all, {} at once", report::bytes(summary.activation_bytes),
                                             report::bytes(summary.peak_activation_bytes))});
  std::string ops;
  for (const auto& [name, count] : summary.op_counts)
    ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", count, name);
  rows.push_back({"ops", ops.empty() ? "none" : ops});
  std::string annotations;
  for (const auto& [name, count] : summary.annotated_ops) {
    annotations += fmt::format("{}{} on {}", annotations.empty() ? "" : ", ", name, count);
  }
  rows.push_back({"annotations", annotations.empty() ? "none" : annotations});
  for (const importer::DeviceConfiguration& configuration : sharding.configurations)
    rows.push_back({"configuration", text_of(sharding, configuration)});
  show(report::table(report::wrap(rows, terminal_width())));
}

report::ModelSummary summarize(const std::string& path, importer::Model& model) try {
  optimize(model);
  return report::summarize(model.graph);
} catch (const Error& error) {
  throw error.at(path);
}

// With sizes that work for dimensions that nobody gives one; a model that no size fits is described without.
report::ModelSummary read_and_summarize(const Options& options, importer::Model& model) {
  const std::string& path = options.paths[0];
  show_activity(fmt::format("importing {}", path), options);
  model = importer::import_model(
      path,
      {.dims = options.dims, .constants = options.constants, .large_data = importer::LargeData::InFile});
  if (model.info.open.names.empty()) return summarize(path, model);
  try {
    SizedModel sized = with_working_sizes(importer::with_sizes(model, importer::kOneForAll));
    const report::ModelSummary summary = summarize(path, sized.model);
    model = std::move(sized.model);
    print_notes({sized.taken}, options);
    return summary;
  } catch (const Error& error) {
    const report::ModelSummary summary = summarize(path, model);
    print_notes({fmt::format("described without sizes: {}", error.what())}, options);
    return summary;
  }
}

// What the chosen configuration cuts, with the sizes that the rest of `info` has.
std::vector<ShardRow> read_shards(const Options& options, const importer::Model& described,
                                  const importer::Sharding& sharding) try {
  if (options.configuration.empty()) return {};
  const importer::Model model =
      importer::import_model(options.paths[0], {.dims = options.dims,
                                                .assumed = described.info.open.assumed,
                                                .constants = options.constants,
                                                .large_data = importer::LargeData::InFile});
  return shard_rows(model, sharding, options.configuration);
} catch (const Error& error) {
  throw error.at(options.paths[0]);
}

}  // namespace

int execute_info(const Options& options) {
  if (options.list_supported) {
    if (!options.report_file.empty()) write_file(options.report_file, supported_ops_json() + "\n");
    show(supported_ops());
    return kDone;
  }
  if (options.list_options) {
    show(supported_options());
    return kDone;
  }
  if (options.device) {
    const device::Device device = device::read_device(*options.device);
    show(device::to_json(device));
    if (options.verbose) print_meanings();
    return kDone;
  }
  if (options.paths.size() != 1) throw UsageError("info: {} models found, one needed", options.paths.size());
  importer::Model model;
  const report::ModelSummary summary = read_and_summarize(options, model);
  const importer::Sharding sharding = importer::read_sharding(model);
  const std::vector<ShardRow> shards = read_shards(options, model, sharding);
  if (!options.report_file.empty()) {
    nlohmann::json json = info_json(model, summary);
    if (!sharding.configurations.empty()) json["configurations"] = json_of(sharding);
    if (!options.configuration.empty()) json["shards"] = json_of(shards);
    write_file(options.report_file, json_text(json) + "\n");
  }
  print_model(options.paths[0], model, sharding, summary);
  if (!options.configuration.empty()) show(fmt::format("\n{}", table_of(shards)));
  if (!options.quiet) {
    for (const std::string& warning : sharding.warnings) tell("warning: " + warning);
  }
  if (options.list_ops) show(fmt::format("\n{}", ir::print(model.graph)));
  return kDone;
}

}  // namespace podium::cli
