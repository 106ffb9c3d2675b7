// Rules are applied in their order, so that a later one wins, and over what was recognised. Dimensions
// without a size count as 1 where an axis is looked for; nothing is said of how their elements are shared out
// then.
#include "executor/cli/annotate_sharding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "annotate/layout.h"
#include "executor/cli/device_configurations.h"
#include "executor/session/sized_graph.h"
#include "executor/session/working_sizes.h"
#include "importer/file_nodes.h"
#include "ir/glob.h"
#include "ir/nearest.h"

namespace podium::cli {
namespace {

using annotate::ShardRule;
using TensorTypes = std::map<std::string, ir::Type>;

TensorTypes tensor_types(const importer::Model& model, const SizedGraph& sized) {
  TensorTypes types;
  for (const ir::Graph* graph : {&sized.graph, &model.graph}) {
    for (const ir::Value& value : graph->values)
      if (value.type.is_tensor() && value.type.has_rank) types.emplace(value.name, value.type);
  }
  return types;
}

/// What nodes say of their tensors, by the index of the node, a spec for each tensor.
class Specs {
 public:
  explicit Specs(const importer::Model& model) : nodes_(importer::file_nodes(model)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string& name : nodes_[i].inputs) add_place(name, i);
      for (const std::string& name : nodes_[i].outputs) add_maker(name, i);
    }
  }

  /// Names of all tensors that nodes read or make.
  const std::map<std::string, std::set<std::size_t>>& places() const { return places_; }

  /// At the node that makes the tensor, else at all that read it.
  void say(const std::string& tensor, const ir::ShardingSpec& spec) {
    for (std::size_t node : places_.at(tensor)) said_[node][tensor] = spec;
  }

  /// At this node; whether it has the tensor.
  bool say_at(std::int32_t node, const std::string& tensor, const ir::ShardingSpec& spec) {
    if (node < 0) return false;
    const auto index = static_cast<std::size_t>(node);
    const auto has = [&](const auto& names) { return std::ranges::find(names, tensor) != names.end(); };
    if (!has(nodes_[index].inputs) && !has(nodes_[index].outputs)) return false;
    said_[index][tensor] = spec;
    return true;
  }

  std::vector<importer::NodeSharding> of(const std::string& configuration) const {
    std::vector<importer::NodeSharding> result;
    for (const auto& [node, tensors] : said_) {
      importer::NodeSharding& entry = result.emplace_back(
          importer::NodeSharding{.node = nodes_[node].name, .configuration = configuration});
      for (const auto& [name, spec] : tensors) entry.tensors.push_back({name, spec});
    }
    return result;
  }

 private:
  void add_place(const std::string& name, std::size_t node) {
    if (!name.empty() && !made_.contains(name)) places_[name].insert(node);
  }
  void add_maker(const std::string& name, std::size_t node) {
    if (name.empty()) return;
    made_.insert(name);
    places_[name] = {node};
  }

  std::vector<importer::FileNode> nodes_;
  std::map<std::string, std::set<std::size_t>> places_;
  std::set<std::string> made_;
  std::map<std::size_t, std::map<std::string, ir::ShardingSpec>> said_;
};

std::vector<std::string> matching(const Specs& specs, const ShardRule& rule) {
  std::vector<std::string> found;
  std::vector<std::string_view> names;
  for (const auto& [name, places] : specs.places()) {
    names.emplace_back(name);
    if (ir::matches(rule.pattern, name)) found.push_back(name);
  }
  if (!found.empty()) return found;
  throw Error("--shard '{}': no tensor of that name found, the nearest is '{}'", rule.text,
              ir::nearest(rule.pattern, names));
}

void check_fit(const ShardRule& rule, const ir::ShardingSpec& spec, const std::string& tensor,
               const TensorTypes& types, std::vector<std::string>& notes) {
  const auto type = types.find(tensor);
  if (type == types.end()) return;
  ir::Dims dims = type->second.dims;
  for (std::int64_t& dim : dims) dim = dim == ir::kUnknown ? 1 : dim;
  try {
    annotate::layout_of(spec, dims);
  } catch (const Error& error) {
    throw error.at(fmt::format("--shard '{}': tensor '{}'", rule.text, tensor));
  }
  for (const ir::ShardedAxis& axis : rule.axes) {
    const std::int64_t at = ir::normalized_axis(axis.axis, std::ssize(dims));
    const std::int64_t size = type->second.dims[static_cast<std::size_t>(at)];
    const std::int64_t shards = axis.factors.front().shards;
    if (size == ir::kUnknown || shards <= size) continue;
    notes.push_back(
        fmt::format("warning: --shard '{}': tensor '{}' has {} elements along axis {} for {} "
                    "shards, so that some hold nothing",
                    rule.text, tensor, size, axis.axis, shards));
  }
}

