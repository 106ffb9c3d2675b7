#include "importer/read_tensor.h"

#include <unordered_set>

#include "importer/datum_proto.h"
#include "importer/source.h"
#include "importer/type_proto.h"

namespace podium::importer {

Signature read_signature(const std::string& path) try {
  const auto source = load_source(path);
  const onnx::GraphProto& graph = source->proto.graph();
  std::unordered_set<std::string> defaults;
  for (const auto& tensor : graph.initializer()) defaults.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defaults.insert(tensor.values().name());
  Signature signature;
  for (const bool has_default : {false, true}) {
    for (const auto& input : graph.input()) {
      if (defaults.contains(input.name()) != has_default) continue;
      signature.inputs.emplace_back(input.name(), type_from_proto(input.type()));
    }
  }
  for (const auto& output : graph.output()) {
    signature.outputs.emplace_back(output.name(), type_from_proto(output.type()));
  }
  for (const auto& opset : source->proto.opset_import()) {
    signature.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  }
  return signature;
} catch (const Error& error) {
  throw Error(one_line(error.what())).at(one_line(path));
}

ir::Datum read_datum(const std::string& bytes, const ir::Type& type) { return datum_from_bytes(bytes, type); }

}  // namespace podium::importer
