#include "importer/read_tensor.h"

#include <onnx/onnx_pb.h>

#include <fstream>

#include "importer/datum_proto.h"
#include "importer/type_proto.h"

namespace podium::importer {

Signature read_signature(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto proto;
  if (!file || !proto.ParseFromIstream(&file)) throw Error("{}: is no ONNX model", path);
  Signature signature;
  for (const auto& input : proto.graph().input())
    signature.inputs.emplace_back(input.name(), type_from_proto(input.type()));
  for (const auto& output : proto.graph().output()) {
    signature.outputs.emplace_back(output.name(), type_from_proto(output.type()));
  }
  return signature;
}

ir::Datum read_datum(const std::string& bytes, const ir::Type& type) { return datum_from_bytes(bytes, type); }

}  // namespace podium::importer
