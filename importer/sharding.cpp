// ModelProto.configuration and NodeProto.device_configurations, read from their bytes, since the packaged
// libonnx is older than they are. A Message looks fields up by their numbers and takes repeated integers
// packed and unpacked.
//   DeviceConfigurationProto      1 name, 2 num_devices, 3 device
//   NodeDeviceConfigurationProto  1 configuration_id, 2 sharding_spec, 3 pipeline_stage
//   ShardingSpecProto             1 tensor_name, 2 device, 3 index_to_device_group_map, 4 sharded_dim
//   IntIntListEntryProto          1 key, 2 value
//   ShardedDimProto               1 axis, 2 simple_sharding
//   SimpleShardedDimProto         1 dim_value or 2 dim_param, 3 num_shards
// The walk over nodes goes through the main graph, its bodies and then the functions, in the file's order.
#include "importer/sharding.h"

#include <fmt/ranges.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <map>
#include <set>

#include "importer/depth.h"
#include "importer/newer_fields.h"
#include "importer/node_order.h"
#include "importer/source.h"

namespace podium::importer {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

/// A message of which only the numbers of the fields are known.
class Message {
 public:
  Message(const std::string& bytes, const char* what) : what_(what) {
    if (!fields_.ParseFromString(bytes)) throw Error("{} is damaged", what);
  }

  std::vector<std::string> texts(int number) const {
    std::vector<std::string> found;
    for (const UnknownField* field : fields(number, UnknownField::TYPE_LENGTH_DELIMITED))
      found.emplace_back(field->length_delimited());
    return found;
  }
  std::string text(int number) const {
    const std::vector<std::string> found = texts(number);
    return found.empty() ? "" : found.back();
  }
  std::optional<std::int64_t> integer(int number) const {
    const auto found = fields(number, UnknownField::TYPE_VARINT);
    if (found.empty()) return std::nullopt;
    return static_cast<std::int64_t>(found.back()->varint());
  }
  std::vector<std::int64_t> integers(int number) const {
    std::vector<std::int64_t> found;
    for (int i = 0; i < fields_.field_count(); ++i) {
      const UnknownField& field = fields_.field(i);
      if (field.number() != number) continue;
      if (field.type() == UnknownField::TYPE_VARINT) {
        found.push_back(static_cast<std::int64_t>(field.varint()));
      } else if (field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
        append_packed(field.length_delimited(), found);
      } else {
        throw Error("{} is damaged", what_);
      }
    }
    return found;
  }

 private:
  std::vector<const UnknownField*> fields(int number, UnknownField::Type type) const {
    std::vector<const UnknownField*> found;
    for (int i = 0; i < fields_.field_count(); ++i) {
      const UnknownField& field = fields_.field(i);
      if (field.number() != number) continue;
      if (field.type() != type) throw Error("{} is damaged", what_);
      found.push_back(&field);
    }
    return found;
  }

  void append_packed(const std::string& bytes, std::vector<std::int64_t>& to) const {
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
    while (stream.CurrentPosition() < static_cast<int>(bytes.size())) {
      std::uint64_t value = 0;
      if (!stream.ReadVarint64(&value)) throw Error("{} is damaged", what_);
      to.push_back(static_cast<std::int64_t>(value));
    }
  }

