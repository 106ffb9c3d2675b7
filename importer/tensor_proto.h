// TensorProto to Tensor and back.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "ir/datum.h"

namespace podium::importer {

/// `folder`: where external data is looked for; empty when there can be none.
ir::Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::string& folder = {});
/// What a type says; symbolic dimensions are looked up in `dims`, else unknown.
ir::Type type_from_proto(const onnx::TypeProto& proto, const std::map<std::string, std::int64_t>& dims = {});
/// Of a serialized TensorProto, SequenceProto or OptionalProto, by the type it must have; e.g. a test's input_0.pb.
ir::Datum datum_from_bytes(const std::string& bytes, const ir::Type& type);

}  // namespace podium::importer
