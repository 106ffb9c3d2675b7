// A model is written in one pass over the graph: inputs, constants as initializers, ops as nodes, outputs.
// Bodies lose the inputs that are captures and read outer values by their names. Constants of a page or more
// go to a file beside the model once all constants together are too large for protobuf; a constant without
// data is marked as left out. Opset versions are the least that have all ops.
#include "importer/export_graph.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_set>

#include "importer/output_file.h"
#include "importer/tensor_proto.h"
#include "importer/type_proto.h"

namespace podium::importer {
namespace {

// Written inside the message while the sum stays below; protobuf ends at 2 GiB.
constexpr std::size_t kMostInside = std::size_t{1} << 30;
constexpr std::uint64_t kAlignment = 4096;  // of tensors in the data file, so that they can be mapped
constexpr std::int64_t kIrVersion = 9;

class Exporter {
 public:
  Exporter(const ExportOptions& options, OutputFile* data, std::string data_name)
      : options_(options), data_(data), data_name_(std::move(data_name)) {}

  void write(const ir::Graph& graph, int captures, onnx::GraphProto& proto);
  std::unordered_set<std::string_view> domains;

 private:
  void write_constant(const ir::Value& value, onnx::TensorProto& proto);
  void write_op(const ir::Graph& graph, const ir::Op& op, onnx::NodeProto& node);
  void write_attribute(const ir::Op& op, const ir::Attribute& attribute, onnx::AttributeProto& proto);
  static void write_value(const ir::Value& value, onnx::ValueInfoProto& proto);
  void name_dimensions(onnx::ValueInfoProto& proto) const;

  const ExportOptions& options_;
  OutputFile* data_;
  std::string data_name_;
};

void set_external(onnx::TensorProto& proto, const std::string& key, const std::string& value) {
  auto* entry = proto.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

void Exporter::write_constant(const ir::Value& value, onnx::TensorProto& proto) {
  if (value.data_left_out) {
    proto.set_name(value.name);
    proto.set_data_type(static_cast<int>(value.type.element));
    for (std::int64_t dim : value.type.dims) proto.add_dims(dim);
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    return set_external(proto, kDataLeftOut, "true");
  }
  proto = tensor_to_proto(*value.constant, value.name);
  if (data_ == nullptr || !proto.has_raw_data() || proto.raw_data().size() < kAlignment) return;
  const std::uint64_t offset = data_->align(kAlignment);
  data_->write(proto.raw_data());
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  set_external(proto, "location", data_name_);
  set_external(proto, "offset", std::to_string(offset));
  set_external(proto, "length", std::to_string(proto.raw_data().size()));
  proto.clear_raw_data();
}

void Exporter::write_value(const ir::Value& value, onnx::ValueInfoProto& proto) {
  proto.set_name(value.name);
  *proto.mutable_type() = type_to_proto(value.type);
}

void Exporter::name_dimensions(onnx::ValueInfoProto& proto) const {
  const auto found = options_.symbolic.find(proto.name());
  if (found == options_.symbolic.end()) return;
  auto* shape = proto.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < shape->dim_size() && i < std::ssize(found->second); ++i) {
    const std::string& name = found->second[i];
    if (!name.empty()) shape->mutable_dim(i)->set_dim_param(name);
  }
}

struct AttributeWriter {
  onnx::AttributeProto& proto;

