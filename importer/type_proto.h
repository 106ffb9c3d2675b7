// TypeProto to Type and back.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>

#include "ir/type.h"

namespace podium::importer {

/// The Type of a proto; symbolic dimensions are looked up in `dims`, else they are unknown.
ir::Type type_from_proto(const onnx::TypeProto& proto, const std::map<std::string, std::int64_t>& dims = {});
/// Unknown dimensions stay without value and name.
onnx::TypeProto type_to_proto(const ir::Type& type);

}  // namespace podium::importer
