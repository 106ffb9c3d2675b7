// How tensors are cut is what a configuration of the model says, or what is found in its blocks.
//
// A configuration's devices are those of one group, which every stage has anew, unless the specs of each
// stage name devices of their own: then these are the stage's group, numbered from 0 for the specs. The graph
// is placed on groups first, as on processors, and cut over the devices of each behind that.
#include "executor/session/tensor_parallel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "annotate/annotations.h"
#include "annotate/rounded_weights.h"
#include "annotate/tensor_parallel.h"
#include "executor/session/sized_graph.h"
#include "executor/session/tensor_cuts.h"
#include "executor/session/working_sizes.h"
#include "importer/sharding.h"
#include "ir/bodies.h"

namespace podium {
namespace {

using annotate::OperandSharding;

// What a tensor of a node is called in the graph; `call` is that of the function which the node is in, or
// null.
std::string name_in_graph(const std::string& name, const importer::FunctionCall* call) {
  if (call == nullptr) return name;
  const auto formal = call->names.find(name);
  return formal == call->names.end() ? call->prefix + name : formal->second;
}

std::vector<OperandSharding> operands_of(const ir::Graph& graph, const ir::Op& op,
                                         const importer::NodeSharding& node,
                                         const importer::FunctionCall* call) {
  std::vector<OperandSharding> operands;
  const auto add = [&](annotate::Side side, const std::vector<ir::ValueId>& ids,
                       const importer::ShardedTensor& tensor) {
    const std::string name = name_in_graph(tensor.name, call);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i].valid() && graph[ids[i]].name == name) operands.push_back({side, i, tensor.spec});
    }
  };
  for (const importer::ShardedTensor& tensor : node.tensors) {
    add(annotate::Side::Input, op.inputs, tensor);
    add(annotate::Side::Output, op.outputs, tensor);
  }
  return operands;
}

void note_bodies(const ir::Graph& whole, Notes& notes) {
  const auto first = std::ranges::find_if(whole.ops, [](const ir::Op& op) { return ir::has_body(op); });
  if (first == whole.ops.end()) return;
  notes.push_back(fmt::format("tensors cut over devices: ops with bodies are not cut: {}{}",
                              whole.describe(*first),
                              std::any_of(std::next(first), whole.ops.end(), ir::has_body) ? ", ..." : ""));
}

bool asks_for_stages(const Strategy& strategy) {
  return strategy.pipelining && strategy.virtual_graph_mode != VirtualGraphMode::Auto;
}

[[noreturn]] void refuse_stage(const std::string& configuration, const std::vector<std::vector<int>>& own,
                               std::size_t stage, std::size_t devices) {
  throw Error(
      "device configuration '{}': stage 0 has {} devices of its own and stage {} has {}, as many for each "
      "stage needed",
      configuration, own[0].size(), stage, devices);
}

// The devices that the specs of each stage name; nothing where stages share some, or nodes without one cut.
std::vector<std::vector<int>> own_devices(const importer::Sharding& sharding, const std::string& name) {
  std::map<std::int64_t, std::set<std::int64_t>> of_stages;
  for (const importer::NodeSharding& node : sharding.nodes) {
    if (node.configuration != name || node.tensors.empty()) continue;
    if (!node.stage) return {};
    for (const importer::ShardedTensor& tensor : node.tensors) {
      for (const auto& holders : tensor.spec.holders)
        of_stages[*node.stage].insert(holders.begin(), holders.end());
    }
  }
  std::set<std::int64_t> seen;
  std::vector<std::vector<int>> own;
  for (const auto& [stage, devices] : of_stages) {
    if (stage != std::ssize(own)) return {};
    own.emplace_back(devices.begin(), devices.end());
    for (std::int64_t device : devices) {
      if (!seen.insert(device).second) return {};
    }
  }
  if (own.size() < 2) return {};
  for (std::size_t stage = 1; stage < own.size(); ++stage) {
    if (own[stage].size() != own[0].size()) refuse_stage(name, own, stage, own[stage].size());
  }
  return own;
}

DeviceGroups groups_of(const importer::Sharding& sharding, const Strategy& strategy) {
  const std::string& name = strategy.device_configuration;
  const std::int64_t devices = importer::find_configuration(sharding, name).devices;
  DeviceGroups groups{.devices = static_cast<int>(devices), .own = own_devices(sharding, name)};
  if (!groups.own.empty()) groups.devices = static_cast<int>(groups.own[0].size());
  if (groups.own.empty() && !asks_for_stages(strategy)) return groups;
  for (const importer::NodeSharding& node : sharding.nodes) {
    if (node.configuration == name)
      groups.stages = std::max(groups.stages, static_cast<int>(node.stage.value_or(-1)) + 1);
  }
  if (!groups.own.empty() && groups.stages > std::ssize(groups.own))
    refuse_stage(name, groups.own, groups.own.size(), 0);
  return groups;
}