  UnknownFieldSet fields_;
  const char* what_;
};

DeviceConfiguration read_configuration(const std::string& bytes) {
  const Message message(bytes, "a device configuration");
  DeviceConfiguration configuration{.name = message.text(1), .names = message.texts(3)};
  if (configuration.name.empty()) throw Error("a device configuration without a name found");
  const std::string where = fmt::format("device configuration '{}'", configuration.name);
  configuration.devices = message.integer(2).value_or(0);
  constexpr std::int64_t kMostDevices = 65'536;
  if (configuration.devices < 1 || configuration.devices > kMostDevices) {
    throw Error("{} devices found, 1 to {} needed", configuration.devices, kMostDevices).at(where);
  }
  if (!configuration.names.empty() && std::ssize(configuration.names) != configuration.devices) {
    throw Error("names of {} devices found, none or {} needed", configuration.names.size(),
                configuration.devices)
        .at(where);
  }
  return configuration;
}

ir::ShardedFactor read_factor(const std::string& bytes, std::int64_t axis) {
  const Message message(bytes, "a sharding of an axis");
  const std::optional<std::int64_t> shards = message.integer(3);
  if (!shards || *shards < 1) {
    throw Error("axis {} in {} shards found, 1 or more needed", axis,
                shards ? std::to_string(*shards) : "no");
  }
  const std::optional<std::int64_t> size = message.integer(1);
  if (size && *size < 0) throw Error("axis {} has a factor of {} elements, 0 or more needed", axis, *size);
  return {.size = size, .shards = *shards};
}

ir::ShardedAxis read_axis(const std::string& bytes) {
  const Message message(bytes, "a sharded axis");
  const std::optional<std::int64_t> axis = message.integer(1);
  if (!axis) throw Error("a sharded axis without a number found");
  ir::ShardedAxis sharded{.axis = *axis, .factors = {}};
  for (const std::string& factor : message.texts(2)) sharded.factors.push_back(read_factor(factor, *axis));
  if (sharded.factors.empty()) throw Error("axis {} without a number of shards found", *axis);
  const auto open = std::ranges::count_if(sharded.factors, [](const auto& factor) { return !factor.size; });
  if (open > 1) throw Error("axis {} has {} factors without a size, at most 1 needed", *axis, open);
  return sharded;
}

using Groups = std::map<std::int64_t, std::vector<std::int64_t>>;

Groups read_groups(const Message& spec) {
  Groups groups;
  for (const std::string& bytes : spec.texts(3)) {
    const Message entry(bytes, "a group of devices");
    const std::optional<std::int64_t> key = entry.integer(1);
    if (!key) throw Error("a group of devices without a key found");
    std::vector<std::int64_t> members = entry.integers(2);
    if (members.empty()) throw Error("group {} has no devices", *key);
    if (!groups.emplace(*key, std::move(members)).second) throw Error("group {} is there twice", *key);
  }
  return groups;
}

/// Reads one model's annotations into a Sharding.
class ShardingReader {
 public:
  Sharding read(const onnx::ModelProto& model);

 private:
  /// Where the walk is.
  struct Place {
    std::string prefix = {};
    bool is_main = true;
    std::string function = {};  ///< its key, for nodes of one that are in no body
  };

  void read_nodes(const NodeList& nodes, const Place& place);
  void read_bodies(const onnx::NodeProto& node, const Place& place);
  void read_node(const onnx::NodeProto& node, const Place& place);
  NodeSharding read_entry(const std::string& bytes, const std::set<std::string>& operands);
  ShardedTensor read_tensor(const std::string& bytes, const std::set<std::string>& operands,
                            const DeviceConfiguration& configuration);
  ir::ShardingSpec read_spec(const Message& message, const DeviceConfiguration& configuration);
  std::vector<std::int64_t> read_entries(const Message& message, std::int64_t shards,
                                         const DeviceConfiguration& configuration);
  std::vector<std::vector<std::int64_t>> read_holders(const Message& message, std::int64_t shards,
                                                      const DeviceConfiguration& configuration);
  void check_stages() const;
  void warn(const std::string& text) {
    result_.warnings.push_back(where_.empty() ? text : where_ + ": " + text);
  }

  /// A node of the main graph that says its stage.
  struct Staged {
    const onnx::NodeProto* node;
    std::string configuration;
    std::int64_t stage;
  };

  Sharding result_;
  std::vector<Staged> staged_;
  std::map<std::string, std::size_t> configurations_;  ///< places by name
  std::int64_t implied_ = 0;                           ///< devices that specs have without a list of them
  std::string where_;                                  ///< the node and tensor that are read, for warnings
  int depth_ = 0;
};

Sharding ShardingReader::read(const onnx::ModelProto& model) {
  for (const std::string& bytes : configuration_bytes(model)) {
    DeviceConfiguration read = read_configuration(bytes);
    if (!configurations_.emplace(read.name, result_.configurations.size()).second)
      throw Error("device configuration '{}' is there twice", read.name);
    result_.configurations.push_back(std::move(read));
  }
  read_nodes(model.graph().node(), {});
  check_stages();
  for (const onnx::FunctionProto& function : model.functions())
    read_nodes(function.node(),
               {.prefix = function.name() + "/",
                .is_main = false,
                .function = function_key(function.domain(), function.name(), overload_of(function))});
  return std::move(result_);
}

void ShardingReader::read_nodes(const NodeList& nodes, const Place& place) {
  for (const onnx::NodeProto& node : nodes) {
    read_node(node, place);
    read_bodies(node, place);
  }
}

void ShardingReader::read_bodies(const onnx::NodeProto& node, const Place& place) {
  const Depth deeper(depth_);
  const Place inner{.prefix = place.prefix + shown_name(node) + "/", .is_main = false};
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) read_nodes(attribute.g().node(), inner);
    for (const auto& graph : attribute.graphs()) read_nodes(graph.node(), inner);
  }
}

