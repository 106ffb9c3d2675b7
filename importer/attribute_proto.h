// AttributeProto to AttributeValue and back, all kinds but graphs.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>

#include "importer/tensor_proto.h"
#include "ir/attribute.h"

namespace podium::importer {

/// The attribute's kind; where the model gives none (before IR version 4), the kind of the field that is
/// filled.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& proto);

/// The value of an attribute that holds no graph. Sparse tensors are given dense.
ir::AttributeValue attribute_from_proto(const onnx::AttributeProto& proto, const TensorReader& tensors,
                                        const std::map<std::string, std::int64_t>& dims = {});

/// Writes an attribute that holds no body.
onnx::AttributeProto attribute_to_proto(const ir::Attribute& attribute);

}  // namespace podium::importer