std::int64_t devices_of_blocks(const AnnotateOptions& options) {
  return std::int64_t{options.tensor_parallel.value_or(1)} * options.context_parallel.value_or(1) *
         options.spatial_parallel.value_or(1) * options.sample_parallel.value_or(1);
}

std::int64_t device_count(const AnnotateOptions& options) {
  std::int64_t most = devices_of_blocks(options);
  for (const ShardRule& rule : options.shards) most = std::max(most, devices_of(rule));
  return options.devices.value_or(most);
}

std::string flag_of_blocks(const AnnotateOptions& options) {
  std::vector<std::string> flags;
  if (options.tensor_parallel) flags.push_back(fmt::format("--tensor-parallel {}", *options.tensor_parallel));
  if (options.context_parallel)
    flags.push_back(fmt::format("--context-parallel {}", *options.context_parallel));
  if (options.spatial_parallel)
    flags.push_back(fmt::format("--spatial-parallel {}", *options.spatial_parallel));
  if (options.sample_parallel) flags.push_back(fmt::format("--sample-parallel {}", *options.sample_parallel));
  return fmt::format("{}", fmt::join(flags, " "));
}

void cut_blocks(const importer::Model& model, const SizedGraph& sized, const AnnotateOptions& options,
                Specs& specs, std::vector<std::string>& notes) try {
  // Rows of tokens are cut in each sequence, so that their number is part of the cut; so is that of images
  // and of their rows.
  if (options.tokens == annotate::TokensBetweenBlocks::Cut || options.context_parallel ||
      cuts_images(options))
    require_sizes(model);
  const annotate::TensorParallelOptions asked{.devices = options.tensor_parallel.value_or(1),
                                              .tokens = options.tokens,
                                              .expert_groups = options.expert_parallel.value_or(1),
                                              .context_groups = options.context_parallel.value_or(1),
                                              .images = {.rows = options.spatial_parallel.value_or(1),
                                                         .samples = options.sample_parallel.value_or(1)}};
  const auto plan = annotate::plan_tensor_parallel(sized.graph, asked);
  std::int64_t unsaid = 0;
  for (const annotate::OpTensorSpec& said : plan.specs) {
    const std::int32_t node = model.nodes_of_ops[sized.imported[static_cast<std::size_t>(said.op.index)]];
    if (!specs.say_at(node, sized.graph[said.tensor].name, said.spec)) ++unsaid;
  }
  notes.push_back("note: " + annotate::to_string(plan, sized.graph, asked));
  if (unsaid > 0) {
    notes.push_back(
        fmt::format("warning: {} of {} tensors to cut are inside of functions or older forms of "
                    "ops: the file's nodes do not have them, nothing is said of them",
                    unsaid, plan.specs.size()));
  }
} catch (const Error& error) {
  throw error.at(flag_of_blocks(options));
}

}  // namespace

importer::Sharding sharding_of(const importer::Model& model, const AnnotateOptions& options,
                               const std::string& configuration, std::vector<std::string>& notes) {
  if (!cuts_tensors(options)) return {};
  const std::int64_t devices = device_count(options);
  Specs specs(model);
  const SizedGraph sized = infer_sizes(model.graph);
  const TensorTypes types = tensor_types(model, sized);
  if (cuts_blocks(options)) {
    if (devices < devices_of_blocks(options))
      throw Error("{}: {} devices found, {} needed", flag_of_blocks(options), devices,
                  devices_of_blocks(options));
    cut_blocks(model, sized, options, specs, notes);
  }
  for (const ShardRule& rule : options.shards) {
    const ir::ShardingSpec spec = spec_of(rule, devices);
    for (const std::string& tensor : matching(specs, rule)) {
      check_fit(rule, spec, tensor, types, notes);
      specs.say(tensor, spec);
    }
  }
  return {.configurations = {{.name = configuration, .devices = devices, .names = {}}},
          .nodes = specs.of(configuration),
          .warnings = {}};
}

importer::Sharding merged(importer::Sharding model, const importer::Sharding& added) {
  for (const importer::DeviceConfiguration& configuration : added.configurations) {
    const auto same =
        std::ranges::find(model.configurations, configuration.name, &importer::DeviceConfiguration::name);
    if (same == model.configurations.end()) {
      model.configurations.push_back(configuration);
    } else {
      *same = configuration;
    }
    std::erase_if(model.nodes, [&](const importer::NodeSharding& node) {
      return node.configuration == configuration.name;
    });
  }
  model.nodes.insert(model.nodes.end(), added.nodes.begin(), added.nodes.end());
  return model;
}

std::string layout_tables(const importer::Model& model, const importer::Sharding& sharding) {
  std::string text;
  for (const importer::DeviceConfiguration& configuration : sharding.configurations) {
    text += fmt::format("\nconfiguration {}\n{}", text_of(sharding, configuration),
                        table_of(shard_rows(model, sharding, configuration.name)));
  }
  return text;
}

}  // namespace podium::cli
