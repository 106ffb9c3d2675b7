#include "importer/import.h"

#include "importer/graph_reader.h"
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
  GraphReader reader(*source, TensorReader(source, source->files), options);
  model.graph = reader.read();
  model.nodes_of_ops = reader.take_nodes_of_ops();
  ir::verify(model.graph);
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

Model import_model(const std::string& path, const ImportOptions& options) try {
  return read(load_source(path), options);
} catch (const Error& error) {
  throw as_line(error).at(ir::one_line(path));
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
