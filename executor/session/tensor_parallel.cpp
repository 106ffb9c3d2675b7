#include "executor/session/tensor_parallel.h"

#include <algorithm>
#include <map>
#include <utility>

#include "executor/session/compile.h"
#include "importer/sharding.h"

namespace podium {
namespace {

using annotate::OperandSharding;

std::vector<OperandSharding> operands_of(const ir::Graph& graph, const ir::Op& op,
                                         const importer::NodeSharding& node) {
  std::vector<OperandSharding> operands;
  const auto add = [&](annotate::Side side, const std::vector<ir::ValueId>& ids,
                       const importer::ShardedTensor& tensor) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i].valid() && graph[ids[i]].name == tensor.name) operands.push_back({side, i, tensor.spec});
    }
  };
  for (const importer::ShardedTensor& tensor : node.tensors) {
    add(annotate::Side::Input, op.inputs, tensor);
    add(annotate::Side::Output, op.outputs, tensor);
  }
  return operands;
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

}  // namespace

annotate::ShardingPlan plan_sharding(importer::Model& model, const std::string& configuration) {
  if (configuration.empty()) return {};
  const importer::Sharding sharding = importer::read_sharding(model);
  annotate::ShardingPlan plan{
      .devices = static_cast<int>(importer::find_configuration(sharding, configuration).devices)};
  std::map<std::string_view, std::vector<ir::Op*>> by_name;
  for (ir::Op& op : model.graph.ops) by_name[op.name].push_back(&op);
  for (const importer::NodeSharding& node : sharding.nodes) {
    if (node.configuration != configuration) continue;
    for (ir::Op* op : by_name[node.node]) {
      std::vector<OperandSharding> operands = operands_of(model.graph, *op, node);
      if (operands.empty()) continue;
      ir::set_attribute(*op, annotate::kShardingPlace, std::ssize(plan.ops));
      plan.ops.push_back(std::move(operands));
    }
  }
  return plan;
}

annotate::Partitioned cut_over_devices(ir::Training& training, const annotate::ShardingPlan& plan,
                                       Notes& notes) {
  if (plan.devices == 1) return {};
  annotate::Partitioned made = annotate::partition(training, plan);
  note_reshardings(made.reshardings, notes);
  training = std::exchange(made.training, {});
  optimize(training);
  return made;
}

}  // namespace podium
