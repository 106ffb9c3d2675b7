#include "importer/newer_fields.h"

#include <google/protobuf/unknown_field_set.h>

#include <type_traits>

#include "ir/error.h"

namespace podium::importer {
namespace {

constexpr int kNodeOverload = 8;
constexpr int kNodeDeviceConfigurations = 10;
constexpr int kModelConfiguration = 26;
constexpr int kFunctionAttributeProto = 11;
constexpr int kFunctionOverload = 13;

template <class Message>
std::vector<std::string> unknown_bytes(const Message& message, int number) {
  std::vector<std::string> found;
  const google::protobuf::UnknownFieldSet& fields = message.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    const bool has_bytes = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (has_bytes && field.number() == number) found.emplace_back(field.length_delimited());
  }
  return found;
}

// A newer libonnx has the field, an older one keeps it among the unknown.
template <class Message>
std::string read_overload(const Message& message, int number) {
  if constexpr (requires { message.overload(); }) {
    return std::string(message.overload());
  } else {
    const std::vector<std::string> found = unknown_bytes(message, number);
    return found.empty() ? "" : found.back();
  }
}

template <class Function>
std::vector<onnx::AttributeProto> read_defaults(const Function& function) {
  std::vector<onnx::AttributeProto> defaults;
  if constexpr (requires { function.attribute_proto(); }) {
    defaults.assign(function.attribute_proto().begin(), function.attribute_proto().end());
  } else {
    for (const std::string& bytes : unknown_bytes(function, kFunctionAttributeProto)) {
      if (!defaults.emplace_back().ParseFromString(bytes)) {
        throw Error("function '{}': a default of its attributes is damaged", function.name());
      }
    }
  }
  return defaults;
}

template <class Message>
constexpr int kConfigurationField =
    std::is_same_v<Message, onnx::ModelProto> ? kModelConfiguration : kNodeDeviceConfigurations;

template <class Message>
std::vector<std::string> read_configurations(const Message& message) {
  std::vector<std::string> found;
  if constexpr (requires { message.device_configurations(); }) {
    for (const auto& entry : message.device_configurations()) found.push_back(entry.SerializeAsString());
  } else if constexpr (requires { message.configuration(); }) {
    for (const auto& entry : message.configuration()) found.push_back(entry.SerializeAsString());
  } else {
    found = unknown_bytes(message, kConfigurationField<Message>);
  }
  return found;
}

void parse_into(auto& fields, const std::vector<std::string>& all) {
  fields.Clear();
  for (const std::string& bytes : all) {
    if (!fields.Add()->ParseFromString(bytes)) throw Error("a device configuration is damaged");
  }
}

template <class Message>
void write_configurations(Message& message, const std::vector<std::string>& all) {
  if constexpr (requires { message.mutable_device_configurations(); }) {
    parse_into(*message.mutable_device_configurations(), all);
  } else if constexpr (requires { message.mutable_configuration(); }) {
    parse_into(*message.mutable_configuration(), all);
  } else {
    google::protobuf::UnknownFieldSet& fields = *message.mutable_unknown_fields();
    fields.DeleteByNumber(kConfigurationField<Message>);
    for (const std::string& bytes : all) fields.AddLengthDelimited(kConfigurationField<Message>, bytes);
  }
}

}  // namespace

std::string overload_of(const onnx::NodeProto& node) { return read_overload(node, kNodeOverload); }
std::string overload_of(const onnx::FunctionProto& function) {
  return read_overload(function, kFunctionOverload);
}
std::vector<onnx::AttributeProto> attribute_defaults(const onnx::FunctionProto& function) {
  return read_defaults(function);
}
std::vector<std::string> configuration_bytes(const onnx::ModelProto& model) {
  return read_configurations(model);
}
std::vector<std::string> device_configuration_bytes(const onnx::NodeProto& node) {
  return read_configurations(node);
}
void set_configuration_bytes(onnx::ModelProto& model, const std::vector<std::string>& all) {
  write_configurations(model, all);
}
void set_device_configuration_bytes(onnx::NodeProto& node, const std::vector<std::string>& all) {
  write_configurations(node, all);
}

}  // namespace podium::importer
