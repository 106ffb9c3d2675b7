// A shard that one device holds names the device; one that several hold names a group, with the keys -1, -2,
// ... in the order of the shards. Nodes are met as the reader meets them: the main graph, its bodies, then
// the functions. What a node says for a configuration that it had stays in its place among the node's
// entries.
#include "importer/write_sharding.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <map>
#include <set>

#include "importer/depth.h"
#include "importer/newer_fields.h"
#include "importer/node_order.h"

namespace podium::importer {
namespace {

using google::protobuf::UnknownFieldSet;

constexpr std::int64_t kFirstIrVersion = 11;

void add_number(UnknownFieldSet& fields, int number, std::int64_t value) {
  fields.AddVarint(number, static_cast<std::uint64_t>(value));
}

void add_message(UnknownFieldSet& fields, int number, const UnknownFieldSet& message) {
  message.SerializeToString(fields.AddLengthDelimited(number));
}

std::string bytes_of(const UnknownFieldSet& fields) {
  std::string bytes;
  fields.SerializeToString(&bytes);
  return bytes;
}

std::string bytes_of(const DeviceConfiguration& configuration) {
  UnknownFieldSet fields;
  fields.AddLengthDelimited(1, configuration.name);
  add_number(fields, 2, configuration.devices);
  for (const std::string& name : configuration.names) fields.AddLengthDelimited(3, name);
  return bytes_of(fields);
}

void add_holders(UnknownFieldSet& fields, const std::vector<std::vector<std::int64_t>>& holders) {
  std::int64_t key = 0;
  for (const auto& shard : holders) add_number(fields, 2, shard.size() == 1 ? shard[0] : --key);
  key = 0;
  for (const auto& shard : holders) {
    if (shard.size() == 1) continue;
    UnknownFieldSet group;
    add_number(group, 1, --key);
    for (std::int64_t device : shard) add_number(group, 2, device);
    add_message(fields, 3, group);
  }
}

void add_tensor(UnknownFieldSet& fields, const ShardedTensor& tensor) {
  UnknownFieldSet spec;
  spec.AddLengthDelimited(1, tensor.name);
  add_holders(spec, tensor.spec.holders);
  for (const ir::ShardedAxis& sharded : tensor.spec.axes) {
    UnknownFieldSet axis;
    add_number(axis, 1, sharded.axis);
    for (const ir::ShardedFactor& written : sharded.factors) {
      UnknownFieldSet factor;
      if (written.size) add_number(factor, 1, *written.size);
      add_number(factor, 3, written.shards);
      add_message(axis, 2, factor);
    }
    add_message(spec, 4, axis);
  }
  add_message(fields, 2, spec);
}

std::string bytes_of(const NodeSharding& entry) {
  UnknownFieldSet fields;
  fields.AddLengthDelimited(1, entry.configuration);
  for (const ShardedTensor& tensor : entry.tensors) add_tensor(fields, tensor);
  if (entry.stage) add_number(fields, 3, *entry.stage);
  return bytes_of(fields);
}

/// The text of field 1: of a configuration its name, of what a node says the name of the configuration.
std::string name_in(const std::string& bytes) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) throw Error("a device configuration is damaged");
  std::string name;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    const bool is_text = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (field.number() == 1 && is_text) name = field.length_delimited();
  }
  return name;
}

/// The messages with those of `news` in the places of their like: by name, and behind the others where there
/// was none. Those whose name is in `gone` and that have no successor go.
std::vector<std::string> merged(const std::vector<std::string>& olds,
                                std::vector<std::pair<std::string, std::string>> news,
                                const std::set<std::string>& gone) {
  std::vector<std::string> result;
  for (const std::string& old : olds) {
    const std::string name = name_in(old);
    const auto successor = std::ranges::find(news, name, &std::pair<std::string, std::string>::first);
    if (successor != news.end()) {
      result.push_back(successor->second);
      news.erase(successor);
    } else if (!gone.contains(name)) {
      result.push_back(old);
    }
  }
  for (const auto& [name, bytes] : news) result.push_back(bytes);
  return result;
}