// Devices of a stage's own are numbered as those of a group.
void number_in_group(std::vector<OperandSharding>& operands, const std::vector<int>& own) {
  for (OperandSharding& operand : operands) {
    for (auto& holders : operand.spec.holders) {
      for (std::int64_t& device : holders) device = std::ranges::find(own, device) - own.begin();
    }
  }
}

// Annotations that a node has say more.
void place_in_stage(ir::Op& op, std::int64_t stage) {
  const annotate::Annotations told = annotate::read_annotations(op);
  if (!told.processor) ir::set_attribute(op, annotate::kVirtualGraph, stage);
  if (!told.stage) ir::set_attribute(op, annotate::kPipelineStage, stage);
}

int group_of(const TensorParallelism& cut) {
  constexpr std::int64_t kMostDevices = 65'536;
  if (cut.group() <= kMostDevices) return static_cast<int>(cut.group());
  throw Error(
      "tensorParallelSettings: {} devices for each of {} contextGroups found, at most {} in all needed",
      cut.devices * cut.image_groups(), cut.context_groups, kMostDevices);
}

annotate::ShardingPlan plan_blocks(importer::Model& model, const TensorParallelism& cut) try {
  // Rows of tokens are cut in each sequence, so that their number is part of the cut; so is that of images
  // and of their rows.
  if (cut.cuts_tokens || cut.context_groups > 1 || cut.image_groups() > 1) require_sizes(model);
  const SizedGraph sized = infer_sizes(model.graph);
  const annotate::TensorParallelOptions options{
      .devices = cut.devices,
      .tokens = cut.cuts_tokens ? annotate::TokensBetweenBlocks::Cut : annotate::TokensBetweenBlocks::Whole,
      .expert_groups = cut.expert_groups,
      .context_groups = cut.context_groups,
      .images = {.rows = cut.spatial_groups, .samples = cut.sample_groups}};
  const auto found = annotate::plan_tensor_parallel(sized.graph, options);
  std::map<std::size_t, std::vector<OperandSharding>> of_ops;  // by their places in the model's graph
  for (const annotate::OpTensorSpec& said : found.specs) {
    const std::size_t place = sized.imported[said.op.number()];
    const ir::Op& op = model.graph.ops[place];
    const auto add = [&](annotate::Side side, const std::vector<ir::ValueId>& ids) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == said.tensor) of_ops[place].push_back({side, i, said.spec});
      }
    };
    add(annotate::Side::Input, op.inputs);
    add(annotate::Side::Output, op.outputs);
  }
  annotate::ShardingPlan plan{.devices = group_of(cut),
                              .sends = cut.scatters_sends ? annotate::Sends::InParts : annotate::Sends::Whole,
                              .note = annotate::to_string(found, sized.graph, options)};
  for (auto& [place, operands] : of_ops) {
    ir::set_attribute(model.graph.ops[place], annotate::kShardingPlace, std::ssize(plan.ops));
    plan.ops.push_back(std::move(operands));
  }
  return plan;
} catch (const Error& error) {
  std::vector<std::string> asked;
  if (cut.devices > 1) asked.push_back(fmt::format("devices {}", cut.devices));
  if (cut.context_groups > 1) asked.push_back(fmt::format("contextGroups {}", cut.context_groups));
  if (cut.spatial_groups > 1) asked.push_back(fmt::format("spatialGroups {}", cut.spatial_groups));
  if (cut.sample_groups > 1) asked.push_back(fmt::format("sampleGroups {}", cut.sample_groups));
  throw error.at(fmt::format("tensorParallelSettings.{}", fmt::join(asked, ", ")));
}

}  // namespace

DeviceGroups device_groups(const importer::Model& model, const Strategy& strategy) {
  if (strategy.tensor_parallel.cuts()) return {.devices = group_of(strategy.tensor_parallel)};
  if (strategy.device_configuration.empty()) return {};
  return groups_of(importer::read_sharding(model), strategy);
}

// What cannot be shared out among a few devices cannot among more; what leaves some of them over is no gain.
TensorCuts tensor_cuts_of(const importer::Model& model, int most) try {
  TensorCuts cuts;
  const ir::Graph sized = infer_sizes(model.graph).graph;
  try {
    for (int devices = 2; devices <= most; devices *= 2) {
      const auto plan = annotate::plan_tensor_parallel(sized, {.devices = devices});
      if (plan.leaves_devices_over) break;
      cuts.tokens = plan.attentions > 0;
      cuts.degrees.push_back(devices);
    }
  } catch (const Error&) {  // the last number was one too many
  }
  try {
    for (int devices = 2; devices <= most; devices *= 2) {
      annotate::plan_tensor_parallel(sized, {.devices = 1, .images = {.rows = devices}});
      cuts.image_degrees.push_back(devices);
    }
  } catch (const Error&) {  // here, too
  }
  return cuts;
} catch (const Error&) {  // sizes that only a run knows
  return {};
}

