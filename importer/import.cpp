#include "importer/import.h"

#include <onnx/defs/parser.h>

#include <filesystem>
#include <fstream>

#include "importer/graph_reader.h"

namespace podium::importer {

struct Source {
  onnx::ModelProto proto;
};

namespace {

Model read(std::shared_ptr<const Source> source, const ImportOptions& options, std::string folder) {
  Model model{.graph = {}, .info = {}, .source = source};
  const onnx::ModelProto& proto = source->proto;
  model.info.ir_version = proto.ir_version();
  model.info.producer = proto.producer_name() + " " + proto.producer_version();
  for (const auto& opset : proto.opset_import()) {
    model.info.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  }
  const ReadContext context{options, model.info.opsets,
                            TensorReader(source, std::make_shared<ExternalFiles>(std::move(folder)))};
  GraphReader reader(context);
  reader.read(proto.graph());
  model.graph = reader.take();
  ir::verify(model.graph);
  return model;
}

}  // namespace

Model import_model(const std::string& path, const ImportOptions& options) try {
  auto source = std::make_shared<Source>();
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot be opened");
  if (!source->proto.ParseFromIstream(&file)) throw Error("is no ONNX model");
  return read(std::move(source), options, std::filesystem::path(path).parent_path());
} catch (const Error& error) {
  throw error.at(path);
}

Model import_text(const std::string& text, const ImportOptions& options) {
  auto source = std::make_shared<Source>();
  const auto status = onnx::OnnxParser::Parse(source->proto, text.c_str());
  if (!status.IsOK()) throw Error("{}", status.ErrorMessage());
  return read(std::move(source), options, "");
}

}  // namespace podium::importer
