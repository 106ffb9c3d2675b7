// A model as it was read from its file. The graph's tensors borrow from it and the writer gives it back.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importer/external_data.h"
#include "importer/import.h"
#include "importer/tensor_proto.h"

namespace podium::importer {

/// Version of each imported domain; "" is ai.onnx.
using Opsets = std::map<std::string, std::int64_t>;

/// "ai.onnx" is written "" too.
inline std::string domain_of(const std::string& written) { return written == "ai.onnx" ? "" : written; }

/// A function that the model defines.
struct Function {
  const onnx::FunctionProto* proto = nullptr;
  std::vector<onnx::AttributeProto> defaults = {};  ///< of its attributes
  Opsets opsets = {};                               ///< the model's where it imports none of its own
};

struct Source {
  onnx::ModelProto proto;  ///< but for data left in the file
  DataLeftInFile left;     ///< by initializers of the main graph
  std::string folder;      ///< of the file; empty: the working directory
  std::shared_ptr<ExternalFiles> files;
  Opsets opsets;
  std::unordered_map<std::string, Function> functions;  ///< by function_key
};

/// Key of Source::functions.
std::string function_key(const std::string& domain, const std::string& name, const std::string& overload);

/// Reads .onnxtxt as ONNX text and anything else as a binary model. Error says what is wrong with the file.
std::shared_ptr<const Source> load_source(const std::string& path, LargeData large);
std::shared_ptr<const Source> source_from_text(const std::string& text);
std::shared_ptr<const Source> source_from_bytes(std::span<const char> bytes);

/// The model with all its data.
onnx::ModelProto whole_proto(const Source& source);

}  // namespace podium::importer