void ShardingReader::read_node(const onnx::NodeProto& node, const Place& place) {
  const std::vector<std::string> entries = device_configuration_bytes(node);
  if (entries.empty()) return;
  std::set<std::string> operands(node.input().begin(), node.input().end());
  operands.insert(node.output().begin(), node.output().end());
  std::set<std::string> seen;
  for (const std::string& bytes : entries) {
    where_ = describe(node, place.prefix);
    try {
      NodeSharding entry = read_entry(bytes, operands);
      if (!seen.insert(entry.configuration).second)
        throw Error("device configuration '{}' is there twice", entry.configuration);
      entry.node = place.prefix + shown_name(node);
      entry.is_in_main_graph = place.is_main;
      if (!place.function.empty()) entry.function = {.key = place.function, .node = shown_name(node)};
      if (place.is_main && entry.stage) staged_.push_back({&node, entry.configuration, *entry.stage});
      result_.nodes.push_back(std::move(entry));
    } catch (const Error& error) {
      throw error.at(describe(node, place.prefix));
    }
  }
}

NodeSharding ShardingReader::read_entry(const std::string& bytes, const std::set<std::string>& operands) {
  const Message message(bytes, "an entry of device_configurations");
  NodeSharding entry{.node = {}, .configuration = message.text(1)};
  if (entry.configuration.empty())
    throw Error("no configuration_id found, the name of a configuration needed");
  const auto known = configurations_.find(entry.configuration);
  const DeviceConfiguration& configuration = known == configurations_.end()
                                                 ? find_configuration(result_, entry.configuration)
                                                 : result_.configurations[known->second];
  entry.stage = message.integer(3);
  constexpr std::int64_t kLastStage = 65'535;  // each has at least a device
  if (entry.stage && (*entry.stage < 0 || *entry.stage > kLastStage))
    throw Error("pipeline stage {} found, 0 to {} needed", *entry.stage, kLastStage);
  std::map<std::string, std::size_t> places;  // in entry.tensors
  for (const std::string& spec : message.texts(2)) {
    ShardedTensor tensor = read_tensor(spec, operands, configuration);
    const auto [place, is_new] = places.emplace(tensor.name, entry.tensors.size());
    if (!is_new && entry.tensors[place->second].spec != tensor.spec)
      throw Error("two sharding specs of tensor '{}' found that differ, one needed", tensor.name);
    if (is_new) entry.tensors.push_back(std::move(tensor));
  }
  return entry;
}

ShardedTensor ShardingReader::read_tensor(const std::string& bytes, const std::set<std::string>& operands,
                                          const DeviceConfiguration& configuration) {
  const Message message(bytes, "a sharding spec");
  ShardedTensor tensor{.name = message.text(1), .spec = {}};
  if (tensor.name.empty()) throw Error("a sharding spec without a tensor's name found");
  if (!operands.contains(tensor.name))
    throw Error("sharding of '{}' found, one of the node's inputs and outputs needed", tensor.name);
  const std::string of_node = where_;
  where_ += fmt::format(": tensor '{}'", tensor.name);
  try {
    tensor.spec = read_spec(message, configuration);
  } catch (const Error& error) {
    throw error.at(fmt::format("tensor '{}'", tensor.name));
  }
  where_ = of_node;
  return tensor;
}

void check_fits(std::int64_t shards, const DeviceConfiguration& configuration) {
  if (shards <= configuration.devices) return;
  throw Error("{} shards found, at most the {} devices of configuration '{}' needed", shards,
              configuration.devices, configuration.name);
}