  void operator()(std::int64_t value) const {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const ir::Tensor& value) const {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = tensor_to_proto(value, "");
  }
  void operator()(const ir::Type& value) const {
    proto.set_type(onnx::AttributeProto::TYPE_PROTO);
    *proto.mutable_tp() = type_to_proto(value);
  }
  void operator()(const ir::IntList& values) const {
    proto.set_type(onnx::AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const ir::FloatList& values) const {
    proto.set_type(onnx::AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const ir::StringList& values) const {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const std::vector<ir::Tensor>& values) const {
    proto.set_type(onnx::AttributeProto::TENSORS);
    for (const ir::Tensor& value : values) *proto.add_tensors() = tensor_to_proto(value, "");
  }
  void operator()(const std::vector<ir::Type>& values) const {
    proto.set_type(onnx::AttributeProto::TYPE_PROTOS);
    for (const ir::Type& value : values) *proto.add_type_protos() = type_to_proto(value);
  }
  // Bodies are written by the exporter, which knows their captures.
  void operator()(const ir::Body& /*body*/) const { proto.set_type(onnx::AttributeProto::GRAPH); }
  void operator()(const std::vector<ir::Body>& /*bodies*/) const {
    proto.set_type(onnx::AttributeProto::GRAPHS);
  }
};

// A body reads captured values by their outer names.
ir::Graph with_outer_names(const ir::Graph& outer, const ir::Op& op, ir::Graph body) {
  const std::size_t first = body.inputs.size() - op.captures;
  for (std::size_t i = first; i < body.inputs.size(); ++i) {
    ir::Value& inner = body[body.inputs[i]];
    inner.name = outer[op.inputs[op.formal_inputs() + i - first]].name;
    inner.constant.reset();
  }
  return body;
}

void Exporter::write_attribute(const ir::Op& op, const ir::Attribute& attribute,
                               onnx::AttributeProto& proto) {
  proto.set_name(std::string(attribute.name.text()));
  visit_value(AttributeWriter{proto}, attribute.value);
  if (const auto* body = std::get_if<ir::Body>(&attribute.value))
    write(**body, op.captures, *proto.mutable_g());
  if (const auto* bodies = std::get_if<std::vector<ir::Body>>(&attribute.value)) {
    for (const ir::Body& body : *bodies) write(*body, op.captures, *proto.add_graphs());
  }
}

void Exporter::write_op(const ir::Graph& graph, const ir::Op& op, onnx::NodeProto& node) {
  node.set_op_type(std::string(op.spec->name));
  node.set_domain(std::string(op.spec->domain));
  node.set_name(op.name);
  domains.insert(op.spec->domain);
  for (std::size_t i = 0; i < op.formal_inputs(); ++i) {
    node.add_input(op.inputs[i].valid() ? graph[op.inputs[i]].name : "");
  }
  for (ir::ValueId id : op.outputs) node.add_output(id.valid() ? graph[id].name : "");
  for (ir::Attribute attribute : op.attributes) {
    if (auto* body = std::get_if<ir::Body>(&attribute.value)) {
      *body = std::make_shared<const ir::Graph>(with_outer_names(graph, op, **body));
    }
    write_attribute(op, attribute, *node.add_attribute());
  }
}

void Exporter::write(const ir::Graph& graph, int captures, onnx::GraphProto& proto) {
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  ir::IdMap<ir::ValueId, bool> is_input(std::ssize(graph.values), false);
  for (std::int64_t i = 0; i < std::ssize(graph.inputs); ++i) {
    is_input[graph.inputs[i]] = true;
    if (i + captures >= std::ssize(graph.inputs)) continue;
    write_value(graph[graph.inputs[i]], *proto.add_input());
    name_dimensions(*proto.mutable_input(proto.input_size() - 1));
  }
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph[id];
    if (is_input[id] || (!value.constant && !value.data_left_out)) continue;
    write_constant(value, *proto.add_initializer());
  }
  for (const ir::Op& op : graph.ops) write_op(graph, op, *proto.add_node());
  for (ir::ValueId id : graph.outputs) write_value(graph[id], *proto.add_output());
}

int needed_opset(const ir::Graph& graph) {
  int version = 1;
  for (const ir::Op& op : graph.ops) {
    if (op.spec->domain.empty()) version = std::max(version, op.spec->since);
    for_each_body(op, [&](std::string_view, const ir::Graph& body) {
      version = std::max(version, needed_opset(body));
    });
  }
  return version;
}

std::size_t constant_bytes(const ir::Graph& graph) {
  std::size_t total = 0;
  for (const ir::Value& value : graph.values) {
    if (value.constant) total += value.constant->bytes();
  }
  return total;
}

int domain_version(std::string_view domain) {
  int version = 1;
  for (const ir::OpSpec* spec : ir::all_ops()) {
    if (spec->domain == domain) version = std::max(version, spec->since);
  }
  return version;
}

}  // namespace

void export_graph(const ir::Graph& graph, const std::string& path, const ExportOptions& options) try {
  std::unique_ptr<OutputFile> data;
  const std::string data_path = path + ".data";
  if (constant_bytes(graph) > kMostInside) data = std::make_unique<OutputFile>(data_path);

  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("podium");
  Exporter exporter(options, data.get(), std::filesystem::path(data_path).filename().string());
  exporter.write(graph, 0, *model.mutable_graph());
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(options.opset > 0 ? options.opset : needed_opset(graph));
  const std::set<std::string_view> sorted(exporter.domains.begin(), exporter.domains.end());
  for (std::string_view domain : sorted) {
    if (domain.empty()) continue;
    auto* extra = model.add_opset_import();
    extra->set_domain(std::string(domain));
    extra->set_version(domain_version(domain));
  }
  for (const auto& [key, value] : options.metadata) {
    auto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  OutputFile file(path);
  if (!model.SerializeToOstream(&file.stream())) throw Error("cannot be written");
  if (data != nullptr) data->commit();
  file.commit();
} catch (const Error& error) {
  throw error.at(path);
}

}  // namespace podium::importer
