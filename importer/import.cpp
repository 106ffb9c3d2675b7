#include "importer/import.h"

#include <fmt/ranges.h>

#include <new>

#include "importer/fixed_inputs.h"
#include "importer/graph_reader.h"
#include "importer/input_types.h"
#include "importer/sharding.h"
#include "importer/source.h"
#include "importer/tensor_proto.h"
#include "ir/printable.h"

namespace podium::importer {
namespace {

ModelInfo info_of(const Source& source) {
  const onnx::ModelProto& proto = source.proto;
  ModelInfo info{.ir_version = proto.ir_version(), .opsets = source.opsets};
  info.producer =
      proto.producer_name() + (proto.producer_version().empty() ? "" : " " + proto.producer_version());
  for (const auto& entry : proto.metadata_props()) info.metadata[entry.key()] = entry.value();
  return info;
}

Model read(std::shared_ptr<const Source> source, const ImportOptions& options) {
  Model model{.graph = {}, .info = info_of(*source), .source = source};
  GraphReader reader(*source, TensorReader(source, source->files, source->left), options);
  model.graph = reader.read();
  model.nodes_of_ops = reader.take_nodes_of_ops();
  model.calls = reader.calls(model.graph);
  model.info.open = find_open_dims(model.source->proto.graph(), options);
  model.given = options;
  fix_inputs(model, options.constants);
  ir::verify(model.graph);
  read_sharding(model);  // what is wrong with it is an error before anything runs
  return model;
}

// Names in a model may hold anything; an error is one line all the same.
Error as_line(const Error& error) { return Error(ir::one_line(error.what())); }

}  // namespace

std::map<std::string, ir::Type> initializer_types(const Model& model) {
  std::map<std::string, ir::Type> types;
  if (model.source == nullptr) return types;
  for (const auto& tensor : model.source->proto.graph().initializer()) {
    types.emplace(tensor.name(), ir::Type::tensor(data_type_from(tensor.data_type()),
                                                  {tensor.dims().begin(), tensor.dims().end()}));
  }
  return types;
}

std::string type_text(const OpenDims& open, const std::string& value, const ir::Type& type) {
  const auto names = open.of_values.find(value);
  if (names == open.of_values.end() || !type.is_tensor() || names->second.size() != type.dims.size())
    return to_string(type);
  std::vector<std::string> dims;
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    const std::string& name = names->second[axis];
    const bool is_known = type.dims[axis] != ir::kUnknown;
    dims.push_back(!name.empty() ? name : is_known ? fmt::format("{}", type.dims[axis]) : "?");
  }
  return fmt::format("{}[{}]", name_of(type.element), fmt::join(dims, ","));
}

Model with_sizes(const Model& model, const std::map<std::string, std::int64_t>& assumed) try {
  if (model.source == nullptr) throw Error("a model from a file needed");
  ImportOptions options = model.given;
  options.assumed = assumed;
  return read(model.source, options);
} catch (const Error& error) {
  throw as_line(error);
}

Model import_model(const std::string& path, const ImportOptions& options) try {
  return read(load_source(path, options.large_data), options);
} catch (const Error& error) {
  throw as_line(error).at(ir::one_line(path));
} catch (const std::bad_alloc&) {
  throw Error("out of memory").at(ir::one_line(path));
}

Model import_text(const std::string& text, const ImportOptions& options) try {
  return read(source_from_text(text), options);
} catch (const Error& error) {
  throw as_line(error);
}

Model import_bytes(std::span<const char> bytes, const ImportOptions& options) try {
  return read(source_from_bytes(bytes), options);
} catch (const Error& error) {
  throw as_line(error);
}

}  // namespace podium::importer
