// Models as protos, to be damaged before they are imported.
#pragma once

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "importer/import.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"

namespace podium::importer {

inline onnx::ModelProto proto_of(const std::string& body, int opset = 17) {
  onnx::ModelProto proto;
  const std::string text = testing::model_text(body, opset);
  IR_CHECK(onnx::OnnxParser::Parse(proto, text.c_str()).IsOK(), "{}", text);
  return proto;
}

inline Model import_proto(const onnx::ModelProto& proto, const ImportOptions& options = {}) {
  return import_bytes(proto.SerializeAsString(), options);
}

/// The text of the Error with which it is refused; "" when it is imported.
inline std::string error_of(const onnx::ModelProto& proto, const ImportOptions& options = {}) {
  return testing::refusal([&] { import_proto(proto, options); });
}

using Folder = testing::TemporaryFolder;

}  // namespace podium::importer
