// Fields of ONNX messages that the packaged libonnx does not know: read and written by number in what it
// keeps as unknown.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace podium::importer {

/// NodeProto.overload: which of the functions of one name is called.
std::string overload_of(const onnx::NodeProto& node);
/// FunctionProto.overload
std::string overload_of(const onnx::FunctionProto& function);
/// FunctionProto.attribute_proto: attributes of the function that have a default.
std::vector<onnx::AttributeProto> attribute_defaults(const onnx::FunctionProto& function);
/// ModelProto.configuration: the bytes of each DeviceConfigurationProto.
std::vector<std::string> configuration_bytes(const onnx::ModelProto& model);
/// NodeProto.device_configurations: the bytes of each NodeDeviceConfigurationProto.
std::vector<std::string> device_configuration_bytes(const onnx::NodeProto& node);
/// Each in place of all that were there.
void set_configuration_bytes(onnx::ModelProto& model, const std::vector<std::string>& all);
void set_device_configuration_bytes(onnx::NodeProto& node, const std::vector<std::string>& all);

}  // namespace podium::importer