bool has_tensors(const onnx::NodeProto& node, const NodeSharding& entry) {
  return std::ranges::all_of(entry.tensors, [&](const ShardedTensor& tensor) {
    const auto has = [&](const auto& all) { return std::ranges::find(all, tensor.name) != all.end(); };
    return has(node.input()) || has(node.output());
  });
}

/// Finds the nodes that entries are of and writes into them.
class ShardingWriter {
 public:
  ShardingWriter(const Sharding& sharding, const std::set<std::string>& dropped)
      : sharding_(sharding), replaced_(dropped) {
    for (const DeviceConfiguration& configuration : sharding.configurations)
      replaced_.insert(configuration.name);
  }

  void write(onnx::ModelProto& model);

 private:
  struct Named {
    onnx::NodeProto* node;
    bool is_main;
  };

  void collect(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::string& prefix,
               bool is_main);
  void collect_bodies(onnx::NodeProto& node, const std::string& prefix);
  onnx::NodeProto* node_of(const NodeSharding& entry) const;

  const Sharding& sharding_;
  std::set<std::string> replaced_;  ///< names of configurations, those that go too
  std::vector<onnx::NodeProto*> all_;
  std::multimap<std::string, Named> by_name_;
  int depth_ = 0;
};

void ShardingWriter::collect(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                             const std::string& prefix, bool is_main) {
  for (onnx::NodeProto& node : nodes) {
    all_.push_back(&node);
    by_name_.emplace(prefix + shown_name(node), Named{&node, is_main});
    collect_bodies(node, prefix + shown_name(node) + "/");
  }
}

void ShardingWriter::collect_bodies(onnx::NodeProto& node, const std::string& prefix) {
  const Depth deeper(depth_);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) collect(*attribute.mutable_g()->mutable_node(), prefix, false);
    for (auto& graph : *attribute.mutable_graphs()) collect(*graph.mutable_node(), prefix, false);
  }
}

onnx::NodeProto* ShardingWriter::node_of(const NodeSharding& entry) const {
  onnx::NodeProto* found = nullptr;
  const auto [begin, end] = by_name_.equal_range(entry.node);
  for (auto at = begin; at != end; ++at) {
    if (at->second.is_main != entry.is_in_main_graph || !has_tensors(*at->second.node, entry)) continue;
    if (found != nullptr) throw Error("node '{}': there are two of that name, one needed", entry.node);
    found = at->second.node;
  }
  if (found == nullptr)
    throw Error("node '{}': there is none of that name with the tensors that are cut", entry.node);
  return found;
}

void ShardingWriter::write(onnx::ModelProto& model) {
  collect(*model.mutable_graph()->mutable_node(), "", true);
  for (onnx::FunctionProto& function : *model.mutable_functions())
    collect(*function.mutable_node(), function.name() + "/", false);
  std::vector<std::pair<std::string, std::string>> configurations;
  for (const DeviceConfiguration& configuration : sharding_.configurations)
    configurations.emplace_back(configuration.name, bytes_of(configuration));
  set_configuration_bytes(model, merged(configuration_bytes(model), std::move(configurations), replaced_));
  std::map<const onnx::NodeProto*, std::vector<std::pair<std::string, std::string>>> said;
  for (const NodeSharding& entry : sharding_.nodes)
    said[node_of(entry)].emplace_back(entry.configuration, bytes_of(entry));
  for (onnx::NodeProto* node : all_) {
    const std::vector<std::string> before = device_configuration_bytes(*node);
    const auto found = said.find(node);
    if (before.empty() && found == said.end()) continue;
    set_device_configuration_bytes(
        *node, merged(before, found == said.end() ? decltype(found->second){} : found->second, replaced_));
  }
  const bool says_something = !sharding_.configurations.empty();
  if (says_something && model.ir_version() < kFirstIrVersion) model.set_ir_version(kFirstIrVersion);
}

}  // namespace

void write_sharding(const Sharding& sharding, onnx::ModelProto& to, const std::set<std::string>& dropped) {
  if (!sharding.configurations.empty() || !dropped.empty()) ShardingWriter(sharding, dropped).write(to);
}

}  // namespace podium::importer