ir::ShardingSpec ShardingReader::read_spec(const Message& message, const DeviceConfiguration& configuration) {
  ir::ShardingSpec spec;
  std::int64_t shards = 1;
  std::set<std::int64_t> seen;
  for (const std::string& bytes : message.texts(4)) {
    spec.axes.push_back(read_axis(bytes));
    const ir::ShardedAxis& axis = spec.axes.back();
    if (!seen.insert(axis.axis).second) throw Error("axis {} is sharded twice", axis.axis);
    for (const ir::ShardedFactor& factor : axis.factors) {
      // Looked at one by one, so that no product overflows.
      check_fits(factor.shards, configuration);
      shards *= factor.shards;
      check_fits(shards, configuration);
    }
  }
  spec.holders = read_holders(message, shards, configuration);
  return spec;
}

std::vector<std::int64_t> ShardingReader::read_entries(const Message& message, std::int64_t shards,
                                                       const DeviceConfiguration& configuration) {
  std::vector<std::int64_t> entries = message.integers(2);
  if (!entries.empty()) return entries;
  // A few bytes of a file ask for many devices here.
  constexpr std::int64_t kMostImplied = std::int64_t{1} << 24;
  implied_ += shards;
  if (implied_ > kMostImplied)
    throw Error("specs that say no devices have more than {} shards together, lists of devices needed",
                kMostImplied);
  for (std::int64_t device = 0; device < shards; ++device) entries.push_back(device);
  if (shards < configuration.devices) {
    warn(fmt::format("no devices said for {} shards: devices 0 to {} of {}", shards, shards - 1,
                     configuration.devices));
  }
  return entries;
}

std::vector<std::vector<std::int64_t>> ShardingReader::read_holders(
    const Message& message, std::int64_t shards, const DeviceConfiguration& configuration) {
  const Groups groups = read_groups(message);
  const std::vector<std::int64_t> entries = read_entries(message, shards, configuration);
  const bool is_replicated = shards == 1 && message.texts(4).empty();
  if (!is_replicated && std::ssize(entries) != shards)
    throw Error("{} devices or groups found for {} shards, as many needed", entries.size(), shards);
  std::vector<std::vector<std::int64_t>> holders(static_cast<std::size_t>(shards));
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto group = groups.find(entries[i]);
    if (group != groups.end() && entries[i] >= 0 && entries[i] < configuration.devices)
      warn(fmt::format("{} is a group and a device: the group is taken", entries[i]));
    std::vector<std::int64_t>& shard = holders[is_replicated ? 0 : i];
    for (std::int64_t device : group != groups.end() ? group->second : std::vector{entries[i]}) {
      if (device < 0 || device >= configuration.devices) {
        throw Error("device {} found, 0 to {} of configuration '{}' or a group needed", device,
                    configuration.devices - 1, configuration.name);
      }
      if (!seen.insert(device).second) throw Error("device {} is there twice, once needed", device);
      shard.push_back(device);
    }
  }
  for (std::vector<std::int64_t>& shard : holders) std::ranges::sort(shard);
  return holders;
}

// A stage reads from itself and those before it.
void ShardingReader::check_stages() const {
  using Key = std::pair<std::string, std::string>;  // configuration and tensor
  std::map<Key, std::int64_t> makers;
  for (const Staged& staged : staged_) {
    for (const std::string& output : staged.node->output()) {
      if (!output.empty()) makers[{staged.configuration, output}] = staged.stage;
    }
  }
  for (const Staged& staged : staged_) {
    for (const std::string& input : staged.node->input()) {
      const auto made = makers.find({staged.configuration, input});
      if (made == makers.end() || made->second <= staged.stage) continue;
      throw Error("pipeline stage {} reads '{}' of stage {}, one of stages 0 to {} needed", staged.stage,
                  input, made->second, staged.stage)
          .at(describe(*staged.node));
    }
  }
}

}  // namespace

Sharding read_sharding(const Model& model) {
  if (model.source == nullptr) return {};
  return ShardingReader().read(model.source->proto);
}

const DeviceConfiguration& find_configuration(const Sharding& sharding, const std::string& name) {
  const auto& all = sharding.configurations;
  if (all.empty()) throw Error("no device configuration '{}' found: the model declares none", name);
  const auto found = std::ranges::find(all, name, &DeviceConfiguration::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const DeviceConfiguration& configuration : all) names.push_back("'" + configuration.name + "'");
  throw Error("no device configuration '{}' found, one of {} needed", name, fmt::join(names, ", "));
}

}  // namespace podium::importer