annotate::ShardingPlan plan_sharding(importer::Model& model, const Strategy& strategy) {
  if (strategy.tensor_parallel.cuts()) return plan_blocks(model, strategy.tensor_parallel);
  if (strategy.device_configuration.empty()) return {};
  const importer::Sharding sharding = importer::read_sharding(model);
  const DeviceGroups groups = groups_of(sharding, strategy);
  annotate::ShardingPlan plan{.devices = groups.devices, .groups = groups.own};
  std::map<std::string, std::vector<ir::Op*>> by_name;
  for (ir::Op& op : model.graph.ops) by_name[op.name].push_back(&op);
  std::multimap<std::string_view, const importer::FunctionCall*> calls;
  for (const importer::FunctionCall& call : model.calls) calls.emplace(call.function, &call);
  const auto say = [&](const std::string& name, const importer::NodeSharding& node,
                       const importer::FunctionCall* call) {
    const auto named = by_name.find(name);
    if (named == by_name.end()) return;
    for (ir::Op* op : named->second) {
      if (groups.stages > 0 && node.stage) place_in_stage(*op, *node.stage);
      std::vector<OperandSharding> operands = operands_of(model.graph, *op, node, call);
      if (operands.empty()) continue;
      if (!groups.own.empty()) number_in_group(operands, groups.own[*node.stage]);
      ir::set_attribute(*op, annotate::kShardingPlace, std::ssize(plan.ops));
      plan.ops.push_back(std::move(operands));
    }
  };
  int in_bodies = 0;
  for (const importer::NodeSharding& node : sharding.nodes) {
    if (node.configuration != strategy.device_configuration) continue;
    if (node.is_in_main_graph) say(node.node, node, nullptr);
    in_bodies += node.is_in_main_graph || node.function ? 0 : 1;
    if (!node.function) continue;
    const auto [first, last] = calls.equal_range(node.function->key);
    for (auto call = first; call != last; ++call)
      say(call->second->prefix + node.function->node, node, call->second);
  }
  if (in_bodies > 0) {
    plan.note = fmt::format(
        "device configuration '{}': what {} node{} in bodies of If, Loop or Scan say{} has no effect, a body is "
        "not cut",
        strategy.device_configuration, in_bodies, in_bodies == 1 ? "" : "s", in_bodies == 1 ? "s" : "");
  }
  return plan;
}

Machine of_groups(Machine machine, const annotate::ShardingPlan& plan) {
  auto& [strategy, device] = machine;
  const bool is_automatic = strategy.virtual_graph_mode == VirtualGraphMode::Auto;
  const int all = strategy.ipus > 0 ? strategy.ipus : device.processors;
  const std::int64_t unit = std::int64_t{plan.devices} * strategy.replicas;
  if (is_automatic && strategy.ipus % unit != 0) {
    throw Error("numIPUs {} found, a multiple of {} needed: {} devices{} a group, replicatedGraphCount {}{}",
                strategy.ipus, unit, plan.devices,
                strategy.device_configuration.empty()
                    ? ""
                    : fmt::format(" of configuration '{}'", strategy.device_configuration),
                strategy.replicas,
                advice_for_processors(strategy, (strategy.ipus + unit - 1) / unit * unit, device));
  }
  if (is_automatic || strategy.ipus > 0) strategy.ipus = all / plan.devices;
  device.processors /= plan.devices;
  device.tile_memory_bytes *= plan.devices;
  return machine;
}

Machine of_devices(Machine machine) {
  VirtualGraphMode& mode = machine.strategy.virtual_graph_mode;
  if (mode == VirtualGraphMode::Auto) mode = VirtualGraphMode::Manual;
  return machine;
}

annotate::Partitioned cut_over_devices(ir::Training& training, annotate::ShardingPlan plan,
                                       CheckedOptions& checked) {
  annotate::say_of_rounded_weights(training, plan);
  check_processors(checked.strategy, std::int64_t{plan.placement.processors} * plan.devices, checked.device);
  note_bodies(training.graph, checked.notes);
  annotate::Partitioned made = annotate::partition(training, plan);
  if (!plan.note.empty()) checked.notes.push_back(plan.note);
  training = std::exchange(made.training, {});
  optimize(training);
  return made;
}

void keep_moved(std::vector<annotate::Resharding>& reshardings, const executor::Program& program) {
  std::erase_if(reshardings, [&](const annotate::Resharding& one) {
    if (!one.node.empty()) return false;
    const auto output = std::ranges::find(program.outputs, one.tensor, &executor::HostTensor::name);
    return output != program.outputs.end() && !output->parts.empty();
  });
}

void note_reshardings(const std::vector<annotate::Resharding>& all, Notes& notes) {
  std::map<annotate::ReshardKind, std::pair<int, std::int64_t>> sums;
  for (const annotate::Resharding& one : all) {
    auto& [count, bytes] = sums[one.kind];
    ++count;
    bytes += one.bytes;
  }
  for (const auto& [kind, sum] : sums) {
    const auto largest = std::ranges::max_element(all, {}, [&, kind = kind](const annotate::Resharding& one) {
      return one.kind == kind ? one.bytes : -1;
    });
    notes.push_back(fmt::format("tensors cut over devices: {} {}, {} bytes in all; the largest: {}",
                                sum.first, name_of(kind), sum.second, to_string(*largest)));
  }
}

}  // namespace podium
