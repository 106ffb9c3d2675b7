// Types of a model's inputs: the declared types, made precise by what the caller knows.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>

#include "importer/import.h"

namespace podium::importer {

using Symbols = std::map<std::string, std::int64_t>;

/// Values of the symbolic dimensions: those of the options, and those that the types of fed inputs give.
/// Error when a fed type does not fit what the model declares, when two say different values of one symbol,
/// and when the options name an input or a symbol that the model has not.
Symbols bind_symbols(const onnx::GraphProto& graph, const ImportOptions& options);

/// What stays open after that, but for ImportOptions::assumed.
OpenDims find_open_dims(const onnx::GraphProto& graph, const ImportOptions& options);

/// The declared type with the symbols' values; what is still open is taken from the fed type, if any.
ir::Type input_type(const onnx::ValueInfoProto& input, const Symbols& symbols, const ImportOptions& options);

}  // namespace podium::importer
